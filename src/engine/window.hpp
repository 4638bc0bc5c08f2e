#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/config.hpp"

namespace penstock::engine {

/// How many entries the lane may hold: count and bytes. Learns run times and sizes.
class Window {
 public:
  explicit Window(const LaneConfig& config) : config_(config) {}

  void ran(MonoDuration took) {
    const auto ns = static_cast<double>(std::max<MonoDuration::rep>(took.count(), 100));
    mean_run_ns_ = mean_run_ns_ == 0.0 ? ns : mean_run_ns_ + (ns - mean_run_ns_) / 16.0;
  }
  void arrived(std::size_t entries, std::size_t bytes) {
    if (entries == 0) return;
    const double mean = static_cast<double>(bytes) / static_cast<double>(entries);
    mean_bytes_ =
        mean_bytes_ == 0.0 ? mean : std::max(mean, mean_bytes_ + (mean - mean_bytes_) / 8);
  }

  /// Limit of unsettled entries. `crowded`: buffered ones waited without a slot coming free, so
  /// nothing is held beyond what runs.
  std::size_t limit(bool crowded) const {
    switch (config_.prefetch) {
      case PrefetchKind::count:
        return crowded ? std::min(config_.prefetch_entries, config_.concurrency)
                       : config_.prefetch_entries;
      case PrefetchKind::none:
        return crowded ? config_.concurrency : prefetch_max;
      case PrefetchKind::automatic:
        break;
    }
    if (crowded || mean_run_ns_ == 0.0) return config_.concurrency;
    const double in_100_ms = 1e8 / mean_run_ns_ * static_cast<double>(config_.concurrency);
    const double top = static_cast<double>(std::max(prefetch_max, config_.concurrency));
    const double all = static_cast<double>(config_.concurrency) + in_100_ms;
    return static_cast<std::size_t>(std::min(all, top));
  }

  /// Of `free` entries, how many may be asked for with `held_bytes` in hand; 0 where none fits.
  std::size_t by_bytes(std::size_t free, std::size_t held_bytes) const {
    if (held_bytes >= config_.prefetch_bytes) return 0;
    if (mean_bytes_ == 0.0) return std::min<std::size_t>(free, first_read);
    const double left = static_cast<double>(config_.prefetch_bytes - held_bytes);
    const double fit = left / std::max(mean_bytes_, 1.0);
    return std::min(free,
                    std::max<std::size_t>(1, fit > 1e9 ? free : static_cast<std::size_t>(fit)));
  }

 private:
  static constexpr std::size_t first_read = 10;  // sizes are unknown yet: a reply has no byte limit
  const LaneConfig& config_;
  double mean_run_ns_ = 0.0;
  double mean_bytes_ = 0.0;
};

}  // namespace penstock::engine
