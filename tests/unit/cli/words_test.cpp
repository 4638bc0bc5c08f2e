#include "cli/words.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "support/temp_dir.hpp"

namespace penstock::cli {
namespace {

using Words = std::vector<std::string>;

TEST(Words, split_as_a_shell_does) {
  const std::pair<const char*, Words> cases[] = {
      {"a b  c\t d\n", {"a", "b", "c", "d"}},
      {"a 'b c' \"d e\"", {"a", "b c", "d e"}},
      {"a 'b'c\"d\"\\ e", {"a", "bcd e"}},
      {"a '' \"\"", {"a", "", ""}},
      {"a \\\\ \\' \\\"", {"a", "\\", "'", "\""}},
      {"a '\\n' \"\\n\" \"\\\"\" \"\\$x\"", {"a", "\\n", "\\n", "\"", "$x"}},
      {"a '|;&$()`<>' \"|;&<>\"", {"a", "|;&$()`<>", "|;&<>"}},
      {"a\\\nb", {"ab"}},
      {"a * ? ~ # {x,y} !", {"a", "*", "?", "~", "#", "{x,y}", "!"}},
  };
  for (const auto& [line, words] : cases) {
    const auto split = split_words(line);
    ASSERT_TRUE(split.has_value()) << line << ": " << split.error().text;
    EXPECT_EQ(*split, words) << line;
  }
}

TEST(Words, refusals) {
  for (const char* line : {"", "   ", "a 'b", "a \"b", "a \\", "'' a"}) {
    EXPECT_FALSE(split_words(line).has_value()) << line;
  }
  for (const char* line : {"a | b", "a > f", "a; b", "a && b", "a $HOME", "a `b`", "a (b)"}) {
    const auto split = split_words(line);
    ASSERT_FALSE(split.has_value()) << line;
    EXPECT_NE(split.error().text.find("--shell"), std::string::npos) << split.error().text;
  }
  EXPECT_FALSE(split_words(std::string_view("a\0b", 3)).has_value());
}

TEST(Words, find_program) {
  const test::TempDir dir;
  const std::string folder = dir.path().string();
  std::ofstream(dir / "run") << "#!/bin/sh\n";
  std::ofstream(dir / "data") << "x";
  ::chmod((dir / "run").c_str(), 0755);
  EXPECT_EQ(*find_program("sh", ""), "/usr/bin/sh");
  EXPECT_EQ(*find_program("run", "/nowhere:" + folder), folder + "/run");
  EXPECT_EQ(*find_program(folder + "/run", "/nowhere"), folder + "/run");
  EXPECT_NE(find_program("rum", folder).error().text.find("no program \"rum\""), std::string::npos);
  EXPECT_NE(find_program(folder + "/rum", "").error().text.find("no file"), std::string::npos);
  EXPECT_NE(find_program("data", folder).error().text.find("not an executable"), std::string::npos);
  EXPECT_NE(find_program(folder, "").error().text.find("not an executable"), std::string::npos);
}

}  // namespace
}  // namespace penstock::cli
