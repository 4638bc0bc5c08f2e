// A worker's run and end.
#include <utility>

#include "api/worker_impl.hpp"

namespace penstock {

namespace {

constexpr int exit_hung = 70;
constexpr int exit_unfinished = 75;
constexpr int exit_refused = 78;
constexpr auto margin = std::chrono::milliseconds(500);
constexpr auto threads_margin = std::chrono::milliseconds(400);
constexpr auto idle_threads_margin = std::chrono::seconds(2);

}  // namespace

Worker::Impl::~Impl() { stop(); }

bool Worker::Impl::all_drained() const {
  for (const auto& lane : lanes_) {
    if (!lane->drained) return false;
  }
  return true;
}

void Worker::Impl::begin_drain() {
  // Whoever returns from here knows that every lane was told, be it by another thread.
  const std::lock_guard telling(drain_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::running) return;
    phase_ = Phase::draining;
  }
  for (const auto& lane : lanes_) lane->driver->begin_drain();
}

bool Worker::Impl::stop() {
  begin_drain();
  {
    const std::lock_guard lock(mutex_);
    if (watch_ != nullptr) watch_->wake();
    if (phase_ == Phase::made) return true;
  }
  return finish(false);
}

/// Waits for the drain (unless forced), then takes everything down. Safe to call twice.
bool Worker::Impl::finish(bool forced) {
  const std::lock_guard stopping(stop_mutex_);
  {
    std::unique_lock lock(mutex_);
    if (phase_ == Phase::over) return clean_;
    const auto until = std::chrono::steady_clock::now() + options_.drain + margin;
    if (!forced) changed_.wait_until(lock, until, [&] { return all_drained(); });
    if (!all_drained()) {
      clean_ = false;
      log(engine::Severity::warning, "closing: a subscription did not end in time");
    }
  }
  const bool drained_clean = [this] {
    const std::lock_guard lock(mutex_);
    return clean_ && !unhealthy_;
  }();
  WorkerStats last = stats();
  for (const auto& lane : lanes_) lane->driver->abandon();
  // After a clean drain no handler runs: its threads end as soon as the machine lets them. Else
  // some may hang in user code, and the time for closing is used up.
  const auto threads_until =
      std::chrono::steady_clock::now() + (drained_clean ? idle_threads_margin : threads_margin);
  bool all_threads = true;
  for (const auto& lane : lanes_) {
    all_threads = lane->pool->shut_down(threads_until) && all_threads;
  }
  if (!all_threads) log(engine::Severity::warning, "closing: user code is still running");
  renewal_->call([this] { renewal_store_->close(); });
  io_->call([this] { main_store_->close(); });
  renewal_->call([this] { renewal_store_.reset(); });
  io_->call([this] { main_store_.reset(); });
  renewal_->stop();
  io_->stop();
  aside_.reset();
  const std::lock_guard lock(mutex_);
  phase_ = Phase::over;
  clean_ = clean_ && all_threads;
  last.connected = false;
  last_stats_ = std::move(last);
  return clean_;
}

int Worker::Impl::run() {
  api::SignalWatch watch(options_.handle_signals);
  {
    const std::lock_guard lock(mutex_);
    watch_ = &watch;
  }
  const auto leave = [this] {
    const std::lock_guard lock(mutex_);
    watch_ = nullptr;
  };
  try {
    start();
  } catch (const Error& error) {
    leave();
    if (error.fatal()) return exit_refused;
    throw;
  }
  bool forced = false;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (all_drained() || phase_ == Phase::over) break;
      if (phase_ == Phase::draining && watch.count() > 1) forced = true;
    }
    if (forced) break;
    const bool woken = watch.wait(-1);
    bool end = watch.count() > 0;
    {
      const std::lock_guard lock(mutex_);
      end = end || (woken && (fatal_.has_value() || phase_ != Phase::running));
      for (const auto& lane : lanes_) end = end || lane->drained;
    }
    if (end) begin_drain();
  }
  const bool clean = finish(forced);
  leave();
  const std::lock_guard lock(mutex_);
  if (fatal_) return exit_refused;
  if (unhealthy_ && options_.exit_when_hung) return exit_hung;
  return clean && !forced ? 0 : exit_unfinished;
}

WorkerStats Worker::Impl::stats() const {
  WorkerStats all;
  {
    const std::lock_guard lock(mutex_);
    if (last_stats_) return *last_stats_;
    if (!open_) return all;
  }
  all.connected = true;
  for (const auto& lane : lanes_) {
    const auto s = lane->driver->snapshot();
    const engine::Counters& c = s.counters;
    LaneStats out;
    out.stream = lane->stream;
    out.group = lane->options.group;
    out.consumer = consumer_;
    out.taken = c.taken;
    out.claimed_lapsed = c.claimed_lapsed;
    out.claimed_due = c.claimed_due;
    out.started = lane->pool->started_total();
    out.acked = c.acked;
    out.retried = c.retried;
    out.not_yet = c.not_yet;
    out.released = c.released;
    out.dead = c.dead;
    out.lease_lost = c.lease_lost;
    out.stale_settles = c.stale_settles;
    out.ack_zero = c.ack_zero;
    out.vanished = c.vanished;
    out.renewals = c.renewals;
    out.renew_failures = c.renew_failures;
    out.sweeps = c.sweeps;
    out.ticks = c.ticks;
    out.groups_recreated = c.groups_recreated;
    out.store_failures = c.store_failures;
    out.timed_out = c.timed_out;
    out.held = s.held;
    out.held_bytes = s.held_bytes;
    out.hung = s.hung;
    out.running = lane->pool->running().size();
    all.connected = all.connected && s.connected;
    all.unhealthy = all.unhealthy || s.unhealthy;
    all.lanes.push_back(std::move(out));
  }
  return all;
}

}  // namespace penstock
