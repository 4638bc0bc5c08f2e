// Traps that need a server's own idle times, scripts and faults: workers of the library on a
// redis-server.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <penstock/producer.hpp>
#include <penstock/worker.hpp>

#include "support/eventually.hpp"
#include "support/redis_server.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::RedisServer;
using test::scaled;

HandlerOptions options(std::size_t concurrency) {
  HandlerOptions o;
  o.group = "billing";
  o.concurrency = concurrency;
  o.lease = 800ms;
  o.sweep = 200ms;
  o.stop_grace = 300ms;
  return o;
}

WorkerOptions quiet() {
  WorkerOptions o;
  o.drain = 2s;
  o.log = [](LogLevel, std::string_view) {};
  return o;
}

LaneStats stats(const Worker& worker) { return worker.stats().lanes.at(0); }

// Another hand takes the entry while its handler runs: it stays there, whatever we do afterwards.
TEST(Traps, T02_T03_T04_what_another_took_is_neither_renewed_back_nor_settled) {
  for (const char* ending : {"ack", "retry", "dead", "release"}) {
    RedisServer redis;
    Producer(redis.url()).send("orders", "x");
    std::atomic<bool> in{false}, stopped{false};
    Worker worker(redis.url(), quiet());
    worker.handle("orders", options(1), [&](const Message&, const std::stop_token& stop) {
      in = true;
      const auto end = std::chrono::steady_clock::now() + 5s;
      while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(1ms);
      }
      stopped = stop.stop_requested();
      const std::string how = ending;
      if (how == "retry") return Outcome::retry("x");
      if (how == "dead") return Outcome::dead("x");
      if (how == "release") return Outcome::release();
      return Outcome::ack();
    });
    worker.start();
    ASSERT_TRUE(eventually([&] { return in.load(); }, 5s));
    const std::string id = redis.pending_rows("orders", "billing").at(0).id;
    redis.cli("XCLAIM", "orders", "billing", "thief", "0", id);
    ASSERT_TRUE(eventually([&] { return stopped.load(); }, 5s)) << "the handler is told";
    ASSERT_TRUE(eventually([&] { return stats(worker).stale_settles == 1; }, 5s));
    const auto rows = redis.pending_rows("orders", "billing");
    ASSERT_EQ(rows.size(), 1u) << ending;
    EXPECT_EQ(rows[0].consumer, "thief") << ending;
    EXPECT_EQ(rows[0].deliveries, 2) << ending;
    EXPECT_EQ(redis.xlen("orders"), 1) << ending;
    EXPECT_EQ(redis.cli("EXISTS", "{orders}.dead").integer, 0) << ending;
    EXPECT_TRUE(worker.stop());
    const LaneStats last = stats(worker);
    EXPECT_EQ(last.lease_lost, 1u);
    EXPECT_EQ(last.acked + last.retried + last.dead + last.released, 0u) << ending;
  }
}

