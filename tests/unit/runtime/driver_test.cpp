// A lane, its driver, real threads and the memory store together.
#include <condition_variable>
#include <future>
#include <queue>
#include <set>

#include "runtime/lane_driver.hpp"
#include "store/memory/memory_store.hpp"
#include "unit/runtime/pool_rig.hpp"

namespace penstock::runtime {
namespace {

using store::memory::MemoryServer;
using store::memory::MemoryStore;

/// An executor with a thread of its own and the real clock.
class ThreadExecutor final : public base::Executor {
 public:
  ThreadExecutor() : thread_([this] { serve(); }) {}
  ~ThreadExecutor() override { stop(); }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      work_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }
  MonoTime now() const override { return clock_now(); }
  void post(std::function<void()> fn) override { schedule(MonoTime::min(), std::move(fn)); }
  void schedule(MonoTime at, std::function<void()> fn) override {
    const std::lock_guard lock(mutex_);
    jobs_.emplace(std::pair{at, ++order_}, std::move(fn));
    work_.notify_all();
  }
  void call(const std::function<void()>& fn) {
    std::promise<void> done;
    post([&] {
      fn();
      done.set_value();
    });
    done.get_future().wait();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      if (jobs_.empty()) {
        work_.wait(lock);
        continue;
      }
      const auto first = jobs_.begin();
      if (first->first.first > clock_now()) {
        work_.wait_until(lock, first->first.first);
        continue;
      }
      const std::function<void()> fn = std::move(first->second);
      jobs_.erase(first);
      lock.unlock();
      fn();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::map<std::pair<MonoTime, std::uint64_t>, std::function<void()>> jobs_;
  std::uint64_t order_ = 0;
  bool over_ = false;
  std::thread thread_;
};

store::ServerMs wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// One worker's worth of threads on one lane.
struct Bench {
  Bench(std::shared_ptr<MemoryServer> server, engine::LaneConfig config,
        HandlerPool::Handler handler)
      : pool(std::make_shared<store::Lane>(config.lane), std::move(handler), config.concurrency,
             [weak = hook] {
               if (const auto d = weak->lock()) d->notify_finished();
             }) {
    io.call([&] { main = std::make_unique<MemoryStore>(server, io); });
    renewal.call([&] { second = std::make_unique<MemoryStore>(server, renewal); });
    store::Registration row;
    row.consumer = config.lane.consumer;
    row.lease_ms = std::chrono::duration_cast<std::chrono::milliseconds>(config.lease).count();
    LaneHost host;
    host.log = [](engine::Severity, const std::string&) {};
    host.fatal = [](const base::Failure&) {};
    host.drained = [this] { drained = true; };
    host.opened = [this](store::ServerMs epoch) { pool.set_group_epoch(epoch); };
    driver = std::make_shared<LaneDriver>(config, row, Session{main.get(), &io},
                                          Session{second.get(), &renewal}, pool, std::move(host));
    *hook = driver;
    driver->start();
  }
  ~Bench() {
    driver->abandon();
    pool.shut_down(clock_now() + 5s);
    renewal.call([&] { second.reset(); });
    io.call([&] { main.reset(); });
    renewal.stop();
    io.stop();
  }
  engine::Counters counters() const { return driver->snapshot().counters; }

