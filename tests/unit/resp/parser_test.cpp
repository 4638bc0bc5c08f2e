#include "resp/parser.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "dump.hpp"

namespace penstock::resp {
namespace {

using Dumps = std::vector<std::string>;

struct Case {
  std::string bytes;
  Dumps replies;
};

const std::vector<Case>& corpus() {
  static const std::vector<Case> cases{
      {"+OK\r\n", {"s2:OK"}},
      {"+\r\n", {"s0:"}},
      {"-ERR no\r\n", {"e6:ERR no"}},
      {":0\r\n:-9223372036854775808\r\n:9223372036854775807\r\n",
       {"i0", "i-9223372036854775808", "i9223372036854775807"}},
      {"$0\r\n\r\n$4\r\n\r\n$1\r\n", {"b0:", "b4:\r\n$1"}},
      {"$-1\r\n*-1\r\n_\r\n", {"n0:", "n0:", "n0:"}},
      {"*0\r\n%0\r\n~0\r\n>0\r\n", {"a0[]", "m0[]", "o0[]", "p0[]"}},
      {"*3\r\n:1\r\n*-1\r\n$-1\r\n", {"a3[i1 n0: n0: ]"}},
      {"*2\r\n*1\r\n*2\r\n:1\r\n:2\r\n+x\r\n", {"a2[a1[a2[i1 i2 ] ] s1:x ]"}},
      {"#t\r\n#f\r\n", {"t1", "t0"}},
      {",1.5\r\n,-inf\r\n,nan\r\n,10\r\n,1e-7\r\n",
       {"d3:1.5", "d4:-inf", "d3:nan", "d2:10", "d4:1e-7"}},
      {"(-3492890328409238509324850943850943825024385\r\n",
       {"g44:-3492890328409238509324850943850943825024385"}},
      {"=8\r\ntxt:abcd\r\n", {"v4:abcd"}},
      {"!5\r\nERR x\r\n", {"e5:ERR x"}},
      {"%2\r\n+a\r\n:1\r\n+b\r\n%1\r\n+c\r\n~1\r\n:3\r\n", {"m4[s1:a i1 s1:b m2[s1:c o1[i3 ] ] ]"}},
      {">2\r\n+message\r\n+x\r\n:5\r\n", {"p2[s7:message s1:x ]", "i5"}},
      // Attributes belong to the value behind them, at the top and inside, and are dropped.
      {"|1\r\n+ttl\r\n*1\r\n:9\r\n*3\r\n:1\r\n|1\r\n+k\r\n|0\r\n+v\r\n:2\r\n:3\r\n",
       {"a3[i1 i2 i3 ]"}},
      {"*1\r\n*2\r\n$8\r\nmystream\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n",
       {"a1[a2[b8:mystream a1[a2[b3:1-0 a2[b1:f b1:v ] ] ] ] ]"}},
  };
  return cases;
}

std::string whole_corpus() {
  std::string all;
  for (const Case& one : corpus()) all += one.bytes;
  return all;
}

TEST(Parser, knows_every_type_of_RESP2_and_RESP3) {
  for (const Case& one : corpus()) EXPECT_EQ(parse_all(one.bytes), one.replies) << one.bytes;
}

TEST(Parser, gives_the_same_replies_for_every_split) {
  for (const Case& one : corpus()) {
    EXPECT_EQ(parse_bytewise(one.bytes), one.replies) << one.bytes;
    const std::string_view bytes = one.bytes;
    for (std::size_t at = 0; at <= bytes.size(); ++at) {
      EXPECT_EQ(parse_pieces({bytes.substr(0, at), bytes.substr(at)}), one.replies)
          << one.bytes << " split at " << at;
    }
  }
  const std::string all = whole_corpus();
  const std::string_view bytes = all;
  const Dumps wanted = parse_all(all);
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    ASSERT_EQ(parse_pieces({bytes.substr(0, at), bytes.substr(at)}), wanted) << at;
  }
}

TEST(Parser, gives_nothing_for_a_reply_cut_anywhere) {
  for (const Case& one : corpus()) {
    const std::string_view bytes = one.bytes;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const Dumps found = parse_all(bytes.substr(0, at));
      EXPECT_LT(found.size(), one.replies.size());
      for (const std::string& text : found) EXPECT_FALSE(text.starts_with('!')) << text;
    }
  }
}

struct Refused {
  std::string bytes;
  std::string why;
};

