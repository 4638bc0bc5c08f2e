#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "redis/config.hpp"
#include "resp/command.hpp"
#include "resp/reply.hpp"

namespace boost::asio {
class io_context;
}

namespace penstock::redis {

/// One pipelined connection that makes itself anew. Knows no streams and no leases.
///
/// All calls and all handlers are on the io_context's single thread. A handler is called exactly
/// once, never from inside command(). The reply that it gets is a view, valid during the call only.
///
/// While not connected, command() starts a connection attempt and queues the command (at most
/// `queue_max` with those out, then errc::would_exceed). When the attempt fails, and inside the
/// back-off behind it, commands fail with errc::unreachable and the reason (errc::auth_failed,
/// no_permission, bad_option or protocol_error where that is the reason: nothing was sent either).
/// A command whose time-out passes closes the connection: its reply never reaches another command.
/// Everything that was out then fails with errc::connection_lost (sent) or is sent on the next
/// connection (not yet sent; errc::unreachable if its own time-out passes first).
class Connection {
 public:
  using Handler = std::function<void(base::Result<resp::Reply>)>;
  /// Called after each successful handshake, before anything else is sent: generation, client id.
  using Connected = std::function<void(std::uint64_t generation, std::int64_t client_id)>;

  Connection(boost::asio::io_context& io, Config config);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void on_connected(Connected callback);

  /// An error reply arrives as Failure with its class (redis/error.hpp) and the server's text;
  /// errors inside an array stay in the reply.
  void command(resp::Command command, Handler handler);
  void command(resp::Command command, std::chrono::milliseconds timeout, Handler handler);
  /// Never sent on another connection than the present one: where that ends before it was written,
  /// or none is there, the answer is errc::connection_lost.
  void command_on_this_line(resp::Command command, Handler handler);

  /// Number of successful connects so far; 0 = never. Safe from any thread.
  std::uint64_t generation() const;
  /// CLIENT ID of the present connection; 0 when not connected.
  std::int64_t client_id() const;
  bool connected() const;
  /// Closes for good: everything out or queued fails with errc::closed.
  void close();

  static constexpr std::size_t queue_max = 65536;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace penstock::redis
