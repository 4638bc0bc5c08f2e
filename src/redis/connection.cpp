#include "redis/connection.hpp"

#include <algorithm>
#include <atomic>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/rng.hpp"
#include "redis/link.hpp"

namespace penstock::redis {

namespace {

using base::MonoTime;
using std::chrono::milliseconds;

// Deadlines are looked at this much late at most; it bounds how often the timer can fire.
constexpr milliseconds tick_min{20};
constexpr milliseconds timeout_max = std::chrono::hours(24 * 365);

MonoTime mono_now() { return std::chrono::steady_clock::now(); }

struct Queued {
  resp::Command command;
  Pending pending;
  milliseconds timeout{0};
};

void fail_all(Fifo<Queued>& queued, const base::Failure& why) {
  while (!queued.empty()) queued.pop().pending.handler(why);
}

/// Every code that a caller must see as such; for all others the attempt simply failed.
errc attempt_code(errc code) {
  switch (code) {
    case errc::auth_failed:
    case errc::no_permission:
    case errc::bad_option:
    case errc::protocol_error:
      return code;
    default:
      return errc::unreachable;
  }
}

}  // namespace

class Connection::Impl final : public LinkOwner, public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::io_context& io, Config config)
      : io_(io),
        config_(std::move(config)),
        name_(redacted(config_)),
        timer_(io),
        rng_(static_cast<std::uint64_t>(mono_now().time_since_epoch().count()) ^
             reinterpret_cast<std::uintptr_t>(this)) {}

  void command(resp::Command command, milliseconds timeout, Handler handler, bool this_line);
  void close();

  void link_up(std::int64_t client_id) override;
  void link_writable() override;
  void link_down(base::Failure why, bool was_up) override;

  Connected on_connected;
  std::atomic<std::uint64_t> generation{0};
  std::atomic<std::int64_t> client_id{0};
  bool connected() const { return link_ && link_->up(); }
  milliseconds command_timeout() const { return config_.command_timeout; }

 private:
  void refuse(Handler handler, base::Failure why);
  void wake();
  void pump();
  void flush();
  void start_link(MonoTime now);
  void expire_queue(MonoTime now);
  void fail_out(Fifo<Pending>& out, const base::Failure& why, MonoTime now);
  void fail_of_this_line(const base::Failure& why);
  void restart_times();
  milliseconds next_delay();
  void arm();

  boost::asio::io_context& io_;
  const Config config_;
  const std::string name_;
  boost::asio::steady_timer timer_;
  MonoTime armed_ = base::never;
  base::Rng rng_;
  std::shared_ptr<Link> link_;
  Fifo<Queued> queue_;
  MonoTime queue_deadline_ = base::never;
  bool pump_posted_ = false;
  bool closed_ = false;
  MonoTime up_since_{};
  MonoTime next_attempt_ = MonoTime::min();
  unsigned failures_ = 0;                      // since a connection that lasted
  std::optional<base::Failure> last_failure_;  // of the last attempt, if it failed
};

void Connection::Impl::refuse(Handler handler, base::Failure why) {
  boost::asio::post(io_, [h = std::move(handler), why = std::move(why)]() { h(why); });
}

void Connection::Impl::command(resp::Command command, milliseconds timeout, Handler handler,
                               bool this_line) {
  const MonoTime now = mono_now();
  if (closed_) return refuse(std::move(handler), {errc::closed, name_ + ": closed"});
  if (this_line && !connected()) {
    return refuse(std::move(handler), {errc::connection_lost, name_ + ": the connection was cut"});
  }
  if (!link_ && last_failure_ && now < next_attempt_) {
    return refuse(std::move(handler), *last_failure_);
  }
  if (queue_.size() + (link_ ? link_->out() : 0) >= queue_max) {
    return refuse(
        std::move(handler),
        {errc::would_exceed, name_ + ": " + std::to_string(queue_max) + " commands wait already"});
  }
  timeout = std::clamp(timeout, milliseconds(1), timeout_max);
  const MonoTime deadline = now + timeout;
  const std::size_t replies = command.replies();
  queue_deadline_ = std::min(queue_deadline_, deadline);
  queue_.push({std::move(command), {std::move(handler), deadline, replies, this_line}, timeout});
  wake();
}

