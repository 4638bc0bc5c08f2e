#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/result.hpp"
#include "cli/exec/fd.hpp"

namespace penstock::cli::exec {

/// What to run. No string may hold a NUL.
struct Spawn {
  std::string file;  ///< the path that is executed
  std::vector<std::string> argv;
  std::vector<std::string> env;  ///< NAME=VALUE
};

class HelperProcess;

/// A child that was asked for. Its pipes are non-blocking on this side.
struct Child {
  std::uint64_t token = 0;
  std::shared_ptr<HelperProcess> helper;
  Fd in, out, err, status;

  /// To the whole group, where it is still there.
  void kill(int signal) const;
};

/// Starts children by way of a helper process. Thread-safe.
class Supervisor {
 public:
  /// `log` is told, in words, when a helper had to be replaced.
  explicit Supervisor(std::function<void(std::string_view)> log = {});
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// Starts the helper. Before the first thread, so that it shares nothing with any.
  base::Result<base::Nothing> start();
  /// A failure is the machine's (files, memory, the helper), never the message's: it may succeed
  /// a moment later.
  base::Result<Child> spawn(const Spawn& what);
  /// For tests.
  pid_t helper_pid();

 private:
  base::Result<std::shared_ptr<HelperProcess>> helper();
  base::Result<std::shared_ptr<HelperProcess>> replace_helper();

  std::function<void(std::string_view)> log_;
  std::mutex mutex_;
  std::shared_ptr<HelperProcess> helper_;
  std::uint64_t next_token_ = 1;
  std::uint64_t children_nofile_ = 0;
  std::chrono::steady_clock::time_point next_start_{};
  std::chrono::milliseconds pause_{0};
};

}  // namespace penstock::cli::exec
