#pragma once

#include <chrono>
#include <cstdint>

namespace penstock::base {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Local monotonic time. Always handed in from outside: engine and memory store read no clock.
using MonoTime = std::chrono::steady_clock::time_point;
using MonoDuration = std::chrono::steady_clock::duration;

/// The store's own wall clock, ms since 1970 (Redis TIME). Never compared with a local clock's
/// value.
using ServerMs = std::int64_t;

inline constexpr MonoTime never = MonoTime::max();

}  // namespace penstock::base
