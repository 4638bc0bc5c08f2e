#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace penstock::test {

struct Spawn {
  std::vector<std::string> argv;           ///< argv[0] is looked up in PATH if it has no '/'
  std::map<std::string, std::string> env;  ///< set on top of this process's environment
  std::filesystem::path cwd;               ///< empty: this process's
  std::filesystem::path stdin_file;        ///< empty: /dev/null
  std::filesystem::path stdout_file;       ///< empty: /dev/null; appended to
  std::filesystem::path stderr_file;       ///< empty: /dev/null; appended to
};

struct ExitStatus {
  int code = -1;   ///< -1 if a signal ended it
  int signal = 0;  ///< 0 if it exited
  bool operator==(const ExitStatus&) const = default;
};

/// A running program in a process group of its own. The destructor kills the group and reaps; the
/// kernel kills the program if this process dies first.
///
/// Not thread-safe. Spawn from a thread that lives as long as the program: the kernel's
/// parent-death signal goes by thread.
class Process {
 public:
  /// Throws std::system_error if the program cannot be executed.
  explicit Process(Spawn spawn);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const { return pid_; }
  /// Reaps if it has ended.
  bool running();
  /// False if it has already ended and been reaped. Only this process, not the group.
  bool signal(int number);
  bool signal_group(int number);
  /// SIGSTOP, and returns when the kernel shows it stopped.
  void stop();
  /// SIGCONT.
  void resume();
  /// SIGKILL and reap; steady_clock time just after it was gone.
  std::chrono::steady_clock::time_point kill9();

  /// nullopt: still running after the (scaled) time-out.
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout);

  std::string out() const;
  std::string err() const;

 private:
  void end() noexcept;

  pid_t pid_ = -1;
  std::optional<ExitStatus> status_;
  std::filesystem::path stdout_file_;
  std::filesystem::path stderr_file_;
};

/// True while a process with this pid is there and is no zombie.
bool alive(pid_t pid);
/// Pids whose process group is `group` (zombies left out).
std::vector<pid_t> group_members(pid_t group);

struct Finished {
  std::optional<ExitStatus> status;  ///< nullopt: had to be killed after the time-out
  std::string out;
  std::string err;
};
/// Runs a program to its end; output files are its own.
Finished run(Spawn spawn, std::chrono::milliseconds timeout);

}  // namespace penstock::test
