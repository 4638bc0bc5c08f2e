#pragma once

#include <cstdint>

namespace penstock::cli::exec {

/// Between the worker and its helper: datagrams on a SOCK_SEQPACKET pair, both ends the same
/// program. The end of the socket means that the worker is gone, however it went.
inline constexpr const char* helper_argument = "--penstock-exec-helper";
/// The helper's end of the socket, and the soft limit of open files for children, as arguments.
inline constexpr int helper_arguments = 4;

enum class RequestKind : std::uint32_t { spawn = 1, kill = 2 };

/// With spawn come five descriptors, in this order: status, standard input, output and error of
/// the child, and a memory file of NUL-terminated strings: the file to execute, `argc` arguments,
/// `envc` environment entries. (A memory file, for a datagram is too small for them.)
struct Request {
  RequestKind kind = RequestKind::spawn;
  std::int32_t signal = 0;  ///< of kill
  std::uint64_t token = 0;  ///< names the child; never used twice
  std::uint32_t argc = 0, envc = 0;
};
inline constexpr std::size_t request_fds = 5;

enum class ReportKind : std::uint32_t {
  started = 1,  ///< value: pid, which is the process group's id too
  failed = 2,   ///< value: errno of fork or exec; `ended` may follow
  ended = 3     ///< value: wait status; the group has been killed before
};

/// Written to a child's status pipe: small enough to be atomic. The pipe's end without `ended`
/// means that the helper died.
struct Report {
  ReportKind kind = ReportKind::started;
  std::int32_t value = 0;
};

}  // namespace penstock::cli::exec
