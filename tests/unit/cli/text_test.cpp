#include "cli/text.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>

#include "base/rng.hpp"
#include "cli/exit_code.hpp"

namespace penstock::cli {
namespace {

TEST(Text, escapes_what_could_drive_a_terminal_or_forge_a_line) {
  EXPECT_EQ(escaped("plain \xc3\xa9 \xe2\x82\xac"), "plain \xc3\xa9 \xe2\x82\xac");
  EXPECT_EQ(escaped("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(escaped("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  EXPECT_EQ(escaped(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(escaped("\xc2\x9b"), "\\u{009b}") << "CSI as a C1 control";
  EXPECT_EQ(escaped("\xe2\x80\xae"), "\\u{202e}") << "right-to-left override";
  EXPECT_EQ(escaped("\xe2\x80\xa8"), "\\u{2028}") << "line separator";
  EXPECT_EQ(escaped("\xff\xc0\xaf\xed\xa0\x80"), "\\xff\\xc0\\xaf\\xed\\xa0\\x80");
  EXPECT_EQ(escaped("\xe2\x82"), "\\xe2\\x82") << "cut in the middle";
  EXPECT_EQ(escaped("a\\nb"), "a\\\\nb") << "cannot be taken for an escape";
  EXPECT_EQ(escaped(std::string(10, 'x'), 4), "xxxx...");
}

TEST(Text, random_bytes_never_leave_a_control_character) {
  base::Rng rng(3);
  for (int i = 0; i < 50'000; ++i) {
    std::string data;
    for (auto n = rng.below(12); n > 0; --n) data += static_cast<char>(rng.below(256));
    const std::string out = escaped(data);
    ASSERT_TRUE(valid_utf8(out));
    for (const char c : out) {
      ASSERT_GE(static_cast<unsigned char>(c), 0x20);
      ASSERT_NE(c, '\x7f');
    }
    ASSERT_TRUE(valid_utf8(repaired_utf8(data)));
    if (valid_utf8(data)) {
      ASSERT_EQ(repaired_utf8(data), data);
    }
  }
}

TEST(Text, tail_begins_at_a_character) {
  EXPECT_EQ(tail("abcdef", 3), "def");
  EXPECT_EQ(tail("abc", 3), "abc");
  EXPECT_EQ(tail("\xe2\x82\xac"
                 "ab",
                 4),
            "ab");
}

TEST(Text, did_you_mean) {
  constexpr std::array<std::string_view, 3> known{"send", "work", "pending"};
  EXPECT_EQ(closest("wrok", known), "work");
  EXPECT_EQ(closest("pend", known), "pending");
  EXPECT_EQ(closest("zzzz", known), std::nullopt);
  EXPECT_EQ(closest("", known), std::nullopt);
  EXPECT_EQ(did_you_mean("x", known), "");
}

TEST(Text, numbers) {
  std::string why;
  EXPECT_EQ(parse_number("10", 1, 10, why), 10u);
  for (const char* text :
       {"", "-1", "+1", "1.0", "1e1", " 1", "0x1", "11", "0", "18446744073709551617"}) {
    EXPECT_EQ(parse_number(text, 1, 10, why), std::nullopt) << text;
    EXPECT_NE(why.find("from 1 to 10"), std::string::npos) << why;
  }
}

TEST(ExitCode, by_class_of_error) {
  EXPECT_EQ(exit_code_of(errc::ok), 0);
  EXPECT_EQ(exit_code_of(errc::unreachable), 69);
  EXPECT_EQ(exit_code_of(errc::timed_out), 69);
  EXPECT_EQ(exit_code_of(errc::server_busy), 69);
  EXPECT_EQ(exit_code_of(errc::auth_failed), 78);
  EXPECT_EQ(exit_code_of(errc::no_permission), 78);
  EXPECT_EQ(exit_code_of(errc::bad_option), 78);
  EXPECT_EQ(exit_code_of(errc::would_exceed), 1);
}

}  // namespace
}  // namespace penstock::cli
