#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
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

constexpr std::int64_t count_cap = 10'000;
constexpr std::int64_t page_bytes = 1 << 20;

std::int64_t age(ServerMs now, EntryId id) {
  return std::max<std::int64_t>(now - static_cast<std::int64_t>(id.ms), 0);
}

/// One look at a stream: a script for what the server knows, then counts, page by page.
class Look : public std::enable_shared_from_this<Look> {
 public:
  Look(const std::shared_ptr<redis::Connection>& link, const std::string& stream, Done<Survey> done)
      : link_(link), done_(std::move(done)) {
    out_.stream = stream;
  }

  void start() {
    resp::Command groups("XINFO");
    groups.arg("GROUPS").arg(out_.stream);
    send(
        [&](redis::Connection& link, redis::Connection::Handler handler) {
          link.command(std::move(groups), std::move(handler));
        },
        [](Look& look, Result<resp::Reply> reply) {
          // No such key is no failure: the script says what there is.
          if (reply.has_error() && reply.error().code != errc::rejected)
            return look.fail(reply.error());
          look.survey(reply.has_error() ? resp::Reply() : *reply);
        });
  }

 private:
  struct Count {
    std::size_t group;  ///< index into groups; no_group: the dead letters
    std::string from;
    std::int64_t counted = 0;
    std::int64_t page = 100;
  };
  static constexpr std::size_t no_group = ~std::size_t{0};

  template <class Send, class Next>
  void send(Send&& request, Next next) {
    const auto link = link_.lock();
    if (link == nullptr) return fail({errc::closed, "the store was closed"});
    request(*link, [self = shared_from_this(), next](Result<resp::Reply> reply) {
      next(*self, std::move(reply));
    });
  }
  void run_script(ScriptCall call, void (Look::*next)(const resp::Reply&)) {
    const auto link = link_.lock();
    if (link == nullptr) return fail({errc::closed, "the store was closed"});
    run(link, std::move(call), [self = shared_from_this(), next](Result<resp::Reply> reply) {
      if (reply.has_error()) return self->fail(reply.error());
      ((*self).*next)(*reply);
    });
  }
  void fail(Failure why) { std::exchange(done_, nullptr)(std::move(why)); }

  void survey(const resp::Reply& groups) {
    const Keys keys(out_.stream);
    ScriptCall call(scripts::survey);
    call.key(keys.stream).key(keys.dead).key(keys.conf);
    std::vector<std::string> names;
    for (const resp::Reply& group : groups) names.emplace_back(group[1].text());
    for (const std::string& name : names) call.key(Keys(out_.stream, name).workers);
    for (const std::string& name : names) call.arg(name);
    run_script(std::move(call), &Look::surveyed);
  }

  void surveyed(const resp::Reply& reply) {
    if (reply.size() < 7) return fail(strange("a survey"));
    out_.now = reply[0].integer().value_or(0);
    out_.exists = reply[1].integer() == 1;
    out_.length = reply[2].integer().value_or(0);
    out_.dead = reply[4].integer().value_or(0);
    out_.retention = parse_retention(reply[5].text());
    const EntryId last = base::parse_entry_id(reply[3].text()).value_or(EntryId{});
    const EntryId first = base::parse_entry_id(reply[6].text()).value_or(EntryId{});
    for (std::size_t i = 7; i < reply.size(); ++i) add_group(reply[i], first, last);
    if (out_.dead < 0) {  // another type stands there
      out_.dead = 0;
      for (auto& group : out_.groups) group.dead = -1;
    }
    if (out_.dead > 0) counts_.push_back({no_group, "-"});
    count_next();
  }

  void add_group(const resp::Reply& row, EntryId first, EntryId last) {
    Survey::Group group;
    group.name = row[0].text();
    const EntryId at = base::parse_entry_id(row[1].text()).value_or(EntryId{});
    if (const auto lowest = base::parse_entry_id(row[3].text())) {
      group.oldest_pending_ms = age(out_.now, *lowest);
    }
    const resp::Reply consumers = row[4];
    auto field = consumers.begin();
    for (std::size_t i = 0; i + 3 < consumers.size(); i += 4) {
      Survey::Consumer one;
      one.name = (*field).text();
      one.pending = (*++field).integer().value_or(0);
      one.idle_ms = (*++field).integer().value_or(0);
      one.worker = parse_row(one.name, (*++field).text());
      ++field;
      if (one.name == parked_consumer) group.parked = one.pending;
      group.consumers.push_back(std::move(one));
    }
    group.leased = row[2].integer().value_or(0) - group.parked;
    if (out_.length == 0 || at >= last) {
      group.ready = 0;
    } else if (at < first) {
      group.ready = out_.length;
      group.oldest_ready_ms = age(out_.now, first);
    } else {
      counts_.push_back({out_.groups.size(), "(" + std::string(row[1].text())});
    }
    out_.groups.push_back(std::move(group));
  }

  void count_next() {
    if (counts_.empty()) return std::exchange(done_, nullptr)(std::move(out_));
    const Count& count = counts_.front();
    const Keys keys(out_.stream);
    ScriptCall call(scripts::count);
    call.key(count.group == no_group ? keys.dead : keys.stream).arg(count.from).arg(count.page);
    run_script(std::move(call), &Look::counted);
  }

