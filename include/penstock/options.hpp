#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

using std::chrono::milliseconds;

/// How many entries a lane may hold unsettled, running ones included.
struct Prefetch {
  enum class Kind : std::uint8_t { automatic, count, none };
  Kind kind = Kind::automatic;
  std::size_t entries = 0;  ///< for Kind::count: 1..1024

  /// Free slots + what the handlers finish in 100 ms at the measured rate, at most 1,024.
  static Prefetch automatic() { return {}; }
  static Prefetch count(std::size_t n) { return {Kind::count, n}; }
  /// Only the bytes bound it (and 1,024).
  static Prefetch none() { return {Kind::none, 0}; }
};

/// What happens to an entry once its group has acked it. Without a choice: `delete_on_ack` for a
/// stream that penstock made, `keep` for one that was there before.
enum class Retention : std::uint8_t { delete_on_ack, trim_settled, keep };

/// Exponential with full jitter, drawn once per failure and stored.
struct RetryPolicy {
  std::int64_t attempts = 5;          ///< runs in all; then dead letter. 1..1,000,000
  milliseconds backoff_min{1'000};    ///< upper bound of the first wait; > 0
  milliseconds backoff_max{600'000};  ///< upper bound of any wait; >= backoff_min
  double factor = 2.0;                ///< 1..100
};

/// Knobs of one subscription (DESIGN 4). check() names what cannot work together.
struct HandlerOptions {
  std::string group{};          ///< required
  std::size_t concurrency = 1;  ///< handler threads, 1..1024
  Prefetch prefetch{};
  std::size_t prefetch_bytes = 64u << 20;  ///< unsettled bytes of the lane, >= 1 KiB
  milliseconds lease{20'000};              ///< how long a silent owner is believed alive, >= 400 ms
  milliseconds sweep{
      5'000};  ///< how often lapsed entries of others are looked for; 0: before every read
  std::optional<milliseconds> max_run{900'000};  ///< a longer run is hung; empty: no limit
  milliseconds stop_grace{10'000};               ///< between asking a run to stop and giving it up
  RetryPolicy retry{};
  milliseconds not_yet{30'000};  ///< when a "not yet" entry is looked at again
  milliseconds foreign_idle{
      600'000};  ///< when an entry of a consumer without leases counts as abandoned
  std::optional<Retention> retention{};
  std::string start = "0";       ///< entry id or "$": where a group made now begins
  std::int64_t max_lapses = 20;  ///< hand-overs that ended without any settle; then dead letter
};

enum class LogLevel : std::uint8_t { debug, info, warning, error };

struct WorkerOptions {
  /// Name part of the consumer; empty: the host's name. The consumer is `<name>.<8 hex>`.
  std::string consumer{};
  milliseconds drain{25'000};  ///< the whole of closing
  bool handle_signals = true;  ///< run() installs SIGTERM and SIGINT
  bool exit_when_hung = true;  ///< run() returns 70 when all spare threads hang
  /// Called from threads of penstock, one call at a time; must not block. Empty: warnings and
  /// errors to stderr.
  std::function<void(LogLevel, std::string_view)> log{};
};

/// Throws Error (errc::bad_option) that names the knob, or both knobs that exclude each other.
void check(const HandlerOptions& options);
void check(const WorkerOptions& options);
/// Both together: what one subscription and its worker contradict in.
void check(const HandlerOptions& options, const WorkerOptions& worker);

}  // namespace penstock
