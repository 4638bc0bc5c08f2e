// Outcomes become settlements.
#include "unit/engine/rig.hpp"

namespace penstock::engine {
namespace {

using Kind = store::Settlement::Kind;

/// The settlement that an outcome of a run of `give` leads to.
store::Settlement settlement_of(Rig& rig, const Give& give, Finished run) {
  const auto runs = rig.running({give});
  run.slot = runs.at(0).slot;
  run.took = 1ms;
  rig.lane.on_finished(rig.now, {run});
  rig.poll();
  EXPECT_TRUE(rig.a.ack.empty());
  EXPECT_EQ(rig.a.settle.size(), 1u);
  return rig.a.settle.empty() ? store::Settlement{} : rig.a.settle[0];
}

Finished ended(Finished::Kind kind, std::string why = {}) {
  Finished run;
  run.kind = kind;
  run.why = std::move(why);
  return run;
}

store::Note note_with(std::int64_t attempts) {
  store::Note note;
  note.attempts = attempts;
  note.error = "before";
  note.first_failed = 77;
  note.checkpoint = "page 3";
  return note;
}

TEST(LaneSettle, acks_are_gathered_while_the_last_flush_is_out) {
  LaneConfig c = Rig::config_of(4);
  Rig rig(c);
  const auto runs = rig.running(gives(1, 4));
  rig.finish(runs[0].slot, Finished::Kind::ack);
  EXPECT_EQ(rig.poll().ack.size(), 1u);
  for (int i = 1; i < 4; ++i) {
    rig.finish(runs[static_cast<std::size_t>(i)].slot, Finished::Kind::ack);
    EXPECT_TRUE(rig.poll().ack.empty());
    rig.quiet();
  }
  rig.lane.on_acked(rig.now, store::AckReply{1});
  EXPECT_EQ(rig.poll().ack.size(), 3u);
  EXPECT_TRUE(rig.a.settle.empty());
  rig.acked();
  EXPECT_EQ(rig.lane.counters().acked, 4u);
}

TEST(LaneSettle, an_entry_with_a_note_is_acked_by_the_fence_that_removes_it) {
  Rig rig;
  Give give{1, 2};
  give.note = note_with(1);
  const auto s = settlement_of(rig, give, ended(Finished::Kind::ack));
  EXPECT_EQ(s.kind, Kind::ack);
  EXPECT_EQ(s.receipt, (store::Receipt{{1, 0}, 2}));
}

TEST(LaneSettle, a_failure_waits_for_a_back_off_drawn_once_and_keeps_its_history) {
  std::set<std::int64_t> delays;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    LaneConfig c = Rig::config_of(1);
    c.seed = seed;
    Rig rig(c);
    Give give{1, 9};
    give.note = note_with(2);
    const auto s = settlement_of(rig, give, ended(Finished::Kind::retry, "no route"));
    ASSERT_EQ(s.kind, Kind::park);
    EXPECT_FALSE(s.release);
    EXPECT_EQ(s.note.attempts, 3);
    EXPECT_EQ(s.note.base, 9) << "this hand-over ended in a settle: no lapse";
    EXPECT_EQ(s.note.error, "no route");
    EXPECT_EQ(s.note.first_failed, 77);
    EXPECT_EQ(s.note.checkpoint, "page 3");
    EXPECT_GT(s.delay, 0ms);
    EXPECT_LE(s.delay, 4s) << "1 s x 2 x 2";
    delays.insert(s.delay.count());
  }
  EXPECT_LT(*delays.begin(), 800) << "full jitter: from the bottom";
  EXPECT_GT(*delays.rbegin(), 3'200) << "to the top";
}

TEST(LaneSettle, back_off_is_bounded_however_many_attempts) {
  LaneConfig c = Rig::config_of(1);
  c.attempts = 1'000'000;
  Rig rig(c);
  Give give{1};
  give.note = note_with(900'000);
  const auto s = settlement_of(rig, give, ended(Finished::Kind::retry));
  EXPECT_EQ(s.kind, Kind::park);
  EXPECT_LE(s.delay, 10min);
}

TEST(LaneSettle, a_retry_may_say_when) {
  Rig rig;
  Finished run = ended(Finished::Kind::retry);
  run.after = 90s;
  EXPECT_EQ(settlement_of(rig, {1}, run).delay, 90s);
  Rig huge;
  run.after = MonoDuration::max();
  EXPECT_LE(settlement_of(huge, {1}, run).delay, 24h * 3650);
}

TEST(LaneSettle, the_last_attempt_goes_to_the_dead_letters) {
  Rig rig;
  Give give{1, 5};
  give.note = note_with(4);
  const auto s = settlement_of(rig, give, ended(Finished::Kind::retry, "still no route"));
  EXPECT_EQ(s.kind, Kind::dead);
  EXPECT_EQ(s.reason, "attempts");
  EXPECT_EQ(s.note.attempts, 5);
  EXPECT_EQ(s.note.error, "still no route");
  rig.settled(store::SettleStatus::done);
  EXPECT_EQ(rig.lane.counters().dead, 1u);
}

TEST(LaneSettle, not_yet_counts_no_attempt) {
  Rig rig;
  Give give{1, 400};
  give.note = note_with(2);
  give.note->base = 399;
  const auto s = settlement_of(rig, give, ended(Finished::Kind::not_yet));
  EXPECT_EQ(s.kind, Kind::park);
  EXPECT_EQ(s.delay, 30s);
  EXPECT_EQ(s.note.attempts, 2);
  EXPECT_EQ(s.note.base, 400);
  EXPECT_FALSE(s.release);
  Rig other;
  Finished run = ended(Finished::Kind::not_yet);
  run.after = 5s;
  EXPECT_EQ(settlement_of(other, {1}, run).delay, 5s);
}

TEST(LaneSettle, release_is_at_once_and_counts_no_attempt) {
  Rig rig;
  const auto s = settlement_of(rig, {1, 3}, ended(Finished::Kind::release));
  EXPECT_EQ(s.kind, Kind::park);
  EXPECT_TRUE(s.release);
  EXPECT_EQ(s.delay, 0ms);
  EXPECT_EQ(s.note.attempts, 0);
  EXPECT_EQ(s.note.base, 3);
}

TEST(LaneSettle, dead_goes_to_the_dead_letters_with_the_handlers_reason) {
  Rig rig;
  const auto s = settlement_of(rig, {1}, ended(Finished::Kind::dead, "no such account"));
  EXPECT_EQ(s.kind, Kind::dead);
  EXPECT_EQ(s.reason, "rejected");
  EXPECT_EQ(s.note.error, "no such account");
}

TEST(LaneSettle, an_error_text_is_cut_at_8_KiB) {
  Rig rig;
  const auto s = settlement_of(rig, {1}, ended(Finished::Kind::retry, std::string(100'000, 'e')));
  EXPECT_EQ(s.note.error.size(), 8u * 1024);
}

TEST(LaneSettle, what_throws_because_it_was_stopped_has_not_failed) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  rig.pass(18s).renew();
  ASSERT_EQ(rig.a.stop.size(), 1u);
  rig.renewed(store::RenewStatus::renewed);
  rig.finish(runs[0].slot, Finished::Kind::retry, "interrupted", true);
  rig.poll();
  ASSERT_EQ(rig.a.settle.size(), 1u);
  EXPECT_TRUE(rig.a.settle[0].release);
  EXPECT_EQ(rig.a.settle[0].note.attempts, 0);
}

TEST(LaneSettle, what_returns_retry_although_it_was_stopped_has_failed) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  rig.pass(18s).renew();
  rig.renewed(store::RenewStatus::renewed);
  rig.finish(runs[0].slot, Finished::Kind::retry, "the disk is full", false);
  rig.poll();
  ASSERT_EQ(rig.a.settle.size(), 1u);
  EXPECT_EQ(rig.a.settle[0].note.attempts, 1);
}

TEST(LaneSettle, an_ack_whose_answer_was_lost_is_sent_again_fenced_and_already_means_done) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  rig.finish(runs[0].slot, Finished::Kind::ack);
  ASSERT_EQ(rig.poll().ack.size(), 1u);
  rig.lane.on_acked(rig.now, failure(errc::connection_lost));
  rig.poll();
  EXPECT_TRUE(rig.a.ack.empty());
  ASSERT_EQ(rig.a.settle.size(), 1u);
  EXPECT_EQ(rig.a.settle[0].kind, Kind::ack);
  rig.settled(store::SettleStatus::already);
  EXPECT_EQ(rig.lane.counters().acked, 1u);
  EXPECT_EQ(rig.lane.counters().ack_zero, 0u);
  EXPECT_EQ(rig.lane.held(), 0u);
}

TEST(LaneSettle, already_without_a_lost_answer_is_another_hand) {
  Rig rig;
  settlement_of(rig, {1}, ended(Finished::Kind::dead, "x"));
  rig.settled(store::SettleStatus::already);
  EXPECT_EQ(rig.lane.counters().dead, 0u);
  EXPECT_EQ(rig.lane.counters().ack_zero, 1u);
  EXPECT_EQ(rig.lane.held(), 0u);
}

TEST(LaneSettle, acks_that_counted_for_nothing_are_counted_and_told_once) {
  Rig rig(2);
  auto runs = rig.running(gives(1, 2));
  for (const RunItem& run : runs) rig.finish(run.slot, Finished::Kind::ack);
  rig.poll();
  rig.lane.on_acked(rig.now, store::AckReply{1});
  EXPECT_EQ(rig.lane.counters().acked, 1u);
  EXPECT_EQ(rig.lane.counters().ack_zero, 1u);
  EXPECT_EQ(rig.poll().log.size(), 1u);
}

TEST(LaneSettle, a_lost_settle_is_sent_again_whole_and_in_order) {
  Rig rig(3);
  const auto runs = rig.running(gives(1, 3));
  rig.finish(runs[0].slot, Finished::Kind::dead, "a");
  rig.finish(runs[1].slot, Finished::Kind::release);
  rig.poll();
  ASSERT_EQ(rig.a.settle.size(), 2u);
  rig.finish(runs[2].slot, Finished::Kind::not_yet);
  rig.lane.on_settled(rig.now, failure(errc::timed_out));
  EXPECT_TRUE(rig.poll().settle.empty()) << "not at once";
  rig.quiet();
  rig.pass(100ms).poll();
  ASSERT_EQ(rig.a.settle.size(), 3u);
  EXPECT_EQ(rig.a.settle[0].receipt.id.ms, 1u);
  EXPECT_EQ(rig.a.settle[1].receipt.id.ms, 2u);
  EXPECT_EQ(rig.a.settle[2].receipt.id.ms, 3u);
}

TEST(LaneSettle, an_answer_of_another_length_settles_nothing) {
  Rig rig(2);
  const auto runs = rig.running(gives(1, 2));
  for (const RunItem& run : runs) rig.finish(run.slot, Finished::Kind::release);
  ASSERT_EQ(rig.poll().settle.size(), 2u);
  rig.lane.on_settled(rig.now, std::vector{store::SettleStatus::done});
  EXPECT_EQ(rig.lane.held(), 2u);
  rig.quiet();
  EXPECT_EQ(rig.pass(100ms).poll().settle.size(), 2u);
}

TEST(LaneSettle, a_refused_settle_keeps_its_lease_and_hides_no_other) {
  Rig rig(2);
  const auto runs = rig.running(gives(1, 2));
  rig.finish(runs[0].slot, Finished::Kind::dead, "x");
  rig.finish(runs[1].slot, Finished::Kind::release);
  ASSERT_EQ(rig.poll().settle.size(), 2u);
  rig.lane.on_settled(rig.now,
                      std::vector{store::SettleStatus::refused, store::SettleStatus::done});
  EXPECT_EQ(rig.lane.counters().released, 1u);
  EXPECT_EQ(rig.lane.held(), 1u);
  EXPECT_TRUE(rig.poll().settle.empty()) << "it is tried again, with a pause";
  rig.quiet();
  rig.pass(6s).renew();
  ASSERT_EQ(rig.a.renew.size(), 1u);
  EXPECT_EQ(rig.a.renew[0].size(), 1u);
  rig.renewed(store::RenewStatus::renewed);
  ASSERT_EQ(rig.poll().settle.size(), 1u);
  rig.settled(store::SettleStatus::done);
  EXPECT_EQ(rig.lane.counters().dead, 1u);
}

TEST(LaneSettle, no_batch_is_larger_than_a_script_takes) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::none;
  Rig rig(c);
  const auto runs = rig.running(gives(1, 600));
  std::vector<Finished> all;
  for (const RunItem& run : runs)
    all.push_back({run.slot, Finished::Kind::release, false, {}, {}, 1ms});
  rig.lane.on_finished(rig.now, all);
  std::size_t sent = 0;
  for (int i = 0; i < 3; ++i) {
    rig.poll();
    EXPECT_LE(rig.a.settle.size(), store::batch_max);
    sent += rig.a.settle.size();
    rig.settled(store::SettleStatus::done);
  }
  EXPECT_EQ(sent, 600u);
  EXPECT_EQ(rig.lane.held(), 0u);
}

TEST(LaneSettle, lapses_are_counted_from_the_last_settle) {
  Rig rig(2);
  rig.open();
  rig.poll();
  rig.quiet();
  store::Note looked;
  looked.base = 1'000;
  Give many_looks{1, 1'001};
  many_looks.note = looked;
  rig.taken({many_looks, {2, 22}});
  rig.poll();
  ASSERT_EQ(rig.a.run.size(), 1u) << "a thousand looks are no lapse";
  ASSERT_EQ(rig.a.settle.size(), 1u);
  EXPECT_EQ(rig.a.settle[0].reason, "lapses");
  EXPECT_EQ(rig.a.settle[0].receipt.id.ms, 2u);
}

TEST(LaneSettle, max_lapses_is_the_last_number_that_still_runs) {
  Rig rig(2);
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken({{1, 21}, {2, 22}});
  EXPECT_EQ(rig.poll().run.size(), 1u);
}

}  // namespace
}  // namespace penstock::engine
