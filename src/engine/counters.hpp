#pragma once

#include <cstdint>

namespace penstock::engine {

/// Of one lane since its start; the public meaning of each stands in <penstock/worker.hpp>.
struct Counters {
  std::uint64_t taken = 0, claimed_lapsed = 0, claimed_due = 0, finished = 0;
  std::uint64_t acked = 0, retried = 0, not_yet = 0, released = 0, dead = 0;
  std::uint64_t lease_lost = 0, stale_settles = 0, ack_zero = 0, vanished = 0;
  std::uint64_t renewals = 0, renew_failures = 0, sweeps = 0, ticks = 0;
  std::uint64_t groups_recreated = 0, store_failures = 0, timed_out = 0, consumers_removed = 0;
};

}  // namespace penstock::engine
