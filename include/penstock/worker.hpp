#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/message.hpp>
#include <penstock/options.hpp>
#include <penstock/outcome.hpp>

namespace penstock {

/// Numbers of one subscription since start(), and gauges of now.
struct LaneStats {
  std::string stream, group, consumer;
  std::uint64_t taken = 0;           ///< deliveries received, new and reclaimed
  std::uint64_t claimed_lapsed = 0;  ///< of those: taken over from a silent owner
  std::uint64_t claimed_due = 0;     ///< of those: retries, "not yet" and hand-backs
  std::uint64_t started = 0;         ///< handler runs begun
  std::uint64_t acked = 0, retried = 0, not_yet = 0, released = 0, dead = 0;
  std::uint64_t lease_lost = 0;     ///< leases that ended by loss, not by settle
  std::uint64_t stale_settles = 0;  ///< settles that the store refused: the lease was lost
  std::uint64_t ack_zero = 0;       ///< acked entries that were not pending any more
  std::uint64_t vanished = 0;       ///< pending entries whose body was deleted
  std::uint64_t renewals = 0, renew_failures = 0;
  std::uint64_t sweeps = 0, ticks = 0;
  std::uint64_t groups_recreated = 0;
  std::uint64_t store_failures = 0;  ///< failed store calls, retried with back-off
  std::uint64_t timed_out = 0;       ///< runs over max_run
  std::uint64_t held = 0;            ///< gauge: unsettled entries
  std::uint64_t running = 0;         ///< gauge: handler runs
  std::uint64_t held_bytes = 0;      ///< gauge
  std::uint64_t hung = 0;            ///< gauge: runs given up that have not returned
};

struct WorkerStats {
  std::vector<LaneStats> lanes;
  bool connected = false;  ///< gauge: the last store call was answered
  bool unhealthy = false;  ///< gauge: all handler threads and their spares hang
};

/// Takes messages to handlers. One per process is usual; several may live in one. Methods may be
/// called from any thread; handle() only before start().
class Worker {
 public:
  using Handler = std::function<Outcome(const Message&, std::stop_token)>;

  /// `redis://user:password@host:port/db`, `unix:///path/to.sock` or `memory:` (inside this
  /// process). Nothing is connected yet. Throws Error(bad_option).
  explicit Worker(std::string url, WorkerOptions options = {});
  ~Worker();  ///< as stop()
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Adds a subscription. `fn` takes (const Message&, std::stop_token) or (const Message&), returns
  /// void or Outcome, runs on `options.concurrency` threads of the subscription's own, and may
  /// throw: that is a retry.
  template <class F>
  Worker& handle(std::string stream, HandlerOptions options, F fn) {
    return add(std::move(stream), std::move(options), adapt(std::move(fn)));
  }

  /// Starts the threads and returns. Throws only what needs a person: bad options, refused
  /// credentials or rights (the first connection is tried; a server that is away is waited for in
  /// the background).
  void start();
  /// Drain: takes nothing more, hands back what is not started, waits for running handlers, asks
  /// them to stop at drain - stop_grace, and ends. True: everything was settled or handed back in
  /// time. Idempotent.
  bool stop();
  /// start(), wait for SIGTERM, SIGINT or stop() from elsewhere, drain. Returns the exit code:
  /// 0 drained, 70 hung, 75 drain not finished, 78 refused by the server (credentials, rights).
  int run();

  WorkerStats stats() const;

 private:
  template <class F>
  static Handler adapt(F fn) {
    if constexpr (std::invocable<F&, const Message&, std::stop_token>) {
      return [fn = std::move(fn)](const Message& m, std::stop_token stop) mutable -> Outcome {
        if constexpr (std::is_void_v<std::invoke_result_t<F&, const Message&, std::stop_token>>) {
          fn(m, std::move(stop));
          return Outcome::ack();
        } else {
          return fn(m, std::move(stop));
        }
      };
    } else {
      static_assert(std::invocable<F&, const Message&>,
                    "a handler takes (const Message&) or (const Message&, std::stop_token)");
      return [fn = std::move(fn)](const Message& m, const std::stop_token&) mutable -> Outcome {
        if constexpr (std::is_void_v<std::invoke_result_t<F&, const Message&>>) {
          fn(m);
          return Outcome::ack();
        } else {
          return fn(m);
        }
      };
    }
  }
  Worker& add(std::string stream, HandlerOptions options, Handler handler);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
