#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "store/types.hpp"

namespace penstock::engine {

using base::MonoDuration;
using base::MonoTime;

enum class PrefetchKind : std::uint8_t { automatic, count, none };

inline constexpr std::size_t prefetch_max = 1024;

/// What one lane is told to do. Checked before it gets here (api/check.cpp).
struct LaneConfig {
  store::Lane lane;
  std::size_t concurrency = 1;
  PrefetchKind prefetch = PrefetchKind::automatic;
  std::size_t prefetch_entries = 0;
  std::size_t prefetch_bytes = 64u << 20;
  MonoDuration lease = std::chrono::seconds(20);
  MonoDuration sweep = std::chrono::seconds(5);
  std::optional<MonoDuration> max_run = std::chrono::minutes(15);
  MonoDuration stop_grace = std::chrono::seconds(10);
  MonoDuration drain = std::chrono::seconds(25);
  MonoDuration not_yet = std::chrono::seconds(30);
  MonoDuration foreign_idle = std::chrono::minutes(10);
  std::int64_t attempts = 5;
  MonoDuration backoff_min = std::chrono::seconds(1);
  MonoDuration backoff_max = std::chrono::minutes(10);
  double backoff_factor = 2.0;
  std::int64_t max_lapses = 20;
  std::optional<store::Retention> retention;
  std::string start = "0";
  bool stop_when_hung = true;  ///< drain when all threads and their spares hang
  std::uint64_t seed = 1;

  /// A lease is renewed once it is older than this.
  MonoDuration renew_age() const { return lease / 4; }
  /// How often the renewal thread looks: renewals come before a third of the lease, and the stop
  /// below a sixteenth before its end at the latest.
  MonoDuration renew_period() const { return lease / 16; }
  /// No run begins, and no ack goes unfenced, on a lease older than this.
  MonoDuration fresh_age() const { return lease / 2; }
  /// The handler is asked to stop at this age: while the server still counts the lease.
  MonoDuration stop_age() const { return lease - lease / 8; }
};

}  // namespace penstock::engine
