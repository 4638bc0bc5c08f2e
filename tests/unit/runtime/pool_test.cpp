// Handler threads: what runs where, how it ends, and what becomes of threads that do not come back.
#include <set>
#include <stdexcept>

#include "unit/runtime/pool_rig.hpp"

namespace penstock::runtime {
namespace {

TEST(HandlerPool, runs_each_item_once_with_its_message) {
  std::mutex mutex;
  std::multiset<std::string> seen;
  std::atomic<int> told{0};
  HandlerPool pool(
      a_lane(),
      [&](const Message& m, const std::stop_token&) {
        const std::lock_guard lock(mutex);
        seen.insert(m.id() + "=" + std::string(m.body()) + "@" + std::string(m.stream()) + "/" +
                    std::string(m.group()) + "#" + std::to_string(m.token().epoch));
        return Outcome::ack();
      },
      3, [&] { ++told; });
  pool.set_group_epoch(42);
  pool.run(runs(100, 500));
  const auto ended = collect(pool, 500);
  std::set<std::uint32_t> slots;
  for (const engine::Finished& f : ended) {
    EXPECT_EQ(f.kind, Kind::ack);
    slots.insert(f.slot.index);
  }
  EXPECT_EQ(slots.size(), 500u);
  ASSERT_EQ(seen.size(), 500u);
  EXPECT_EQ(seen.count("137-0=137@orders/billing#42"), 1u);
  EXPECT_EQ(pool.started_total(), 500u);
  EXPECT_GE(told, 1);
}

TEST(HandlerPool, no_more_runs_at_once_than_threads) {
  std::atomic<int> now{0}, most{0};
  HandlerPool pool(
      a_lane(),
      [&](const Message&, const std::stop_token&) {
        const int n = ++now;
        int seen = most;
        while (n > seen && !most.compare_exchange_weak(seen, n)) {
        }
        std::this_thread::sleep_for(2ms);
        --now;
        return Outcome::ack();
      },
      4, [] {});
  pool.run(runs(1, 100));
  collect(pool, 100);
  EXPECT_EQ(most, 4);
}

TEST(HandlerPool, outcomes_come_back_as_they_were_given) {
  HandlerPool pool(
      a_lane(),
      [](const Message& m, const std::stop_token&) {
        if (m.body() == "0") return Outcome::retry(7s, "busy");
        if (m.body() == "1") return Outcome::not_yet(3s);
        if (m.body() == "2") return Outcome::release();
        if (m.body() == "3") return Outcome::dead("bad");
        return Outcome::not_yet();
      },
      1, [] {});
  pool.run(runs(0, 5));
  std::map<std::uint32_t, engine::Finished> by;
  for (engine::Finished& f : collect(pool, 5)) by[f.slot.index] = std::move(f);
  EXPECT_EQ(by[0].kind, Kind::retry);
  EXPECT_EQ(by[0].after, 7s);
  EXPECT_EQ(by[0].why, "busy");
  EXPECT_FALSE(by[0].threw);
  EXPECT_EQ(by[1].kind, Kind::not_yet);
  EXPECT_EQ(by[1].after, 3s);
  EXPECT_EQ(by[2].kind, Kind::release);
  EXPECT_EQ(by[3].kind, Kind::dead);
  EXPECT_EQ(by[3].why, "bad");
  EXPECT_FALSE(by[4].after);
}

TEST(HandlerPool, an_exception_is_a_retry_and_ends_nothing_else) {
  HandlerPool pool(
      a_lane(),
      [](const Message& m, const std::stop_token&) -> Outcome {
        if (m.body() == "0") throw std::runtime_error("no route to host");
        if (m.body() == "1") throw 7;  // NOLINT: users do
        return Outcome::ack();
      },
      1, [] {});
  pool.run(runs(0, 3));
  std::map<std::uint32_t, engine::Finished> by;
  for (engine::Finished& f : collect(pool, 3)) by[f.slot.index] = std::move(f);
  EXPECT_EQ(by[0].kind, Kind::retry);
  EXPECT_TRUE(by[0].threw);
  EXPECT_EQ(by[0].why, "no route to host");
  EXPECT_EQ(by[1].kind, Kind::retry);
  EXPECT_TRUE(by[1].threw);
  EXPECT_FALSE(by[1].why.empty());
  EXPECT_EQ(by[2].kind, Kind::ack);
}

// Short runs are handed over many at a time; one of them may last all the same.
TEST(HandlerPool, the_rest_of_a_chunk_is_taken_from_a_thread_whose_run_lasts) {
  Gate gate;
  std::atomic<int> others{0};
  HandlerPool pool(
      a_lane(),
      [&](const Message& m, const std::stop_token&) {
        if (m.body() == "1000000") {
          gate.pass();
        } else {
          ++others;
        }
        return Outcome::ack();
      },
      2, [] {});
  pool.run(runs(1, 4'000));  // learns that runs are short
  collect(pool, 4'000);
  others = 0;
  pool.run(runs(1'000'000, 64));
  EXPECT_TRUE(test::eventually(
      [&] {
        pool.running();  // as its driver asks, ten times a second
        return others == 63;
      },
      10s));
  gate.open();
  collect(pool, 64);
}

// Runs were short so far: a thread that is awake is expected to come for the next one. This one
// does not.
TEST(HandlerPool, a_run_that_lasts_does_not_keep_an_idle_thread_asleep) {
  Gate gate;
  HandlerPool pool(
      a_lane(),
      [&](const Message& m, const std::stop_token&) {
        if (m.body() == "1000000") gate.pass();
        return Outcome::ack();
      },
      2, [] {});
  pool.run(runs(1, 4'000));
  collect(pool, 4'000);
  pool.run(runs(1'000'000, 1, 0));
  ASSERT_TRUE(test::eventually([&] { return pool.running().size() == 1; }, 5s));
  std::this_thread::sleep_for(2ms);
  pool.run(runs(2, 1, 1));
  EXPECT_EQ(collect(pool, 1)[0].slot.index, 1u);
  gate.open();
  collect(pool, 1);
}

TEST(HandlerPool, says_what_runs_and_since_when) {
  Gate gate;
  HandlerPool pool(
      a_lane(),
      [&](const Message&, const std::stop_token&) {
        gate.pass();
        return Outcome::ack();
      },
      2, [] {});
  const MonoTime before = clock_now();
  pool.run(runs(1, 3, 10));
  ASSERT_TRUE(test::eventually([&] { return pool.running().size() == 2; }, 5s));
  for (const engine::Started& s : pool.running()) {
    EXPECT_GE(s.at, before);
    EXPECT_LE(s.at, clock_now());
    EXPECT_GE(s.slot.index, 10u);
  }
  gate.open();
  collect(pool, 3);
  EXPECT_TRUE(pool.running().empty());
}

TEST(HandlerPool, a_stop_reaches_the_run_it_is_meant_for_on_a_thread_of_the_pools_own) {
  std::atomic<bool> called{false};
  std::thread::id on, handler_on;
  Gate ready;
  HandlerPool pool(
      a_lane(),
      [&](const Message& m, std::stop_token stop) {
        if (m.body() != "1") return Outcome::ack();
        handler_on = std::this_thread::get_id();
        const std::stop_callback callback(stop, [&] {
          on = std::this_thread::get_id();
          called = true;
        });
        ready.open();
        while (!called) std::this_thread::sleep_for(1ms);
        return Outcome::release();
      },
      1, [] {});
  pool.run(runs(1, 1, 5, 3));
  ready.pass();
  pool.stop({{{5, 2}, engine::StopReason::lease_lost}});  // an older entry of that slot
  pool.stop({{{4, 3}, engine::StopReason::lease_lost}});
  std::this_thread::sleep_for(30ms);
  EXPECT_FALSE(called);
  pool.stop({{{5, 3}, engine::StopReason::lease_lost}});
  EXPECT_EQ(collect(pool, 1)[0].kind, Kind::release);
  EXPECT_NE(on, std::this_thread::get_id()) << "user code never runs on the engine's threads";
  EXPECT_NE(on, handler_on);
  EXPECT_NE(on, std::thread::id{});
}

TEST(HandlerPool, a_stop_that_comes_after_the_run_stops_no_later_one) {
  std::atomic<bool> stopped{false};
  HandlerPool pool(
      a_lane(),
      [&](const Message&, std::stop_token stop) {
        std::this_thread::sleep_for(5ms);
        if (stop.stop_requested()) stopped = true;
        return Outcome::ack();
      },
      1, [] {});
  for (std::uint32_t generation = 0; generation < 20; ++generation) {
    pool.run(runs(1, 1, 0, generation));
    collect(pool, 1);
    pool.stop({{{0, generation}, engine::StopReason::max_run}});
  }
  EXPECT_FALSE(stopped);
}

TEST(HandlerPool, what_may_not_begin_any_more_comes_back_unstarted) {
  std::atomic<int> ran{0};
  Gate gate;
  HandlerPool pool(
      a_lane(),
      [&](const Message& m, const std::stop_token&) {
        if (m.body() == "1") gate.pass();
        ++ran;
        return Outcome::ack();
      },
      1, [] {});
  pool.run(runs(1, 1));
  ASSERT_TRUE(test::eventually([&] { return pool.running().size() == 1; }, 5s));
  const MonoTime soon = clock_now() + 20ms;
  pool.run(runs(2, 1, 1, 0, soon));
  pool.run(runs(3, 1, 2, 0, soon));
  pool.extend({{{2, 0}, clock_now() + 1h}});
  std::this_thread::sleep_until(soon + 1ms);
  gate.open();
  std::map<std::uint32_t, Kind> by;
  for (const engine::Finished& f : collect(pool, 3)) by[f.slot.index] = f.kind;
  EXPECT_EQ(by[0], Kind::ack);
  EXPECT_EQ(by[1], Kind::not_started);
  EXPECT_EQ(by[2], Kind::ack) << "its lease was renewed in time";
  EXPECT_EQ(ran, 2);
}

TEST(HandlerPool, a_hung_thread_is_replaced_until_the_spares_are_used_up) {
  Gate gate;
  std::atomic<int> ran{0};
  HandlerPool pool(
      a_lane(),
      [&](const Message& m, const std::stop_token&) {
        if (m.body().starts_with("9")) gate.pass();
        ++ran;
        return Outcome::ack();
      },
      1, [] {});
  pool.run(runs(91, 1, 0));
  pool.run(runs(11, 1, 1));
  ASSERT_TRUE(test::eventually([&] { return pool.running().size() == 1; }, 5s));
  EXPECT_TRUE(pool.abandon({0, 0})) << "one spare for one thread";
  ASSERT_TRUE(test::eventually([&] { return ran == 1; }, 5s)) << "what waited behind it runs";
  EXPECT_TRUE(pool.running().empty()) << "a run that was given up is watched no more";
  pool.run(runs(92, 1, 2));
  ASSERT_TRUE(test::eventually([&] { return pool.running().size() == 1; }, 5s));
  EXPECT_FALSE(pool.abandon({2, 0}));
  gate.open();
  collect(pool, 3);
  EXPECT_EQ(ran, 3);
}

TEST(HandlerPool, a_hung_thread_that_comes_back_is_a_spare_again) {
  HandlerPool* self = nullptr;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Gate>> gates;
  const auto gate = [&](const std::string& name) -> Gate& {
    const std::lock_guard lock(mutex);
    auto& g = gates[name];
    if (g == nullptr) g = std::make_unique<Gate>();
    return *g;
  };
  HandlerPool pool(
      a_lane(),
      [&](const Message& m, const std::stop_token&) {
        gate(std::string(m.body())).pass();
        return Outcome::ack();
      },
      1, [] {});
  self = &pool;
  for (std::uint32_t i = 0; i < 5; ++i) {
    self->run(runs(i, 1, i));
    ASSERT_TRUE(test::eventually([&] { return self->running().size() == 1; }, 5s));
    ASSERT_TRUE(self->abandon({i, 0})) << i;
    gate(std::to_string(i)).open();
    collect(pool, 1);
    // Its thread has to leave its last lines before it counts.
    std::this_thread::sleep_for(20ms);
  }
}

TEST(HandlerPool, giving_up_a_run_that_has_just_ended_costs_no_spare) {
  HandlerPool pool(
      a_lane(), [](const Message&, const std::stop_token&) { return Outcome::ack(); }, 1, [] {});
  for (std::uint32_t i = 0; i < 10; ++i) {
    pool.run(runs(1, 1, i));
    collect(pool, 1);
    EXPECT_TRUE(pool.abandon({i, 0}));
  }
}

TEST(HandlerPool, shutting_down_leaves_a_hung_handler_behind_in_time) {
  // Outlives the pool, as it must with a thread that is left behind.
  struct State {
    Gate gate;
    std::atomic<bool> in{false}, out{false};
  };
  const auto state = std::make_shared<State>();
  auto pool = std::make_unique<HandlerPool>(
      a_lane(),
      [state](const Message&, const std::stop_token&) {
        state->in = true;
        state->gate.pass();
        state->out = true;
        return Outcome::ack();
      },
      2, [] {});
  pool->run(runs(1, 1));
  ASSERT_TRUE(test::eventually([&] { return state->in.load(); }, 5s));
  const MonoTime from = clock_now();
  EXPECT_FALSE(pool->shut_down(from + 50ms));
  EXPECT_LT(clock_now() - from, 5s);
  pool.reset();
  EXPECT_FALSE(state->out);
  state->gate.open();
  EXPECT_TRUE(test::eventually([&] { return state->out && state.use_count() == 1; }, 5s))
      << "it ends by itself and lets go of everything";
}

TEST(HandlerPool, shutting_down_leaves_a_hung_stop_callback_behind_in_time) {
  struct State {
    Gate gate;
    std::atomic<bool> in{false}, called{false};
  };
  const auto state = std::make_shared<State>();
  auto pool = std::make_unique<HandlerPool>(
      a_lane(),
      [state](const Message&, std::stop_token stop) {
        const std::stop_callback callback(stop, [&] {
          state->called = true;
          state->gate.pass();
        });
        state->in = true;
        while (!state->called) std::this_thread::sleep_for(1ms);
        return Outcome::ack();  // waits for its callback
      },
      1, [] {});
  pool->run(runs(1, 1));
  ASSERT_TRUE(test::eventually([&] { return state->in.load(); }, 5s));
  pool->stop({{{0, 0}, engine::StopReason::drain}});
  ASSERT_TRUE(test::eventually([&] { return state->called.load(); }, 5s));
  const MonoTime from = clock_now();
  EXPECT_FALSE(pool->shut_down(from + 50ms));
  EXPECT_LT(clock_now() - from, 5s);
  pool.reset();
  state->gate.open();
  EXPECT_TRUE(test::eventually([&] { return state.use_count() == 1; }, 5s));
}

TEST(HandlerPool, shutting_down_runs_nothing_that_waited) {
  std::atomic<int> ran{0};
  Gate gate;
  HandlerPool pool(
      a_lane(),
      [&](const Message&, const std::stop_token&) {
        gate.pass();
        ++ran;
        return Outcome::ack();
      },
      1, [] {});
  pool.run(runs(1, 50));
  ASSERT_TRUE(test::eventually([&] { return pool.running().size() == 1; }, 5s));
  std::thread opener([&] {
    std::this_thread::sleep_for(20ms);
    gate.open();
  });
  EXPECT_TRUE(pool.shut_down(clock_now() + 10s));
  opener.join();
  EXPECT_LE(ran, 64);
  EXPECT_GE(ran, 1);
}

}  // namespace
}  // namespace penstock::runtime
