#pragma once

#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/handler_pool.hpp"
#include "support/eventually.hpp"

namespace penstock::runtime {

using namespace std::chrono_literals;
using base::MonoTime;
using Kind = engine::Finished::Kind;

inline MonoTime clock_now() { return std::chrono::steady_clock::now(); }

/// A door that handlers wait at, and that always opens in the end.
class Gate {
 public:
  ~Gate() { open(); }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

/// A batch of entries <from>-0 .. with their number as the body.
inline store::BatchPtr numbers(std::uint64_t from, std::uint32_t count) {
  auto batch = std::make_shared<store::Batch>();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string text = std::to_string(from + i);
    store::Taken taken;
    taken.id = {from + i, 0};
    taken.field_begin = static_cast<std::uint32_t>(batch->spans.size());
    taken.field_count = 1;
    batch->spans.push_back({static_cast<std::uint32_t>(batch->arena.size()), 4});
    batch->arena += "body";
    batch->spans.push_back(
        {static_cast<std::uint32_t>(batch->arena.size()), static_cast<std::uint32_t>(text.size())});
    batch->arena += text;
    batch->entries.push_back(taken);
  }
  return batch;
}

/// Runs in slots from `first_slot` on.
inline std::vector<engine::RunItem> runs(std::uint64_t from, std::uint32_t count,
                                         std::uint32_t first_slot = 0, std::uint32_t generation = 0,
                                         MonoTime start_before = base::never) {
  const store::BatchPtr batch = numbers(from, count);
  std::vector<engine::RunItem> items;
  for (std::uint32_t i = 0; i < count; ++i) {
    items.push_back({{first_slot + i, generation}, batch, i, start_before});
  }
  return items;
}

inline std::shared_ptr<const store::Lane> a_lane() {
  return std::make_shared<const store::Lane>(store::Lane{"orders", "billing", "w.00000001"});
}

/// Collects until `count` runs have ended.
inline std::vector<engine::Finished> collect(HandlerPool& pool, std::size_t count) {
  std::vector<engine::Finished> all;
  test::eventually(
      [&] {
        for (engine::Finished& f : pool.collect()) all.push_back(std::move(f));
        return all.size() >= count;
      },
      20s);
  EXPECT_EQ(all.size(), count);
  return all;
}

}  // namespace penstock::runtime