  std::shared_ptr<std::weak_ptr<LaneDriver>> hook = std::make_shared<std::weak_ptr<LaneDriver>>();
  std::atomic<bool> drained{false};
  ThreadExecutor io, renewal;
  std::unique_ptr<MemoryStore> main, second;
  HandlerPool pool;
  std::shared_ptr<LaneDriver> driver;
};

engine::LaneConfig config_of(std::size_t concurrency, const std::string& consumer = "w.00000001") {
  engine::LaneConfig c;
  c.lane = {"orders", "billing", consumer};
  c.concurrency = concurrency;
  c.lease = 2s;
  c.sweep = 200ms;
  c.backoff_min = 1ms;
  c.backoff_max = 5ms;
  c.drain = 3s;
  c.stop_grace = 500ms;
  return c;
}

std::shared_ptr<MemoryServer> server_with(std::size_t entries) {
  auto server = std::make_shared<MemoryServer>(wall_ms);
  std::vector<store::Draft> drafts;
  for (std::size_t i = 0; i < entries; ++i) drafts.push_back({{{"body", std::to_string(i)}}});
  server->append("orders", std::move(drafts));
  return server;
}

std::size_t pending(MemoryServer& server) { return server.pel("orders", "billing").size(); }

TEST(LaneDriver, takes_every_entry_to_its_handler_and_settles_it) {
  const auto server = server_with(3'000);
  std::vector<std::atomic<int>> ran(3'000);
  Bench bench(server, config_of(4), [&](const Message& m, const std::stop_token&) {
    ++ran[std::stoul(std::string(m.body()))];
    return Outcome::ack();
  });
  ASSERT_TRUE(test::eventually([&] { return bench.counters().acked == 3'000; }, 20s));
  for (const auto& n : ran) EXPECT_EQ(n, 1);
  EXPECT_EQ(pending(*server), 0u);
  EXPECT_EQ(bench.driver->snapshot().held, 0u);
}

TEST(LaneDriver, failures_are_retried_and_end_in_the_dead_letters) {
  const auto server = server_with(20);
  std::vector<std::atomic<int>> ran(20);
  Bench bench(server, config_of(2), [&](const Message& m, const std::stop_token&) -> Outcome {
    const auto n = std::stoul(std::string(m.body()));
    const int attempt = ++ran[n];
    EXPECT_EQ(m.attempt(), attempt);
    if (n % 2 == 0) throw std::runtime_error("never works");
    return attempt < 3 ? Outcome::retry("not now") : Outcome::ack();
  });
  ASSERT_TRUE(test::eventually(
      [&] { return bench.counters().acked == 10 && bench.counters().dead == 10; }, 20s));
  for (std::size_t n = 0; n < 20; ++n) EXPECT_EQ(ran[n], n % 2 == 0 ? 5 : 3);
  EXPECT_EQ(pending(*server), 0u);
  EXPECT_EQ(server->entries("{orders}.dead").size(), 10u);
}

TEST(LaneDriver, T01_a_run_of_several_leases_is_not_taken_by_a_peer) {
  const auto server = server_with(4);
  std::atomic<int> runs_total{0};
  const auto slow = [&](const Message&, const std::stop_token& stop) {
    ++runs_total;
    const MonoTime end = clock_now() + 1500ms;
    while (clock_now() < end) {
      EXPECT_FALSE(stop.stop_requested());
      std::this_thread::sleep_for(5ms);
    }
    return Outcome::ack();
  };
  auto c = config_of(4);
  c.lease = 600ms;
  auto other = config_of(4, "w.00000002");
  other.lease = 600ms;
  Bench one(server, c, slow);
  Bench two(server, other, slow);
  ASSERT_TRUE(
      test::eventually([&] { return one.counters().acked + two.counters().acked == 4; }, 20s));
  EXPECT_EQ(runs_total, 4);
  EXPECT_GT(one.counters().renewals + two.counters().renewals, 0u);
  EXPECT_EQ(one.counters().claimed_lapsed + two.counters().claimed_lapsed, 0u);
}

TEST(LaneDriver, T18_a_drain_hands_back_at_once_and_a_peer_takes_it) {
  const auto server = server_with(10);
  Gate gate;
  auto c = config_of(1);
  c.prefetch = engine::PrefetchKind::count;
  c.prefetch_entries = 10;
  std::atomic<int> first_ran{0}, second_ran{0};
  Bench one(server, c, [&](const Message&, const std::stop_token&) {
    ++first_ran;
    gate.pass();
    return Outcome::ack();
  });
  ASSERT_TRUE(
      test::eventually([&] { return one.driver->snapshot().held == 10 && first_ran == 1; }, 5s));
  Bench two(server, config_of(2, "w.00000002"), [&](const Message&, const std::stop_token&) {
    ++second_ran;
    return Outcome::ack();
  });
  const MonoTime from = clock_now();
  one.driver->begin_drain();
  ASSERT_TRUE(test::eventually([&] { return second_ran == 9; }, 5s));
  EXPECT_LT(clock_now() - from, test::scaled(1000ms)) << "not at the next sweep";
  EXPECT_FALSE(one.drained);
  gate.open();
  ASSERT_TRUE(test::eventually([&] { return one.drained.load(); }, 5s));
  EXPECT_TRUE(one.driver->snapshot().clean);
  EXPECT_EQ(first_ran, 1);
  EXPECT_EQ(pending(*server), 0u);
  EXPECT_EQ(one.counters().released, 9u);
}

TEST(LaneDriver, T19_a_lost_group_heals_and_nothing_is_lost) {
  const auto server = server_with(50);
  std::mutex mutex;
  std::set<std::string> seen;
  Bench bench(server, config_of(2), [&](const Message& m, const std::stop_token&) {
    const std::lock_guard lock(mutex);
    seen.insert(std::string(m.body()));
    return Outcome::ack();
  });
  ASSERT_TRUE(test::eventually([&] { return bench.counters().acked == 50; }, 10s));
  server->flush();
  ASSERT_TRUE(test::eventually([&] { return bench.counters().groups_recreated == 1; }, 10s));
  std::vector<store::Draft> drafts;
  for (int i = 100; i < 150; ++i) drafts.push_back({{{"body", std::to_string(i)}}});
  server->append("orders", std::move(drafts));
  EXPECT_TRUE(test::eventually(
      [&] {
        const std::lock_guard lock(mutex);
        return seen.size() == 100;
      },
      10s));
}

TEST(LaneDriver, nothing_happens_after_abandon) {
  const auto server = server_with(0);
  std::atomic<int> ran{0};
  Bench bench(server, config_of(1), [&](const Message&, const std::stop_token&) {
    ++ran;
    return Outcome::ack();
  });
  ASSERT_TRUE(test::eventually([&] { return bench.driver->snapshot().group_epoch != 0; }, 5s));
  bench.driver->abandon();
  server->append("orders", {{{{"body", "1"}}}});
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(ran, 0);
}

}  // namespace
}  // namespace penstock::runtime
