#include "redis/error.hpp"

#include <gtest/gtest.h>
#include <string_view>
#include <utility>

namespace penstock::redis {
namespace {

TEST(RedisError, class_by_first_word_or_by_text) {
  const std::pair<std::string_view, errc> cases[] = {
      {"NOGROUP No such key 's' or consumer group 'g'", errc::group_lost},
      {"UNBLOCKED the stream key no longer exists", errc::group_lost},
      {"WRONGTYPE Operation against a key", errc::wrong_type},
      {"LOADING Redis is loading the dataset in memory", errc::server_busy},
      {"BUSY Redis is busy running a script.", errc::server_busy},
      {"MISCONF Redis is configured to save RDB snapshots", errc::server_busy},
      {"NOREPLICAS Not enough good replicas to write.", errc::server_busy},
      {"ERR max number of clients reached", errc::server_busy},
      {"READONLY You can't write against a read only replica.", errc::read_only},
      {"MASTERDOWN Link with MASTER is down", errc::read_only},
      {"OOM command not allowed when used memory > 'maxmemory'.", errc::storage_full},
      {"NOSCRIPT No matching script. Please use EVAL.", errc::script_missing},
      {"NOAUTH Authentication required.", errc::auth_failed},
      {"WRONGPASS invalid username-password pair", errc::auth_failed},
      {"NOPERM this user has no permissions to run the 'xadd' command", errc::no_permission},
      {"ERR The user executing the script can't run this command or subcommand script: 7371",
       errc::no_permission},
      {"ERR The user executing the script can't access at least one of the keys",
       errc::no_permission},
      {"MOVED 3999 127.0.0.1:6381", errc::cluster_moved},
      {"ASK 3999 127.0.0.1:6381", errc::cluster_moved},
      {"TRYAGAIN Multiple keys request during rehashing of slot", errc::cluster_moved},
      {"CLUSTERDOWN Hash slot not served", errc::cluster_moved},
      {"CROSSSLOT Keys in request don't hash to the same slot", errc::cluster_moved},
      {"EXECABORT Transaction discarded because of previous errors.", errc::rejected},
      {"BUSYGROUP Consumer Group name already exists", errc::rejected},
      {"ERR unknown command 'X'", errc::rejected},
      {"ERR Protocol error: invalid bulk length", errc::protocol_error},
      {"OOMPH is another word", errc::rejected},
      {"", errc::rejected},
  };
  for (const auto& [text, code] : cases) EXPECT_EQ(classify(text), code) << text;
}

}  // namespace
}  // namespace penstock::redis
