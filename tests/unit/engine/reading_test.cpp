// Start-up, and how much is read when.
#include "unit/engine/rig.hpp"

namespace penstock::engine {
namespace {

TEST(LaneStart, opens_before_anything_else) {
  Rig rig;
  rig.poll();
  ASSERT_TRUE(rig.a.open);
  EXPECT_EQ(rig.a.open->start, "0");
  EXPECT_FALSE(rig.a.open->heal);
  EXPECT_FALSE(rig.a.take);
  EXPECT_FALSE(rig.a.peek);
  EXPECT_EQ(rig.a.tick_max, 0u);
  EXPECT_FALSE(rig.poll().open) << "one call of a kind at a time";
  rig.renew();
  EXPECT_FALSE(rig.a.enlist) << "no row of a worker in a group that is not there";

  rig.lane.on_opened(rig.now, store::Opened{});
  rig.poll();
  EXPECT_TRUE(rig.a.take);
  EXPECT_TRUE(rig.a.peek);
  EXPECT_GT(rig.a.tick_max, 0u);
  EXPECT_TRUE(rig.renew().enlist);
}

// T20: what was sent before the first worker came is read.
TEST(LaneStart, T20_a_group_starts_at_0_and_at_the_end_only_when_told) {
  Rig rig;
  EXPECT_EQ(rig.poll().open->start, "0");
  LaneConfig c = Rig::config_of(1);
  c.start = "$";
  Rig other(c);
  EXPECT_EQ(other.poll().open->start, "$");
  store::Opened opened;
  opened.group_made = true;
  opened.waiting = 7;
  rig.lane.on_opened(rig.now, opened);
  ASSERT_EQ(rig.poll().log.size(), 1u);
  EXPECT_NE(rig.a.log[0].text.find("7 old entries"), std::string::npos) << rig.a.log[0].text;
}

TEST(LaneRead, waits_at_most_two_seconds_and_a_quarter_of_the_lease) {
  Rig rig;
  rig.open();
  EXPECT_EQ(rig.poll().take->wait, 2s);
  LaneConfig c = Rig::config_of(1);
  c.lease = 4s;
  Rig short_lease(c);
  short_lease.open();
  EXPECT_EQ(short_lease.poll().take->wait, 1s);
}

TEST(LaneRead, T06_asks_for_free_slots_only) {
  Rig rig(4);
  rig.open();
  EXPECT_EQ(rig.poll().take->max, 4u);
  rig.quiet();
  rig.taken(gives(1, 3));
  rig.poll();
  ASSERT_TRUE(rig.a.take);
  EXPECT_EQ(rig.a.run.size(), 3u);
  EXPECT_EQ(rig.a.take->max, 1u);
  rig.taken(gives(4, 1));
  EXPECT_FALSE(rig.poll().take) << "prefetch is full";
  EXPECT_EQ(rig.lane.held(), 4u);
}

// A slot is free when the store knows the outcome, not when the handler has returned.
TEST(LaneRead, T06_unsettled_entries_count_until_the_store_has_answered) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::count;
  c.prefetch_entries = 1;
  Rig rig(c);
  const auto runs = rig.running(gives(1, 1));
  rig.finish(runs[0].slot, Finished::Kind::ack);
  rig.poll();
  ASSERT_EQ(rig.a.ack.size(), 1u);
  EXPECT_FALSE(rig.a.take);
  rig.acked();
  EXPECT_TRUE(rig.poll().take);
  EXPECT_EQ(rig.lane.held(), 0u);
}

TEST(LaneRead, a_number_is_the_limit_of_what_is_held) {
  LaneConfig c = Rig::config_of(2);
  c.prefetch = PrefetchKind::count;
  c.prefetch_entries = 9;
  Rig rig(c);
  rig.open();
  EXPECT_EQ(rig.poll().take->max, 9u);
  rig.quiet();
  rig.taken(gives(1, 9));
  EXPECT_EQ(rig.poll().run.size(), 9u);
  EXPECT_FALSE(rig.poll().take);
}

TEST(LaneRead, bytes_bound_what_is_asked_for) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::none;
  c.prefetch_bytes = 10'000;
  Rig rig(c);
  rig.open();
  EXPECT_EQ(rig.poll().take->max, 10u) << "sizes are unknown at first";
  rig.quiet();
  std::vector<Give> big;
  for (std::uint64_t n = 1; n <= 10; ++n) {
    big.push_back({n, 1, store::Origin::fresh, {}, {{"body", std::string(496, 'x')}}});
  }
  rig.taken(big);
  EXPECT_EQ(rig.lane.held_bytes(), 5'000u);
  ASSERT_TRUE(rig.poll().take);
  EXPECT_EQ(rig.a.take->max, 10u) << "5,000 bytes are left, 500 each";
  for (Give& give : big) give.n += 10;
  rig.taken(big);
  EXPECT_FALSE(rig.poll().take) << "the bytes are used up, though 1,024 entries are not";
}

TEST(LaneRead, bytes_bound_what_is_claimed_too) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::none;
  c.prefetch_bytes = 1'000;
  Rig rig(c);
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken({{1, 1, store::Origin::fresh, {}, {{"body", std::string(996, 'x')}}}});
  rig.poll();
  rig.pass(1s).poll();
  ASSERT_GT(rig.a.tick_max, 0u);
  rig.tick({5, 6, 7});
  EXPECT_TRUE(rig.poll().claim.empty());
}

