#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <penstock/worker.hpp>

#include "api/event_thread.hpp"
#include "api/home.hpp"
#include "api/signals.hpp"
#include "runtime/aside.hpp"
#include "runtime/handler_pool.hpp"
#include "runtime/lane_driver.hpp"

namespace penstock {

/// One life: made, started, drained. The engine threads exist from start() to the end of stop().
class Worker::Impl {
 public:
  Impl(std::string url, WorkerOptions options);
  ~Impl();

  void add(std::string stream, HandlerOptions options, Handler handler);
  void start();
  bool stop();
  int run();
  WorkerStats stats() const;

 private:
  struct Lane {
    std::string stream;
    HandlerOptions options;
    Handler handler;
    std::shared_ptr<const store::Lane> where;
    std::unique_ptr<runtime::HandlerPool> pool;
    std::shared_ptr<runtime::LaneDriver> driver;
    bool drained = false;  // guarded by mutex_
  };

  void open_lane(Lane& lane);
  void wait_for_first_answer();
  void begin_drain();
  bool all_drained() const;  // under mutex_
  void wait_drained(std::unique_lock<std::mutex>& lock, base::MonoTime until);
  bool finish(bool forced);
  void report_fatal(const base::Failure& failure);
  void log(engine::Severity severity, const std::string& text);

  const WorkerOptions options_;
  api::Home home_;
  const std::string consumer_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::shared_ptr<std::atomic<std::uint64_t>> epoch_;

  std::unique_ptr<runtime::Aside> aside_;
  std::unique_ptr<api::EventThread> io_, renewal_;
  std::unique_ptr<store::Store> main_store_, renewal_store_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  enum class Phase { made, running, draining, over } phase_ = Phase::made;  // guarded by mutex_
  std::optional<base::Failure> fatal_;                                      // guarded by mutex_
  bool unhealthy_ = false, clean_ = true;                                   // guarded by mutex_
  std::optional<WorkerStats> last_stats_;                                   // guarded by mutex_
  bool open_ = false;       // guarded by mutex_: all lanes have their threads and drivers
  std::mutex drain_mutex_;  // start() and begin_drain(), one at a time
  std::mutex stop_mutex_;
  api::SignalWatch* watch_ = nullptr;  // guarded by mutex_
};

}  // namespace penstock