  void counted(const resp::Reply& reply) {
    Count& count = counts_.front();
    const std::int64_t entries = reply[0].integer().value_or(0);
    const std::int64_t bytes = reply[3].integer().value_or(0);
    const bool all = entries < count.page;
    count.from = "(" + std::string(reply[2].text());
    count.counted += entries;
    const bool capped = !all && count.counted >= count_cap;
    if (count.group == no_group) {
      count_dead(reply, capped);
    } else {
      auto& group = out_.groups[count.group];
      group.ready = count.counted;
      group.ready_capped = capped;
      const auto first = base::parse_entry_id(reply[1].text());
      if (first && !group.oldest_ready_ms) group.oldest_ready_ms = age(out_.now, *first);
    }
    // The next page as large as a megabyte of bodies allows.
    if (entries > 0) {
      count.page = std::clamp<std::int64_t>(page_bytes * entries / std::max<std::int64_t>(bytes, 1),
                                            10, 1000);
    }
    if (all || capped) counts_.pop_front();
    count_next();
  }

  void count_dead(const resp::Reply& reply, bool capped) {
    for (auto& group : out_.groups) {
      for (std::size_t i = 4; i + 1 < reply.size(); i += 2) {
        if (reply[i].text() == group.name) group.dead += reply[i + 1].integer().value_or(0);
      }
      if (capped) group.dead = -1;
    }
  }

  std::weak_ptr<redis::Connection> link_;
  Done<Survey> done_;
  Survey out_;
  std::deque<Count> counts_;
};

/// `{x}.dead` and `{x}.retry:<group>` are parts of stream x, no streams of their own.
bool part_of_another(std::string_view key) {
  if (key.ends_with(".dead")) return has_hash_tag(key.substr(0, key.size() - 5));
  const auto at = key.find(".retry:");
  return at != std::string_view::npos && has_hash_tag(key.substr(0, at));
}

void scan(const std::shared_ptr<redis::Connection>& link, std::string_view cursor,
          std::shared_ptr<std::vector<std::string>> names, Done<std::vector<std::string>> done) {
  resp::Command command("SCAN");
  command.arg(cursor).arg("COUNT").arg(1000).arg("TYPE").arg("stream");
  link->command(std::move(command), [again = std::weak_ptr(link), names = std::move(names),
                                     done = std::move(done)](Result<resp::Reply> reply) {
    if (reply.has_error()) return done(reply.error());
    for (const resp::Reply& key : (*reply)[1]) {
      if (!part_of_another(key.text())) names->emplace_back(key.text());
    }
    const std::string_view next = (*reply)[0].text();
    if (next == "0" || next.empty()) {
      std::sort(names->begin(), names->end());
      names->erase(std::unique(names->begin(), names->end()), names->end());
      return done(std::move(*names));
    }
    const auto more = again.lock();
    if (more == nullptr) return done(Failure{errc::closed, "the store was closed"});
    scan(more, next, names, done);
  });
}

}  // namespace

void RedisStore::survey(const std::string& stream, Done<Survey> done) {
  std::make_shared<Look>(commands_, stream, std::move(done))->start();
}

void RedisStore::streams(Done<std::vector<std::string>> done) {
  scan(commands_, "0", std::make_shared<std::vector<std::string>>(), std::move(done));
}

void RedisStore::pending(const Lane& lane, EntryId from, std::uint32_t max,
                         Done<std::vector<PendingRow>> done) {
  const Keys keys(lane.stream, lane.group);
  ScriptCall call(scripts::pending);
  call.key(keys.stream).key(keys.due).key(keys.note).arg(lane.group).arg(from);
  call.arg(std::min<std::size_t>(max, batch_max));
  run(commands_, std::move(call), answer(std::move(done), decode_pending));
}

/// At the end of each turn. A failure shows in nothing but an older checkpoint: more is read again.
static void keep_checkpoint(const std::shared_ptr<redis::Connection>& commands, const Lane& lane) {
  const Keys keys(lane.stream, lane.group);
  ScriptCall call(scripts::checkpoint);
  call.key(keys.stream).key(keys.conf).arg(lane.group);
  run(commands, std::move(call), [](const Result<resp::Reply>&) {});
}

void RedisStore::peek(const Lane& lane, PeekRequest request, Done<PeekReply> done) {
  const Keys keys(lane.stream, lane.group);
  const auto space = request.cursor.find(' ');
  const std::string_view cursor = request.cursor;
  ScriptCall call(scripts::peek);
  call.key(keys.stream).key(keys.workers).arg(lane.group);
  if (space == std::string::npos) {
    call.arg("-").arg("");
  } else {
    call.arg(cursor.substr(0, space)).arg(cursor.substr(space + 1));
  }
  call.arg(std::clamp<std::size_t>(request.max, 1, batch_max));
  call.arg(request.default_lease_ms).arg(request.foreign_idle_ms).arg(64).arg(lane.consumer);
  run(commands_, std::move(call),
      [lane, done = std::move(done), link = std::weak_ptr(commands_)](Result<resp::Reply> reply) {
        if (reply.has_error()) return done(reply.error());
        const Result<PeekReply> peeked = decode_peek(*reply);
        const auto commands = link.lock();
        if (peeked && peeked->cursor.empty() && commands != nullptr) {
          keep_checkpoint(commands, lane);
        }
        done(peeked);
      });
}

}  // namespace penstock::store
