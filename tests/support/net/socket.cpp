#include "support/net/socket.hpp"

#include <arpa/inet.h>
#include <bit>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace penstock::test {

namespace {

constexpr int flags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::system_category(), what);
}

Fd open_socket(int family) {
  Fd fd(::socket(family, flags, 0));
  if (!fd) fail("socket");
  const int on = 1;
  if (family == AF_INET) ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    throw std::system_error(ENAMETOOLONG, std::system_category(), path);
  }
  path.copy(address.sun_path, path.size());
  return address;
}

template <class Address>
const sockaddr* generic(const Address& address) {
  return std::bit_cast<const sockaddr*>(&address);
}

}  // namespace

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

void Fd::reset_hard() {
  const linger now{1, 0};
  if (fd_ >= 0) ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  reset();
}

Fd listen_tcp(std::uint16_t port) {
  Fd fd = open_socket(AF_INET);
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = loopback(port);
  if (::bind(fd.get(), generic(address), sizeof address) != 0) fail("bind");
  if (::listen(fd.get(), 128) != 0) fail("listen");
  return fd;
}

Fd listen_unix(const std::string& path) {
  Fd fd = open_socket(AF_UNIX);
  const sockaddr_un address = unix_address(path);
  ::unlink(path.c_str());
  if (::bind(fd.get(), generic(address), sizeof address) != 0) fail("bind");
  if (::listen(fd.get(), 128) != 0) fail("listen");
  return fd;
}

std::uint16_t port_of(const Fd& listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener.get(), std::bit_cast<sockaddr*>(&address), &size) != 0) {
    fail("getsockname");
  }
  return address.sin_family == AF_INET ? ntohs(address.sin_port) : std::uint16_t{0};
}

Fd connect_tcp(std::uint16_t port) {
  Fd fd = open_socket(AF_INET);
  const sockaddr_in address = loopback(port);
  if (::connect(fd.get(), generic(address), sizeof address) != 0 && errno != EINPROGRESS) {
    fail("connect");
  }
  return fd;
}

Fd connect_unix(const std::string& path) {
  Fd fd = open_socket(AF_UNIX);
  const sockaddr_un address = unix_address(path);
  if (::connect(fd.get(), generic(address), sizeof address) != 0) fail("connect");
  return fd;
}

Fd accept_one(const Fd& listener) {
  Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const int on = 1;
  if (fd) ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

Waker::Waker() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) fail("eventfd");
}

void Waker::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(event_.get(), &one, sizeof one));
}

void Waker::drain() {
  std::uint64_t count = 0;
  static_cast<void>(!::read(event_.get(), &count, sizeof count));
}

}  // namespace penstock::test
