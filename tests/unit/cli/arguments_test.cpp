#include "cli/arguments.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace penstock::cli {
namespace {

using Kind = OptionSpec::Kind;
constexpr std::array<OptionSpec, 4> specs{
    {{"--body"}, {"--output", 'o'}, {"--lines", 0, Kind::flag}, {"--field", 0, Kind::list}}};

base::Result<Arguments> split(const std::vector<std::string>& args) {
  return split_arguments(args, specs);
}

TEST(Arguments, values_are_kept_byte_by_byte) {
  for (const std::string& value :
       {std::string("[a,b]"), std::string(""), std::string("-1"), std::string("\"x\""),
        std::string("a=b"), std::string("\xff\xfe")}) {
    auto args = split({"--body", value});
    ASSERT_TRUE(args.has_value()) << value;
    EXPECT_EQ(*args->value("--body"), value);
    args = split({"--body=" + value});
    ASSERT_TRUE(args.has_value()) << value;
    EXPECT_EQ(*args->value("--body"), value);
  }
}

TEST(Arguments, forms) {
  const auto args =
      split({"a", "-ojson", "--field", "x=1", "--lines", "--field=y=2", "-", "--", "--body", "-o"});
  ASSERT_TRUE(args.has_value());
  EXPECT_EQ(*args->value("--output"), "json");
  EXPECT_EQ(args->options.at("--field"), (std::vector<std::string>{"x=1", "y=2"}));
  EXPECT_TRUE(args->has("--lines"));
  EXPECT_EQ(args->words, (std::vector<std::string>{"a", "-", "--body", "-o"}));
}

TEST(Arguments, refusals) {
  EXPECT_NE(split({"--boddy", "x"}).error().text.find("did you mean \"--body\""),
            std::string::npos);
  EXPECT_NE(split({"--body"}).error().text.find("needs a value"), std::string::npos);
  EXPECT_NE(split({"--body", "--lines"}).error().text.find("--body=--lines"), std::string::npos);
  EXPECT_NE(split({"--lines=yes"}).error().text.find("takes no value"), std::string::npos);
  EXPECT_NE(split({"--body", "a", "--body", "b"}).error().text.find("given twice"),
            std::string::npos);
  EXPECT_NE(split({"-x"}).error().text.find("unknown option -x"), std::string::npos);
  EXPECT_EQ(split({"--\x1b[2J"}).error().text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace penstock::cli
