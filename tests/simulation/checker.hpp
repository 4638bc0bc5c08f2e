#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/actions.hpp"
#include "simulation/loop.hpp"
#include "simulation/plan.hpp"
#include "store/memory/memory_server.hpp"

namespace penstock::simulation {

/// What a worker suffers, as the checker must know it to tell a fault of ours from one of the
/// world.
struct Condition {
  std::string consumer;
  Process* process = nullptr;
  /// When a call of it last went wrong; outages count until their end.
  MonoTime trouble = long_ago;
  bool cut_off = false;
};

/// One run of a handler.
struct RunRecord {
  const Condition* worker = nullptr;
  std::int64_t delivery = 0;
  MonoTime handed, started;
  std::optional<MonoTime> stop_at;
  engine::StopReason stop_reason = engine::StopReason::drain;
  bool given_up = false, ended = false, killed = false;
  bool late_stop = false;  ///< asked to stop when it had just ended
  engine::Finished::Kind kind = engine::Finished::Kind::ack;
  bool threw = false;
};
using RunPtr = std::shared_ptr<RunRecord>;

/// Holds what really happened against G1 to G3, the prefetch bound and the count of attempts. It
/// sees the server's own rows before and after each call that ends a lease, and all runs.
class Checker {
 public:
  using Server = store::memory::MemoryServer;
  using EntryId = store::EntryId;

  Checker(const Plan& plan, Loop& loop, Trace& trace, std::shared_ptr<Server> server)
      : plan_(plan), loop_(loop), trace_(trace), server_(std::move(server)) {}

  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }
  void fail(const std::string& what);

  // ---- the world ----
  void add_group(const std::string& stream, const std::string& group);
  void appended(const std::string& stream, EntryId id);
  /// Somebody else's hand was in the group: leases from before prove nothing.
  void disturbed(const std::string& stream, const std::string& group);
  void stream_deleted(const std::string& stream);
  void storage_full(bool on) { full_ = on; }
  void killed(const Condition& worker);
  /// Entries that are neither acked nor dead nor taken away by the world.
  std::size_t unsettled() const { return unsettled_; }
  /// One line for each of the first of them.
  std::string unsettled_text() const;
  /// Nothing waits or is pending in any group: what a foreign hand brought back is settled, too.
  bool at_rest();
  /// After all has settled and every worker has closed.
  void check_rest();

  // ---- the store ----
  void handed(const store::Lane& lane, const store::Batch& batch, MonoTime now);
  /// Looks at the rows before the call, runs it, and judges the difference.
  template <class F>
  void acks(const store::Lane& lane, const std::vector<EntryId>& ids, F&& call) {
    const Rows before = rows_of(lane, ids);
    call();
    judge_acks(lane, ids, before);
  }
  template <class F>
  void settles(const store::Lane& lane, const std::vector<store::Settlement>& items, F&& call) {
    const Rows before = rows_of(lane, ids_of(items));
    call();
    judge_settles(lane, items, before);
  }

  // ---- the handlers ----
  RunPtr started(const store::Lane& lane, const Condition& worker, EntryId id,
                 std::int64_t delivery);
  void asked_to_stop(const store::Lane& lane, EntryId id, RunRecord& run,
                     engine::StopReason reason);
  void holds(const store::Lane& lane, std::size_t held);

 private:
  using Row = std::optional<store::PendingRow>;
  using Rows = std::vector<Row>;
  struct Handed {
    std::string consumer;
    std::int64_t delivery;
    MonoTime at;
  };
  struct Entry {
    enum class End : std::uint8_t { none, acked, dead, taken_away };
    End end = End::none;
    std::vector<Handed> handed;
    std::vector<RunPtr> runs;
    MonoTime again = long_ago;  ///< last handed over as a new one that it was not
  };
  struct Group {
    std::map<EntryId, Entry> entries;
    std::vector<MonoTime> disturbed;
    std::size_t dead = 0;
    bool disturbed_since(const Entry& entry, MonoTime t) const {
      return !disturbed.empty() && (disturbed.back() >= t || entry.again >= t);
    }
  };
  using Key = std::pair<std::string, std::string>;

  static std::vector<EntryId> ids_of(const std::vector<store::Settlement>& items);
  Rows rows_of(const store::Lane& lane, const std::vector<EntryId>& ids);
  Group& group(const store::Lane& lane) { return groups_[{lane.stream, lane.group}]; }
  void judge_acks(const store::Lane& lane, const std::vector<EntryId>& ids, const Rows& before);
  void judge_settles(const store::Lane& lane, const std::vector<store::Settlement>& items,
                     const Rows& before);
  void judge_park(const store::Lane& lane, const Group& group, const Entry& entry,
                  const store::Settlement& item, const store::PendingRow& before);
  void judge_dead(const store::Lane& lane, const Group& group, const Entry& entry,
                  const store::Settlement& item, const store::PendingRow& before);
  void judge_attempts(const store::Lane& lane, const Group& group, const Entry& entry,
                      const store::Settlement& item, const store::PendingRow& before);
  void judge_overlap(const store::Lane& lane, const Group& group, const Entry& entry,
                     const RunRecord& newer, EntryId id);
  const RunRecord* run_of(const Entry& entry, const std::string& consumer,
                          std::int64_t delivery) const;
  void end(Entry& entry, Entry::End how);
  std::string text(const store::Lane& lane, EntryId id) const;

  const Plan& plan_;
  Loop& loop_;
  Trace& trace_;
  std::shared_ptr<Server> server_;
  std::map<Key, Group> groups_;
  std::size_t unsettled_ = 0;
  bool full_ = false;
  std::string failure_;
};

}  // namespace penstock::simulation
