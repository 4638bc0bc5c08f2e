#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::test {

/// A file descriptor, closed at the end. Moves only.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);
  /// Closes with a RST instead of a FIN (TCP).
  void reset_hard();

 private:
  int fd_ = -1;
};

/// All sockets are non-blocking and close-on-exec. Failures throw std::system_error.
Fd listen_tcp(std::uint16_t port = 0);
Fd listen_unix(const std::string& path);
std::uint16_t port_of(const Fd& listener);
/// May still be under way when it returns.
Fd connect_tcp(std::uint16_t port);
Fd connect_unix(const std::string& path);
/// Nothing when nobody waits to be accepted.
Fd accept_one(const Fd& listener);

/// A pipe that wakes a poll() from another thread.
class Waker {
 public:
  Waker();
  void wake();
  void drain();
  int fd() const { return event_.get(); }

 private:
  Fd event_;
};

}  // namespace penstock::test
