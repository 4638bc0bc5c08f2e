#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fmt/core.h>
#include <string>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/text.hpp"

namespace penstock::cli {

bool print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
}

int finish_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  // Who reads no further (`penstock show | head`) is told by the exit code alone.
  if (errno != EPIPE) complain("standard output cannot be written");
  return code == exit_code::ok ? exit_code::io_error : code;
}

void complain(std::string_view text) {
  const std::string line = "penstock: " + escaped(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool wants_colour() {
  const char* const none = std::getenv("NO_COLOR");
  return (none == nullptr || *none == '\0') && ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace penstock::cli
