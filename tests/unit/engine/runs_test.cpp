// Runs that go on too long, threads that hang, buffers that nobody empties.
#include "unit/engine/rig.hpp"

namespace penstock::engine {
namespace {

LaneConfig with_max_run(MonoDuration most, std::size_t concurrency = 1) {
  LaneConfig c = Rig::config_of(concurrency);
  c.max_run = most;
  return c;
}

/// Lets time pass in steps, renewing; gathers stops and abandons.
struct Watched {
  std::vector<std::pair<MonoTime, StopItem>> stops;
  std::vector<std::pair<MonoTime, Slot>> abandons;
  std::vector<store::Settlement> settles;
};

Watched watch(Rig& rig, MonoDuration how_long) {
  Watched seen;
  for (const MonoTime end = rig.now + how_long; rig.now < end; rig.pass(100ms)) {
    rig.renew();
    for (const StopItem& stop : rig.a.stop) seen.stops.push_back({rig.now, stop});
    rig.renewed(store::RenewStatus::renewed);
    rig.poll();
    for (const StopItem& stop : rig.a.stop) seen.stops.push_back({rig.now, stop});
    for (const Slot slot : rig.a.abandon) seen.abandons.push_back({rig.now, slot});
    for (const auto& s : rig.a.settle) seen.settles.push_back(s);
    if (!rig.a.settle.empty()) rig.settled(store::SettleStatus::done);
    rig.quiet();
  }
  return seen;
}

TEST(LaneMaxRun, stop_then_grace_then_given_up_and_retried_as_a_timeout) {
  Rig rig(with_max_run(60s));
  const auto runs = rig.running(gives(1, 1));
  const MonoTime from = rig.now;
  const Watched seen = watch(rig, 80s);
  ASSERT_EQ(seen.stops.size(), 1u);
  EXPECT_EQ(seen.stops[0].second.reason, StopReason::max_run);
  EXPECT_GE(seen.stops[0].first - from, 60s);
  EXPECT_LE(seen.stops[0].first - from, 60200ms);
  ASSERT_EQ(seen.abandons.size(), 1u);
  EXPECT_EQ(seen.abandons[0].second, runs[0].slot);
  EXPECT_GE(seen.abandons[0].first - from, 70s);
  EXPECT_LE(seen.abandons[0].first - from, 70200ms);
  ASSERT_EQ(seen.settles.size(), 1u);
  EXPECT_EQ(seen.settles[0].kind, store::Settlement::Kind::park);
  EXPECT_EQ(seen.settles[0].note.attempts, 1);
  EXPECT_EQ(rig.lane.counters().timed_out, 1u);
  EXPECT_EQ(rig.lane.hung(), 1u);
}

TEST(LaneMaxRun, the_last_timeout_is_a_dead_letter_with_that_reason) {
  LaneConfig c = with_max_run(1s);
  c.attempts = 1;
  Rig rig(c);
  rig.running(gives(1, 1));
  const Watched seen = watch(rig, 13s);
  ASSERT_EQ(seen.settles.size(), 1u);
  EXPECT_EQ(seen.settles[0].kind, store::Settlement::Kind::dead);
  EXPECT_EQ(seen.settles[0].reason, "timeout");
}

TEST(LaneMaxRun, a_run_that_heeds_its_stop_is_no_hung_one) {
  Rig rig(with_max_run(1s));
  const auto runs = rig.running(gives(1, 1));
  Watched seen = watch(rig, 2s);
  ASSERT_EQ(seen.stops.size(), 1u);
  rig.finish(runs[0].slot, Finished::Kind::retry, "cancelled", true);
  seen = watch(rig, 12s);
  EXPECT_TRUE(seen.abandons.empty());
  ASSERT_EQ(seen.settles.size(), 1u);
  EXPECT_EQ(seen.settles[0].note.attempts, 1) << "stopped for max_run: that is a failure";
}

TEST(LaneMaxRun, an_ack_after_the_stop_still_counts) {
  Rig rig(with_max_run(1s));
  const auto runs = rig.running(gives(1, 1));
  watch(rig, 2s);
  rig.finish(runs[0].slot, Finished::Kind::ack);
  EXPECT_EQ(rig.poll().ack.size() + rig.a.settle.size(), 1u);
}

TEST(LaneMaxRun, none_is_no_limit) {
  LaneConfig c = Rig::config_of(1);
  c.max_run.reset();
  Rig rig(c);
  rig.running(gives(1, 1));
  const Watched seen = watch(rig, 30min);
  EXPECT_TRUE(seen.stops.empty());
  EXPECT_TRUE(seen.abandons.empty());
}

TEST(LaneMaxRun, a_message_may_bring_its_own) {
  Rig rig(with_max_run(60s, 2));
  const auto runs =
      rig.running({{1, 1, store::Origin::fresh, {}, {{"body", "x"}, {"penstock-timeout", "3000"}}},
                   {2, 1, store::Origin::fresh, {}, {{"body", "x"}, {"penstock-timeout", "-5"}}}});
  const Watched seen = watch(rig, 10s);
  ASSERT_EQ(seen.stops.size(), 1u) << "nonsense is no order to stop at once";
  EXPECT_EQ(seen.stops[0].second.slot, runs[0].slot);
}

// A hung run has a spare thread in its place: the lane goes on.
TEST(LaneMaxRun, a_run_that_was_given_up_does_not_use_up_a_slot) {
  Rig rig(with_max_run(1s));
  rig.running(gives(1, 1));
  bool read = false;
  for (const MonoTime end = rig.now + 20s; rig.now < end && !read; rig.pass(100ms)) {
    rig.renew();
    rig.renewed(store::RenewStatus::renewed);
    rig.poll();
    if (!rig.a.settle.empty()) rig.settled(store::SettleStatus::done);
    read = rig.a.take.has_value();
    rig.quiet();
  }
  EXPECT_TRUE(read);
  EXPECT_EQ(rig.lane.hung(), 1u);
}

TEST(LaneMaxRun, the_late_end_of_a_hung_run_changes_nothing) {
  Rig rig(with_max_run(1s));
  const auto runs = rig.running(gives(1, 1));
  watch(rig, 13s);
  ASSERT_EQ(rig.lane.hung(), 1u);
  rig.finish(runs[0].slot, Finished::Kind::ack);
  rig.poll();
  EXPECT_TRUE(rig.a.ack.empty());
  EXPECT_TRUE(rig.a.settle.empty());
  EXPECT_EQ(rig.lane.hung(), 0u);
}

TEST(LaneMaxRun, without_a_spare_the_rest_is_handed_back) {
  LaneConfig c = with_max_run(1s);
  c.prefetch = PrefetchKind::count;
  c.prefetch_entries = 3;
  Rig rig(c);
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken(gives(1, 3));
  const auto runs = rig.poll().run;
  rig.lane.on_started({{runs[0].slot, rig.now}});
  rig.lane.on_no_spare(rig.now);
  EXPECT_TRUE(rig.lane.unhealthy());
  EXPECT_TRUE(rig.lane.draining());
  rig.poll();
  ASSERT_EQ(rig.a.retract.size(), 2u);
  rig.lane.on_retracted(rig.now, rig.a.retract, {runs[1].slot, runs[2].slot});
  rig.poll();
  ASSERT_EQ(rig.a.settle.size(), 2u);
  EXPECT_TRUE(rig.a.settle[0].release);
  EXPECT_FALSE(rig.a.take);
}

TEST(LaneMaxRun, without_a_spare_and_told_to_stay_nothing_more_is_read) {
  LaneConfig c = with_max_run(1s);
  c.stop_when_hung = false;
  Rig rig(c);
  rig.open();
  rig.lane.on_no_spare(rig.now);
  for (int i = 0; i < 100; ++i) {
    rig.pass(100ms).poll();
    EXPECT_FALSE(rig.a.take) << "it would be handed back at once, again and again";
    EXPECT_TRUE(rig.a.claim.empty());
    rig.quiet();
  }
}

TEST(LaneBuffer, what_waits_a_quarter_lease_while_no_slot_comes_free_is_handed_back) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::count;
  c.prefetch_entries = 5;
  Rig rig(c);
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken(gives(1, 5));
  const auto runs = rig.poll().run;
  ASSERT_EQ(runs.size(), 5u);
  rig.lane.on_started({{runs[0].slot, rig.now}});
  const MonoTime from = rig.now;
  ASSERT_TRUE(rig.until(7s, [](Actions& a) { return !a.retract.empty(); }));
  EXPECT_GE(rig.now - from, 5s);
  EXPECT_LE(rig.now - from, 5200ms);
  ASSERT_EQ(rig.a.retract.size(), 4u);
  rig.lane.on_retracted(rig.now, rig.a.retract, rig.a.retract);
  rig.poll();
  ASSERT_EQ(rig.a.settle.size(), 4u);
  rig.settled(store::SettleStatus::done);
  EXPECT_FALSE(rig.poll().take) << "no more than runs is held while it is crowded";
  rig.finish(runs[0].slot, Finished::Kind::ack);
  ASSERT_TRUE(rig.poll().take);
  EXPECT_EQ(rig.a.take->max, 4u) << "a slot came free: the buffer is back";
}

TEST(LaneBuffer, nothing_is_handed_back_where_slots_do_come_free) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::count;
  c.prefetch_entries = 5;
  Rig rig(c);
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken(gives(1, 5));
  const auto runs = rig.poll().run;
  for (std::size_t i = 0; i < 5; ++i) {
    rig.lane.on_started({{runs[i].slot, rig.now}});
    for (int k = 0; k < 40; ++k) {
      rig.pass(100ms).renew();
      rig.renewed(store::RenewStatus::renewed);
      EXPECT_TRUE(rig.poll().retract.empty());
      rig.quiet();
      if (!rig.a.ack.empty()) rig.acked();
    }
    rig.finish(runs[i].slot, Finished::Kind::ack);
  }
}

TEST(LaneBuffer, one_that_began_meanwhile_goes_on) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::count;
  c.prefetch_entries = 2;
  Rig rig(c);
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken(gives(1, 2));
  const auto runs = rig.poll().run;
  rig.lane.on_started({{runs[0].slot, rig.now}});
  ASSERT_TRUE(rig.until(7s, [](Actions& a) { return !a.retract.empty(); }));
  rig.lane.on_retracted(rig.now, rig.a.retract, {});
  rig.poll();
  EXPECT_TRUE(rig.a.stop.empty());
  rig.finish(runs[1].slot, Finished::Kind::ack);
  rig.poll();
  EXPECT_EQ(rig.a.ack.size() + rig.a.settle.size(), 1u);
}

}  // namespace
}  // namespace penstock::engine
