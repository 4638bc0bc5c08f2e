#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/executor.hpp"
#include "engine/lane.hpp"
#include "runtime/dispatcher.hpp"
#include "store/store.hpp"

namespace penstock::runtime {

/// What a lane tells its worker. Called on the I/O executor (log: on either).
struct LaneHost {
  std::function<void(engine::Severity, const std::string&)> log;
  std::function<void(const base::Failure&)> fatal;
  std::function<void()> drained;
  /// The group is there (again); its epoch goes into the tokens of what runs from now on.
  std::function<void(store::ServerMs)> opened;
};

/// One session with the store: calls of it are made on its executor only.
struct Session {
  store::Store* store = nullptr;
  base::Executor* executor = nullptr;
};

/// Carries out what a lane decides: turns its actions into calls of the store and the dispatcher,
/// and their answers into its events. Decides nothing. The lane is behind one mutex, held for the
/// lane's own steps only, for two executors and the threads that ask for numbers use it.
class LaneDriver : public std::enable_shared_from_this<LaneDriver> {
 public:
  LaneDriver(engine::LaneConfig config, store::Registration registration, Session main,
             Session renewal, Dispatcher& dispatcher, LaneHost host);

  /// Any thread, once.
  void start();
  /// Any thread: the dispatcher has something to collect.
  void notify_finished();
  /// Any thread.
  void begin_drain();
  /// Any thread: no calls and no events any more; answers that still arrive are dropped.
  void abandon();

  struct Snapshot {
    engine::Counters counters;
    std::size_t held = 0, held_bytes = 0, hung = 0;
    bool clean = false, unhealthy = false, connected = false, drained = false;
    bool opened = false;  ///< the group is there; its epoch may be 0 where other hands made it
    store::ServerMs group_epoch = 0;
  };
  Snapshot snapshot() const;

 private:
  using Actions = engine::Actions;

  void pump();
  void pump_renewal();
  void carry_out(Actions& actions);
  void carry_out_reads(Actions& actions);
  void carry_out_runs(Actions& actions);
  void carry_out_renewal(Actions& actions);
  void schedule_pump(base::MonoTime at);
  void schedule_renewal(base::MonoTime at);
  void post_pump();
  void post_renewal();

  /// An answer of the main session: tells the lane under the mutex, then pumps.
  template <class T, class F>
  base::Done<T> answer(F event);
  /// An answer of the renewal session: tells the lane, then wakes both sides.
  template <class T, class F>
  base::Done<T> renewal_answer(F event);

  const store::Lane lane_;
  const store::Registration registration_;
  const Session main_;
  const Session renewal_;
  Dispatcher& dispatcher_;
  const LaneHost host_;

  mutable std::mutex mutex_;
  engine::Lane engine_;   // guarded by mutex_
  bool drained_ = false;  // guarded by mutex_
  std::atomic<bool> over_{false};
  std::atomic<bool> pump_posted_{false};

  // I/O executor only.
  base::MonoTime pump_at_ = base::never;
  base::MonoTime sample_at_ = base::MonoTime::min();
  bool pumping_ = false, pump_again_ = false;
  // Renewal executor only.
  base::MonoTime renewal_at_ = base::never;
};

}  // namespace penstock::runtime
