#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <penstock/options.hpp>

#include "base/result.hpp"

namespace penstock::cli {

enum class Format : std::uint8_t { text, json };

/// What every command knows.
struct Common {
  std::string url;
  Format format = Format::text;
};

struct SendCommand {
  Common common;
  std::string stream;
  std::optional<std::string> body;  ///< empty: read from standard input
  bool lines = false;               ///< one message per line of standard input
  std::vector<std::pair<std::string, std::string>> fields;
  std::uint64_t count = 1;  ///< copies of each message
  std::optional<milliseconds> timeout;
};

struct WorkCommand {
  Common common;
  std::vector<std::string> streams;
  std::string exec;
  bool shell = false;
  HandlerOptions options;
  std::string consumer;
  milliseconds drain{25'000};
};

struct ShowCommand {
  Common common;
  std::optional<std::string> stream;
};

struct PendingCommand {
  Common common;
  std::string stream, group;
};

/// --help and --version: printed, and that was it.
struct TextCommand {
  std::string text;
};

using Command = std::variant<SendCommand, WorkCommand, ShowCommand, PendingCommand, TextCommand>;

/// `args` without the program's name. `env_url`: the value of PENSTOCK_URL, or empty. A failure's
/// text says what is wrong and what to write instead.
base::Result<Command> parse_command(const std::vector<std::string>& args,
                                    const std::string& env_url);

}  // namespace penstock::cli
