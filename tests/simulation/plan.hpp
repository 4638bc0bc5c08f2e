#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "engine/config.hpp"

namespace penstock::simulation {

using base::MonoDuration;

/// What goes wrong. Those up to `late_reply` strike single calls, the others a moment.
enum class Fault : std::uint8_t {
  lost_request,
  stale_request,  ///< the client gave up, and it takes effect all the same, a little later
  lost_reply,
  late_reply,
  crash,
  pause,
  close,
  outage,         ///< nothing gets through, for one worker
  half_outage,    ///< requests get through, replies do not
  server_outage,  ///< nothing gets through, for all
  group_destroyed,
  key_deleted,
  position_back,  ///< XGROUP SETID to an earlier id
  storage_full,   ///< OOM: what needs memory is refused
  clock_jump,     ///< the server's clock, forth or back
  count
};

inline constexpr std::size_t fault_kinds = static_cast<std::size_t>(Fault::count);
std::string_view name_of(Fault fault);
using FaultCounts = std::array<std::uint64_t, fault_kinds>;

/// Faults that are put into the simulated world itself, to see that the checker finds them.
enum class Plant : std::uint8_t {
  none,
  blind_renew,      ///< renewals are answered without asking the server
  unfenced_settle,  ///< a fenced ack is sent as a plain one
  runs_retracted,   ///< what was taken back is run nevertheless
  deaf_handlers,    ///< a request to stop never reaches a handler
  acks_too_much,    ///< an ack takes an entry with it that nobody handled
  counts_twice,     ///< a failed run counts as two attempts
  reads_too_much,   ///< reads are for more than was asked
  loses_body,       ///< the body of an entry goes when it is parked
  count
};
std::string_view name_of(Plant plant);

/// Chances of what a handler does, and how long it takes.
struct HandlerPlan {
  double retry = 0, throws = 0, not_yet = 0, release = 0, dead = 0;
  double medium = 0, long_run = 0, hang = 0;
  double ignores_stop = 0;  ///< of those that run long
};

struct Strike {
  Fault fault = Fault::crash;
  MonoDuration at{0};
  MonoDuration lasts{0};
  std::uint64_t target = 0;
};

/// A world, drawn from one number.
struct Plan {
  std::uint64_t seed = 0;
  std::size_t workers = 1, streams = 1, groups = 1, messages = 20;
  engine::LaneConfig lane;  ///< of every worker; lane.lane and lane.seed are set one by one
  MonoDuration command_timeout{0};
  MonoDuration latency_min{0}, latency_max{0};
  std::array<double, 4> call_faults{};  ///< by Fault, lost_request..late_reply
  HandlerPlan handlers;
  MonoDuration appends{0};  ///< messages come within this time
  MonoDuration active{0};   ///< no fault begins later; all that stands is healed then
  std::vector<Strike> strikes;
};

Plan draw_plan(std::uint64_t seed);

}  // namespace penstock::simulation