TEST(Parser, refuses_what_is_no_reply_and_says_what_it_saw) {
  const std::string number = "a number and CRLF must follow the type byte";
  const std::string streamed = "streamed types are not supported";
  const std::string crlf = "CRLF must follow the bytes of a string";
  const std::string line = "a line must end with CRLF";
  const std::string value = "this is no value of its type";
  const std::string large = "the number is too large";
  const std::vector<Refused> cases{
      {"HTTP/1.1 400 Bad Request\r\n", "no reply type begins like this"},
      {"\r\n", "no reply type begins like this"},
      {std::string("\0", 1), "no reply type begins like this"},
      {"$-2\r\n", "a length cannot be negative"},
      {"=-1\r\n", "a length cannot be negative"},
      {"*-2\r\n", "a count cannot be negative"},
      {"%-1\r\n", "a count cannot be negative"},
      {"$+1\r\nx\r\n", number},
      {"$-0\r\n\r\n", number},
      {"$ 1\r\nx\r\n", number},
      {"$1 \r\nx\r\n", number},
      {"$\r\n", number},
      {"$-\r\n", number},
      {"$1\nx\r\n", number},
      {"$1\rx\r\n", number},
      {"*1x\r\n", number},
      {":\r\n", number},
      {":+5\r\n", number},
      {":1.5\r\n", number},
      {":9223372036854775808\r\n", large},
      {":-9223372036854775809\r\n", large},
      {":99999999999999999999999999\r\n", large},
      {"$18446744073709551617\r\n", large},
      {"$?\r\n;4\r\nabcd\r\n;0\r\n", streamed},
      {"*?\r\n:1\r\n.\r\n", streamed},
      {"%?\r\n", streamed},
      {"~?\r\n", streamed},
      {"$1\r\nxy\r\n", crlf},
      {"$1\r\nx\r.", crlf},
      {"$1\r\nx\n\n", crlf},
      {"+OK\n", line},
      {"+a\rb\r\n", line},
      {"+a\r\r\n", line},
      {"#x\r\n", value},
      {"#\r\n", value},
      {"_x\r\n", value},
      {",\r\n", value},
      {",1.\r\n", value},
      {",+1\r\n", value},
      {",1e\r\n", value},
      {",infx\r\n", value},
      {"(12a\r\n", value},
      {"(-\r\n", value},
      {"=3\r\ntxt\r\n", "a verbatim string must name its format"},
      {"=5\r\ntxt.a\r\n", "a verbatim string must name its format"},
      {"*2\r\n:1\r\n?", "no reply type begins like this"},
  };
  for (const Refused& one : cases) {
    const Dumps found = parse_all(one.bytes);
    ASSERT_EQ(found.size(), 1U) << one.bytes;
    EXPECT_TRUE(found[0].starts_with("!" + one.why + ", at byte ")) << one.bytes << found[0];
    EXPECT_EQ(parse_bytewise(one.bytes), found) << one.bytes;
  }
}

TEST(Parser, error_text_is_escaped_and_bounded_and_stays) {
  Parser parser;
  const std::string bytes = "\x01\"\r\n" + std::string(5000, 'x');
  const auto room = parser.prepare(bytes.size());
  bytes.copy(room.data(), bytes.size());
  parser.commit(bytes.size());
  const auto first = parser.next();
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, errc::protocol_error);
  EXPECT_NE(first.error().text.find("at byte 0 of the reply: \"\\x01\\\"\\r\\nxxx"),
            std::string::npos)
      << first.error().text;
  EXPECT_LT(first.error().text.size(), 200U);
  EXPECT_EQ(parser.next().error().text, first.error().text);
}

TEST(Parser, replies_before_a_fault_are_given_out) {
  EXPECT_EQ(parse_all("+a\r\n:1\r\nx").size(), 3U);
  EXPECT_EQ(parse_all("+a\r\n:1\r\nx")[1], "i1");
}

TEST(Reply, accessors_are_total) {
  const Reply none;
  EXPECT_TRUE(none.is_null());
  EXPECT_EQ(none.text(), "");
  EXPECT_EQ(none.integer(), std::nullopt);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_TRUE(none[0].is_null());
  EXPECT_TRUE(none[7][7].is_null());
  EXPECT_TRUE(none.begin() == none.end());
}

TEST(Reply, reads_children_and_numbers) {
  Parser parser;
  const std::string bytes = "*4\r\n*2\r\n:1\r\n:2\r\n$2\r\n-7\r\n$3\r\n+12\r\n$3\r\n12x\r\n";
  const auto room = parser.prepare(bytes.size());
  bytes.copy(room.data(), bytes.size());
  parser.commit(bytes.size());
  const auto next = parser.next();
  ASSERT_TRUE(next && next->has_value());
  const Reply reply = **next;
  EXPECT_EQ(reply.size(), 4U);
  EXPECT_EQ(reply[0][1].integer(), 2);
  EXPECT_TRUE(reply[0][2].is_null());
  EXPECT_EQ(reply[1].integer(), -7);
  EXPECT_EQ(reply[2].integer(), std::nullopt);
  EXPECT_EQ(reply[3].integer(), std::nullopt);
  EXPECT_EQ(reply[3].text(), "12x");
  EXPECT_EQ(reply[0].text(), "");
  EXPECT_TRUE(reply[4].is_null());
}

}  // namespace
}  // namespace penstock::resp
