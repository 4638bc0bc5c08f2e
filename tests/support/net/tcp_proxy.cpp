#include "support/net/tcp_proxy.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <utility>
#include <vector>

namespace penstock::test {

namespace {
constexpr int wait_max_ms = 1000;
// Backpressure: a side that does not take its bytes stops the reading from its peer.
constexpr std::size_t pieces_max = 4096;
}  // namespace

TcpProxy::TcpProxy(std::string unix_path, std::uint64_t seed)
    : TcpProxy(std::move(unix_path), 0, seed) {}
TcpProxy::TcpProxy(std::uint16_t port, std::uint64_t seed) : TcpProxy({}, port, seed) {}
TcpProxy::TcpProxy(std::string unix_path, std::uint16_t port, std::uint64_t seed)
    : unix_path_(std::move(unix_path)),
      target_port_(port),
      listener_(listen_tcp()),
      port_(port_of(listener_)),
      random_(seed),
      thread_([this] { run(); }) {}

TcpProxy::~TcpProxy() {
  change([this] { stop_ = true; });
  thread_.join();
}

void TcpProxy::change(const std::function<void()>& what) {
  std::unique_lock lock(mutex_);
  what();
  // poll() keeps a closed file alive until it returns: wait for the thread's next turn.
  const std::uint64_t next = turn_ + 1;
  waker_.wake();
  turned_.wait(lock, [&] { return turn_ >= next; });
}

void TcpProxy::delay(Way way, Ms base, Ms jitter) {
  change([&] {
    faults_[index(way)].delay = base;
    faults_[index(way)].jitter = jitter;
  });
}

void TcpProxy::swallow(Way way, bool on) {
  change([&] { faults_[index(way)].swallow = on; });
}

void TcpProxy::swallow_where(std::string text) {
  change([&] { swallow_where_ = std::move(text); });
}

int TcpProxy::swallowed() const {
  const std::lock_guard lock(mutex_);
  return swallowed_;
}

void TcpProxy::slice(Way way, bool on) {
  change([&] { faults_[index(way)].slice = on; });
}

void TcpProxy::hold(Way way, bool on) {
  change([&] { faults_[index(way)].hold = on; });
}

void TcpProxy::cut_now(Cut how) {
  change([&] {
    for (Pair& pair : pairs_) end(pair, how);
  });
}

void TcpProxy::cut_after(Way way, std::uint64_t bytes, Cut how) {
  change([&] {
    Faults& faults = faults_[index(way)];
    faults.cut_after = bytes == 0 ? std::nullopt : std::optional(bytes);
    faults.cut_how = how;
  });
}

void TcpProxy::half_open() {
  change([&] {
    for (Pair& pair : pairs_) {
      pair.sides[0].fd.reset();
      pair.sides[0].out.clear();
      pair.sides[1].out.clear();
      pair.silent = true;
    }
  });
}

void TcpProxy::refuse(bool on) {
  change([&] {
    if (on) {
      listener_.reset();
    } else if (!listener_) {
      listener_ = listen_tcp(port_);
    }
  });
}

void TcpProxy::accept_silent(bool on) {
  change([&] { silent_ = on; });
}

void TcpProxy::heal() {
  change([&] {
    for (Faults& faults : faults_) {
      faults = Faults{.cut_after = std::nullopt, .bytes = faults.bytes};
    }
    silent_ = false;
    if (!listener_) listener_ = listen_tcp(port_);
  });
}

int TcpProxy::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

std::uint64_t TcpProxy::bytes(Way way) const {
  const std::lock_guard lock(mutex_);
  return faults_[index(way)].bytes;
}

void TcpProxy::end(Pair& pair, Cut how) {
  for (Side& side : pair.sides) {
    if (how == Cut::rst) {
      side.fd.reset_hard();
    } else {
      side.fd.reset();
    }
  }
  pair.dead = true;
}

void TcpProxy::run() {
  for (;;) {
    poll_once();
    const std::lock_guard lock(mutex_);
    ++turn_;
    turned_.notify_all();
    if (stop_) return;
    waker_.drain();
    accept_all();
    const auto now = Clock::now();
    for (Pair& pair : pairs_) {
      for (std::size_t to = 0; to < 2 && !pair.dead; ++to) read_side(pair, to);
      for (std::size_t to = 0; to < 2 && !pair.dead; ++to) write_side(pair, to, now);
    }
    pairs_.remove_if([](const Pair& pair) { return pair.dead; });
  }
}

int TcpProxy::wait_ms(Clock::time_point now) const {
  int wait = wait_max_ms;
  for (const Pair& pair : pairs_) {
    for (std::size_t to = 0; to < 2; ++to) {
      const Side& side = pair.sides[to];
      if (side.out.empty() || faults_[to].hold || side.out.front().at <= now) continue;
      const auto left = std::chrono::ceil<Ms>(side.out.front().at - now).count();
      wait = std::min(wait, static_cast<int>(std::min<std::int64_t>(left, wait_max_ms)));
    }
  }
  return wait;
}

void TcpProxy::poll_once() {
  std::vector<pollfd> fds{{waker_.fd(), POLLIN, 0}};
  int wait = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    wait = wait_ms(now);
    if (listener_) fds.push_back({listener_.get(), POLLIN, 0});
    for (const Pair& pair : pairs_) {
      for (std::size_t to = 0; to < 2; ++to) {
        const Side& side = pair.sides[to];
        if (!side.fd) continue;
        const bool due = !side.out.empty() && !faults_[to].hold && side.out.front().at <= now;
        // A side that ended would be readable for ever.
        const bool readable =
            !pair.sides[1 - to].ended && pair.sides[1 - to].out.size() < pieces_max;
        const int events = (due ? POLLOUT : 0) | (readable ? POLLIN : 0);
        if (events != 0) fds.push_back({side.fd.get(), static_cast<short>(events), 0});
      }
    }
  }
  // A fd closed meanwhile by another thread only ends this poll early.
  ::poll(fds.data(), fds.size(), wait);
}

