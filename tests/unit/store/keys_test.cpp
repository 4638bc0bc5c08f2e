#include "store/keys.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace penstock::store {
namespace {

/// The slot as the cluster specification computes it: CRC16 (XMODEM) of the tag or the whole key.
unsigned slot(std::string_view key) {
  if (const auto open = key.find('{'); open != std::string_view::npos) {
    const auto close = key.find('}', open + 1);
    if (close != std::string_view::npos && close != open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  unsigned crc = 0;
  for (const char c : key) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = ((crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U) & 0xFFFFU;
    }
  }
  return crc % 16384U;
}

std::vector<std::string> all(const Keys& keys) {
  return {keys.due,          keys.note, keys.workers, keys.later,
          keys.later_bodies, keys.dead, keys.retry,   keys.conf};
}

TEST(Keys, a_plain_name_becomes_the_tag) {
  const Keys keys("orders", "billing");
  EXPECT_EQ(keys.stream, "orders");
  EXPECT_EQ(keys.due, "{orders}.due:billing");
  EXPECT_EQ(keys.note, "{orders}.note:billing");
  EXPECT_EQ(keys.workers, "{orders}.workers:billing");
  EXPECT_EQ(keys.retry, "{orders}.retry:billing");
  EXPECT_EQ(keys.later, "{orders}.later");
  EXPECT_EQ(keys.later_bodies, "{orders}.later.bodies");
  EXPECT_EQ(keys.dead, "{orders}.dead");
  EXPECT_EQ(keys.conf, "{orders}.conf");
}

TEST(Keys, a_valid_tag_is_kept) {
  EXPECT_EQ(Keys("{a}b", "g").due, "{a}b.due:g");
  EXPECT_EQ(Keys("x{y}", "g").conf, "x{y}.conf");
}

TEST(Keys, slot_function_agrees_with_the_specification) {
  EXPECT_EQ(slot("123456789"), 12739u);
  EXPECT_EQ(slot("foo{}{bar}"), slot("foo{}{bar}"));
  EXPECT_NE(slot("foo{}{bar}"), slot("bar")) << "an empty first tag means the whole key";
  EXPECT_EQ(slot("foo{bar}{zap}"), slot("bar"));
}

TEST(Keys, T56_every_key_lies_in_the_streams_slot_or_the_name_is_untaggable) {
  const std::vector<std::string> names{"orders", "{a}b",   "a{b}c", "{}",    "{",
                                       "}",      "}{",     "a}b",   "{}{x}", "{{x}",
                                       "a{b",    "x}y{z}", "",      "a{}b",  "{x}}"};
  std::size_t usable = 0;
  for (const std::string& name : names) {
    if (untaggable(name) || name.empty()) continue;
    ++usable;
    for (const char* group : {"g", "{other}", "}"}) {
      for (const std::string& key : all(Keys(name, group))) {
        EXPECT_EQ(slot(key), slot(name)) << key << " of " << name;
      }
    }
  }
  EXPECT_GE(usable, 7u);
}

TEST(Keys, untaggable_is_a_closing_brace_without_a_tag) {
  for (const char* name : {"a}b", "}", "}{", "{}", "a{}b", "{}{x}"}) {
    EXPECT_TRUE(untaggable(name)) << name;
  }
  for (const char* name : {"orders", "{a}b", "a{b", "{", "x}y{z}", "{x}}"}) {
    EXPECT_FALSE(untaggable(name)) << name;
  }
}

}  // namespace
}  // namespace penstock::store
