// What silent owners left behind: the look for it, its pace, and who may be claimed from.
#include "unit/engine/rig.hpp"

namespace penstock::engine {
namespace {

TEST(LaneSweep, T13_the_cursor_goes_on_where_the_last_look_ended) {
  Rig rig;
  rig.open();
  rig.poll();
  EXPECT_EQ(rig.a.peek->cursor, "");
  if (rig.a.tick_max > 0) rig.tick({});
  rig.peek({}, {}, "c1");
  rig.pass(20ms).poll();
  ASSERT_TRUE(rig.a.peek);
  EXPECT_EQ(rig.a.peek->cursor, "c1") << "young heads are passed once, not at each look";
  rig.peek({}, {}, "c2");
  rig.pass(20ms).poll();
  ASSERT_TRUE(rig.a.peek);
  EXPECT_EQ(rig.a.peek->cursor, "c2");
  rig.peek({});
  rig.pass(20ms).poll();
  EXPECT_FALSE(rig.a.peek) << "the turn is done";
  ASSERT_TRUE(rig.until(6s, [](Actions& a) { return a.peek.has_value(); }));
  EXPECT_EQ(rig.a.peek->cursor, "");
}

TEST(LaneSweep, T13_a_long_list_is_walked_at_a_bounded_rate) {
  Rig rig;
  rig.open();
  int looks = 0;
  for (const MonoTime end = rig.now + 1s; rig.now < end; rig.pass(1ms)) {
    rig.poll();
    if (rig.a.tick_max > 0) rig.tick({});
    if (!rig.a.peek) continue;
    ++looks;
    rig.peek({}, {}, "more");
  }
  EXPECT_LE(looks, 90);
  EXPECT_GE(looks, 60);
}

// No lock, no coordination: both ask, the store's condition decides, and the loser holds nothing.
TEST(LaneSweep, T14_two_workers_may_claim_the_same_entry_and_one_gets_it) {
  LaneConfig c = Rig::config_of(2);
  c.lane.consumer = "w.0000000b";
  Rig one(2), two(c);
  for (Rig* rig : {&one, &two}) {
    wait_for_entries(*rig);
    rig->pass(700ms).poll();
    rig->tick({9});
    rig->poll();
    rig->taken({});
    rig->poll();
    ASSERT_EQ(ids(rig->a.claim), (Ids{9}));
    EXPECT_TRUE(rig->a.take) << "and reads with the other slot";
  }
  claimed(one, {{9, 2, store::Origin::due}});
  none_claimed(two);
  EXPECT_EQ(one.poll().run.size(), 1u);
  EXPECT_EQ(two.poll().run.size(), 0u);
  EXPECT_EQ(two.lane.held(), 0u);
}

TEST(LaneSweep, a_new_worker_first_watches_a_registered_owner) {
  Rig rig(2);
  wait_for_entries(rig);
  ASSERT_TRUE(rig.until(6s, [](Actions& a) { return a.peek.has_value(); }));
  rig.peek({pending(3, peer)}, {row(peer, 500)});
  rig.poll();
  EXPECT_FALSE(rig.a.wake);
  const MonoTime seen = rig.now;
  ASSERT_TRUE(rig.until(10s, [&](Actions& a) {
    if (a.peek) {
      rig.peek({pending(3, peer, 4)}, {row(peer, 500)});
      rig.poll();
    }
    return a.wake;
  }));
  EXPECT_GE(rig.now - seen, 10s) << "a live one renews within 3/8 of its lease";
  EXPECT_LE(rig.now - seen, 10100ms);
  rig.taken({});
  rig.poll();
  ASSERT_EQ(ids(rig.a.claim), (Ids{3}));
  EXPECT_EQ(rig.a.claim[0].owner, peer);
  EXPECT_EQ(rig.a.claim[0].delivery, 4);
  EXPECT_EQ(rig.a.claim[0].min_idle_ms, 20'000) << "that owner's own lease";
}

// Its row says that the owner lives, its entry that nobody has renewed it for a whole lease.
TEST(LaneSweep, a_forgotten_entry_under_a_live_owner_is_taken) {
  Rig rig(2);
  wait_for_entries(rig);
  ASSERT_TRUE(rig.until(6s, [](Actions& a) { return a.peek.has_value(); }));
  store::ServerMs renewed = 500;
  rig.peek({}, {row(peer, renewed)});
  rig.poll();
  const MonoTime seen = rig.now;
  ASSERT_TRUE(rig.until(12s, [&](Actions& a) {
    if (a.peek) {
      rig.peek({pending(3, peer)}, {row(peer, ++renewed)});
      rig.poll();
    }
    return a.wake;
  }));
  EXPECT_GE(rig.now - seen, 10s);
  EXPECT_GT(renewed, 502);
}

TEST(LaneSweep, after_a_reconnect_there_is_no_baseline) {
  Rig rig(2);
  wait_for_entries(rig);
  ASSERT_TRUE(rig.until(6s, [](Actions& a) { return a.peek.has_value(); }));
  rig.peek({}, {row(peer, 500)});
  rig.poll();
  rig.epoch = 2;
  rig.pass(60s).poll();
  if (rig.a.tick_max > 0) rig.tick({});
  if (!rig.a.peek) {
    ASSERT_TRUE(rig.until(6s, [](Actions& a) { return a.peek.has_value(); }));
  }
  rig.peek({pending(3, peer)}, {row(peer, 500)});
  EXPECT_FALSE(rig.poll().wake) << "it may be about to renew, as we just did";
}

// Live owners look lapsed after it, until they have renewed.
TEST(LaneSweep, a_jump_of_the_servers_clock_holds_reclaim_for_a_lease) {
  for (const store::ServerMs jump : {60'000, -60'000}) {
    Rig rig(2);
    wait_for_entries(rig);
    const auto look = [&rig] {
      ASSERT_TRUE(rig.until(30s, [](Actions& a) { return a.peek.has_value(); }));
      rig.peek({pending(3, peer)}, {row(peer, 500)});
    };
    look();
    rig.server_ahead_ms += jump;
    const MonoTime jumped = rig.now;
    while (rig.now - jumped < 20s) {
      look();
      ASSERT_FALSE(rig.poll().wake) << "jump " << jump << " after " << (rig.now - jumped).count();
    }
    look();
    EXPECT_TRUE(rig.poll().wake) << "a dead owner is still dead a lease later";
  }
}

TEST(LaneSweep, an_owner_without_a_row_has_the_default_lease_or_is_foreign) {
  Rig rig(4);
  wait_for_entries(rig);
  ASSERT_TRUE(rig.until(6s, [](Actions& a) { return a.peek.has_value(); }));
  EXPECT_EQ(rig.a.peek->default_lease_ms, 20'000);
  EXPECT_EQ(rig.a.peek->foreign_idle_ms, 600'000);
  rig.peek({pending(3, peer), pending(4, "celery@host", 9)});
  ASSERT_TRUE(rig.poll().wake);
  rig.taken({});
  rig.poll();
  ASSERT_EQ(ids(rig.a.claim), (Ids{3, 4}));
  EXPECT_EQ(rig.a.claim[0].min_idle_ms, 20'000);
  EXPECT_EQ(rig.a.claim[1].min_idle_ms, 600'000);
}

// What another library did a thousand times is no lapse of ours.
TEST(LaneSweep, hand_overs_by_a_foreign_owner_are_not_counted) {
  Rig rig(4);
  wait_for_entries(rig);
  ASSERT_TRUE(rig.until(6s, [](Actions& a) { return a.peek.has_value(); }));
  rig.peek({pending(4, "celery@host", 1'000), pending(5, peer, 1'000)});
  rig.poll();
  rig.taken({});
  rig.poll();
  claimed(rig, {{4, 1'001, store::Origin::lapsed}, {5, 1'001, store::Origin::lapsed}});
  rig.poll();
  ASSERT_EQ(rig.a.run.size(), 1u);
  EXPECT_EQ(rig.a.run[0].batch->entries[rig.a.run[0].index].id.ms, 4u);
  ASSERT_EQ(rig.a.settle.size(), 1u) << "handed over 1,000 times by ours without any settle";
  EXPECT_EQ(rig.a.settle[0].kind, store::Settlement::Kind::dead);
  EXPECT_EQ(rig.a.settle[0].reason, "lapses");
  EXPECT_EQ(rig.a.settle[0].receipt.id.ms, 5u);
}

TEST(LaneSweep, jitter_only_shortens_the_interval) {
  Rig rig;
  rig.open();
  std::vector<MonoTime> at;
  for (const MonoTime end = rig.now + 300s; rig.now < end; rig.pass(10ms)) {
    rig.poll();
    if (rig.a.peek) at.push_back(rig.now);
    rig.quiet();
  }
  ASSERT_GT(at.size(), 50u);
  std::set<MonoDuration::rep> waits;
  for (std::size_t i = 1; i < at.size(); ++i) {
    EXPECT_LE(at[i] - at[i - 1], 5010ms);
    EXPECT_GE(at[i] - at[i - 1], 3750ms);
    waits.insert((at[i] - at[i - 1]).count());
  }
  EXPECT_GT(waits.size(), 10u);
}

TEST(LaneSweep, sweep_0_is_a_look_each_100_ms_at_most) {
  LaneConfig c = Rig::config_of(1);
  c.sweep = 0s;
  Rig rig(c);
  rig.open();
  int looks = 0;
  for (const MonoTime end = rig.now + 10s; rig.now < end; rig.pass(1ms)) {
    rig.poll();
    looks += rig.a.peek ? 1 : 0;
    rig.quiet();
  }
  EXPECT_LE(looks, 135);
  EXPECT_GE(looks, 95);
}

TEST(LaneSweep, gone_consumers_are_forgotten_one_by_one_and_never_ourselves_or_the_parked) {
  Rig rig;
  rig.open();
  rig.poll();
  if (rig.a.tick_max > 0) rig.tick({});
  rig.peek({}, {}, {},
           {"a.00000001", me, std::string(store::parked_consumer), "b.00000002", "a.00000001"});
  std::set<std::string> forgotten;
  for (int i = 0; i < 20; ++i) {
    rig.poll();
    if (rig.a.tick_max > 0) rig.tick({});
    if (!rig.a.forget) continue;
    EXPECT_TRUE(forgotten.insert(*rig.a.forget).second);
    EXPECT_FALSE(rig.poll().forget) << "one at a time";
    rig.lane.on_forgotten(rig.now, true);
  }
  EXPECT_EQ(forgotten, (std::set<std::string>{"a.00000001", "b.00000002"}));
  EXPECT_EQ(rig.lane.counters().consumers_removed, 2u);
}

TEST(LaneSweep, a_deleted_body_is_counted_and_told) {
  Rig rig(2);
  wait_for_entries(rig);
  rig.pass(700ms).poll();
  rig.tick({9});
  rig.poll();
  rig.taken({});
  rig.poll();
  store::ClaimReply reply;
  reply.status = {store::ClaimStatus::vanished};
  rig.lane.on_claimed(rig.now, rig.now, rig.epoch, reply);
  EXPECT_EQ(rig.lane.counters().vanished, 1u);
  EXPECT_EQ(rig.poll().log.size(), 1u);
}

TEST(LaneTick, looks_again_when_the_next_entry_is_due) {
  Rig rig;
  rig.open();
  rig.poll();
  if (rig.a.peek) rig.peek({});
  rig.tick({}, 40);  // in 40 ms
  rig.pass(39ms).poll();
  EXPECT_EQ(rig.a.tick_max, 0u);
  rig.pass(1ms).poll();
  EXPECT_GT(rig.a.tick_max, 0u);
}

}  // namespace
}  // namespace penstock::engine
