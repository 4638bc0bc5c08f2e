#include "cli/exec/run.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "cli/exec/protocol.hpp"
#include "cli/text.hpp"

namespace penstock::cli::exec {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using End = RunResult::End;

// The end of a stream of bytes.
class Tail {
 public:
  explicit Tail(std::size_t max) : max_(max) {}
  void add(std::string_view data) {
    if (max_ == 0) return;
    text_ += data.size() > max_ ? data.substr(data.size() - max_) : data;
    if (text_.size() > 2 * max_) text_.erase(0, text_.size() - max_);
  }
  std::string take() const {
    std::string_view last = cli::tail(text_, max_);
    while (!last.empty() && (last.back() == '\n' || last.back() == '\r')) last.remove_suffix(1);
    return std::string(last);
  }

 private:
  std::size_t max_;
  std::string text_;
};

class Run {
 public:
  Run(Child child, std::string_view body, int stop_fd, const RunLimits& limits, const Sinks& sinks)
      : child_(std::move(child)),
        body_(body),
        stop_fd_(stop_fd),
        limits_(limits),
        budget_(limits.output_bytes),
        tail_(limits.reason_bytes),
        out_(sinks.out, &budget_),
        err_(sinks.err, &budget_) {}

  RunResult loop() {
    feed();
    while (!over_) {
      std::array<pollfd, 5> waits{{{child_.in.get(), POLLOUT, 0},
                                   {child_.out.get(), POLLIN, 0},
                                   {child_.err.get(), POLLIN, 0},
                                   {child_.status.get(), POLLIN, 0},
                                   {result_.stopped ? -1 : stop_fd_, POLLIN, 0}}};
      if (::poll(waits.data(), waits.size(), timeout_ms()) < 0 && errno != EINTR) break;
      if (waits[4].revents != 0) begin_stop();
      if (kill_at_ && steady_clock::now() >= *kill_at_) {
        child_.kill(SIGKILL);
        kill_at_.reset();
      }
      if (waits[0].revents != 0) feed();
      if (waits[1].revents != 0) drain(child_.out, true);
      if (waits[2].revents != 0) drain(child_.err, false);
      if (waits[3].revents != 0) read_status();
    }
    drain_rest();
    result_.reason = tail_.take();
    return std::move(result_);
  }

 private:
  int timeout_ms() const {
    if (!kill_at_) return -1;
    const auto left = duration_cast<milliseconds>(*kill_at_ - steady_clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 60'000));
  }

  void begin_stop() {
    result_.stopped = true;
    kill_at_ = steady_clock::now() + limits_.kill_after;
    child_.kill(SIGTERM);
  }

  void feed() {
    while (!body_.empty() && child_.in) {
      const ssize_t n = ::write(child_.in.get(), body_.data(), body_.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n < 0) break;  // EPIPE: the command does not want to read it all, which is its right
      body_.remove_prefix(static_cast<std::size_t>(n));
    }
    child_.in.reset();
  }

  // One read, so that no stream starves the others. False: nothing there now, or its end.
  bool drain(Fd& fd, bool is_out) {
    if (!fd) return false;
    std::array<char, 16 * 1024> buffer;
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) return true;
    if (n < 0 && errno == EAGAIN) return false;
    if (n <= 0) {
      fd.reset();
      return false;
    }
    const std::string_view data(buffer.data(), static_cast<std::size_t>(n));
    if (!is_out) tail_.add(data);
    if (!(is_out ? out_ : err_).add(data)) result_.output_cut = true;
    return true;
  }

  // The group is gone by now; somebody who left it may hold the pipes, and is not waited for.
  void drain_rest() {
    constexpr int rounds_max = 128;  // 2 MiB: more than a pipe holds
    for (int i = 0; i < rounds_max && drain(child_.out, true); ++i) {
    }
    for (int i = 0; i < rounds_max && drain(child_.err, false); ++i) {
    }
    out_.finish();
    err_.finish();
  }

  void read_status() {
    Report report;
    const ssize_t n = ::read(child_.status.get(), &report, sizeof report);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n != static_cast<ssize_t>(sizeof report)) return helper_gone();
    switch (report.kind) {
      case ReportKind::started:
        pid_ = report.value;
        return;
      case ReportKind::failed:
        result_.end = End::not_executed;
        result_.value = report.value;
        over_ = true;  // a child that could not exec has ended already
        return;
      case ReportKind::ended:
        over_ = true;
        result_.end = WIFSIGNALED(report.value) ? End::signalled : End::exited;
        result_.value =
            WIFSIGNALED(report.value) ? WTERMSIG(report.value) : WEXITSTATUS(report.value);
        return;
    }
  }

  // Nobody else can end the group now, and its message will run again elsewhere. The leader has
  // died with the helper (PDEATHSIG); while one member lives the number cannot be another group's.
  void helper_gone() {
    over_ = true;
    result_.end = End::helper_lost;
    if (pid_ > 0) ::kill(-pid_, SIGKILL);
  }

  Child child_;
  std::string_view body_;
  const int stop_fd_;
  const RunLimits limits_;
  std::size_t budget_;
  Tail tail_;
  LineCutter out_, err_;
  std::optional<steady_clock::time_point> kill_at_;
  pid_t pid_ = -1;
  bool over_ = false;
  RunResult result_;
};

}  // namespace

RunResult run_command(Supervisor& supervisor, const Spawn& what, std::string_view body,
                      const std::stop_token& stop, const RunLimits& limits, const Sinks& sinks) {
  const auto begin = steady_clock::now();
  RunResult result;
  if (stop.stop_requested()) {
    result.stopped = true;
    result.reason = "stop was asked before it began";
    return result;
  }
  const Fd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  auto child = wake ? supervisor.spawn(what)
                    : base::Result<Child>(base::Failure{errc::internal, "no file descriptor free"});
  if (!child) {
    result.reason = child.error().text;
    return result;
  }
  {
    const std::stop_callback on_stop(stop, [&] {
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto n = ::write(wake.get(), &one, sizeof one);
    });
    result = Run(std::move(*child), body, wake.get(), limits, sinks).loop();
  }
  result.took = duration_cast<milliseconds>(steady_clock::now() - begin);
  return result;
}

}  // namespace penstock::cli::exec
