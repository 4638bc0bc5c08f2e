#include "cli/words.hpp"

#include <fmt/core.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/text.hpp"

namespace penstock::cli {
namespace {

using base::Failure;

// One pass over the line; `word` is empty between words.
class Splitter {
 public:
  explicit Splitter(std::string_view line) : line_(line) {}

  base::Result<std::vector<std::string>> run() {
    if (line_.find('\0') != line_.npos) return refuse("a NUL byte cannot be in it");
    while (at_ < line_.size()) {
      const char c = line_[at_++];
      if (c == ' ' || c == '\t' || c == '\n') {
        finish_word();
      } else if (c == '\'') {
        if (!single_quoted()) return refuse("a ' is never closed");
      } else if (c == '"') {
        if (!double_quoted()) return refuse("a \" is never closed");
      } else if (c == '\\') {
        if (at_ == line_.size()) return refuse("it ends in a backslash");
        if (const char next = line_[at_++]; next != '\n') open() += next;
      } else if (special(c)) {
        return refuse(fmt::format(
            "an unquoted {} needs a shell: add --shell to have /bin/sh run the line, or quote it",
            c));
      } else {
        open() += c;
      }
    }
    finish_word();
    if (words_.empty()) return Failure{errc::bad_option, "the command is empty"};
    if (words_.front().empty()) return refuse("its first word, the program, is empty");
    return std::move(words_);
  }

 private:
  static bool special(char c) { return std::string_view("|&;<>`$()").find(c) != std::string::npos; }

  Failure refuse(const std::string& why) const {
    return {errc::bad_option, fmt::format("\"{}\" is no command: {}", escaped(line_, 200), why)};
  }

  std::string& open() { return word_ ? *word_ : word_.emplace(); }

  void finish_word() {
    if (word_) words_.push_back(std::move(*word_));
    word_.reset();
  }

  bool single_quoted() {
    const std::size_t end = line_.find('\'', at_);
    if (end == line_.npos) return false;
    open() += line_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  // Inside "...", a backslash quotes only " \ $ ` and the line's end, as in sh.
  bool double_quoted() {
    std::string& word = open();
    while (at_ < line_.size()) {
      const char c = line_[at_++];
      if (c == '"') return true;
      if (c != '\\' || at_ == line_.size()) {
        word += c;
        continue;
      }
      const char next = line_[at_++];
      if (next == '\n') continue;
      if (std::string_view("\"\\$`").find(next) == std::string::npos) word += '\\';
      word += next;
    }
    return false;
  }

  std::string_view line_;
  std::size_t at_ = 0;
  std::optional<std::string> word_;
  std::vector<std::string> words_;
};

enum class Found { yes, no, not_executable };

Found look(const std::string& file) {
  struct stat st{};
  if (stat(file.c_str(), &st) != 0) return Found::no;
  if (!S_ISREG(st.st_mode) || access(file.c_str(), X_OK) != 0) return Found::not_executable;
  return Found::yes;
}

}  // namespace

base::Result<std::vector<std::string>> split_words(std::string_view line) {
  return Splitter(line).run();
}

base::Result<std::string> find_program(const std::string& name, std::string_view path) {
  const auto not_executable = [](const std::string& file) {
    return Failure{errc::bad_option,
                   fmt::format("\"{}\" is not an executable file (chmod +x?)", escaped(file, 200))};
  };
  if (name.find('/') != name.npos) {
    switch (look(name)) {
      case Found::yes:
        return name;
      case Found::not_executable:
        return not_executable(name);
      case Found::no:
        break;
    }
    return Failure{errc::bad_option, fmt::format("there is no file \"{}\"", escaped(name, 200))};
  }
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  std::string refused;
  while (true) {
    const std::size_t colon = std::min(path.find(':'), path.size());
    const std::string folder = colon == 0 ? "." : std::string(path.substr(0, colon));
    const std::string file = folder + "/" + name;
    const Found found = look(file);
    if (found == Found::yes) return file;
    if (found == Found::not_executable && refused.empty()) refused = file;
    if (colon == path.size()) break;
    path.remove_prefix(colon + 1);
  }
  if (!refused.empty()) return not_executable(refused);
  return Failure{errc::bad_option,
                 fmt::format("there is no program \"{}\" in PATH", escaped(name, 200))};
}

}  // namespace penstock::cli