TEST(LaneRead, auto_holds_what_runs_and_what_100_ms_will_finish) {
  Rig rig(2);
  auto runs = rig.running(gives(1, 2));
  EXPECT_FALSE(rig.poll().take) << "nothing is known of the run time: no more than the threads";
  std::vector<Finished> ended;
  for (const RunItem& run : runs)
    ended.push_back({run.slot, Finished::Kind::ack, false, {}, {}, 10ms});
  rig.lane.on_finished(rig.now, ended);
  ASSERT_TRUE(rig.poll().take);
  EXPECT_EQ(rig.a.take->max, 20u) << "2 + 20, less the 2 whose acks are out";
}

TEST(LaneRead, reads_again_at_once_while_there_is_work) {
  Rig rig(8);
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken(gives(1, 2));
  ASSERT_TRUE(rig.poll().take);
  EXPECT_EQ(rig.a.take->max, 6u);
}

TEST(LaneRead, errors_back_off_with_jitter) {
  Rig rig;
  rig.open();
  int reads = 0;
  std::vector<MonoTime> at;
  for (const MonoTime end = rig.now + 60s; rig.now < end; rig.pass(1ms)) {
    rig.poll();
    rig.quiet();
    if (!rig.a.take) continue;
    ++reads;
    at.push_back(rig.now);
    rig.lane.on_taken(rig.now, rig.now, rig.epoch, failure(errc::unreachable));
  }
  EXPECT_LE(reads, 60);
  EXPECT_GE(reads, 30) << "it goes on trying, at least each 2 s";
  // Half jitter: no two waits alike, none under half of the bound.
  std::set<MonoDuration::rep> waits;
  for (std::size_t i = 10; i < at.size(); ++i) {
    waits.insert((at[i] - at[i - 1]).count());
    EXPECT_GE(at[i] - at[i - 1], 1s);
  }
  EXPECT_GT(waits.size(), 10u);
  EXPECT_EQ(rig.lane.counters().store_failures, static_cast<std::uint64_t>(reads));
  EXPECT_FALSE(rig.lane.connected());
}

TEST(LaneRead, an_outage_is_a_handful_of_log_lines) {
  Rig rig;
  rig.open();
  std::size_t lines = 0;
  for (const MonoTime end = rig.now + 10min; rig.now < end; rig.pass(100ms)) {
    rig.poll();
    lines += rig.a.log.size();
    if (rig.a.take) rig.lane.on_taken(rig.now, rig.now, rig.epoch, failure(errc::unreachable));
    if (rig.a.tick_max > 0) rig.lane.on_ticked(rig.now, failure(errc::unreachable));
    if (rig.a.peek) rig.lane.on_peeked(rig.now, failure(errc::unreachable));
  }
  EXPECT_GE(lines, 3u);
  EXPECT_LE(lines, 40u);
}

TEST(LaneRead, refused_credentials_are_fatal_once) {
  Rig rig;
  rig.poll();
  rig.lane.on_opened(rig.now, failure(errc::auth_failed));
  rig.poll();
  ASSERT_TRUE(rig.a.fatal);
  EXPECT_EQ(rig.a.fatal->code, errc::auth_failed);
  int opens = 0;
  for (int i = 0; i < 100; ++i) {
    rig.pass(1s).poll();
    EXPECT_FALSE(rig.a.fatal);
    opens += rig.a.open ? 1 : 0;
  }
  EXPECT_EQ(opens, 0);
}

}  // namespace
}  // namespace penstock::engine
