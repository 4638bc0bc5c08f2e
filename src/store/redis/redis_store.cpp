#include "store/redis/redis_store.hpp"

#include <algorithm>
#include <utility>

#include "store/keys.hpp"
#include "store/redis/call.hpp"
#include "store/redis/codec.hpp"
#include "store/redis/decode.hpp"
#include "store/redis/session.hpp"

namespace penstock::store {

using base::Failure;
using base::Result;

namespace {

constexpr milliseconds watch_period{500};

void send_open(const std::shared_ptr<redis::Connection>& commands, const Lane& lane,
               const OpenRequest& request, Done<Opened> done) {
  const Keys keys(lane.stream, lane.group);
  ScriptCall call(scripts::open);
  call.key(keys.stream).key(keys.conf).arg(lane.group).arg(request.start);
  call.arg(request.retention ? name_of(*request.retention) : std::string_view());
  call.arg(request.make_group ? 1 : 0).arg(request.heal ? 1 : 0);
  run(commands, std::move(call), answer(std::move(done), decode_opened));
}

}  // namespace

RedisStore::RedisStore(boost::asio::io_context& io, redis::Config config,
                       std::shared_ptr<std::atomic<std::uint64_t>> epoch)
    : io_(io),
      config_(std::move(config)),
      epoch_(std::move(epoch)),
      commands_(std::make_shared<redis::Connection>(io, config_)) {
  commands_->on_connected([this](std::uint64_t generation, std::int64_t) {
    if (generation > 1) {
      epoch_->fetch_add(1);
    } else {
      watch();
    }
  });
}

// A connection that was cut while nothing was sent must be made anew all the same: the epoch tells
// the owner of leases that they are doubtful.
void RedisStore::watch() {
  stop_watch_ = after(io_, watch_period, [this] {
    if (!commands_->connected()) {
      commands_->command(resp::Command("PING"), [](Result<resp::Reply>) {});
    }
    watch();
  });
}

RedisStore::~RedisStore() { close(); }

void RedisStore::close() {
  if (std::exchange(closed_, true)) return;
  if (stop_watch_) stop_watch_();
  for (const auto& [lane, reader] : readers_) reader->close();
  commands_->close();
}

void RedisStore::open(const Lane& lane, OpenRequest request, Done<Opened> done) {
  std::string why = refused_name("the stream", lane.stream);
  if (why.empty() && request.make_group) {
    why = refused_name("the group", lane.group);
    if (why.empty()) why = refused_name("the consumer", lane.consumer);
    if (lane.consumer == parked_consumer) why = "the consumer has the name of the parked entries";
    if (why.empty() && request.start != "$" && !base::parse_entry_id(request.start)) {
      why = "the start is neither an entry id nor $: " + request.start;
    }
  }
  if (!why.empty()) {
    return answer_later<Opened>(std::move(done), Failure{errc::bad_option, std::move(why)});
  }
  if (!untaggable(lane.stream)) return send_open(commands_, lane, request, std::move(done));
  ask_cluster([link = std::weak_ptr(commands_), lane, request,
               done = std::move(done)](Result<bool> cluster) {
    if (cluster.has_error()) return done(cluster.error());
    const auto commands = link.lock();
    if (commands == nullptr) return done(Failure{errc::closed, "the store was closed"});
    if (!*cluster) return send_open(commands, lane, request, done);
    done(Failure{errc::bad_option,
                 "the stream " + lane.stream +
                     " cannot be used on a cluster: its name has a '}' and no hash tag, so that "
                     "penstock's own keys would not lie beside it"});
  });
}

void RedisStore::ask_cluster(std::function<void(Result<bool>)> then) {
  if (cluster_->has_value()) {
    return post(io_, [then = std::move(then), known = **cluster_] { then(known); });
  }
  resp::Command info("INFO");
  commands_->command(std::move(info.arg("cluster")),
                     [then = std::move(then), keep = cluster_](Result<resp::Reply> reply) {
                       if (reply.has_error()) return then(reply.error());
                       *keep = reply->text().find("cluster_enabled:1") != std::string_view::npos;
                       then(**keep);
                     });
}

void RedisStore::append(const std::string& stream, std::vector<Draft> drafts,
                        Done<std::vector<Result<EntryId>>> done) {
  using Ids = std::vector<Result<EntryId>>;
  if (refused<Ids>(drafts.size(), done)) return;
  if (drafts.empty()) return answer_later<Ids>(std::move(done), Ids{});
  if (std::string why = refused_name("the stream", stream); !why.empty()) {
    return answer_later<Ids>(std::move(done), Failure{errc::bad_option, std::move(why)});
  }
  struct Sum {
    Ids ids;
    std::size_t left;
    Done<Ids> done;
  };
  const Failure nothing{errc::internal, "not sent"};
  auto sum =
      std::make_shared<Sum>(Sum{Ids(drafts.size(), nothing), drafts.size(), std::move(done)});
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    resp::Command add("XADD");
    add.arg(stream).arg("*");
    for (const auto& [name, value] : drafts[i].fields) add.arg(name).arg(value);
    commands_->command(std::move(add), [sum, i](Result<resp::Reply> reply) {
      if (reply.has_error()) {
        sum->ids[i] = reply.error();
      } else if (const auto id = base::parse_entry_id(reply->text())) {
        sum->ids[i] = *id;
      } else {
        sum->ids[i] = strange("XADD");
      }
      if (--sum->left == 0) sum->done(std::move(sum->ids));
    });
  }
}

