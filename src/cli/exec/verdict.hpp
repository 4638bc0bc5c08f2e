#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/exec/run.hpp"

namespace penstock::cli::exec {

/// The exit codes a command speaks with (docs/exec.md).
inline constexpr int code_dead = 65, code_retry = 75, code_not_yet = 76, code_release = 77;

/// What becomes of the message.
struct Verdict {
  enum class Kind : std::uint8_t { ack, retry, not_yet, release, dead };
  Kind kind = Kind::ack;
  std::optional<std::chrono::milliseconds> after;  ///< of not_yet: not the option's time
  std::string why;
  /// Not the message's fault: worth a line in the log.
  bool trouble = false;
};

/// `max_run`: the longest this run might take; a command that was stopped for that has failed.
Verdict verdict_of(const RunResult& result, std::optional<std::chrono::milliseconds> max_run);

}  // namespace penstock::cli::exec
