#include "redis/config.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace penstock::redis {
namespace {

Config good(std::string_view url) {
  auto config = parse_url(url);
  EXPECT_TRUE(config) << url << ": " << (config ? "" : config.error().text);
  return config ? *config : Config{};
}

TEST(RedisUrl, reads_host_port_login_and_db) {
  const Config full = good("redis://me:s%40cret%2F@[::1]:7000/3");
  EXPECT_EQ(full.host, "::1");
  EXPECT_EQ(full.port, 7000);
  EXPECT_EQ(full.user, "me");
  EXPECT_EQ(full.password, "s@cret/");
  EXPECT_EQ(full.db, 3);
  const Config plain = good("redis://cache.example");
  EXPECT_EQ(plain.host, "cache.example");
  EXPECT_EQ(plain.port, 6379);
  EXPECT_EQ(plain.db, 0);
  EXPECT_EQ(good("redis://:pw@h/").password, "pw");
  EXPECT_EQ(good("redis://:pw@h/").user, "");
  EXPECT_EQ(good("redis://").host, "localhost");
}

TEST(RedisUrl, reads_unix_sockets) {
  const Config config = good("unix:///run/my%20redis.sock?db=2&user=u&password=p%26q");
  EXPECT_EQ(config.unix_path, "/run/my redis.sock");
  EXPECT_EQ(config.db, 2);
  EXPECT_EQ(config.user, "u");
  EXPECT_EQ(config.password, "p&q");
}

TEST(RedisUrl, names_what_is_wrong) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "no scheme"},
      {"localhost:6379", "no scheme"},
      {"http://h", "unknown scheme 'http'"},
      {"rediss://h", "rediss:// is not supported yet in this version"},
      {"redis+sentinel://h/m", "redis+sentinel:// is not supported yet in this version"},
      {"redis+cluster://h", "redis+cluster:// is not supported yet in this version"},
      {"redis://h:0", "port must be a number from 1 to 65535, not '0'"},
      {"redis://h:65536", "port must be a number"},
      {"redis://h:99999999999999999999", "port must be a number"},
      {"redis://h/x", "database must be a number from 0 to 1000000, not 'x'"},
      {"redis://h/-1", "database must be a number"},
      {"redis://h/1/2", "database must be a number"},
      {"redis://h?tls=1", "unknown key 'tls'"},
      {"redis://h#f", "'#...' is not allowed"},
      {"redis://user@h", "a user needs a password"},
      {"unix://relative/r.sock", "three slashes"},
      {"unix://", "three slashes"},
      {"unix:///r.sock?nope=1", "unknown query key 'nope'"},
      {"unix:///r.sock?db=x", "database must be a number"},
      {"unix:///" + std::string(120, 'a'), "at most 107 bytes"},
  };
  for (const auto& [url, why] : cases) {
    const auto config = parse_url(url);
    ASSERT_FALSE(config) << url;
    EXPECT_EQ(config.error().code, errc::bad_option) << url;
    EXPECT_NE(config.error().text.find(why), std::string::npos)
        << url << ": " << config.error().text;
  }
}

TEST(RedisUrl, never_prints_the_password) {
  for (const char* url :
       {"redis://u:hunter2@h:bad/0", "redis://u:hunter2@h/x", "redis://u:hunter2 @h",
        "redis://u:hunter2@h:0", "unix:///s?password=hunter2&db=x", "hunter2"}) {
    const auto config = parse_url(url);
    ASSERT_FALSE(config) << url;
    EXPECT_EQ(config.error().text.find("hunter2"), std::string::npos) << config.error().text;
  }
  EXPECT_EQ(redacted(good("redis://u:hunter2@h/4")), "redis://u:***@h:6379/4");
  EXPECT_EQ(redacted(good("redis://[::1]:1")), "redis://[::1]:1");
  EXPECT_EQ(redacted(good("unix:///s?password=hunter2&db=1")), "unix:///s?db=1&user=&password=***");
}

}  // namespace
}  // namespace penstock::redis
