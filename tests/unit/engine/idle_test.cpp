// T40: what a lane costs when nothing happens, or when nothing good does.
#include "unit/engine/rig.hpp"

namespace penstock::engine {
namespace {

struct Cost {
  int calls = 0;
  int polls = 0;
  double calls_per_second(MonoDuration over) const {
    return calls / std::chrono::duration<double>(over).count();
  }
};

/// Drives the lane by its own wishes alone, as a driver does. `wait`: reads wait as long as they
/// were told.
Cost drive(Rig& rig, MonoDuration how_long, bool wait, std::optional<errc> fails = std::nullopt) {
  Cost cost;
  MonoTime read_ends = base::never;
  MonoTime next = rig.now, renewal = rig.now;
  const MonoTime end = rig.now + how_long;
  while (rig.now < end) {
    if (rig.now >= read_ends) {
      read_ends = base::never;
      rig.taken({});
      next = rig.now;
    }
    if (rig.now >= renewal) {
      rig.renew();
      cost.calls += static_cast<int>(rig.a.renew.size()) + (rig.a.enlist ? 1 : 0);
      rig.renewed(store::RenewStatus::renewed);
      renewal = rig.lane.next_renewal(rig.now);
    }
    if (rig.now >= next) {
      ++cost.polls;
      rig.poll();
      bool answered = false;
      const auto call = [&](bool asked, auto answer) {
        if (!asked) return;
        ++cost.calls;
        answered = true;
        answer();
      };
      call(rig.a.open.has_value(), [&] {
        if (fails) return rig.lane.on_opened(rig.now, failure(*fails));
        rig.lane.on_opened(rig.now, store::Opened{});
      });
      call(rig.a.tick_max > 0, [&] {
        if (fails) return rig.lane.on_ticked(rig.now, failure(*fails));
        rig.tick({});
      });
      call(rig.a.peek.has_value(), [&] {
        if (fails) return rig.lane.on_peeked(rig.now, failure(*fails));
        rig.peek({});
      });
      call(rig.a.take.has_value(), [&] {
        if (fails) return rig.lane.on_taken(rig.now, rig.now, rig.epoch, failure(*fails));
        if (wait) {
          read_ends = rig.now + rig.a.take->wait;
        } else {
          rig.taken({});
        }
      });
      next = answered ? rig.now : rig.lane.next_poll(rig.now);
    }
    rig.now = std::max(rig.now, std::min({next, renewal, read_ends}));
  }
  return cost;
}

TEST(LaneIdle, T40_an_idle_lane_makes_at_most_three_calls_a_second) {
  for (const std::size_t concurrency : {1u, 8u, 64u}) {
    Rig rig(concurrency);
    rig.open();
    const Cost cost = drive(rig, 60s, true);
    EXPECT_LE(cost.calls_per_second(60s), 3.0);
    EXPECT_GE(cost.calls_per_second(60s), 1.5) << "and it does look";
    EXPECT_LE(cost.polls, 60 * 20);
    EXPECT_LE(rig.lane.counters().ticks, 120u) << "ticks: two a second at most";
  }
}

// A proxy, a server or a hand that ends each waiting read at once.
TEST(LaneIdle, T40_reads_that_come_back_empty_at_once_do_not_become_a_loop) {
  Rig rig;
  rig.open();
  const Cost cost = drive(rig, 60s, false);
  EXPECT_LE(cost.calls_per_second(60s), 3.0);
  EXPECT_LE(cost.polls, 60 * 20);
}

TEST(LaneIdle, T40_one_early_answer_costs_no_noticeable_time) {
  Rig rig;
  rig.open();
  rig.poll();
  rig.quiet();
  rig.taken({});
  EXPECT_FALSE(rig.poll().take);
  EXPECT_LE(rig.lane.next_poll(rig.now) - rig.now, 50ms);
  rig.quiet();
  rig.pass(50ms).poll();
  EXPECT_TRUE(rig.a.take);
}

TEST(LaneIdle, T40_a_busy_lane_with_no_free_slot_does_not_spin) {
  Rig rig;
  rig.running(gives(1, 1));
  const Cost cost = drive(rig, 60s, true);
  EXPECT_LE(cost.polls, 60 * 15) << "the watch over what runs, ten times a second, and little else";
  EXPECT_LE(cost.calls_per_second(60s), 3.0);
}

TEST(LaneIdle, T40_candidates_that_wait_for_a_slot_do_not_spin) {
  Rig rig(1);
  rig.open();
  rig.poll();
  rig.tick({5, 6, 7});
  rig.peek({pending(8, peer)});
  ASSERT_TRUE(rig.poll().wake);
  rig.taken(gives(1, 1));
  ASSERT_EQ(rig.poll().run.size(), 1u);
  rig.lane.on_started({{rig.a.run[0].slot, rig.now}});
  const Cost cost = drive(rig, 60s, true);
  EXPECT_LE(cost.polls, 60 * 15);
}

TEST(LaneIdle, T40_an_outage_costs_a_few_calls_a_second) {
  for (const bool opened : {false, true}) {
    Rig rig;
    if (opened) rig.open();
    const Cost cost = drive(rig, 60s, true, errc::unreachable);
    EXPECT_LE(cost.calls_per_second(60s), 4.0);
    EXPECT_LE(cost.polls, 60 * 20);
  }
}

TEST(LaneIdle, T40_a_silent_store_is_not_asked_twice) {
  Rig rig;
  rig.open();
  rig.poll();  // read, tick and peek are out and stay so
  for (int i = 0; i < 1'000; ++i) {
    rig.pass(100ms).poll();
    EXPECT_FALSE(rig.a.take || rig.a.peek || rig.a.tick_max > 0);
  }
}

}  // namespace
}  // namespace penstock::engine
