#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/ledger.hpp"

namespace penstock::test {

inline constexpr std::int64_t forever_ns = std::numeric_limits<std::int64_t>::max();

/// A time in which a worker could not keep its leases (SIGSTOP, cut from the server): what happens
/// meanwhile to its messages is explained. Workers go by the name they write into the ledger: tests
/// give each started process a name of its own.
struct Fault {
  std::string worker;
  std::int64_t from_ns = 0;
  std::int64_t to_ns = forever_ns;
};

struct LedgerInput {
  std::vector<std::string> sent;
  Ledger ledger;
  /// worker -> when it was gone. A run without an end record ended then; without a row, never.
  std::map<std::string, std::int64_t> killed_ns;
  std::vector<Fault> faults;
  /// Ids found at the end in the dead letters, and those still in the stream, unread, pending or
  /// due.
  std::set<std::string> dead;
  std::set<std::string> still_there;
};

struct Run {
  std::string id;
  std::string worker;
  std::int32_t pid = 0;
  std::uint32_t attempt = 0;
  std::uint32_t delivery = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = forever_ns;
  RunOutcome outcome = RunOutcome::none;  ///< none: no end record
};

/// Each list names ids, sorted; all but `rerun` and the explained ones are empty in a correct run.
struct Verdict {
  std::size_t sent = 0;
  std::size_t finished = 0;  ///< of those sent: acked by a run, or dead
  std::size_t runs = 0;
  std::size_t damaged = 0;
  std::vector<std::string> lost;        ///< not finished, and nowhere to be found
  std::vector<std::string> stuck;       ///< not finished, but still there
  std::vector<std::string> overlapped;  ///< two runs at one time, both owners healthy
  std::vector<std::string> overlapped_explained;
  std::vector<std::string> duplicated;  ///< two runs ended in ack, no fault between
  std::vector<std::string> duplicated_explained;
  std::vector<std::string> unexpected;  ///< run but never sent
  std::vector<std::string> rerun;       ///< more than one start, for whatever reason
  bool clean() const;
  std::string json() const;
};

/// Joins starts and ends. Sorted by id, then start.
std::vector<Run> runs_of(const LedgerInput& input);
Verdict check(const LedgerInput& input);

/// id -> number of starts.
std::map<std::string, std::size_t> starts_per_id(const Ledger& ledger);

struct Takeover {
  std::string id;
  std::optional<std::int64_t> after_ns;  ///< nullopt: never started elsewhere
};
/// For each id that `worker` was running at `at_ns` (its kill): how long until another started it.
std::vector<Takeover> takeovers(const LedgerInput& input, const std::string& worker,
                                std::int64_t at_ns);
/// The same for given ids: first start by any other worker from `at_ns` on (a hand-back).
std::vector<Takeover> first_start_elsewhere(const Ledger& ledger,
                                            const std::vector<std::string>& ids,
                                            const std::string& worker, std::int64_t at_ns);

}  // namespace penstock::test
