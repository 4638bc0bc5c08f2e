// Renewal, loss, and what a lease that is not proved may do.
#include "unit/engine/rig.hpp"

namespace penstock::engine {
namespace {

// T01: idle is not dead. A run of three leases is renewed all the way and runs once.
TEST(LaneLease, T01_a_long_run_is_renewed_at_a_quarter_of_its_lease) {
  Rig rig;
  rig.running(gives(1, 1));
  MonoTime last = rig.now;
  int renewals = 0;
  for (const MonoTime end = rig.now + 60s; rig.now < end;) {
    rig.now = std::max(rig.now + 1ms, rig.lane.next_renewal(rig.now));
    rig.renew();
    EXPECT_TRUE(rig.a.stop.empty());
    if (!rig.a.renew.empty()) {
      ++renewals;
      EXPECT_GE(rig.now - last, 5s);
      EXPECT_LE(rig.now - last, 6666ms) << "a third of the lease, with room for a second try";
      last = rig.now;
    }
    rig.renewed(store::RenewStatus::renewed);
    EXPECT_TRUE(rig.poll().run.empty());
    rig.quiet();
  }
  EXPECT_GE(renewals, 8);
  EXPECT_EQ(rig.lane.counters().renewals, static_cast<std::uint64_t>(renewals));
  EXPECT_EQ(rig.lane.held(), 1u);
}

TEST(LaneLease, T01_a_short_message_costs_no_renewal) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  rig.pass(4999ms).renew();
  EXPECT_TRUE(rig.a.renew.empty());
  rig.finish(runs[0].slot, Finished::Kind::ack);
  EXPECT_EQ(rig.poll().ack.size(), 1u) << "and its ack is the fast one";
}

// T05: the clock runs while an entry waits in the buffer.
TEST(LaneLease, T05_buffered_entries_are_renewed_too) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::count;
  c.prefetch_entries = 3;
  Rig rig(c);
  rig.running(gives(1, 3));
  rig.pass(5s).renew();
  ASSERT_EQ(rig.a.renew.size(), 1u);
  EXPECT_EQ(rig.a.renew[0].size(), 3u);
}

TEST(LaneLease, T05_no_run_begins_on_a_lease_older_than_half) {
  Rig rig(2);
  rig.open();
  rig.poll();
  rig.quiet();
  const MonoTime asked = rig.now;
  rig.pass(10s);  // the reply took half of the lease
  rig.lane.on_taken(rig.now, asked, rig.epoch, batch_of(gives(1, 1)));
  rig.poll();
  EXPECT_TRUE(rig.a.run.empty());
  EXPECT_TRUE(rig.a.poke_renewal);
  rig.renew();
  ASSERT_EQ(rig.a.renew.size(), 1u);
  rig.renewed(store::RenewStatus::renewed);
  rig.poll();
  ASSERT_EQ(rig.a.run.size(), 1u);
  EXPECT_EQ(rig.a.run[0].start_before, rig.now + 10s);
}

TEST(LaneLease, T05_the_lease_counts_from_before_the_command_was_sent) {
  Rig rig;
  rig.open();
  rig.poll();
  rig.quiet();
  const MonoTime asked = rig.now;
  rig.pass(3s);
  rig.lane.on_taken(rig.now, asked, rig.epoch, batch_of(gives(1, 1)));
  ASSERT_EQ(rig.poll().run.size(), 1u);
  EXPECT_EQ(rig.a.run[0].start_before, asked + 10s);
}

TEST(LaneLease, a_renewal_gives_a_queued_run_more_time_to_start) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::count;
  c.prefetch_entries = 2;
  Rig rig(c);
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken(gives(1, 2));
  const auto runs = rig.poll().run;
  ASSERT_EQ(runs.size(), 2u);
  rig.lane.on_started({{runs[0].slot, rig.now}});
  rig.pass(5s).renew();
  rig.renewed(store::RenewStatus::renewed);
  rig.poll();
  ASSERT_EQ(rig.a.extend.size(), 1u);
  EXPECT_EQ(rig.a.extend[0].slot, runs[1].slot);
  EXPECT_EQ(rig.a.extend[0].start_before, rig.now + 10s);
}

/// A run whose renewal was answered with `status`: it is stopped, and its ack goes nowhere.
void lost_by(store::RenewStatus status) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  rig.pass(6s).renew();
  ASSERT_EQ(rig.a.renew.size(), 1u);
  EXPECT_EQ(rig.a.renew[0][0], (store::Receipt{{1, 0}, 1})) << "the fence: id and delivery number";
  rig.renewed(status);
  rig.poll();
  rig.lane.on_retracted(rig.now, rig.a.retract, {});
  rig.poll();
  ASSERT_EQ(rig.a.stop.size(), 1u);
  EXPECT_EQ(rig.a.stop[0].reason, StopReason::lease_lost);
  rig.quiet();
  rig.renew();
  EXPECT_TRUE(rig.a.renew.empty()) << "what is lost is not taken back";
  rig.finish(runs[0].slot, Finished::Kind::ack);
  rig.poll();
  EXPECT_TRUE(rig.a.ack.empty());
  EXPECT_TRUE(rig.a.settle.empty());
  EXPECT_EQ(rig.lane.counters().lease_lost, 1u);
  EXPECT_EQ(rig.lane.counters().stale_settles, 1u);
  EXPECT_EQ(rig.lane.counters().acked, 0u);
  EXPECT_EQ(rig.lane.held(), 0u) << "its slot came free once";
}