// 1,200 young entries stand before 300 abandoned ones, all of another library.
TEST(Traps, T13_young_heads_do_not_hide_what_is_overdue_behind_them) {
  RedisServer redis;
  std::vector<std::vector<std::string>> adds;
  for (int i = 0; i < 1'500; ++i)
    adds.push_back({"XADD", "orders", "*", "body", std::to_string(i)});
  test::RedisClient client = redis.connect();
  client.pipeline(adds);
  redis.cli("XGROUP", "CREATE", "orders", "billing", "0");
  redis.cli("XREADGROUP", "GROUP", "billing", "young", "COUNT", "1200", "STREAMS", "orders", ">");
  const test::Value old =
      redis.cli("XREADGROUP", "GROUP", "billing", "old", "COUNT", "300", "STREAMS", "orders", ">");
  std::vector<std::string> age = {"XCLAIM", "orders", "billing", "old", "0"};
  for (const test::Value& entry : old[0][1].items) age.push_back(entry[0].text);
  age.insert(age.end(), {"IDLE", "700000", "JUSTID"});
  ASSERT_EQ(redis.cli(age).size(), 300u);

  std::mutex mutex;
  std::map<int, int> runs;
  Worker worker(redis.url(), quiet());
  worker.handle("orders", options(8), [&](const Message& m) {
    const std::lock_guard lock(mutex);
    ++runs[std::stoi(std::string(m.body()))];
  });
  worker.start();
  EXPECT_TRUE(eventually([&] { return stats(worker).acked == 300; }, 10s));
  std::this_thread::sleep_for(500ms);
  EXPECT_TRUE(worker.stop());
  EXPECT_EQ(runs.size(), 300u);
  for (const auto& [n, times] : runs) {
    EXPECT_GE(n, 1'200) << "a young one was taken";
    EXPECT_EQ(times, 1);
  }
  EXPECT_EQ(redis.xpending("orders", "billing"), 1'200);
}

// A group that another hand made has no epoch of ours; that is no reason to wait for one.
TEST(Traps, T20_a_group_that_was_there_before_does_not_hold_up_the_start) {
  RedisServer redis;
  redis.xadd("orders", {{"body", "x"}});
  redis.cli("XGROUP", "CREATE", "orders", "billing", "0");
  std::atomic<int> ran{0};
  Worker worker(redis.url(), quiet());
  worker.handle("orders", options(1), [&](const Message&) { ++ran; });
  const auto from = std::chrono::steady_clock::now();
  worker.start();
  EXPECT_LT(std::chrono::steady_clock::now() - from, scaled(1s));
  EXPECT_TRUE(eventually([&] { return ran == 1; }, 5s));
  EXPECT_TRUE(worker.stop());
}

// No lock that a dead worker could keep: two workers sweep the same abandoned entries.
TEST(Traps, T14_two_sweeps_of_the_same_entries_hand_each_to_one) {
  RedisServer redis;
  Producer producer(redis.url());
  for (int i = 0; i < 200; ++i) producer.send("orders", std::to_string(i));
  redis.cli("XGROUP", "CREATE", "orders", "billing", "0");
  redis.cli("XREADGROUP", "GROUP", "billing", "gone", "COUNT", "200", "STREAMS", "orders", ">");
  std::mutex mutex;
  std::map<std::string, int> runs;
  const auto handler = [&](const Message& m) {
    const std::lock_guard lock(mutex);
    ++runs[std::string(m.body())];
  };
  auto o = options(4);
  o.foreign_idle = 300ms;
  Worker one(redis.url(), quiet()), two(redis.url(), quiet());
  one.handle("orders", o, handler);
  two.handle("orders", o, handler);
  one.start();
  two.start();
  EXPECT_TRUE(eventually([&] { return stats(one).acked + stats(two).acked == 200; }, 10s));
  EXPECT_TRUE(one.stop());
  EXPECT_TRUE(two.stop());
  EXPECT_EQ(runs.size(), 200u);
  for (const auto& [body, times] : runs) EXPECT_EQ(times, 1) << body;
}

// The server stands still for longer than a lease: our own entries look abandoned to ourselves.
TEST(Traps, T17_T29_a_hung_server_starts_no_second_run_beside_the_first) {
  RedisServer redis;
  Producer producer(redis.url());
  for (int i = 0; i < 4; ++i) producer.send("orders", std::to_string(i));
  std::mutex mutex;
  std::map<std::string, int> now, most, total;
  std::atomic<int> asked{0}, started{0};
  Worker worker(redis.url(), quiet());
  worker.handle("orders", options(8), [&](const Message& m, const std::stop_token& stop) {
    const std::string body(m.body());
    {
      const std::lock_guard lock(mutex);
      most[body] = std::max(most[body], ++now[body]);
      ++total[body];
    }
    ++started;
    bool told = false;
    const auto end = std::chrono::steady_clock::now() + 4s;  // it takes its time, told or not
    while (std::chrono::steady_clock::now() < end) {
      if (!told && stop.stop_requested()) {
        told = true;
        ++asked;
      }
      std::this_thread::sleep_for(1ms);
    }
    const std::lock_guard lock(mutex);
    --now[body];
  });
  worker.start();
  ASSERT_TRUE(eventually([&] { return started == 4; }, 5s));
  redis.pause();
  const bool all_asked = eventually([&] { return asked == 4; }, 800ms);
  std::this_thread::sleep_for(1s);
  redis.resume();
  EXPECT_TRUE(all_asked) << "stop is asked before the lease can lapse, whatever the server does";
  EXPECT_TRUE(eventually([&] { return redis.xpending("orders", "billing") == 0; }, 15s));
  EXPECT_TRUE(worker.stop());
  for (const auto& [body, n] : most) EXPECT_EQ(n, 1) << body << " overlapped with itself";
  EXPECT_EQ(most.size(), 4u);
}

TEST(Traps, T19_a_flushed_server_heals_within_seconds_and_loses_nothing_sent_after) {
  RedisServer redis;
  Producer producer(redis.url());
  std::mutex mutex;
  std::set<std::string> seen;
  Worker worker(redis.url(), quiet());
  worker.handle("orders", options(2), [&](const Message& m) {
    const std::lock_guard lock(mutex);
    seen.insert(std::string(m.body()));
  });
  worker.start();
  for (int round = 0; round < 3; ++round) {
    redis.cli("FLUSHALL");
    redis.cli("SCRIPT", "FLUSH");
    for (int i = 0; i < 20; ++i) {
      producer.send("orders", std::to_string(round) + "/" + std::to_string(i));
    }
    EXPECT_TRUE(eventually(
        [&] {
          const std::lock_guard lock(mutex);
          return seen.size() == static_cast<std::size_t>(20 * (round + 1));
        },
        5s))
        << round;
  }
  EXPECT_TRUE(worker.stop());
  EXPECT_GE(stats(worker).groups_recreated, 1u);
  EXPECT_LE(stats(worker).store_failures, 60u) << "it backed off meanwhile";
}

// What an idle worker asks of the server with default settings.
TEST(Traps, T40_an_idle_worker_sends_at_most_three_commands_a_second) {
  RedisServer redis;
  HandlerOptions defaults;
  defaults.group = "billing";
  WorkerOptions w = quiet();
  w.drain = defaults.stop_grace;
  Worker worker(redis.url(), w);
  worker.handle("orders", defaults, [](const Message&) {});
  worker.start();
  ASSERT_TRUE(eventually([&] { return stats(worker).ticks > 1; }, 5s));
  test::Monitor monitor(redis);
  monitor.take();
  const auto seconds = test::pick(8s, 60s);
  std::this_thread::sleep_for(seconds);
  std::vector<std::string> lines = monitor.take();
  std::erase_if(lines,
                [](const std::string& line) { return line.find(" lua] ") != std::string::npos; });
  EXPECT_LE(lines.size(), static_cast<std::size_t>(3 * seconds.count() + 2)) << [&] {
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return all;
  }();
  EXPECT_GE(lines.size(), static_cast<std::size_t>(seconds.count())) << "and it does look";
  EXPECT_TRUE(worker.stop());
}

// Reclaim and new entries at once, on few slots and many.
TEST(Traps, T41_T42_old_and_new_entries_both_get_their_turn) {
  for (const std::size_t concurrency : {1u, 8u}) {
    RedisServer redis;
    Producer producer(redis.url());
    std::vector<Draft> old(200), fresh(200);
    for (Draft& draft : old) draft.body = "old";
    for (Draft& draft : fresh) draft.body = "new";
    producer.send("orders", old);
    redis.cli("XGROUP", "CREATE", "orders", "billing", "0");
    redis.cli("XREADGROUP", "GROUP", "billing", "gone", "COUNT", "200", "STREAMS", "orders", ">");
    producer.send("orders", fresh);
    std::this_thread::sleep_for(50ms);
    std::mutex mutex;
    std::string order;
    auto o = options(concurrency);
    o.foreign_idle = 40ms;
    o.prefetch = Prefetch::count(4 * concurrency);
    Worker worker(redis.url(), quiet());
    worker.handle("orders", o, [&](const Message& m) {
      {
        const std::lock_guard lock(mutex);
        order += m.body() == "old" ? 'o' : 'n';
      }
      std::this_thread::sleep_for(2ms);
    });
    worker.start();
    EXPECT_TRUE(eventually([&] { return stats(worker).acked == 400; }, 15s));
    EXPECT_TRUE(worker.stop());
    // Neither had to wait for the end of the other.
    const std::string half = order.substr(0, 200);
    EXPECT_GE(std::count(half.begin(), half.end(), 'o'), 30) << concurrency << " " << order;
    EXPECT_GE(std::count(half.begin(), half.end(), 'n'), 30) << concurrency << " " << order;
  }
}

}  // namespace
}  // namespace penstock
