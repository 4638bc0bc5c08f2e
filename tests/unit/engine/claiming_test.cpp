// Due and lapsed entries beside new ones, and what is held already.
#include <deque>

#include "unit/engine/rig.hpp"

namespace penstock::engine {
namespace {

TEST(LaneClaim, a_waiting_read_is_woken_for_due_entries) {
  Rig rig(2);
  wait_for_entries(rig);
  rig.pass(700ms).poll();
  ASSERT_GT(rig.a.tick_max, 0u) << "a worker that only waits looks for due entries too";
  rig.tick({7});
  rig.poll();
  EXPECT_TRUE(rig.a.wake);
  EXPECT_TRUE(rig.a.claim.empty()) << "its slots are the read's until that has ended";
  EXPECT_FALSE(rig.poll().wake) << "once is enough";
  rig.taken({});
  rig.poll();
  ASSERT_EQ(ids(rig.a.claim), (Ids{7}));
  EXPECT_EQ(rig.a.claim[0].owner, store::parked_consumer);
  EXPECT_EQ(rig.a.claim[0].delivery, -1);
}

TEST(LaneClaim, T42_takes_at_most_three_quarters_while_new_entries_wait) {
  Rig rig(8);
  wait_for_entries(rig);
  rig.pass(700ms).poll();
  rig.tick({101, 102, 103, 104, 105, 106, 107, 108, 109, 110});
  rig.taken(gives(1, 8));  // full: there are more
  std::vector<RunItem> runs = rig.poll().run;
  ASSERT_EQ(runs.size(), 8u);
  std::vector<Finished> ended;
  for (const RunItem& run : runs)
    ended.push_back({run.slot, Finished::Kind::ack, false, {}, {}, 1s});
  rig.lane.on_finished(rig.now, ended);
  rig.poll();
  rig.acked();
  rig.poll();
  EXPECT_EQ(rig.a.claim.size(), 6u);
  ASSERT_TRUE(rig.a.take);
  EXPECT_EQ(rig.a.take->max, 2u);
  EXPECT_EQ(rig.a.take->wait, 0ms) << "no waiting while others are due";
}

/// A store where lapsed and new entries never run out, and handlers that are done at the next look.
struct Flood {
  explicit Flood(LaneConfig config) : rig(std::move(config)) { rig.open(); }

  void turn() {
    rig.pass(10ms).poll();
    const Actions a = std::exchange(rig.a, {});
    if (a.peek) rig.peek({});
    if (a.tick_max > 0) {
      std::vector<std::uint64_t> list;
      for (std::uint64_t k = 0; k < a.tick_max; ++k) list.push_back(next_due + k);
      rig.tick(list);
    }
    if (a.take) {
      rig.taken(gives(next_new, a.take->max));
      next_new += a.take->max;
    }
    if (!a.claim.empty()) {
      std::vector<Give> got;
      for (const store::ClaimItem& item : a.claim) {
        got.push_back({item.id.ms, 2, store::Origin::due});
        next_due = std::max(next_due, item.id.ms + 1);
      }
      rig.a.claim = a.claim;
      claimed(rig, got);
    }
    if (!a.ack.empty())
      rig.lane.on_acked(rig.now, store::AckReply{static_cast<std::int64_t>(a.ack.size())});
    for (const RunItem& run : a.run) {
      const bool is_due = run.batch->entries[run.index].id.ms >= 1'000'000;
      begun.push_back({run.slot, Finished::Kind::ack, false, {}, {}, is_due ? 1s : 2s});
    }
    std::vector<Finished> ended;
    for (; !begun.empty() && ended.size() < a_turn; begun.pop_front()) {
      ++(begun.front().took == 1s ? due : fresh);
      ended.push_back(begun.front());
    }
    rig.lane.on_finished(rig.now, ended);
    EXPECT_LE(rig.lane.held(), std::max<std::size_t>(40, rig.lane.config().concurrency + 1));
  }

