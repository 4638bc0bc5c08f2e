#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/rng.hpp"
#include "base/time.hpp"

namespace penstock::base {

/// min(cap, first * factor^n), saturating; n >= 0.
inline MonoDuration exponential(MonoDuration first, MonoDuration cap, double factor,
                                std::int64_t n) {
  const double top = static_cast<double>(cap.count());
  const double want = static_cast<double>(first.count()) * std::pow(factor, static_cast<double>(n));
  if (!(want < top)) return cap;  // also infinity and NaN
  return MonoDuration(static_cast<MonoDuration::rep>(want));
}

/// Uniform in (0, bound], at least 1 ms where the bound allows it: full jitter.
inline MonoDuration full_jitter(MonoDuration bound, Rng& rng) {
  const auto drawn = MonoDuration(
      static_cast<MonoDuration::rep>(static_cast<double>(bound.count()) * (1.0 - rng.unit())));
  return std::clamp<MonoDuration>(drawn, std::min<MonoDuration>(bound, milliseconds(1)), bound);
}

/// Between half of the bound and the bound: for reconnects and repeats, where a wait must be one.
inline MonoDuration half_jitter(MonoDuration bound, Rng& rng) {
  return bound / 2 + full_jitter(bound / 2, rng);
}

}  // namespace penstock::base
