#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>

#include "support/net/socket.hpp"

namespace penstock::test {

/// A plain blocking client for the tests of the test support.
class NetClient {
 public:
  explicit NetClient(Fd fd) : fd_(std::move(fd)) {}

  void send(std::string_view bytes) {
    wait(POLLOUT, std::chrono::seconds(5));
    static_cast<void>(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }

  /// Up to `size` bytes, fewer at the end of the connection or of the time.
  std::string read(std::size_t size, std::chrono::milliseconds time = std::chrono::seconds(5)) {
    const auto end = std::chrono::steady_clock::now() + time;
    std::string out;
    while (out.size() < size && !ended_) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0 || !wait(POLLIN, left)) break;
      char room[4096];
      const ssize_t got = ::recv(fd_.get(), room, std::min(sizeof room, size - out.size()), 0);
      if (got > 0) out.append(room, static_cast<std::size_t>(got));
      if (got > 0) ++reads_;
      if (got == 0) ended_ = true;
      if (got < 0 && errno != EAGAIN) ended_ = reset_ = true;
    }
    return out;
  }

  bool ended() const { return ended_; }
  bool was_reset() const { return reset_; }
  int reads() const { return reads_; }

 private:
  bool wait(short events, std::chrono::milliseconds time) {
    pollfd one{fd_.get(), events, 0};
    return ::poll(&one, 1, static_cast<int>(time.count())) > 0;
  }

  Fd fd_;
  bool ended_ = false;
  bool reset_ = false;
  int reads_ = 0;
};

}  // namespace penstock::test
