// Closing: hand back at once, wait for what runs, stop it in time, end.
#include "unit/engine/rig.hpp"

namespace penstock::engine {
namespace {

LaneConfig buffered() {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::count;
  c.prefetch_entries = 3;
  return c;
}

/// Three read, the first runs, the others wait with the dispatcher.
std::vector<RunItem> one_of_three_runs(Rig& rig) {
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken(gives(1, 3));
  std::vector<RunItem> runs = rig.poll().run;
  rig.lane.on_started({{runs[0].slot, rig.now}});
  return runs;
}

TEST(LaneDrain, T18_hands_back_what_has_not_started_at_once_and_fenced) {
  Rig rig(buffered());
  const auto runs = one_of_three_runs(rig);
  rig.lane.begin_drain(rig.now);
  rig.poll();
  EXPECT_FALSE(rig.a.take);
  ASSERT_EQ(rig.a.retract.size(), 2u);
  rig.lane.on_retracted(rig.now, rig.a.retract, {runs[1].slot, runs[2].slot});
  rig.poll();
  ASSERT_EQ(rig.a.settle.size(), 2u);
  for (const store::Settlement& s : rig.a.settle) {
    EXPECT_EQ(s.kind, store::Settlement::Kind::park);
    EXPECT_TRUE(s.release);
    EXPECT_EQ(s.delay, 0ms);
    EXPECT_EQ(s.receipt.delivery, 1) << "the fence: another who has it by now keeps it";
  }
  // One was taken by a peer meanwhile: told, and left alone.
  rig.lane.on_settled(rig.now,
                      std::vector{store::SettleStatus::done, store::SettleStatus::lease_lost});
  EXPECT_EQ(rig.lane.counters().released, 1u);
  EXPECT_EQ(rig.lane.held(), 1u);
  EXPECT_TRUE(rig.poll().settle.empty());
}

TEST(LaneDrain, T18_the_order_is_read_hand_back_wait_stop_end) {
  Rig rig(buffered());
  const auto runs = one_of_three_runs(rig);
  const MonoTime from = rig.now;
  rig.lane.begin_drain(rig.now);
  rig.poll();
  rig.lane.on_retracted(rig.now, rig.a.retract, {runs[1].slot, runs[2].slot});
  rig.poll();
  rig.settled(store::SettleStatus::done);
  std::optional<MonoTime> stopped;
  bool renewed = false;
  while (rig.now < from + 20s) {
    rig.pass(100ms).renew();
    renewed = renewed || !rig.a.renew.empty();
    rig.renewed(store::RenewStatus::renewed);
    rig.poll();
    EXPECT_FALSE(rig.a.drained);
    EXPECT_FALSE(rig.a.take || rig.a.peek || rig.a.tick_max > 0);
    for (const StopItem& stop : rig.a.stop) {
      EXPECT_EQ(stop.reason, StopReason::drain);
      stopped = rig.now;
    }
  }
  EXPECT_TRUE(renewed) << "what runs keeps its lease to the end";
  ASSERT_TRUE(stopped);
  EXPECT_GE(*stopped - from, 15s) << "drain - stop_grace";
  EXPECT_LE(*stopped - from, 15200ms);
  rig.finish(runs[0].slot, Finished::Kind::ack);
  rig.poll();
  ASSERT_EQ(rig.a.ack.size() + rig.a.settle.size(), 1u);
  if (rig.a.ack.empty()) {
    rig.settled(store::SettleStatus::done);
  } else {
    rig.acked();
  }
  rig.poll();
  ASSERT_TRUE(rig.a.forget) << "its own row, last";
  EXPECT_EQ(*rig.a.forget, me);
  EXPECT_FALSE(rig.a.drained);
  rig.lane.on_forgotten(rig.now, true);
  EXPECT_TRUE(rig.poll().drained);
  EXPECT_TRUE(rig.lane.clean());
  EXPECT_EQ(rig.lane.next_poll(rig.now), base::never);
  EXPECT_EQ(rig.lane.next_renewal(rig.now), base::never);
}

TEST(LaneDrain, a_waiting_read_is_woken_and_what_it_brings_is_handed_back) {
  Rig rig(2);
  rig.open();
  rig.poll();
  rig.quiet();
  ASSERT_TRUE(rig.a.take);
  rig.lane.begin_drain(rig.now);
  EXPECT_TRUE(rig.poll().wake);
  EXPECT_FALSE(rig.a.drained) << "its reply is still to come";
  rig.taken(gives(1, 1));
  rig.poll();
  EXPECT_TRUE(rig.a.run.empty());
  ASSERT_EQ(rig.a.settle.size(), 1u);
  EXPECT_TRUE(rig.a.settle[0].release);
  rig.settled(store::SettleStatus::done);
  rig.poll();
  ASSERT_TRUE(rig.a.forget);
  rig.lane.on_forgotten(rig.now, true);
  EXPECT_TRUE(rig.poll().drained);
  EXPECT_TRUE(rig.lane.clean());
}

TEST(LaneDrain, what_a_claim_brings_is_handed_back_too) {
  Rig rig(2);
  rig.open();
  rig.poll();
  if (rig.a.peek) rig.peek({});
  rig.tick({7});
  rig.poll();
  rig.taken({});
  ASSERT_EQ(rig.poll().claim.size(), 1u);
  rig.lane.begin_drain(rig.now);
  rig.poll();
  EXPECT_FALSE(rig.a.drained);
  store::ClaimReply reply;
  reply.status = {store::ClaimStatus::claimed};
  reply.batch = batch_of({{7, 2, store::Origin::due}});
  rig.lane.on_claimed(rig.now, rig.now, rig.epoch, reply);
  rig.poll();
  ASSERT_EQ(rig.a.settle.size(), 1u);
  EXPECT_EQ(rig.a.settle[0].receipt.delivery, 2);
}

TEST(LaneDrain, an_idle_lane_is_done_at_once) {
  Rig rig;
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken({});
  rig.lane.begin_drain(rig.now);
  rig.poll();
  ASSERT_TRUE(rig.a.forget);
  rig.lane.on_forgotten(rig.now, failure(errc::timed_out));
  EXPECT_TRUE(rig.poll().drained);
  EXPECT_TRUE(rig.lane.clean());
}

TEST(LaneDrain, its_own_row_goes_though_another_is_being_removed) {
  Rig rig;
  rig.open();
  rig.poll();
  if (rig.a.tick_max > 0) rig.tick({});
  rig.peek({}, {}, {}, {"gone.00000009"});
  rig.poll();
  ASSERT_EQ(rig.a.forget, "gone.00000009");
  rig.taken({});
  rig.lane.begin_drain(rig.now);
  EXPECT_FALSE(rig.poll().drained);
  rig.lane.on_forgotten(rig.now, true);
  ASSERT_EQ(rig.poll().forget, me);
  EXPECT_FALSE(rig.a.drained);
  rig.lane.on_forgotten(rig.now, true);
  EXPECT_TRUE(rig.poll().drained);
}

TEST(LaneDrain, a_lane_that_was_never_opened_ends_without_the_store) {
  Rig rig;
  rig.poll();
  rig.lane.on_opened(rig.now, failure(errc::unreachable));
  rig.lane.begin_drain(rig.now);
  EXPECT_TRUE(rig.poll().drained);
  EXPECT_TRUE(rig.lane.clean());
}

TEST(LaneDrain, a_handler_that_throws_at_the_stop_has_not_failed) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  rig.lane.begin_drain(rig.now);
  rig.poll();
  rig.lane.on_retracted(rig.now, rig.a.retract, {});
  rig.pass(15s).renew();
  rig.renewed(store::RenewStatus::renewed);
  rig.poll();
  ASSERT_EQ(rig.a.stop.size(), 1u);
  rig.finish(runs[0].slot, Finished::Kind::retry, "interrupted", true);
  rig.poll();
  ASSERT_EQ(rig.a.settle.size(), 1u);
  EXPECT_TRUE(rig.a.settle[0].release);
}

TEST(LaneDrain, at_the_deadline_it_ends_and_says_so) {
  Rig rig;
  rig.running(gives(1, 1));
  rig.lane.begin_drain(rig.now);
  ASSERT_TRUE(rig.until(26s, [](Actions& a) { return a.drained; }));
  EXPECT_FALSE(rig.lane.clean()) << "a handler still runs";
}

/// Drains with a store that fails every call from now on. True: it called itself clean.
bool drain_with_the_store_away(Rig& rig) {
  const MonoTime from = rig.now;
  rig.lane.begin_drain(rig.now);
  int calls = 0;
  while (rig.now < from + 30s) {
    rig.poll();
    if (!rig.a.retract.empty()) {
      const auto all = rig.a.retract;
      rig.lane.on_retracted(rig.now, all, all);
      rig.poll();
    }
    if (rig.a.drained) break;
    if (rig.a.take) ADD_FAILURE() << "it reads while it closes";
    if (!rig.a.settle.empty()) {
      ++calls;
      rig.lane.on_settled(rig.now, failure(errc::unreachable));
    }
    if (!rig.a.ack.empty()) rig.lane.on_acked(rig.now, failure(errc::unreachable));
    rig.pass(50ms);
  }
  EXPECT_TRUE(rig.a.drained);
  EXPECT_LE(rig.now - from, 25100ms);
  EXPECT_LE(calls, 60) << "a few calls a second, not a loop";
  return rig.lane.clean();
}

TEST(LaneDrain, with_the_store_away_it_ends_in_time_and_is_not_clean) {
  Rig acks;
  const auto runs = acks.running(gives(1, 1));
  acks.finish(runs[0].slot, Finished::Kind::ack);
  EXPECT_FALSE(drain_with_the_store_away(acks));

  Rig handed_back(buffered());
  handed_back.open();
  handed_back.poll();
  handed_back.quiet();
  handed_back.taken(gives(1, 3));
  handed_back.poll();
  EXPECT_FALSE(drain_with_the_store_away(handed_back)) << "nothing was handed back";
}

// A settle that was sent and never answered is not settled.
TEST(LaneDrain, an_unanswered_settle_is_not_clean) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  rig.finish(runs[0].slot, Finished::Kind::dead, "x");
  ASSERT_EQ(rig.poll().settle.size(), 1u);
  rig.quiet();
  rig.lane.begin_drain(rig.now);
  ASSERT_TRUE(rig.until(26s, [](Actions& a) { return a.drained; }));
  EXPECT_FALSE(rig.lane.clean());
}

TEST(LaneDrain, a_second_delivery_is_not_handed_back_under_a_run_that_goes_on) {
  Rig rig(4);
  const auto runs = rig.running(gives(1, 1));
  rig.taken({{1, 2}});
  rig.poll();
  rig.lane.on_retracted(rig.now, rig.a.retract, {});
  rig.lane.begin_drain(rig.now);
  rig.poll();
  EXPECT_TRUE(rig.a.settle.empty()) << "a peer would run it beside the run that goes on here";
  rig.finish(runs[0].slot, Finished::Kind::ack);
  rig.poll();
  ASSERT_EQ(rig.a.settle.size(), 1u);
  EXPECT_EQ(rig.a.settle[0].receipt.delivery, 2);
  EXPECT_TRUE(rig.a.settle[0].release);
}

}  // namespace
}  // namespace penstock::engine
