#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "runtime/handler_pool.hpp"

namespace penstock::runtime {

/// One handler thread and what it shows to others.
struct HandlerPool::Seat {
  std::thread thread;
  std::mutex mutex;  // guards what follows
  Chunk chunk;
  bool busy = false;
  bool given_up = false;
  bool ended = false;  // guarded by Shared::mutex: the thread is about to return
  engine::Slot slot;
  base::MonoTime since;
  std::stop_source stop{std::nostopstate};
  std::vector<engine::Finished> finished;
};

/// Outlives the pool where a hung thread does. Lock order: mutex, then a seat's mutex.
struct HandlerPool::Shared {
  Handler handler;
  std::function<void()> ended;
  std::atomic<bool> notified{false};
  std::atomic<std::int64_t> mean_run_ns{0};
  std::atomic<std::uint64_t> started{0};
  std::atomic<store::ServerMs> group_epoch{0};

  std::mutex mutex;  // guards what follows
  std::condition_variable work;
  std::condition_variable gone;
  std::deque<Chunk> queue;
  std::size_t queued = 0;
  std::size_t idle = 0, live = 0, spares_back = 0;
  bool closing = false;
  std::vector<std::shared_ptr<Seat>> seats;

  std::mutex stop_mutex;  // guards what follows
  std::condition_variable stop_work;
  std::vector<std::stop_source> stops;
  bool stops_closing = false, stops_ended = false;

  static void serve(const std::shared_ptr<Shared>& shared, const std::shared_ptr<Seat>& seat);
  bool next_chunk(Seat& seat);
  bool take_queued(Seat& seat);
  bool steal(Seat& thief);
  void run_chunk(Seat& seat);
  bool begin_next(Seat& seat, base::MonoTime now, Run** run, std::stop_token* stop);
  engine::Finished call(const Run& run, std::stop_token stop) const;
  void tell();
  /// Is another thread worth its waking?
  bool worth_waking() const;
  /// Will no thread that is awake come for more work soon? Under `mutex`.
  bool all_awake_are_long(base::MonoTime now) const;
};

}  // namespace penstock::runtime
