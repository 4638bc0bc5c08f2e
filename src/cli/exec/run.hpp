#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "cli/exec/output.hpp"
#include "cli/exec/supervisor.hpp"

namespace penstock::cli::exec {

struct RunLimits {
  std::chrono::milliseconds kill_after{9'000};  ///< from TERM to KILL, once stop is asked
  std::size_t output_bytes =
      1u << 20;                     ///< forwarded, of both streams; the rest is read and dropped
  std::size_t reason_bytes = 4096;  ///< kept of the end of standard error
};

/// How one run of the command ended.
struct RunResult {
  enum class End : std::uint8_t {
    exited,        ///< value: exit code
    signalled,     ///< value: signal number
    not_executed,  ///< value: errno of exec or fork
    helper_lost,   ///< the helper died; what runs was killed
    not_started    ///< nothing ran: reason says why
  };
  End end = End::not_started;
  int value = 0;
  bool stopped = false;     ///< stop was asked before it ended
  bool output_cut = false;  ///< more than output_bytes
  std::string reason;       ///< the end of standard error, or why nothing was started
  std::chrono::milliseconds took{0};
};

/// Where the command's output goes; null: it is read and dropped.
struct Sinks {
  Output* out = nullptr;
  Output* err = nullptr;
};

/// Runs the command once: `body` on its standard input. Blocks. At stop: TERM to the group, KILL
/// after limits.kill_after. When the command itself has ended, what is left of its group is killed.
RunResult run_command(Supervisor& supervisor, const Spawn& what, std::string_view body,
                      const std::stop_token& stop, const RunLimits& limits, const Sinks& sinks);

}  // namespace penstock::cli::exec
