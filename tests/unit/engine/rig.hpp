#pragma once

#include <gtest/gtest.h>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/lane.hpp"

namespace penstock::engine {

using namespace std::chrono_literals;
using store::EntryId;

inline constexpr const char* me = "w.00000001";
inline constexpr const char* peer = "w.00000002";

/// One entry as a test wants it delivered.
struct Give {
  std::uint64_t n;  ///< entry id n-0
  std::int64_t delivery = 1;
  store::Origin origin = store::Origin::fresh;
  std::optional<store::Note> note{};
  store::Fields fields{{"body", "x"}};
};

inline store::BatchPtr batch_of(const std::vector<Give>& gives) {
  auto batch = std::make_shared<store::Batch>();
  const auto keep = [&](const std::string& text) {
    const auto at = static_cast<std::uint32_t>(batch->arena.size());
    batch->arena += text;
    batch->spans.push_back({at, static_cast<std::uint32_t>(text.size())});
  };
  for (const Give& give : gives) {
    store::Taken taken;
    taken.id = {give.n, 0};
    taken.delivery = give.delivery;
    taken.origin = give.origin;
    taken.field_begin = static_cast<std::uint32_t>(batch->spans.size());
    taken.field_count = static_cast<std::uint32_t>(give.fields.size());
    for (const auto& [name, value] : give.fields) {
      keep(name);
      keep(value);
      taken.bytes += static_cast<std::uint32_t>(name.size() + value.size());
    }
    if (give.note) {
      taken.note = static_cast<std::int32_t>(batch->notes.size());
      batch->notes.push_back(*give.note);
    }
    batch->entries.push_back(taken);
  }
  return batch;
}

inline std::vector<Give> gives(std::uint64_t from, std::uint64_t count) {
  std::vector<Give> all;
  for (std::uint64_t n = from; n < from + count; ++n) all.push_back({n});
  return all;
}

inline base::Failure failure(errc code) { return {code, "as the test wants it"}; }

/// A lane under a test's hand: the test is store, dispatcher and clock. `a` is what the last poll
/// asked for.
struct Rig {
  static LaneConfig config_of(std::size_t concurrency) {
    LaneConfig c;
    c.lane = {"orders", "billing", me};
    c.concurrency = concurrency;
    return c;
  }

  explicit Rig(LaneConfig config) : lane(std::move(config), now) {}
  explicit Rig(std::size_t concurrency = 1) : Rig(config_of(concurrency)) {}

  Actions& poll() {
    a = {};
    lane.poll(now, epoch, a);
    return a;
  }
  Actions& renew() {
    a = {};
    lane.poll_renewal(now, epoch, a);
    return a;
  }
  Rig& pass(MonoDuration d) {
    now += d;
    return *this;
  }

