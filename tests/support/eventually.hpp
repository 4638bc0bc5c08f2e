#pragma once

#include <chrono>
#include <thread>

#include "support/scale.hpp"

namespace penstock::test {

/// Polls `condition` until it holds or the (scaled) time-out is over; its last answer. A test waits
/// with this, never with a bare sleep.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds timeout,
                std::chrono::milliseconds poll = std::chrono::milliseconds(5)) {
  const auto deadline = std::chrono::steady_clock::now() + scaled(timeout);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return static_cast<bool>(condition());
    std::this_thread::sleep_for(poll);
  }
  return true;
}

}  // namespace penstock::test
