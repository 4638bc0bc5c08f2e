// Sessions of one MemoryServer on threads of their own, as in a real worker.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/executor.hpp"
#include "store/memory/memory_store.hpp"

namespace penstock::contract {
namespace {

using namespace std::chrono_literals;
using base::MonoTime;
using namespace store;  // NOLINT
using store::memory::MemoryServer;
using store::memory::MemoryStore;

/// A loop on a thread of its own.
class ThreadLoop final : public base::Executor {
 public:
  ThreadLoop() : thread_([this] { run(); }) {}
  ~ThreadLoop() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  MonoTime now() const override { return std::chrono::steady_clock::now(); }
  void post(std::function<void()> fn) override { schedule(now(), std::move(fn)); }
  void schedule(MonoTime at, std::function<void()> fn) override {
    {
      const std::lock_guard lock(mutex_);
      queue_.emplace(std::pair(at, ++sequence_), std::move(fn));
    }
    changed_.notify_all();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      if (queue_.empty()) {
        changed_.wait(lock);
      } else if (queue_.begin()->first.first > now()) {
        const MonoTime next = queue_.begin()->first.first;
        changed_.wait_until(lock, next);
      } else {
        auto fn = std::move(queue_.begin()->second);
        queue_.erase(queue_.begin());
        lock.unlock();
        fn();
        fn = nullptr;
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<MonoTime, std::uint64_t>, std::function<void()>> queue_;
  std::uint64_t sequence_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

/// Takes, with a wait, and acks what it gets, until told to stop.
struct Reader {
  Reader(std::shared_ptr<MemoryServer> server, std::string name, std::atomic<int>& handled)
      : lane{"orders", "billing", std::move(name)}, count(handled) {
    loop.post([this, server] {
      store = std::make_unique<MemoryStore>(server, loop);
      read();
    });
  }
  ~Reader() {
    std::atomic<bool> ended{false};
    loop.post([&] {
      store.reset();
      ended = true;
      ended.notify_all();
    });
    ended.wait(false);
  }

  void read() {
    store->take(lane, {8, 20ms}, [this](base::Result<BatchPtr> batch) {
      ASSERT_TRUE(batch.has_value());
      std::vector<Settlement> acks;
      for (const Taken& entry : (*batch)->entries) {
        Settlement ack;
        ack.receipt = {entry.id, entry.delivery};
        acks.push_back(ack);
      }
      if (acks.empty()) return read();
      store->settle(lane, acks, Retention::delete_on_ack,
                    [this](base::Result<std::vector<SettleStatus>> status) {
                      for (const SettleStatus one : *status) EXPECT_EQ(one, SettleStatus::done);
                      read();
                    });
      // Settled in the call: a reader that goes before the answer has ended them all the same.
      count += static_cast<int>(acks.size());
    });
  }

  Lane lane;
  std::atomic<int>& count;
  std::unique_ptr<MemoryStore> store;
  ThreadLoop loop;
};

TEST(MemoryThreads, readers_on_their_own_threads_get_each_entry_once) {
  constexpr int total = 20'000;
  std::atomic<ServerMs> clock{1'000};
  auto server = std::make_shared<MemoryServer>([&] { return clock.load(); });
  ASSERT_TRUE(server->open({"orders", "billing", "x"}, {}).has_value());
  std::atomic<int> handled{0};
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 4; ++i) {
    readers.push_back(std::make_unique<Reader>(server, "w.0000000" + std::to_string(i), handled));
  }
  for (int i = 0; i < total; ++i) {
    server->append("orders", {Draft{{{"n", std::to_string(i)}}}});
    if (i % 100 == 0) ++clock;
  }
  const MonoTime limit = std::chrono::steady_clock::now() + 60s;
  while (handled < total && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(handled, total);
  EXPECT_TRUE(server->pel("orders", "billing").empty());
  EXPECT_TRUE(server->entries("orders").empty());
}

// Readers come and go while entries arrive: what a reader that went was handed stays leased.
TEST(MemoryThreads, readers_that_go_in_the_middle_lose_nothing) {
  constexpr int total = 5'000;
  std::atomic<ServerMs> clock{1'000};
  auto server = std::make_shared<MemoryServer>([&] { return clock.load(); });
  ASSERT_TRUE(server->open({"orders", "billing", "x"}, {}).has_value());
  std::atomic<int> handled{0};
  std::thread sender([&] {
    for (int i = 0; i < total; ++i) server->append("orders", {Draft{{{"n", "x"}}}});
  });
  for (int i = 0; i < 50; ++i) {
    Reader brief(server, "b.0000000" + std::to_string(i % 10), handled);
    std::this_thread::sleep_for(2ms);
  }
  sender.join();
  EXPECT_GT(handled, 0);
  const auto left = static_cast<int>(server->entries("orders").size());
  EXPECT_EQ(handled + left, total) << "acked or still there";
  EXPECT_LE(static_cast<int>(server->pel("orders", "billing").size()), left);
}

}  // namespace
}  // namespace penstock::contract
