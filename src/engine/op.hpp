#pragma once

#include <algorithm>
#include <cstdint>

#include "base/backoff.hpp"

namespace penstock::engine {

using base::MonoDuration;
using base::MonoTime;

/// One kind of store call: at most one is out, failures are repeated with back-off and jitter.
struct Op {
  bool out = false;
  std::uint32_t failures = 0;
  MonoTime not_before = MonoTime::min();
  std::uint32_t era = 0;  ///< of the group when it was sent

  static constexpr MonoDuration first = std::chrono::milliseconds(100);
  static constexpr MonoDuration cap = std::chrono::seconds(2);

  bool ready(MonoTime now) const { return !out && now >= not_before; }
  void begin(std::uint32_t now_era) {
    out = true;
    era = now_era;
  }
  void succeeded() {
    out = false;
    failures = 0;
    not_before = MonoTime::min();
  }
  void failed(MonoTime now, base::Rng& rng) {
    out = false;
    const auto n = static_cast<std::int64_t>(failures);
    failures = std::min(failures + 1, 1'000'000u);
    not_before = now + base::half_jitter(base::exponential(first, cap, 2.0, n), rng);
  }
  /// When this op may go again, for the next wake-up; `never` while it is out.
  MonoTime next(MonoTime wanted) const { return out ? base::never : std::max(wanted, not_before); }
};

}  // namespace penstock::engine
