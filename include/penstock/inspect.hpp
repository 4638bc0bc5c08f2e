#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/options.hpp>

namespace penstock {

/// What stands on a store, for people: reads only. An empty optional is "unknown to the server".
struct ConsumerView {
  std::string name;
  std::int64_t pending = 0;
  std::int64_t idle_ms = 0;  ///< the server's own hint, not the lease
  bool registered = false;   ///< a penstock worker that keeps leases
  bool parked = false;       ///< `penstock:parked`: entries that wait for a time
  std::string host;          ///< of registered ones
  std::int64_t pid = 0;
  std::int64_t lease_ms = 0;
  std::int64_t renewed_ms_ago = 0;
};

struct GroupView {
  std::string name;
  std::optional<std::int64_t> ready;  ///< not yet delivered to this group
  bool ready_capped = false;          ///< "at least `ready`"
  std::int64_t leased = 0;
  std::int64_t parked = 0;
  std::int64_t dead = 0;  ///< -1: unknown
  std::optional<std::int64_t> oldest_ready_ms;
  std::optional<std::int64_t> oldest_pending_ms;
  std::vector<ConsumerView> consumers;
};

struct StreamView {
  std::string name;
  bool exists = false;
  std::int64_t length = 0;  ///< entries stored, settled ones included: no backlog
  std::int64_t dead = 0;
  std::optional<Retention> retention;  ///< empty: not decided, penstock has not touched it
  std::vector<GroupView> groups;
};

struct PendingView {
  std::string id, owner;
  std::int64_t idle_ms = 0;
  std::int64_t delivery = 0;
  std::optional<std::int64_t> due_in_ms;  ///< parked: negative where overdue
  std::int64_t attempts = 0;
  std::int64_t first_failed_ms = 0;  ///< store's clock, ms since 1970; 0 never
  std::string last_error;
};

/// Blocking reads for tools. Thread-safe. All calls throw Error.
class Inspector {
 public:
  explicit Inspector(std::string url, milliseconds timeout = milliseconds{5'000});
  ~Inspector();
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  std::vector<std::string> streams();
  StreamView stream(std::string_view name);
  /// Pending entries of a group by id, at most `max` (1..256) from `from` on (empty: the first;
  /// else an entry id, inclusive).
  std::vector<PendingView> pending(std::string_view stream, std::string_view group,
                                   std::string_view from = {}, std::uint32_t max = 256);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
