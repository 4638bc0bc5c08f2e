#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "redis/connection.hpp"
#include "redis/fifo.hpp"
#include "redis/socket.hpp"
#include "resp/parser.hpp"

namespace penstock::redis {

/// A command that waits for its reply.
struct Pending {
  Connection::Handler handler;
  base::MonoTime deadline;
  std::size_t replies = 1;
  bool this_line = false;  ///< fails with the connection, though it was not sent
};

class LinkOwner {
 public:
  virtual void link_up(std::int64_t client_id) = 0;
  /// The previous write is done: more may be written.
  virtual void link_writable() = 0;
  /// The end; `was_up` tells a lost connection from a failed attempt. Called once.
  virtual void link_down(base::Failure why, bool was_up) = 0;

 protected:
  ~LinkOwner() = default;
};

/// One life of one connection: connect, log in, pipeline, end. Never reused: whatever was out when
/// it ends cannot be answered by another life, so no reply reaches a command that is not its own.
class Link : public std::enable_shared_from_this<Link> {
 public:
  /// Bytes gathered for one write.
  static constexpr std::size_t write_max = 1024 * 1024;

  Link(boost::asio::io_context& io, const Config& config, LinkOwner& owner);

  void start(base::MonoTime deadline);
  /// The owner goes: closes without a call-back.
  void detach();

  bool up() const { return up_; }
  std::size_t out() const { return out_.size(); }
  bool can_write() const { return up_ && !writing_; }
  bool write_full() const { return buffer_.size() >= write_max; }
  void add(const resp::Command& command, Pending pending);
  /// Writes what was added.
  void write();
  /// The earliest moment at which expire() may have something to do.
  base::MonoTime deadline() const { return deadline_; }
  void expire(base::MonoTime now);
  /// Takes what had no reply; for the owner inside link_down() or after detach().
  Fifo<Pending> take_out() { return std::move(out_); }

 private:
  enum class Step { auth, select, name, id, ping };

  void connected(const std::string& error);
  void write_buffer();
  void read();
  void parse();
  void on_reply(const resp::Reply& reply);
  void on_login_reply(const resp::Reply& reply);
  std::optional<base::Failure> login_failure(Step step, const resp::Reply& reply) const;
  void end(base::Failure why);

  boost::asio::io_context& io_;
  const Config& config_;
  LinkOwner* owner_;  // null: ended
  Socket socket_;
  std::shared_ptr<Connector> connector_;
  resp::Parser parser_;
  Fifo<Pending> out_;
  std::optional<base::Failure> first_error_;  // of the front command's earlier replies
  std::string buffer_;                        // the next write
  std::string write_;                         // the write that is under way
  bool writing_ = false;
  bool up_ = false;
  std::vector<Step> login_;
  std::size_t login_at_ = 0;
  std::int64_t client_id_ = 0;
  base::MonoTime deadline_ = base::never;
};

}  // namespace penstock::redis
