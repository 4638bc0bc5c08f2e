#include "redis/socket.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace penstock::redis {

namespace {

// A silent peer is found after 15 + 3 * 5 s, written data that nobody takes as well.
constexpr int keepalive_idle_s = 15;
constexpr int keepalive_interval_s = 5;
constexpr int keepalive_count = 3;
constexpr int user_timeout_ms = 30'000;

void set(int fd, int level, int name, int value) {
  // Not fatal: the command time-outs above do not depend on it.
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

void set_tcp_options(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, keepalive_idle_s);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, keepalive_interval_s);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, keepalive_count);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout_ms);
}

}  // namespace

void Connector::start(const Config& config, Done done) {
  namespace asio = boost::asio;
  done_ = std::move(done);
  if (!config.unix_path.empty()) {
    // Asio throws for a path that does not fit sockaddr_un.
    if (config.unix_path.size() > 107) return finish("the unix path has more than 107 bytes");
    endpoints_.emplace_back(asio::local::stream_protocol::endpoint(config.unix_path));
    return try_next();
  }
  boost::system::error_code not_numeric;
  const auto address = asio::ip::make_address(config.host, not_numeric);
  if (!not_numeric) {
    endpoints_.emplace_back(asio::ip::tcp::endpoint(address, config.port));
    return try_next();
  }
  resolver_.async_resolve(
      config.host, std::to_string(config.port),
      [self = shared_from_this()](boost::system::error_code ec, const auto& results) {
        if (!self->done_) return;
        if (ec) return self->finish(ec.message());
        for (const auto& result : results) self->endpoints_.emplace_back(result.endpoint());
        self->try_next();
      });
}

void Connector::cancel() {
  done_ = nullptr;
  resolver_.cancel();
}

void Connector::finish(std::string error) {
  const Done done = std::exchange(done_, nullptr);
  if (done) done(std::move(error));
}

void Connector::try_next() {
  if (next_ == endpoints_.size()) return finish(last_error_);
  const Protocol::endpoint endpoint = endpoints_[next_++];
  const int family = endpoint.protocol().family();
  // Asio's own open() does not set close-on-exec, and a child must never hold the line open.
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return finish(boost::system::error_code(errno, boost::system::system_category()).message());
  }
  if (family != AF_UNIX) set_tcp_options(fd);
  boost::system::error_code ec;
  socket_.close(ec);
  socket_.assign(endpoint.protocol(), fd, ec);
  if (ec) {
    ::close(fd);
    return finish(ec.message());
  }
  socket_.async_connect(endpoint, [self = shared_from_this()](boost::system::error_code error) {
    if (!self->done_) return;
    if (!error) return self->finish({});
    self->last_error_ = error.message();
    self->try_next();
  });
}

}  // namespace penstock::redis