  void open(store::Opened opened = {}) {
    poll();
    ASSERT_TRUE(a.open);
    opened.epoch = 1'000;
    lane.on_opened(now, opened);
  }
  /// The read that is out is answered at once.
  void taken(const std::vector<Give>& entries) {
    lane.on_taken(now, now, epoch, batch_of(entries));
  }
  /// Opens, reads and dispatches those; answers what the first poll asks for besides.
  std::vector<RunItem> running(const std::vector<Give>& entries) {
    open();
    poll();
    EXPECT_TRUE(a.take);
    quiet();
    taken(entries);
    std::vector<RunItem> runs = std::move(poll().run);
    EXPECT_EQ(runs.size(), entries.size());
    quiet();
    std::vector<Started> started;
    for (const RunItem& run : runs) started.push_back({run.slot, now});
    lane.on_started(started);
    return runs;
  }
  /// Tick, peek and forget of the last poll find nothing.
  void quiet() {
    if (a.tick_max > 0) tick({});
    if (a.peek) peek({});
    if (a.forget) lane.on_forgotten(now, true);
    if (a.trim) lane.on_trimmed(now, std::int64_t{0});
  }
  void tick(std::vector<std::uint64_t> due, std::optional<store::ServerMs> next = {}) {
    store::TickReply reply;
    reply.now = 0;
    for (const std::uint64_t n : due) reply.due.push_back({n, 0});
    reply.next_due = next;
    reply.groups = 1;
    reply.retention = lane.retention();
    lane.on_ticked(now, reply);
  }
  void peek(std::vector<store::Pending> overdue, std::vector<store::Registration> workers = {},
            std::string cursor = {}, std::vector<std::string> gone = {}) {
    store::PeekReply reply;
    reply.overdue = std::move(overdue);
    reply.workers = std::move(workers);
    reply.cursor = std::move(cursor);
    reply.now = server_ahead_ms +
                std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
    reply.gone = std::move(gone);
    lane.on_peeked(now, reply);
  }
  /// Polls through time until `wanted(a)` or `limit` has passed; renewals go well meanwhile.
  template <class F>
  bool until(MonoDuration limit, F wanted) {
    const MonoTime end = now + limit;
    while (now <= end) {
      if (wanted(poll())) return true;
      quiet();
      if (a.take) later_take = true;
      renew();
      renewed(store::RenewStatus::renewed);
      now += 50ms;
    }
    return false;
  }
  void renewed(store::RenewStatus status) {
    if (a.enlist) lane.on_enlisted(now, base::Nothing{});
    const auto batches = std::exchange(a.renew, {});
    for (const auto& receipts : batches) {
      lane.on_renewed(now, now, epoch, receipts,
                      std::vector<store::RenewStatus>(receipts.size(), status));
    }
  }
  void finish(const Slot& slot, Finished::Kind kind, std::string why = {}, bool threw = false) {
    Finished run;
    run.slot = slot;
    run.kind = kind;
    run.threw = threw;
    run.why = std::move(why);
    run.took = 1ms;
    lane.on_finished(now, {run});
  }
  void settled(store::SettleStatus status) {
    lane.on_settled(now, std::vector<store::SettleStatus>(a.settle.size(), status));
  }
  void acked() { lane.on_acked(now, store::AckReply{static_cast<std::int64_t>(a.ack.size())}); }

  MonoTime now{1h};
  store::ServerMs server_ahead_ms = 0;
  std::uint64_t epoch = 1;
  bool later_take = false;
  Lane lane;
  Actions a;
};

inline store::Pending pending(std::uint64_t n, std::string owner, std::int64_t delivery = 1) {
  return {{n, 0}, std::move(owner), 60'000, delivery};
}

inline store::Registration row(std::string consumer, store::ServerMs renewed_at) {
  store::Registration r;
  r.consumer = std::move(consumer);
  r.lease_ms = 20'000;
  r.renewed_at = renewed_at;
  return r;
}

/// Are those ids, in that order, what was asked for?
inline std::vector<std::uint64_t> ids(const std::vector<store::ClaimItem>& items) {
  std::vector<std::uint64_t> all;
  for (const store::ClaimItem& item : items) all.push_back(item.id.ms);
  return all;
}

using Ids = std::vector<std::uint64_t>;

/// A claim that got all it asked for.
inline void claimed(Rig& rig, const std::vector<Give>& entries) {
  store::ClaimReply reply;
  reply.status.assign(rig.a.claim.size(), store::ClaimStatus::claimed);
  reply.batch = batch_of(entries);
  rig.lane.on_claimed(rig.now, rig.now, rig.epoch, reply);
}

inline void none_claimed(Rig& rig) {
  store::ClaimReply reply;
  reply.status.assign(rig.a.claim.size(), store::ClaimStatus::owner_changed);
  rig.lane.on_claimed(rig.now, rig.now, rig.epoch, reply);
}

/// Opened, with a waiting read out that holds all slots.
inline void wait_for_entries(Rig& rig) {
  rig.open();
  rig.poll();
  ASSERT_TRUE(rig.a.take);
  rig.quiet();
}

}  // namespace penstock::engine
