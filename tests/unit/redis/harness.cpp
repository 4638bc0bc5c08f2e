#include "harness.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>

namespace penstock::redis {

struct Harness::Loop {
  boost::asio::io_context io{1};
};

Harness::Harness(Config config)
    : loop_(std::make_unique<Loop>()),
      connection_(std::make_unique<Connection>(loop_->io, std::move(config))) {}

Harness::~Harness() {
  connection_.reset();
  loop_->io.restart();
  loop_->io.run_for(milliseconds(200));
}

std::size_t Harness::send(resp::Command command, milliseconds timeout) {
  const std::size_t i = got_.size();
  got_.emplace_back();
  calls_.push_back(0);
  connection_->command(std::move(command), timeout, [this, i](base::Result<resp::Reply> reply) {
    ++calls_[i];
    ++answered_;
    if (reply) {
      got_[i] = Got{errc::ok, std::string(reply->text())};
      if (reply->is_aggregate()) got_[i]->text = "[" + std::to_string(reply->size()) + "]";
    } else {
      got_[i] = Got{reply.error().code, reply.error().text};
    }
  });
  return i;
}

Got Harness::ask(resp::Command command, milliseconds timeout) {
  const std::size_t i = send(std::move(command), timeout);
  if (!run_until([&] { return got_[i].has_value(); })) return {errc::internal, "no answer"};
  return *got_[i];
}

bool Harness::run_until(const std::function<bool()>& done, milliseconds time) {
  const auto end = Clock::now() + time;
  while (!done()) {
    if (Clock::now() >= end) return false;
    loop_->io.restart();
    if (loop_->io.run_one_for(milliseconds(5)) > 0) loop_->io.poll();
  }
  return true;
}

}  // namespace penstock::redis