/// One post gathers all commands of this turn of the loop into one write, and keeps every handler
/// out of command().
void Connection::Impl::wake() {
  if (pump_posted_) return;
  pump_posted_ = true;
  boost::asio::post(io_, [self = shared_from_this()] {
    self->pump_posted_ = false;
    self->pump();
  });
}

void Connection::Impl::pump() {
  if (closed_) return;
  if (link_) {
    flush();
  } else if (!queue_.empty()) {
    const MonoTime now = mono_now();
    if (now >= next_attempt_) start_link(now);
  }
  arm();
}

void Connection::Impl::start_link(MonoTime now) {
  link_ = std::make_shared<Link>(io_, config_, *this);
  link_->start(now + config_.connect_timeout);
}

void Connection::Impl::flush() {
  if (!link_->can_write()) return;
  while (!queue_.empty() && !link_->write_full()) {
    Queued queued = queue_.pop();
    link_->add(queued.command, std::move(queued.pending));
  }
  if (queue_.empty()) queue_deadline_ = base::never;
  link_->write();
}

void Connection::Impl::link_writable() {
  flush();
  arm();
}

void Connection::Impl::restart_times() {
  Fifo<Queued> waited = std::exchange(queue_, {});
  queue_deadline_ = base::never;
  while (!waited.empty()) {
    Queued queued = waited.pop();
    queued.pending.deadline = up_since_ + queued.timeout;
    queue_deadline_ = std::min(queue_deadline_, queued.pending.deadline);
    queue_.push(std::move(queued));
  }
}

void Connection::Impl::link_up(std::int64_t id) {
  const auto self = shared_from_this();
  up_since_ = mono_now();
  last_failure_.reset();
  client_id = id;
  ++generation;
  if (config_.time_from_connected) restart_times();
  if (!on_connected) return;
  // What the call-back asks for goes out before what waited.
  Fifo<Queued> waited = std::exchange(queue_, {});
  on_connected(generation, id);
  if (closed_) return fail_all(waited, {errc::closed, name_ + ": closed"});
  while (!waited.empty()) queue_.push(waited.pop());
}

milliseconds Connection::Impl::next_delay() {
  const auto top = static_cast<double>(config_.backoff_max.count());
  const double base = static_cast<double>(config_.backoff_min.count()) *
                      static_cast<double>(1U << std::min(failures_, 20U));
  ++failures_;
  const double delay =
      base >= top ? top * (0.5 + 0.5 * rng_.unit()) : std::min(top, base * (1 + 0.5 * rng_.unit()));
  return milliseconds(static_cast<std::int64_t>(delay) + 1);
}

void Connection::Impl::link_down(base::Failure why, bool was_up) {
  const auto self = shared_from_this();
  const std::shared_ptr<Link> link = std::exchange(link_, nullptr);
  Fifo<Pending> out = link->take_out();
  const MonoTime now = mono_now();
  client_id = 0;
  why.text = name_ + ": " + why.text;
  if (was_up) {
    // A server that accepts and drops at once must not be called in a tight loop.
    if (now - up_since_ >= config_.backoff_max) {
      failures_ = 0;
      next_attempt_ = now;
    } else {
      next_attempt_ = now + next_delay();
    }
    fail_out(out, why, now);
    fail_of_this_line(why);
  } else {
    next_attempt_ = now + next_delay();
    why.code = attempt_code(why.code);
    last_failure_ = why;
    queue_deadline_ = base::never;
    Fifo<Queued> queued = std::exchange(queue_, {});
    fail_all(queued, why);
  }
  if (closed_) return;
  wake();
}

