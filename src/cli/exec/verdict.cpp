#include "cli/exec/verdict.hpp"

#include <cerrno>
#include <fmt/core.h>
#include <string.h>
#include <system_error>

#include "base/duration.hpp"

namespace penstock::cli::exec {
namespace {

using End = RunResult::End;
using Kind = Verdict::Kind;

// Small enough to be soon, large enough not to spin while a machine is short of something.
constexpr std::chrono::milliseconds trouble_pause{2'000};

std::string with_reason(std::string what, const std::string& reason) {
  return reason.empty() ? what : what + ": " + reason;
}

std::string exec_failure(int error) {
  switch (error) {
    case E2BIG:
      return "the command was not run: the message's headers are too large for an environment "
             "(one may have 128 KiB, all about 2 MiB)";
    case ENOEXEC:
      return "the command was not run: it is neither a program nor a script with a #! line";
    case ENOENT:
      return "the command was not run: its file, or the interpreter that it names, is gone";
    default:
      return fmt::format("the command was not run: {}", std::generic_category().message(error));
  }
}

// The machine is short of something now; no other message would have fared better.
bool shortage(int error) {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE ||
         error == ETXTBSY;
}

Verdict of_exit(const RunResult& result) {
  switch (result.value) {
    case 0:
      return {Kind::ack, {}, {}};
    case code_dead:
      return {Kind::dead, {}, with_reason("exit 65", result.reason)};
    case code_retry:
      return {Kind::retry, {}, with_reason("exit 75", result.reason)};
    case code_not_yet:
      return {Kind::not_yet, {}, {}};
    case code_release:
      return {Kind::release, {}, {}};
    default:
      return {Kind::retry, {}, with_reason(fmt::format("exit {}", result.value), result.reason)};
  }
}

Verdict of_signal(const RunResult& result) {
  const char* const name = ::sigabbrev_np(result.value);
  return {Kind::retry,
          {},
          with_reason(name == nullptr ? fmt::format("ended by signal {}", result.value)
                                      : fmt::format("ended by SIG{}", name),
                      result.reason)};
}

// Whatever it ended with: it ended because it was told to.
Verdict of_stopped(const RunResult& result, std::optional<std::chrono::milliseconds> max_run) {
  if (max_run && result.took >= *max_run) {
    return {Kind::retry,
            {},
            with_reason("timeout: it ran longer than " + base::format_duration(*max_run),
                        result.reason)};
  }
  return {Kind::release, {}, {}};
}

}  // namespace

Verdict verdict_of(const RunResult& result, std::optional<std::chrono::milliseconds> max_run) {
  switch (result.end) {
    case End::exited: {
      Verdict verdict = of_exit(result);
      const bool spoke = result.value == 0 || result.value == code_dead ||
                         result.value == code_retry || result.value == code_not_yet ||
                         result.value == code_release;
      return result.stopped && !spoke ? of_stopped(result, max_run) : verdict;
    }
    case End::signalled:
      return result.stopped ? of_stopped(result, max_run) : of_signal(result);
    case End::not_executed:
      if (shortage(result.value)) {
        return {Kind::not_yet, trouble_pause, exec_failure(result.value), true};
      }
      return {Kind::retry, {}, exec_failure(result.value), true};
    case End::helper_lost:
      if (result.stopped) return {Kind::release, {}, {}};
      return {Kind::retry,
              {},
              with_reason("the process that watches the command ended", result.reason),
              true};
    case End::not_started:
      if (result.stopped) return {Kind::release, {}, {}};
      return {Kind::not_yet, trouble_pause, "the command was not run: " + result.reason, true};
  }
  return {Kind::retry, {}, "unknown end of the command", true};
}

}  // namespace penstock::cli::exec