TEST(LaneLease, T02_renewal_never_steals_back) { lost_by(store::RenewStatus::other_owner); }
TEST(LaneLease, T03_one_answer_tells_whether_it_is_still_ours) {
  lost_by(store::RenewStatus::not_pending);
}
TEST(LaneLease, T04_a_late_ack_of_a_lost_delivery_is_not_sent) {
  lost_by(store::RenewStatus::other_owner);
}
TEST(LaneLease, a_vanished_body_ends_the_lease) { lost_by(store::RenewStatus::no_body); }

TEST(LaneLease, T04_no_outcome_of_a_lost_delivery_is_sent) {
  for (const auto kind : {Finished::Kind::retry, Finished::Kind::not_yet, Finished::Kind::release,
                          Finished::Kind::dead}) {
    Rig rig;
    const auto runs = rig.running(gives(1, 1));
    rig.pass(6s).renew();
    rig.renewed(store::RenewStatus::other_owner);
    rig.poll();
    rig.finish(runs[0].slot, kind);
    rig.poll();
    EXPECT_TRUE(rig.a.ack.empty() && rig.a.settle.empty());
  }
}

TEST(LaneLease, T04_a_refused_settle_is_counted_and_told_and_frees_the_slot) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  rig.finish(runs[0].slot, Finished::Kind::dead, "bad");
  rig.poll();
  ASSERT_EQ(rig.a.settle.size(), 1u);
  rig.settled(store::SettleStatus::lease_lost);
  EXPECT_EQ(rig.lane.counters().dead, 0u);
  EXPECT_EQ(rig.lane.counters().lease_lost, 1u);
  EXPECT_EQ(rig.lane.held(), 0u);
  EXPECT_EQ(rig.poll().log.size(), 1u);
}

// "Lost" for an id whose settle is on the way: the settle's own answer tells.
TEST(LaneLease, a_renewal_overtaken_by_a_settle_is_no_loss) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  rig.pass(6s).renew();
  const auto receipts = rig.a.renew;
  rig.finish(runs[0].slot, Finished::Kind::ack);
  ASSERT_EQ(rig.poll().ack.size(), 1u);
  rig.lane.on_renewed(rig.now, rig.now, rig.epoch, receipts[0],
                      std::vector{store::RenewStatus::not_pending});
  rig.acked();
  EXPECT_EQ(rig.lane.counters().lease_lost, 0u);
  EXPECT_EQ(rig.lane.counters().acked, 1u);
}

TEST(LaneLease, T29_the_handler_is_stopped_before_the_lease_can_lapse) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  const MonoTime from = rig.now;
  int tries = 0;
  std::optional<MonoTime> stopped;
  while (rig.now < from + 20s) {
    rig.now = rig.lane.next_renewal(rig.now);
    rig.renew();
    if (rig.a.enlist) rig.lane.on_enlisted(rig.now, failure(errc::unreachable));
    for (const StopItem& stop : rig.a.stop) {
      EXPECT_EQ(stop.reason, StopReason::lease_lost);
      EXPECT_EQ(stop.slot, runs[0].slot);
      EXPECT_FALSE(stopped) << "asked once";
      stopped = rig.now;
    }
    const auto batches = std::exchange(rig.a.renew, {});
    for (const auto& receipts : batches) {
      ++tries;
      rig.lane.on_renewed(rig.now, rig.now, rig.epoch, receipts, failure(errc::unreachable));
    }
  }
  ASSERT_TRUE(stopped) << "though no renewal was ever answered well";
  EXPECT_GE(*stopped - from, 17s);
  EXPECT_LT(*stopped - from, 20s);
  EXPECT_GE(tries, 5) << "errors never end it";
  EXPECT_LE(tries, 25);
  EXPECT_EQ(rig.lane.counters().renew_failures, static_cast<std::uint64_t>(tries));
}

// Whatever the moment at which the entry came, seen from the renewal thread's own clock.
TEST(LaneLease, T29_the_stop_is_in_time_for_every_phase_of_the_clock) {
  for (MonoDuration phase = 0ms; phase < 3s; phase += 50ms) {
    Rig rig;
    rig.open();
    rig.poll();
    rig.quiet();
    rig.renew();
    MonoTime next = rig.lane.next_renewal(rig.now);
    const MonoTime from = rig.pass(phase).now;
    while (next <= rig.now) next += rig.lane.config().renew_period();
    rig.taken(gives(1, 1));
    ASSERT_EQ(rig.poll().run.size(), 1u);
    rig.lane.on_started({{rig.a.run[0].slot, rig.now}});
    rig.a = {};
    while (rig.a.stop.empty() && next < from + 25s) {
      rig.now = next;
      rig.renew();
      const auto batches = std::exchange(rig.a.renew, {});
      for (const auto& receipts : batches) {
        rig.lane.on_renewed(rig.now, rig.now, rig.epoch, receipts, failure(errc::unreachable));
      }
      next = rig.now + rig.lane.config().renew_period();
    }
    EXPECT_LE(rig.now - from, 19s) << "phase " << phase.count();
  }
}