void Connection::Impl::fail_out(Fifo<Pending>& out, const base::Failure& why, MonoTime now) {
  bool first = true;
  while (!out.empty()) {
    const Pending pending = out.pop();
    base::Failure failure{errc::connection_lost, why.text};
    if (why.code == errc::timed_out && pending.deadline > now) {
      failure.text = name_ + ": the connection was closed after another command's time-out";
    } else if (why.code == errc::timed_out || (first && why.code == errc::protocol_error)) {
      failure.code = why.code;
    }
    first = false;
    pending.handler(std::move(failure));
  }
}

void Connection::Impl::fail_of_this_line(const base::Failure& why) {
  Fifo<Queued> all = std::exchange(queue_, {});
  std::vector<Handler> ended;
  while (!all.empty()) {
    Queued queued = all.pop();
    if (queued.pending.this_line) {
      ended.push_back(std::move(queued.pending.handler));
    } else {
      queue_.push(std::move(queued));
    }
  }
  for (const Handler& handler : ended) handler(base::Failure{errc::connection_lost, why.text});
}

void Connection::Impl::expire_queue(MonoTime now) {
  if (queue_.empty() || now < queue_deadline_) return;
  queue_deadline_ = base::never;
  Fifo<Queued> all = std::exchange(queue_, {});
  std::vector<Handler> expired;
  while (!all.empty()) {
    Queued queued = all.pop();
    if (queued.pending.deadline <= now) {
      expired.push_back(std::move(queued.pending.handler));
    } else {
      queue_deadline_ = std::min(queue_deadline_, queued.pending.deadline);
      queue_.push(std::move(queued));
    }
  }
  const base::Failure why{errc::unreachable, name_ + ": not sent in time"};
  for (const Handler& handler : expired) handler(why);
}

void Connection::Impl::arm() {
  if (closed_) return;
  MonoTime at = queue_.empty() ? base::never : queue_deadline_;
  if (link_) {
    if (!link_->up() || link_->out() > 0) at = std::min(at, link_->deadline());
  } else if (!queue_.empty()) {
    at = std::min(at, next_attempt_);
  }
  if (at == base::never) return;
  at = std::max(at, mono_now() + tick_min);
  if (at >= armed_) return;
  armed_ = at;
  timer_.expires_at(at);
  timer_.async_wait([self = shared_from_this()](boost::system::error_code ec) {
    if (ec || self->closed_) return;
    self->armed_ = base::never;
    const MonoTime now = mono_now();
    if (self->link_) self->link_->expire(now);
    self->expire_queue(now);
    self->pump();
  });
}

void Connection::Impl::close() {
  if (closed_) return;
  closed_ = true;
  timer_.cancel();
  client_id = 0;
  Fifo<Pending> out;
  if (link_) {
    link_->detach();
    out = link_->take_out();
    link_.reset();
  }
  on_connected = nullptr;
  boost::asio::post(io_, [out = std::move(out), queue = std::exchange(queue_, {}),
                          why = base::Failure{errc::closed, name_ + ": closed"}]() mutable {
    while (!out.empty()) out.pop().handler(why);
    fail_all(queue, why);
  });
}

Connection::Connection(boost::asio::io_context& io, Config config)
    : impl_(std::make_shared<Impl>(io, std::move(config))) {}
Connection::~Connection() { impl_->close(); }

void Connection::on_connected(Connected callback) { impl_->on_connected = std::move(callback); }
void Connection::command(resp::Command command, Handler handler) {
  impl_->command(std::move(command), impl_->command_timeout(), std::move(handler), false);
}
void Connection::command(resp::Command command, milliseconds timeout, Handler handler) {
  impl_->command(std::move(command), timeout, std::move(handler), false);
}
void Connection::command_on_this_line(resp::Command command, Handler handler) {
  impl_->command(std::move(command), impl_->command_timeout(), std::move(handler), true);
}
std::uint64_t Connection::generation() const { return impl_->generation; }
std::int64_t Connection::client_id() const { return impl_->client_id; }
bool Connection::connected() const { return impl_->connected(); }
void Connection::close() { impl_->close(); }

}  // namespace penstock::redis
