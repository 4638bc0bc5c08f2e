#include "support/process.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <signal.h>
#include <stdexcept>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "support/eventually.hpp"
#include "support/temp_dir.hpp"

extern char** environ;

namespace penstock::test {
namespace {

using std::chrono::milliseconds;

/// Everything the child needs, made before fork: after it only async-signal-safe calls are allowed.
struct Plan {
  std::vector<std::string> environment;
  std::vector<char*> argv;
  std::vector<char*> envp;
};

Plan make_plan(Spawn& spawn) {
  Plan plan;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry(*e);
    if (!spawn.env.contains(std::string(entry.substr(0, entry.find('='))))) {
      plan.environment.emplace_back(entry);
    }
  }
  for (const auto& [name, value] : spawn.env) plan.environment.push_back(name + "=" + value);
  for (std::string& a : spawn.argv) plan.argv.push_back(a.data());
  for (std::string& e : plan.environment) plan.envp.push_back(e.data());
  plan.argv.push_back(nullptr);
  plan.envp.push_back(nullptr);
  return plan;
}

bool redirect(const std::filesystem::path& file, int flags, int fd) {
  const int opened = ::open(file.empty() ? "/dev/null" : file.c_str(), flags | O_CLOEXEC, 0644);
  return opened >= 0 && ::dup2(opened, fd) == fd;
}

[[noreturn]] void child(const Spawn& spawn, const Plan& plan, pid_t parent, int report) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before the line above
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int append = O_WRONLY | O_CREAT | O_APPEND;
  const bool ready = redirect(spawn.stdin_file, O_RDONLY, 0) &&
                     redirect(spawn.stdout_file, append, 1) &&
                     redirect(spawn.stderr_file, append, 2) &&
                     (spawn.cwd.empty() || ::chdir(spawn.cwd.c_str()) == 0);
  if (ready) ::execvpe(plan.argv[0], plan.argv.data(), plan.envp.data());
  const int why = errno;
  [[maybe_unused]] const auto written = ::write(report, &why, sizeof why);
  ::_exit(127);
}

ExitStatus to_status(int raw) {
  if (WIFSIGNALED(raw)) return {.code = -1, .signal = WTERMSIG(raw)};
  return {.code = WEXITSTATUS(raw), .signal = 0};
}

/// The state letter and process group of /proc/<pid>/stat; the name in it may hold anything.
std::optional<std::pair<char, pid_t>> stat_of(const std::string& pid) {
  const std::string text = read_file("/proc/" + pid + "/stat");
  const auto at = text.rfind(')');
  if (at == std::string::npos || at + 2 >= text.size()) return std::nullopt;
  char* rest = nullptr;
  std::strtol(text.c_str() + at + 3, &rest, 10);  // parent
  return std::pair{text[at + 2], static_cast<pid_t>(std::strtol(rest, nullptr, 10))};
}

}  // namespace

Process::Process(Spawn spawn) : stdout_file_(spawn.stdout_file), stderr_file_(spawn.stderr_file) {
  if (spawn.argv.empty()) throw std::invalid_argument("spawn: no program");
  const Plan plan = make_plan(spawn);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) child(spawn, plan, parent, report[1]);
  const int fork_error = errno;
  ::close(report[1]);
  int why = 0;
  ssize_t got = 0;
  if (pid_ > 0) {
    // The pipe closes at exec: only then is the group made, so that a kill of it reaches all.
    do got = ::read(report[0], &why, sizeof why);
    while (got < 0 && errno == EINTR);
  }
  ::close(report[0]);
  if (pid_ < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
  if (got == static_cast<ssize_t>(sizeof why)) {
    end();
    throw std::system_error(why, std::generic_category(), "cannot run " + spawn.argv[0]);
  }
}

Process::~Process() { end(); }

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      status_(other.status_),
      stdout_file_(std::move(other.stdout_file_)),
      stderr_file_(std::move(other.stderr_file_)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = std::exchange(other.pid_, -1);
    status_ = other.status_;
    stdout_file_ = std::move(other.stdout_file_);
    stderr_file_ = std::move(other.stderr_file_);
  }
  return *this;
}

void Process::end() noexcept {
  if (pid_ <= 0) return;
  // After the leader was reaped too: what it started may still be there in its group.
  ::kill(-pid_, SIGKILL);
  if (!status_) {
    ::kill(pid_, SIGKILL);
    int raw = 0;
    while (::waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
    }
    status_ = to_status(raw);
  }
}

bool Process::running() {
  if (pid_ <= 0 || status_) return false;
  int raw = 0;
  pid_t got = 0;
  do got = ::waitpid(pid_, &raw, WNOHANG);
  while (got < 0 && errno == EINTR);
  if (got == 0) return true;
  status_ = got == pid_ ? to_status(raw) : ExitStatus{};
  return false;
}

bool Process::signal(int number) { return running() && ::kill(pid_, number) == 0; }

bool Process::signal_group(int number) { return pid_ > 0 && ::kill(-pid_, number) == 0; }

void Process::stop() {
  if (!signal(SIGSTOP)) throw std::runtime_error("stop: the process has ended");
  const bool stopped = eventually(
      [&] {
        const auto stat = stat_of(std::to_string(pid_));
        return stat && (stat->first == 'T' || stat->first == 't');
      },
      milliseconds(5000), milliseconds(1));
  if (!stopped) throw std::runtime_error("stop: the process did not stop");
}

void Process::resume() { signal(SIGCONT); }

std::chrono::steady_clock::time_point Process::kill9() {
  if (signal(SIGKILL) && !wait(milliseconds(10'000))) {
    throw std::runtime_error("kill9: the process did not end");
  }
  return std::chrono::steady_clock::now();
}

std::optional<ExitStatus> Process::wait(milliseconds timeout) {
  if (!eventually([&] { return !running(); }, timeout, milliseconds(1))) return std::nullopt;
  return status_;
}

std::string Process::out() const { return read_file(stdout_file_); }
std::string Process::err() const { return read_file(stderr_file_); }

bool alive(pid_t pid) {
  const auto stat = stat_of(std::to_string(pid));
  return stat && stat->first != 'Z' && stat->first != 'X';
}

std::vector<pid_t> group_members(pid_t group) {
  std::vector<pid_t> members;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto stat = stat_of(name);
    if (stat && stat->second == group && stat->first != 'Z' && stat->first != 'X') {
      members.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  return members;
}

Finished run(Spawn spawn, milliseconds timeout) {
  const TempDir dir;
  spawn.stdout_file = dir / "out";
  spawn.stderr_file = dir / "err";
  Process process(std::move(spawn));
  Finished finished{.status = process.wait(timeout), .out = {}, .err = {}};
  finished.out = process.out();
  finished.err = process.err();
  return finished;
}

}  // namespace penstock::test