void RedisStore::take(const Lane& lane, TakeRequest request, Done<BatchPtr> done) {
  auto& reader = readers_[{lane.stream, lane.group, lane.consumer}];
  if (reader == nullptr) {
    reader = std::make_shared<Reader>(io_, config_, lane, commands_, epoch_);
    reader->start();
    if (closed_) reader->close();
  }
  request.max = std::clamp(request.max, std::uint32_t{1}, std::uint32_t{1024});
  reader->take(request, std::move(done));
}

void RedisStore::wake(const Lane& lane) {
  const auto reader = readers_.find({lane.stream, lane.group, lane.consumer});
  if (reader != readers_.end()) reader->second->wake();
}

void RedisStore::tick(const Lane& lane, std::uint32_t max, Done<TickReply> done) {
  const Keys keys(lane.stream, lane.group);
  ScriptCall call(scripts::tick);
  call.key(keys.stream).key(keys.due).key(keys.conf).arg(lane.group);
  call.arg(std::min<std::size_t>(max, batch_max));
  run(commands_, std::move(call), answer(std::move(done), decode_tick));
}

void RedisStore::enlist(const Lane& lane, Registration row, Done<Nothing> done) {
  const Keys keys(lane.stream, lane.group);
  // The version is the one word before the host: no space may stand in it.
  std::replace(row.version.begin(), row.version.end(), ' ', '_');
  ScriptCall call(scripts::enlist);
  call.key(keys.workers).arg(row.consumer.empty() ? lane.consumer : row.consumer);
  call.arg(row.lease_ms).arg(row.pid).arg(row.pid_started).arg(row.version).arg(row.host);
  run(commands_, std::move(call),
      answer(std::move(done), [](const resp::Reply&) { return Result<Nothing>(Nothing{}); }));
}

void RedisStore::forget(const Lane& lane, const std::string& consumer, Done<bool> done) {
  const Keys keys(lane.stream, lane.group);
  ScriptCall call(scripts::forget);
  call.key(keys.stream).key(keys.workers).arg(lane.group).arg(consumer);
  run(commands_, std::move(call), answer(std::move(done), [](const resp::Reply& reply) {
        return Result<bool>(reply.integer() == 1);
      }));
}

void RedisStore::trim(const std::string& stream, Done<std::int64_t> done) {
  ScriptCall call(scripts::trim);
  call.key(stream).key(Keys(stream).conf);
  run(commands_, std::move(call), answer(std::move(done), [](const resp::Reply& reply) {
        return Result<std::int64_t>(reply.integer().value_or(0));
      }));
}

std::unique_ptr<Store> make_redis_store(boost::asio::io_context& io, redis::Config config,
                                        std::shared_ptr<std::atomic<std::uint64_t>> epoch) {
  return std::make_unique<RedisStore>(io, std::move(config), std::move(epoch));
}

}  // namespace penstock::store