void TcpProxy::accept_all() {
  while (listener_) {
    Fd client = accept_one(listener_);
    if (!client) return;
    ++connections_;
    Pair pair;
    pair.silent = silent_;
    if (!silent_) {
      try {
        pair.sides[0].fd =
            unix_path_.empty() ? connect_tcp(target_port_) : connect_unix(unix_path_);
      } catch (const std::system_error&) {
        continue;  // the server is down: the client sees its connection end
      }
    }
    pair.sides[1].fd = std::move(client);
    pairs_.push_back(std::move(pair));
  }
}

/// Reads what leads towards side `to`, from the other side.
void TcpProxy::read_side(Pair& pair, std::size_t to) {
  Side& from = pair.sides[1 - to];
  Side& side = pair.sides[to];
  Faults& faults = faults_[to];
  char room[65536];
  while (from.fd && !side.ended && side.out.size() < pieces_max) {
    const ssize_t size = ::recv(from.fd.get(), room, sizeof room, 0);
    if (size < 0 && (errno == EAGAIN || errno == ENOTCONN)) return;
    if (size < 0) return end(pair, Cut::rst);
    if (size == 0) {
      side.ended = true;
      if (pair.silent) pair.dead = true;
      return;
    }
    if (to == 0 && !pair.swallowed && !swallow_where_.empty() &&
        std::string_view(room, static_cast<std::size_t>(size)).find(swallow_where_) !=
            std::string_view::npos) {
      pair.swallowed = true;
      ++swallowed_;
    }
    if (pair.silent || pair.swallowed || faults.swallow) continue;
    const auto jitter = faults.jitter.count() > 0
                            ? Ms(static_cast<Ms::rep>(random_() % static_cast<std::uint64_t>(
                                                                      faults.jitter.count() + 1)))
                            : Ms(0);
    auto at = Clock::now() + faults.delay + jitter;
    if (!side.out.empty()) at = std::max(at, side.out.back().at);
    side.out.push_back({at, std::string(room, static_cast<std::size_t>(size))});
  }
}

/// False: the side takes no more now, or the connection is over.
bool TcpProxy::send_front(Pair& pair, std::size_t to) {
  Side& side = pair.sides[to];
  Faults& faults = faults_[to];
  std::string& bytes = side.out.front().bytes;
  std::size_t size = faults.slice ? 1 : bytes.size();
  if (faults.cut_after) size = std::min<std::size_t>(size, *faults.cut_after);
  const ssize_t sent = ::send(side.fd.get(), bytes.data(), size, MSG_NOSIGNAL);
  if (sent < 0) {
    // ENOTCONN: the connect() towards the server is still under way.
    if (errno != EAGAIN && errno != ENOTCONN) end(pair, Cut::rst);
    return false;
  }
  const auto count = static_cast<std::size_t>(sent);
  faults.bytes += count;
  bytes.erase(0, count);
  if (bytes.empty()) side.out.pop_front();
  if (faults.cut_after && (*faults.cut_after -= count) == 0) {
    faults.cut_after.reset();
    end(pair, faults.cut_how);
    return false;
  }
  return true;
}

void TcpProxy::write_side(Pair& pair, std::size_t to, Clock::time_point now) {
  Side& side = pair.sides[to];
  if (faults_[to].hold || !side.fd) return;
  while (!side.out.empty() && side.out.front().at <= now) {
    if (!send_front(pair, to)) return;
    // One turn of the loop between the bytes, or the kernel joins them again.
    if (faults_[to].slice) break;
  }
  // Half-close is passed on as an end of both: no client of ours uses it.
  if (side.out.empty() && side.ended) end(pair, Cut::fin);
}

}  // namespace penstock::test