// A renewal that is never answered at all must not hold up the stop.
TEST(LaneLease, T29_a_silent_renewal_does_not_hold_up_the_stop) {
  Rig rig;
  rig.running(gives(1, 1));
  const MonoTime from = rig.now;
  while (rig.now < from + 20s) {
    rig.now = rig.lane.next_renewal(rig.now);
    if (!rig.renew().stop.empty()) break;
  }
  EXPECT_LT(rig.now - from, 20s);
}

// Commands may be refused for good while handlers run: their leases must not rot meanwhile.
TEST(LaneLease, T29_a_fatal_error_does_not_end_renewal) {
  Rig rig;
  rig.running(gives(1, 1));
  rig.lane.on_trimmed(rig.now, failure(errc::no_permission));
  ASSERT_TRUE(rig.poll().fatal);
  rig.pass(6s).renew();
  EXPECT_EQ(rig.a.renew.size(), 1u);
}

TEST(LaneLease, T29_many_leases_are_renewed_in_bounded_batches) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::none;
  Rig rig(c);
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken(gives(1, 600));
  rig.poll();
  rig.pass(5s).renew();
  ASSERT_EQ(rig.a.renew.size(), 3u);
  for (const auto& receipts : rig.a.renew) EXPECT_LE(receipts.size(), store::batch_max);
  EXPECT_EQ(rig.a.renew[0].size() + rig.a.renew[1].size() + rig.a.renew[2].size(), 600u);
}

TEST(LaneLease, a_lease_of_an_older_connection_is_renewed_first_and_acked_fenced) {
  Rig rig(2);
  const auto runs = rig.running(gives(1, 1));
  rig.epoch = 2;
  rig.finish(runs[0].slot, Finished::Kind::ack);
  rig.poll();
  EXPECT_TRUE(rig.a.ack.empty());
  ASSERT_EQ(rig.a.settle.size(), 1u);
  EXPECT_EQ(rig.a.settle[0].kind, store::Settlement::Kind::ack);
  rig.settled(store::SettleStatus::done);
  EXPECT_EQ(rig.lane.counters().acked, 1u);
}

TEST(LaneLease, after_a_reconnect_all_leases_are_renewed_at_once) {
  Rig rig(2);
  const auto runs = rig.running(gives(1, 2));
  rig.epoch = 2;
  rig.pass(1s).renew();
  ASSERT_EQ(rig.a.renew.size(), 1u);
  EXPECT_EQ(rig.a.renew[0].size(), 2u);
  rig.renewed(store::RenewStatus::renewed);
  rig.finish(runs[0].slot, Finished::Kind::ack);
  EXPECT_EQ(rig.poll().ack.size(), 1u) << "proved again: the fast way is open";
}

TEST(LaneLease, an_entry_read_on_an_older_connection_does_not_start_before_its_renewal) {
  Rig rig;
  rig.open();
  rig.poll();
  rig.quiet();
  rig.epoch = 2;
  rig.lane.on_taken(rig.now, rig.now, 1, batch_of(gives(1, 1)));
  EXPECT_TRUE(rig.poll().run.empty());
  rig.renew();
  rig.renewed(store::RenewStatus::renewed);
  EXPECT_EQ(rig.poll().run.size(), 1u);
}

TEST(LaneLease, an_ack_on_an_old_lease_is_fenced) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  rig.pass(10s);
  rig.finish(runs[0].slot, Finished::Kind::ack);
  rig.poll();
  EXPECT_TRUE(rig.a.ack.empty());
  EXPECT_EQ(rig.a.settle.size(), 1u);
}

// A stop that was meant for an earlier turn in the queue, before a renewal came through after all.
TEST(LaneLease, T29_a_run_that_begins_after_an_outage_can_be_stopped_again) {
  LaneConfig c = Rig::config_of(1);
  c.max_run = 3s;
  Rig rig(c);
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken(gives(1, 1));
  auto runs = rig.poll().run;
  ASSERT_EQ(runs.size(), 1u);
  rig.pass(18s).renew();
  ASSERT_EQ(rig.a.stop.size(), 1u);
  rig.renewed(store::RenewStatus::renewed);
  EXPECT_TRUE(rig.poll().extend.empty()) << "told to stop: it may not begin in this turn";
  rig.quiet();
  rig.finish(runs[0].slot, Finished::Kind::not_started);
  runs = rig.poll().run;
  ASSERT_EQ(runs.size(), 1u);
  rig.lane.on_started({{runs[0].slot, rig.now}});
  rig.pass(3s).poll();
  ASSERT_EQ(rig.a.stop.size(), 1u);
  EXPECT_EQ(rig.a.stop[0].reason, StopReason::max_run);
}

}  // namespace
}  // namespace penstock::engine
