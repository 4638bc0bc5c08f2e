// A lost group, a second group.
#include "unit/engine/rig.hpp"

namespace penstock::engine {
namespace {

TEST(LaneHeal, T19_a_lost_group_is_made_again_and_reading_goes_on) {
  Rig rig;
  rig.open();
  rig.poll();
  rig.quiet();
  rig.lane.on_taken(rig.now, rig.now, rig.epoch, failure(errc::group_lost));
  rig.poll();
  ASSERT_TRUE(rig.a.open);
  EXPECT_TRUE(rig.a.open->heal);
  EXPECT_EQ(rig.a.open->start, "0");
  EXPECT_FALSE(rig.a.take);
  store::Opened opened;
  opened.group_made = true;
  opened.epoch = 2'000;
  rig.lane.on_opened(rig.now, opened);
  EXPECT_TRUE(rig.poll().take) << "at once";
  EXPECT_EQ(rig.lane.counters().groups_recreated, 1u);
  EXPECT_EQ(rig.lane.epoch_of_group(), 2'000);
}

TEST(LaneHeal, T19_an_answer_from_before_the_group_was_made_again_loses_nothing_of_the_new_one) {
  Rig rig;
  rig.open();
  rig.poll();  // a tick is out as well as the read
  rig.lane.on_taken(rig.now, rig.now, rig.epoch, failure(errc::group_lost));
  rig.poll();
  store::Opened opened;
  opened.group_made = true;
  opened.epoch = 2'000;
  rig.lane.on_opened(rig.now, opened);
  ASSERT_TRUE(rig.poll().take);
  rig.taken(gives(1, 1));
  rig.poll();
  const auto lost = rig.lane.counters().lease_lost;
  store::TickReply old;
  old.group_there = false;
  rig.lane.on_ticked(rig.now, old);
  rig.poll();
  EXPECT_FALSE(rig.a.open);
  EXPECT_EQ(rig.lane.counters().lease_lost, lost);
  EXPECT_EQ(rig.lane.held(), 1u);
}

TEST(LaneHeal, T19_a_tick_that_finds_no_group_heals_it_too) {
  Rig rig;
  rig.open();
  rig.poll();
  store::TickReply reply;
  reply.group_there = false;
  rig.lane.on_ticked(rig.now, reply);
  rig.poll();
  ASSERT_TRUE(rig.a.open);
  EXPECT_TRUE(rig.a.open->heal);
}

TEST(LaneHeal, T19_the_leases_of_the_old_group_are_all_lost) {
  LaneConfig c = Rig::config_of(1);
  c.prefetch = PrefetchKind::count;
  c.prefetch_entries = 3;
  Rig rig(c);
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken(gives(1, 3));
  const auto runs = rig.poll().run;
  rig.lane.on_started({{runs[0].slot, rig.now}});
  rig.pass(700ms);
  store::TickReply reply;
  reply.group_there = false;
  rig.lane.on_ticked(rig.now, reply);
  rig.poll();
  ASSERT_EQ(rig.a.retract.size(), 3u);
  rig.lane.on_retracted(rig.now, rig.a.retract, {runs[1].slot, runs[2].slot});
  rig.poll();
  ASSERT_EQ(rig.a.stop.size(), 1u);
  EXPECT_EQ(rig.a.stop[0].reason, StopReason::lease_lost);
  EXPECT_TRUE(rig.a.settle.empty());
  EXPECT_EQ(rig.lane.held(), 1u) << "the run keeps its slot until it ends";
  EXPECT_EQ(rig.lane.counters().lease_lost, 3u);

  // The healed group hands everything out anew, under the old numbers: the run must end first.
  rig.lane.on_opened(rig.now, store::Opened{});
  ASSERT_TRUE(rig.poll().take);
  rig.taken(gives(1, 2));
  rig.poll();
  ASSERT_EQ(rig.a.run.size(), 1u);
  EXPECT_EQ(rig.a.run[0].batch->entries[rig.a.run[0].index].id.ms, 2u);
  rig.finish(runs[0].slot, Finished::Kind::ack);
  ASSERT_EQ(rig.poll().run.size(), 1u);
  EXPECT_TRUE(rig.a.ack.empty());
}

// The group goes twice while one handler runs on.
TEST(LaneHeal, T19_twice_lost_starts_no_second_run_beside_the_first) {
  Rig rig(4);
  const auto runs = rig.running(gives(1, 1));
  for (int round = 0; round < 3; ++round) {
    store::TickReply reply;
    reply.group_there = false;
    rig.lane.on_ticked(rig.now, reply);
    rig.poll();
    rig.lane.on_retracted(rig.now, rig.a.retract, {});
    rig.lane.on_opened(rig.now, store::Opened{});
    rig.taken(gives(1, 1));
    rig.poll();
    EXPECT_TRUE(rig.a.run.empty()) << round;
  }
  rig.finish(runs[0].slot, Finished::Kind::ack);
  EXPECT_EQ(rig.poll().run.size(), 1u);
}

TEST(LaneHeal, T19_the_loss_is_told_once_and_the_healing_backs_off) {
  Rig rig;
  rig.open();
  rig.poll();
  rig.lane.on_taken(rig.now, rig.now, rig.epoch, failure(errc::group_lost));
  std::size_t lines = 0;
  int opens = 0;
  for (const MonoTime end = rig.now + 60s; rig.now < end; rig.pass(5ms)) {
    rig.poll();
    lines += rig.a.log.size();
    if (!rig.a.open) continue;
    ++opens;
    rig.lane.on_opened(rig.now, failure(errc::server_busy));
  }
  EXPECT_LE(opens, 60);
  EXPECT_GE(opens, 30);
  EXPECT_LE(lines, 10u);
}

TEST(LaneHeal, outcomes_wait_for_a_group_without_spinning) {
  Rig rig;
  const auto runs = rig.running(gives(1, 1));
  rig.finish(runs[0].slot, Finished::Kind::dead, "x");
  rig.poll();
  rig.lane.on_settled(rig.now, failure(errc::group_lost));
  rig.poll();
  ASSERT_TRUE(rig.a.open);
  EXPECT_GE(rig.lane.next_poll(rig.now) - rig.now, 50ms);
  rig.lane.on_opened(rig.now, store::Opened{});
  rig.pass(200ms).poll();
  EXPECT_TRUE(rig.a.settle.empty()) << "that lease went with the old group";
  EXPECT_EQ(rig.lane.held(), 0u);
}

TEST(LaneHeal, a_second_group_ends_deletion) {
  Rig rig;
  store::Opened opened;
  opened.retention = store::Retention::delete_on_ack;
  rig.open(opened);
  rig.poll();
  store::TickReply reply;
  reply.groups = 2;
  reply.retention = store::Retention::delete_on_ack;
  rig.lane.on_ticked(rig.now, reply);
  rig.poll();
  ASSERT_TRUE(rig.a.open) << "the store decides, when it is asked again";
  EXPECT_FALSE(rig.a.open->heal);
  opened.retention = store::Retention::trim_settled;
  rig.lane.on_opened(rig.now, opened);
  EXPECT_EQ(rig.lane.retention(), store::Retention::trim_settled);
  EXPECT_EQ(rig.poll().log.size(), 1u);
}

}  // namespace
}  // namespace penstock::engine
