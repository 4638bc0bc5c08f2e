// Runs that are taken back while threads begin them.
#include <random>

#include "unit/runtime/pool_rig.hpp"

namespace penstock::runtime {
namespace {

/// Each of 10,000 runs either ran or was taken back, never both and never neither.
void retract_at_random(std::size_t threads, int spin) {
  constexpr std::uint32_t slots = 100;
  constexpr std::uint32_t rounds = 100;
  std::vector<std::atomic<int>> ran(slots * rounds);
  HandlerPool pool(
      a_lane(),
      [&](const Message& m, const std::stop_token&) {
        ++ran[std::stoul(std::string(m.body()))];
        for (int i = 0; i < spin; ++i) std::this_thread::yield();
        return Outcome::ack();
      },
      threads, [] {});
  std::mt19937 random(7);
  std::size_t ran_total = 0, back_total = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    pool.run(runs(round * slots, slots, 0, round));
    std::vector<bool> back(slots, false);
    for (int k = 0; k < 20; ++k) {
      std::vector<engine::Slot> wanted;
      for (int j = 0; j < 8; ++j) {
        wanted.push_back({static_cast<std::uint32_t>(random() % slots), round});
      }
      for (const engine::Slot slot : pool.retract(wanted)) {
        EXPECT_FALSE(back[slot.index]) << "taken back twice";
        back[slot.index] = true;
      }
      if (random() % 3 == 0) std::this_thread::yield();
    }
    const auto taken = static_cast<std::size_t>(std::count(back.begin(), back.end(), true));
    for (const engine::Finished& f : collect(pool, slots - taken)) {
      ASSERT_EQ(f.slot.generation, round);
      EXPECT_FALSE(back[f.slot.index]) << "ran although it was taken back";
    }
    for (std::uint32_t i = 0; i < slots; ++i) {
      EXPECT_EQ(ran[round * slots + i], back[i] ? 0 : 1) << round << "/" << i;
    }
    ran_total += slots - taken;
    back_total += taken;
  }
  EXPECT_GT(ran_total, 500u);
  EXPECT_GT(back_total, 500u) << "the race took place";
  EXPECT_EQ(pool.started_total(), ran_total);
}

TEST(HandlerPoolRace, a_run_is_begun_or_taken_back_never_both) { retract_at_random(2, 0); }
TEST(HandlerPoolRace, the_same_with_runs_that_last) { retract_at_random(4, 20); }

// Everything at once: what the threads of a driver do to a pool, for the sanitizer's eyes.
TEST(HandlerPoolRace, all_calls_at_once) {
  std::atomic<std::uint32_t> ran{0};
  HandlerPool pool(
      a_lane(),
      [&](const Message& m, std::stop_token stop) {
        ++ran;
        if (m.body().ends_with("7")) {
          for (int i = 0; i < 50 && !stop.stop_requested(); ++i) std::this_thread::yield();
        }
        return Outcome::ack();
      },
      3, [] {});
  std::atomic<bool> over{false};
  std::thread other([&] {
    std::mt19937 random(3);
    while (!over) {
      const engine::Slot slot{static_cast<std::uint32_t>(random() % 64), 0};
      pool.stop({{slot, engine::StopReason::lease_lost}});
      pool.extend({{slot, base::never}});
      pool.set_group_epoch(static_cast<store::ServerMs>(random()));
      pool.running();
    }
  });
  std::size_t ended = 0, taken = 0;
  for (std::uint32_t round = 0; round < 200; ++round) {
    pool.run(runs(round * 64, 64));
    taken += pool.retract({{round % 64, 0}}).size();
    test::eventually(
        [&] {
          ended += pool.collect().size();
          return ended + taken == (round + 1) * 64;
        },
        10s, 0ms);
  }
  over = true;
  other.join();
  EXPECT_EQ(ended + taken, 200u * 64);
  EXPECT_EQ(ran, ended);
}

}  // namespace
}  // namespace penstock::runtime
