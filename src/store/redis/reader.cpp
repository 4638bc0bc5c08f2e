#include "store/redis/reader.hpp"

#include <array>
#include <charconv>
#include <random>
#include <utility>

#include "store/redis/call.hpp"
#include "store/redis/decode.hpp"
#include "store/redis/loop.hpp"

namespace penstock::store {

namespace {
constexpr milliseconds reply_grace{2000};
constexpr milliseconds wake_again{25};

std::string unlike_others(const std::string& base) {
  std::random_device source;
  std::array<char, 20> hex{};
  const std::uint64_t value = (std::uint64_t{source()} << 32U) | source();
  char* const end = std::to_chars(hex.data(), hex.data() + hex.size(), value, 16).ptr;
  return base + ":" + std::string(hex.data(), end);
}

redis::Config named(redis::Config config, const std::string& name) {
  config.client_name = name;
  return config;
}
}  // namespace

Reader::Reader(boost::asio::io_context& io, const redis::Config& config, Lane lane,
               std::shared_ptr<redis::Connection> commands,
               std::shared_ptr<std::atomic<std::uint64_t>> epoch)
    : io_(io),
      lane_(std::move(lane)),
      name_(unlike_others(config.client_name)),
      link_(io, named(config, name_)),
      commands_(std::move(commands)),
      epoch_(std::move(epoch)) {}

void Reader::start() {
  link_.on_connected([self = weak_from_this()](std::uint64_t generation, std::int64_t client_id) {
    if (const auto reader = self.lock()) reader->connected(generation, client_id);
  });
}

void Reader::connected(std::uint64_t generation, std::int64_t client_id) {
  if (generation > 1) {
    epoch_->fetch_add(1);
    if (client_ != 0 && client_ != client_id) end_on_server(client_);
  }
  client_ = client_id;
}

// The server may still hold the cut read and give entries to it that nobody would ever see. Numbers
// begin anew with a server: only a client that has our name too is the one.
void Reader::end_on_server(std::int64_t client_id) {
  resp::Command list("CLIENT");
  list.arg("LIST").arg("ID").arg(client_id);
  commands_->command(std::move(list),
                     [link = std::weak_ptr(commands_), client_id,
                      mark = " name=" + name_ + " "](base::Result<resp::Reply> reply) {
                       const auto commands = link.lock();
                       if (commands == nullptr || reply.has_error()) return;
                       if (reply->text().find(mark) == std::string_view::npos) return;
                       resp::Command kill("CLIENT");
                       kill.arg("KILL").arg("ID").arg(client_id);
                       commands->command(std::move(kill), [](base::Result<resp::Reply>) {});
                     });
}

void Reader::take(TakeRequest request, Done<BatchPtr> done) {
  taking_ = true;
  waking_ = false;
  ++turn_;
  waits_until_ = std::chrono::steady_clock::now() + request.wait;
  resp::Command read("XREADGROUP");
  read.arg("GROUP").arg(lane_.group).arg(lane_.consumer).arg("COUNT").arg(request.max);
  if (request.wait.count() > 0) read.arg("BLOCK").arg(request.wait.count());
  read.arg("STREAMS").arg(lane_.stream).arg(">");
  link_.command(std::move(read), request.wait + reply_grace,
                [self = weak_from_this(), done = std::move(done)](base::Result<resp::Reply> reply) {
                  if (const auto reader = self.lock()) reader->taking_ = false;
                  if (reply.has_error()) return done(reply.error());
                  done(decode_taken(*reply));
                });
}

void Reader::wake() {
  if (!taking_ || waking_) return;
  waking_ = true;
  unblock(turn_);
}

// Again and again: the first one may arrive before the read has begun to wait.
void Reader::unblock(std::uint64_t turn) {
  if (!taking_ || turn != turn_ || std::chrono::steady_clock::now() > waits_until_) return;
  if (const std::int64_t id = link_.client_id(); id != 0) {
    resp::Command command("CLIENT");
    commands_->command(std::move(command.arg("UNBLOCK").arg(id)), [](base::Result<resp::Reply>) {});
  }
  after(io_, wake_again, [self = weak_from_this(), turn] {
    if (const auto reader = self.lock()) reader->unblock(turn);
  });
}

void Reader::close() { link_.close(); }

}  // namespace penstock::store