  Rig rig;
  std::uint64_t next_new = 1, next_due = 1'000'000;
  std::deque<Finished> begun;
  std::size_t a_turn = SIZE_MAX;  ///< runs that end in one
  int fresh = 0, due = 0;
};

TEST(LaneClaim, T41_reads_new_entries_and_claims_in_one_loop) {
  for (const std::size_t concurrency : {1u, 2u, 3u, 4u, 16u}) {
    Flood flood(Rig::config_of(concurrency));
    for (int i = 0; i < 1'000; ++i) flood.turn();
    EXPECT_GT(flood.fresh, 100) << concurrency;
    EXPECT_GT(flood.due, 100) << concurrency;
    EXPECT_GE(flood.fresh * 5, flood.due) << concurrency << ": at most 3/4 of a read's slots";
  }
}

// The buffer is never empty enough for a read that is worth its cost, were it not for the claims.
TEST(LaneClaim, T42_claims_do_not_talk_the_read_out_of_its_share) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::count;
  c.prefetch_entries = 40;
  Flood flood(c);
  flood.a_turn = 3;
  for (int i = 0; i < 2'000; ++i) flood.turn();
  EXPECT_GE(flood.fresh * 5, flood.due) << flood.fresh << " new, " << flood.due << " due";
  EXPECT_GE(flood.due * 5, flood.fresh) << flood.fresh << " new, " << flood.due << " due";
}

// The flood comes first, and no read has ever said that new entries wait.
TEST(LaneClaim, T42_with_one_slot_claims_and_reads_alternate) {
  Rig rig(1);
  rig.open();
  rig.poll();
  ASSERT_TRUE(rig.a.take);
  if (rig.a.peek) rig.peek({});
  rig.tick({101, 102, 103, 104, 105, 106, 107, 108});
  ASSERT_TRUE(rig.poll().wake);
  rig.taken({});
  std::string order;
  std::uint64_t n = 1;
  for (int i = 0; i < 200 && order.size() < 8; ++i) {
    rig.poll();
    if (rig.a.tick_max > 0) rig.tick({101, 102, 103, 104, 105, 106, 107, 108});
    if (rig.a.peek) rig.peek({});
    std::vector<Finished> ended;
    for (const RunItem& run : rig.a.run) {
      ended.push_back({run.slot, Finished::Kind::ack, false, {}, {}, 1s});
    }
    rig.lane.on_finished(rig.now, ended);
    if (!rig.a.ack.empty()) rig.acked();
    if (!rig.a.claim.empty()) {
      EXPECT_FALSE(rig.a.take);
      order += 'c';
      claimed(rig, {{rig.a.claim[0].id.ms, 2, store::Origin::due}});
    } else if (rig.a.take) {
      order += 'r';
      rig.taken(gives(n++, 1));
    }
    rig.pass(1ms);
  }
  EXPECT_EQ(order, "crcrcrcr");
}

TEST(LaneClaim, T17_never_claims_what_it_holds) {
  Rig rig(4);
  rig.running(gives(1, 1));
  rig.quiet();
  ASSERT_TRUE(rig.until(10s, [&](Actions& a) { return a.peek.has_value(); }));
  // Its own entry looks abandoned on the server: renewals stall. Another is forgotten under its
  // name.
  rig.peek({pending(1, me), pending(2, me)}, {row(me, 1)});
  rig.poll();
  if (rig.a.wake) {
    rig.taken({});
    rig.poll();
  }
  ASSERT_EQ(ids(rig.a.claim), (Ids{2}));
  EXPECT_EQ(rig.a.claim[0].min_idle_ms, 20'000);
  EXPECT_EQ(rig.lane.held(), 1u);
}

// Held since the candidate was listed: the check is made again when the claim goes out.
TEST(LaneClaim, T17_a_candidate_that_came_in_by_a_read_is_dropped) {
  Rig rig(2);
  wait_for_entries(rig);
  rig.pass(700ms).poll();
  rig.tick({5});
  rig.poll();
  ASSERT_TRUE(rig.a.wake);
  rig.taken({{5, 3}});
  EXPECT_TRUE(rig.poll().claim.empty());
}

TEST(LaneClaim, T17_a_second_delivery_waits_for_the_end_of_the_first_run) {
  Rig rig(4);
  const auto runs = rig.running(gives(1, 1));
  rig.taken({{1, 2}});
  rig.poll();
  EXPECT_TRUE(rig.a.run.empty()) << "the first run goes on";
  ASSERT_EQ(rig.a.retract.size(), 1u);
  rig.lane.on_retracted(rig.now, rig.a.retract, {});
  rig.poll();
  ASSERT_EQ(rig.a.stop.size(), 1u);
  EXPECT_EQ(rig.a.stop[0].reason, StopReason::lease_lost);
  EXPECT_EQ(rig.a.stop[0].slot, runs[0].slot);
  rig.finish(runs[0].slot, Finished::Kind::ack);
  rig.poll();
  EXPECT_TRUE(rig.a.ack.empty()) << "a lost delivery settles nothing";
  EXPECT_TRUE(rig.a.settle.empty());
  ASSERT_EQ(rig.a.run.size(), 1u);
  EXPECT_EQ(rig.a.run[0].batch->entries[rig.a.run[0].index].delivery, 2);
  EXPECT_EQ(rig.lane.counters().stale_settles, 1u);
}

TEST(LaneClaim, T17_a_third_delivery_waits_for_the_first_run_too) {
  Rig rig(4);
  const auto runs = rig.running(gives(1, 1));
  rig.taken({{1, 2}});
  rig.poll();
  rig.lane.on_retracted(rig.now, rig.a.retract, {});
  rig.poll();
  rig.taken({{1, 3}});
  EXPECT_TRUE(rig.poll().run.empty());
  rig.finish(runs[0].slot, Finished::Kind::ack);
  rig.poll();
  ASSERT_EQ(rig.a.run.size(), 1u);
  EXPECT_EQ(rig.a.run[0].batch->entries[rig.a.run[0].index].delivery, 3);
}

// The waiting delivery is lost as well; what comes then must still find the run that goes on.
TEST(LaneClaim, T17_a_lost_successor_does_not_hide_the_run_it_waited_for) {
  Rig rig(4);
  const auto runs = rig.running(gives(1, 1));
  rig.taken({{1, 2}});
  rig.poll();
  rig.lane.on_retracted(rig.now, rig.a.retract, {});
  rig.pass(6s).renew();
  ASSERT_EQ(rig.a.renew.size(), 1u);
  EXPECT_EQ(rig.a.renew[0][0].delivery, 2);
  rig.renewed(store::RenewStatus::other_owner);
  EXPECT_EQ(rig.lane.held(), 1u);
  rig.poll();
  if (rig.a.tick_max > 0) rig.tick({1});
  EXPECT_TRUE(rig.poll().claim.empty()) << "its run goes on here";
  rig.taken({{1, 4}});
  EXPECT_TRUE(rig.poll().run.empty());
  rig.finish(runs[0].slot, Finished::Kind::ack);
  ASSERT_EQ(rig.poll().run.size(), 1u);
  EXPECT_EQ(rig.a.run[0].batch->entries[rig.a.run[0].index].delivery, 4);
}

TEST(LaneClaim, an_answer_that_was_overtaken_changes_nothing) {
  Rig rig(4);
  rig.running({{1, 5}});
  rig.taken({{1, 5}, {1, 4}});
  rig.poll();
  EXPECT_EQ(rig.lane.held(), 1u);
  EXPECT_TRUE(rig.a.run.empty());
  EXPECT_TRUE(rig.a.retract.empty());
}

}  // namespace
}  // namespace penstock::engine
