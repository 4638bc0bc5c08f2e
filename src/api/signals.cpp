#include "api/signals.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <penstock/error.hpp>

namespace penstock::api {

namespace {

// What the signal handler may touch: lock-free atomics and write().
std::atomic<unsigned> signals{0};
std::array<std::atomic<int>, 64> watchers{};  // eventfd + 1; 0: free

std::mutex install_mutex;
unsigned installed = 0;
struct sigaction before_term, before_int;

void on_signal(int) {
  const int saved = errno;
  signals.fetch_add(1);
  const std::uint64_t one = 1;
  for (const std::atomic<int>& watcher : watchers) {
    const int fd = watcher.load() - 1;
    if (fd >= 0) [[maybe_unused]]
      const auto n = ::write(fd, &one, sizeof one);
  }
  errno = saved;
}

void install() {
  const std::lock_guard lock(install_mutex);
  if (installed++ > 0) return;
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, &before_term);
  ::sigaction(SIGINT, &action, &before_int);
}

void uninstall() {
  const std::lock_guard lock(install_mutex);
  if (--installed > 0) return;
  ::sigaction(SIGTERM, &before_term, nullptr);
  ::sigaction(SIGINT, &before_int, nullptr);
}

}  // namespace

SignalWatch::SignalWatch(bool wanted)
    : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), installed_(wanted), from_(signals) {
  if (fd_ < 0) throw Error(errc::internal, "no file descriptor is left for signals");
  if (!installed_) return;
  for (std::atomic<int>& watcher : watchers) {
    int free = 0;
    if (watcher.compare_exchange_strong(free, fd_ + 1)) break;
  }
  install();
}

SignalWatch::~SignalWatch() {
  for (std::atomic<int>& watcher : watchers) {
    int mine = fd_ + 1;
    watcher.compare_exchange_strong(mine, 0);
  }
  if (installed_) uninstall();
  ::close(fd_);
}

void SignalWatch::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(fd_, &one, sizeof one);
}

bool SignalWatch::wait(int ms) {
  pollfd p{fd_, POLLIN, 0};
  int got;
  do {
    got = ::poll(&p, 1, ms);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  std::uint64_t value;
  [[maybe_unused]] const auto n = ::read(fd_, &value, sizeof value);
  return true;
}

unsigned SignalWatch::count() const { return signals.load() - from_; }

}  // namespace penstock::api
