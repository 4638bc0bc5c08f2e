#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "dump.hpp"

namespace penstock::resp {
namespace {

std::string nested(std::size_t depth) {
  std::string bytes;
  for (std::size_t i = 0; i < depth; ++i) bytes += "*1\r\n";
  return bytes + ":1\r\n";
}

std::string first_error(const std::string& bytes, Limits limits = {}) {
  const auto whole = parse_all(bytes, limits);
  if (whole.empty() || !whole.back().starts_with('!')) return {};
  return whole.back();
}

/// Peak memory of the process so far, in KiB; 0 where the sanitizers make it meaningless.
std::size_t rss_peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6));
  }
  return 0;
}

TEST(ParserLimits, depth_32_and_no_deeper) {
  EXPECT_EQ(parse_all(nested(32)).size(), 1U);
  EXPECT_EQ(first_error(nested(32)), "");
  EXPECT_NE(first_error(nested(33)).find("nested deeper"), std::string::npos);
  EXPECT_EQ(parse_bytewise(nested(33)), parse_all(nested(33)));
}

TEST(ParserLimits, elements_are_counted_over_the_whole_reply) {
  const Limits limits{.elements = 6};
  EXPECT_EQ(first_error("*2\r\n*2\r\n:1\r\n:1\r\n:1\r\n", limits), "");
  EXPECT_NE(first_error("*2\r\n*2\r\n:1\r\n:1\r\n*2\r\n", limits).find("more elements"),
            std::string::npos);
  EXPECT_NE(first_error("%3\r\n", limits).find("more elements"), std::string::npos);
  // The count begins anew with each reply.
  EXPECT_EQ(first_error("*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n*5\r\n:1\r\n", limits), "");
}

TEST(ParserLimits, bulk_reply_and_line_sizes) {
  const Limits limits{.bulk_bytes = 10, .reply_bytes = 40, .line_bytes = 8};
  EXPECT_EQ(first_error("$10\r\n0123456789\r\n", limits), "");
  EXPECT_NE(first_error("$11\r\n", limits).find("string is longer"), std::string::npos);
  const std::string ten = "$10\r\n0123456789\r\n";
  EXPECT_EQ(first_error("*2\r\n" + ten + ten, limits), "");
  EXPECT_NE(first_error("*3\r\n" + ten + ten + "$10\r\n", limits).find("reply is larger"),
            std::string::npos);
  EXPECT_EQ(first_error("+12345678\r\n", limits), "");
  EXPECT_NE(first_error("+123456789\r\n", limits).find("line is longer"), std::string::npos);
  for (const std::string& bytes : {std::string("+123456789\r\n"), std::string(100, '+')}) {
    EXPECT_EQ(parse_bytewise(bytes, limits), parse_all(bytes, limits));
  }
}

TEST(ParserLimits, B68_hostile_lengths_cost_no_memory) {
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += "*1\r\n";
  const std::vector<std::string> hostile{
      "*2147483647\r\n",
      "*9223372036854775807\r\n",
      "%9223372036854775807\r\n",
      "*4194303\r\n:1\r\n",
      "$99999999999\r\n",
      "$536870912\r\nabc",
      "$-2\r\n",
      "=536870911\r\ntxt:",
      "*4194303\r\n$536870911\r\nx",
  };
  const std::size_t before = rss_peak_kib();
  for (const std::string& bytes : hostile) {
    Parser parser;
    for (const char byte : bytes) {
      const auto room = parser.prepare(1);
      room[0] = byte;
      parser.commit(1);
      const auto next = parser.next();
      EXPECT_FALSE(next && next->has_value()) << bytes;
      if (!next) {
        EXPECT_EQ(next.error().code, errc::protocol_error);
      }
    }
    EXPECT_LT(parser.memory(), 4096U) << bytes;
  }
  EXPECT_NE(first_error(deep.substr(0, 4000)).find("nested deeper"), std::string::npos);
  EXPECT_NE(first_error(deep).find("nested deeper"), std::string::npos);
  // `deep` itself is fed whole once: 4 MB for it in the parser's buffer.
  EXPECT_LT(rss_peak_kib() - before, 6 * 1024U);
}

TEST(ParserLimits, memory_of_a_large_reply_is_given_back) {
  Parser parser;
  const std::string header = "$33554432\r\n";
  const std::string bytes = header + std::string(32 << 20, 'x') + "\r\n";
  std::size_t at = 0;
  bool whole = false;
  while (at < bytes.size()) {
    const std::size_t n = std::min<std::size_t>(65536, bytes.size() - at);
    const auto room = parser.prepare(n);
    bytes.copy(room.data(), n, at);
    parser.commit(n);
    at += n;
    const auto next = parser.next();
    ASSERT_TRUE(next);
    whole = next->has_value();
    if (!whole) {
      EXPECT_LE(parser.memory(), 2 * at + 200'000);
    }
  }
  ASSERT_TRUE(whole);
  static_cast<void>(parser.prepare(65536));
  EXPECT_LE(parser.memory(), 200'000U);
  EXPECT_EQ(parser.buffered(), 0U);
}

/// Nothing is scanned twice: twice the bytes, one at a time, cost about twice, not four times.
TEST(ParserLimits, a_long_line_in_single_bytes_is_linear) {
  const auto cost = [](std::size_t size) {
    const Limits limits{.line_bytes = 1U << 30};
    const std::string bytes = "+" + std::string(size, 'x') + "\r\n";
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(parse_bytewise(bytes, limits).size(), 1U);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double small = std::max(cost(100'000), 1e-3);
  EXPECT_LT(cost(1'600'000), small * 16 * 5);
}

}  // namespace
}  // namespace penstock::resp
