#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "store/types.hpp"

namespace penstock::engine {

using base::MonoDuration;
using base::MonoTime;

/// Names an entry of the lease table; a number that is used again has another generation.
struct Slot {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  bool operator==(const Slot&) const = default;
};

/// An entry for a handler thread.
struct RunItem {
  Slot slot;
  store::BatchPtr batch;
  std::uint32_t index = 0;
  MonoTime start_before;  ///< later than this it must be given back unstarted
};

enum class StopReason : std::uint8_t { lease_lost, max_run, drain };

struct StopItem {
  Slot slot;
  StopReason reason;
};

struct ExtendItem {
  Slot slot;
  MonoTime start_before;
};

/// How a run ended, from the dispatcher.
struct Finished {
  enum class Kind : std::uint8_t { ack, retry, not_yet, release, dead, not_started };
  Slot slot;
  Kind kind = Kind::ack;
  bool threw = false;  ///< an exception, not a returned outcome
  std::optional<MonoDuration> after;
  std::string why;
  MonoDuration took{0};
};

struct Started {
  Slot slot;
  MonoTime at;
};

enum class Severity : std::uint8_t { info, warning, error };

struct LogLine {
  Severity severity = Severity::info;
  std::string text;
};

/// What a lane wants done. The driver carries all of it out, in the order of the members,
/// and tells the lane of each answer.
struct Actions {
  std::vector<LogLine> log;
  std::optional<store::OpenRequest> open;
  std::vector<store::EntryId> ack;
  std::vector<store::Settlement> settle;
  std::vector<store::ClaimItem> claim;
  std::optional<store::TakeRequest> take;
  bool wake = false;
  std::uint32_t tick_max = 0;  ///< > 0: tick
  std::optional<store::PeekRequest> peek;
  std::optional<std::string> forget;
  bool trim = false;
  std::vector<RunItem> run;
  std::vector<Slot> retract;
  std::vector<StopItem> stop;
  std::vector<ExtendItem> extend;
  std::vector<Slot> abandon;
  bool poke_renewal = false;           ///< something must be renewed now
  bool poke_io = false;                ///< poll() has something to decide
  std::optional<base::Failure> fatal;  ///< no use to go on: credentials or rights
  bool drained = false;                ///< all is over; clean() says how

  // Of poll_renewal() only: for the renewal session.
  std::vector<std::vector<store::Receipt>> renew;
  bool enlist = false;
};

}  // namespace penstock::engine
