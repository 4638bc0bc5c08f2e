#include "resp/command.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>

namespace penstock::resp {
namespace {

std::string wire(const Command& command) {
  std::string out = "before";
  command.write_to(out);
  EXPECT_EQ(out.substr(0, 6), "before");
  EXPECT_EQ(out.size() - 6, command.size());
  return out.substr(6);
}

TEST(Command, writes_words_numbers_and_any_bytes) {
  const std::string bytes("\r\n\0$", 4);
  const Command command =
      Command("XADD").arg("").arg(bytes).arg(-7).arg(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(wire(command), "*5\r\n$4\r\nXADD\r\n$0\r\n\r\n$4\r\n" + bytes +
                               "\r\n$2\r\n-7\r\n$20\r\n-9223372036854775808\r\n");
  EXPECT_EQ(command.replies(), 1U);
}

TEST(Command, then_puts_several_in_one_write) {
  const Command command = Command("MULTI").then("SET").arg("k").arg(1).then("EXEC");
  EXPECT_EQ(wire(command),
            "*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n1\r\n*1\r\n$4\r\nEXEC\r\n");
  EXPECT_EQ(command.replies(), 3U);
}

TEST(Command, size_is_right_for_counts_of_many_digits) {
  Command command("DEL");
  for (int i = 0; i < 1200; ++i) command.arg(i);
  EXPECT_TRUE(wire(command).starts_with("*1201\r\n$3\r\nDEL\r\n"));
}

}  // namespace
}  // namespace penstock::resp
