#include "redis/link.hpp"

#include <algorithm>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "redis/error.hpp"

namespace penstock::redis {

namespace {

constexpr std::size_t read_size = 64UL * 1024;
constexpr std::size_t write_keep_max = 4 * Link::write_max;
constexpr std::size_t quoted_max = 200;

std::string excerpt(std::string_view text) { return std::string(text.substr(0, quoted_max)); }

/// A server that renamed AUTH quotes its arguments: the password stays out of every text.
std::string without_secret(std::string text, const std::string& secret) {
  if (secret.empty()) return text;
  for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos; at += 3) {
    text.replace(at, secret.size(), "***");
  }
  return text;
}

}  // namespace

Link::Link(boost::asio::io_context& io, const Config& config, LinkOwner& owner)
    : io_(io), config_(config), owner_(&owner), socket_(io) {}

void Link::start(base::MonoTime deadline) {
  deadline_ = deadline;
  connector_ = std::make_shared<Connector>(io_, socket_);
  connector_->start(config_, [self = shared_from_this()](const std::string& error) {
    if (self->owner_ != nullptr) self->connected(error);
  });
}

void Link::detach() {
  owner_ = nullptr;
  up_ = false;
  if (connector_) connector_->cancel();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void Link::end(base::Failure why) {
  LinkOwner* owner = owner_;
  if (owner == nullptr) return;
  const bool was_up = up_;
  const auto self = shared_from_this();
  detach();
  owner->link_down(std::move(why), was_up);
}

void Link::connected(const std::string& error) {
  if (!error.empty()) return end({errc::unreachable, "cannot connect: " + error});
  const auto add_step = [this](Step step, const resp::Command& command) {
    login_.push_back(step);
    command.write_to(buffer_);
  };
  if (!config_.password.empty()) {
    resp::Command auth("AUTH");
    if (!config_.user.empty()) auth.arg(config_.user);
    add_step(Step::auth, auth.arg(config_.password));
  }
  if (config_.db != 0) add_step(Step::select, resp::Command("SELECT").arg(config_.db));
  if (!config_.client_name.empty()) {
    add_step(Step::name, resp::Command("CLIENT").arg("SETNAME").arg(config_.client_name));
  }
  add_step(Step::id, resp::Command("CLIENT").arg("ID"));
  // The commands above are answered while a server loads its data; this one is not.
  add_step(Step::ping, resp::Command("PING"));
  write_buffer();
  read();
}

void Link::add(const resp::Command& command, Pending pending) {
  command.write_to(buffer_);
  deadline_ = std::min(deadline_, pending.deadline);
  out_.push(std::move(pending));
}

void Link::write() {
  if (!writing_ && !buffer_.empty()) write_buffer();
}

void Link::write_buffer() {
  std::swap(buffer_, write_);
  buffer_.clear();
  if (buffer_.capacity() > write_keep_max) buffer_.shrink_to_fit();
  writing_ = true;
  boost::asio::async_write(
      socket_, boost::asio::buffer(write_),
      [self = shared_from_this()](boost::system::error_code ec, std::size_t) {
        if (self->owner_ == nullptr) return;
        self->writing_ = false;
        // The read side may hold the server's reason ("max number of clients"): it ends the link.
        if (ec == boost::asio::error::broken_pipe || ec == boost::asio::error::connection_reset) {
          self->writing_ = true;
          return;
        }
        if (ec) return self->end({errc::connection_lost, "write failed: " + ec.message()});
        if (self->up_) self->owner_->link_writable();
      });
}

void Link::read() {
  const auto room = parser_.prepare(read_size);
  socket_.async_read_some(
      boost::asio::buffer(room.data(), room.size()),
      [self = shared_from_this()](boost::system::error_code ec, std::size_t size) {
        if (self->owner_ == nullptr) return;
        if (ec == boost::asio::error::eof) {
          return self->end({errc::connection_lost, "the server closed the connection"});
        }
        if (ec) return self->end({errc::connection_lost, "read failed: " + ec.message()});
        self->parser_.commit(size);
        self->parse();
        if (self->owner_ != nullptr) self->read();
      });
}

void Link::parse() {
  // Any handler may end this link: looked at after each reply.
  while (owner_ != nullptr) {
    const auto next = parser_.next();
    if (!next) return end({errc::protocol_error, next.error().text});
    if (!next->has_value()) return;
    const resp::Reply& reply = **next;
    if (reply.type() == resp::Type::push) continue;
    if (up_) {
      on_reply(reply);
    } else {
      on_login_reply(reply);
    }
  }
}

void Link::on_reply(const resp::Reply& reply) {
  if (out_.empty()) {
    return end({reply.is_error() ? classify(reply.text()) : errc::protocol_error,
                "a reply that no command waits for: " + excerpt(reply.text())});
  }
  Pending& front = out_.front();
  const bool error = reply.is_error();
  if (front.replies > 1) {
    --front.replies;
    if (error && !first_error_) {
      first_error_ = base::Failure{classify(reply.text()), std::string(reply.text())};
    }
    return;
  }
  const Pending done = out_.pop();
  if (first_error_) {
    const base::Failure failure = *std::exchange(first_error_, std::nullopt);
    done.handler(failure);
  } else if (error) {
    done.handler(base::Failure{classify(reply.text()), std::string(reply.text())});
  } else {
    done.handler(reply);
  }
}

std::optional<base::Failure> Link::login_failure(Step step, const resp::Reply& reply) const {
  if (!reply.is_error()) return std::nullopt;
  const std::string text = without_secret(excerpt(reply.text()), config_.password);
  const errc code = classify(reply.text());
  // Whatever the step: busy, loading, no more clients, not logged in.
  const bool general = code == errc::auth_failed || reply.text().starts_with("LOADING") ||
                       reply.text().starts_with("BUSY") ||
                       reply.text().starts_with("ERR max number of clients");
  switch (step) {
    case Step::auth:
      if (code == errc::server_busy) return base::Failure{errc::unreachable, text};
      return base::Failure{errc::auth_failed, text};
    case Step::select:
      if (general || code == errc::no_permission) break;
      return base::Failure{errc::bad_option,
                           "SELECT " + std::to_string(config_.db) + " was refused: " + text};
    default:
      // An ACL may forget CLIENT or PING, a full disk stops PING: other commands still work.
      if (!general) return std::nullopt;
  }
  return base::Failure{code == errc::server_busy ? errc::unreachable : code, text};
}

void Link::on_login_reply(const resp::Reply& reply) {
  if (login_at_ == login_.size()) return end({errc::protocol_error, "a reply before any command"});
  const Step step = login_[login_at_++];
  if (auto failure = login_failure(step, reply)) return end(std::move(*failure));
  if (step == Step::id) client_id_ = reply.integer().value_or(0);
  if (login_at_ < login_.size()) return;
  up_ = true;
  deadline_ = base::never;
  owner_->link_up(client_id_);
  if (owner_ != nullptr && !writing_) owner_->link_writable();
}

void Link::expire(base::MonoTime now) {
  if (now < deadline_) return;
  if (!up_) {
    return end({errc::unreachable,
                "no connection within " + std::to_string(config_.connect_timeout.count()) + " ms"});
  }
  deadline_ = base::never;
  for (const Pending& pending : out_) deadline_ = std::min(deadline_, pending.deadline);
  if (now >= deadline_) end({errc::timed_out, "no reply in time"});
}

}  // namespace penstock::redis
