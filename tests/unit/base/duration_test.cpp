#include "base/duration.hpp"

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "base/rng.hpp"

namespace penstock::base {
namespace {

std::int64_t ms(const std::string& text) {
  const auto value = parse_duration(text);
  return value ? static_cast<std::int64_t>(value->count()) : -1;
}

std::string refusal(const std::string& text) {
  const auto value = parse_duration(text);
  return value ? "taken as " + std::to_string(value->count()) + "ms" : value.error().text;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Duration, units) {
  EXPECT_EQ(ms("250ms"), 250);
  EXPECT_EQ(ms("2s"), 2'000);
  EXPECT_EQ(ms("5min"), 300'000);
  EXPECT_EQ(ms("1h"), 3'600'000);
  EXPECT_EQ(ms("0s"), 0);
  EXPECT_EQ(ms("0ms"), 0);
  EXPECT_EQ(ms("007s"), 7'000);
}

TEST(Duration, fractions_are_exact) {
  EXPECT_EQ(ms("0.5min"), 30'000);
  EXPECT_EQ(ms("0.1s"), 100);
  EXPECT_EQ(ms("0.29s"), 290);
  EXPECT_EQ(ms("1.005s"), 1'005);
  EXPECT_EQ(ms("1.50000000000s"), 1'500);
  EXPECT_EQ(ms("0.25h"), 900'000);
}

// Every refusal says what to write instead.
TEST(Duration, refusals_name_the_remedy) {
  const std::pair<const char*, const char*> cases[] = {
      {"30", "30ms, 30s, 30min or 30h"},
      {"1.5", "1.5ms, 1.5s"},
      {"0", "0s"},
      {"", "250ms, 2s, 5min or 1h"},
      {"-5s", "negative"},
      {"+5s", "sign"},
      {"30 s", "write 30s"},
      {"1e3", "write the number out"},
      {"1e3s", "write the number out"},
      {"5m", "5min or 5ms"},
      {"1d", "24h"},
      {"5S", "ms, s, min and h"},
      {"5sec", "ms, s, min and h"},
      {"1h30min", "ms, s, min and h"},
      {"0,5s", "0.5s"},
      {"1.s", "digits are missing"},
      {".5s", "250ms"},
      {"s", "250ms"},
      {"none", "needs a limit"},
      {"0.5ms", "smallest step"},
      {"0.0001s", "smallest step"},
      {"99999999999999h", "ten years"},
      {"99999999999999999999999999999999h", "ten years"},
      {"9223372036854775807ms", "ten years"},
      {"87673h", "ten years"},
      {"0x10s", "ms, s, min and h"},
      {"5s ", "ms, s, min and h"},
      {" 5s", "250ms"},
  };
  for (const auto& [text, part] : cases) {
    EXPECT_TRUE(holds(refusal(text), part)) << text << " -> " << refusal(text);
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
}

TEST(Duration, hostile_text_is_not_echoed_raw) {
  EXPECT_FALSE(holds(refusal("5\x1b[2J"), "\x1b"));
  EXPECT_FALSE(holds(refusal("5\nx"), "\n"));
  EXPECT_LT(refusal("5" + std::string(100'000, 'x')).size(), 400u);
  EXPECT_LT(refusal(std::string(100'000, '7')).size(), 400u);
  EXPECT_FALSE(parse_duration(std::string("5s\0", 3)).has_value());
}

TEST(Duration, print_then_parse_gives_the_same) {
  EXPECT_EQ(format_duration(std::chrono::milliseconds{90'000}), "90s");
  EXPECT_EQ(format_duration(std::chrono::milliseconds{120'000}), "2min");
  EXPECT_EQ(format_duration(std::chrono::milliseconds{0}), "0s");
  Rng rng(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto top = std::uint64_t{1} << rng.below(38);
    const auto value = std::chrono::milliseconds{static_cast<std::int64_t>(rng.below(top))};
    const auto back = parse_duration(format_duration(value));
    ASSERT_TRUE(back.has_value()) << value.count();
    EXPECT_EQ(*back, value);
  }
  EXPECT_EQ(ms(format_duration(duration_max)), static_cast<std::int64_t>(duration_max.count()));
}

// Whatever bytes come: no crash, and what is taken is within the bounds.
TEST(Duration, random_bytes) {
  Rng rng(11);
  const std::string alphabet("0123456789.smhin eE-+,\0\xff", 24);
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    for (auto n = rng.below(12); n > 0; --n) text += alphabet[rng.below(alphabet.size())];
    const auto value = parse_duration(text);
    if (!value) {
      ASSERT_FALSE(value.error().text.empty());
      continue;
    }
    ASSERT_GE(value->count(), 0) << text;
    ASSERT_LE(*value, duration_max) << text;
    ASSERT_EQ(*parse_duration(format_duration(*value)), *value) << text;
  }
}

}  // namespace
}  // namespace penstock::base
