#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/entry_id.hpp"
#include "base/time.hpp"

namespace penstock::store {

using base::EntryId;
using base::milliseconds;
using base::ServerMs;

/// Who a due entry belongs to while it waits (DESIGN 5). Never removed as a dead consumer.
inline constexpr std::string_view parked_consumer = "penstock:parked";
/// No script or batch handles more items than this.
inline constexpr std::size_t batch_max = 256;
/// Idle time that a handed-back entry is stamped with, so that anybody may take it at once.
inline constexpr std::int64_t released_idle_ms = 1'000'000'000'000;

/// One (stream, group, consumer) that a worker reads.
struct Lane {
  std::string stream;
  std::string group;
  std::string consumer;
};

/// Names one delivery: the fence. The consumer stands in the lane.
struct Receipt {
  EntryId id;
  std::int64_t delivery = 0;
  bool operator==(const Receipt&) const = default;
};

/// What is kept beside an entry that ever needed it ({stream}.note:<group>). A missing note is all
/// zeros.
struct Note {
  std::int64_t attempts = 0;  ///< failed runs
  std::int64_t base = 0;      ///< delivery number at the last settle: lapses = delivery - base
  std::int64_t crashes = 0;   ///< lapses of entries that had been started
  ServerMs first_failed = 0;  ///< 0: never failed. In a settlement 0 with attempts > 0 means "now"
  std::string error;          ///< last error, <= 8 KiB
  std::string checkpoint;     ///< the handler's own bytes
  bool operator==(const Note&) const = default;
};

/// How an entry came to be taken.
enum class Origin : std::uint8_t { fresh, due, lapsed };

/// A piece of the batch's bytes.
struct Span {
  std::uint32_t at = 0;
  std::uint32_t size = 0;
};

struct Taken {
  EntryId id;
  std::int64_t delivery = 1;
  Origin origin = Origin::fresh;
  std::uint32_t field_begin =
      0;  ///< index of its first name in Batch::spans (name, value, name, ...)
  std::uint32_t field_count = 0;  ///< pairs
  std::uint32_t bytes = 0;        ///< sum of all name and value lengths
  std::int32_t note = -1;         ///< index into Batch::notes
};

/// Deliveries that arrived together; their bytes live in one arena, shared by their messages.
struct Batch {
  std::string arena;
  std::vector<Span> spans;
  std::vector<Taken> entries;
  std::vector<Note> notes;

  std::string_view view(Span s) const { return std::string_view(arena).substr(s.at, s.size); }
  std::string_view name(const Taken& t, std::uint32_t i) const {
    return view(spans[t.field_begin + 2 * i]);
  }
  std::string_view value(const Taken& t, std::uint32_t i) const {
    return view(spans[t.field_begin + 2 * i + 1]);
  }
};
using BatchPtr = std::shared_ptr<const Batch>;

using Fields = std::vector<std::pair<std::string, std::string>>;

/// What happens to an entry once its group has acked it.
enum class Retention : std::uint8_t { delete_on_ack, trim_settled, keep };

struct OpenRequest {
  std::string start = "0";             ///< an entry id or "$", used only when the group is made
  std::optional<Retention> retention;  ///< what the user asked for; the stream's own is kept if set
  bool make_group = true;              ///< false: only the stream's conf (a producer)
  bool heal = false;  ///< the group was lost: start at the checkpoint or 0, raise epoch
};

struct Opened {
  Retention retention = Retention::keep;
  bool retention_decided_now = false;  ///< this call wrote it
  bool stream_existed = false;
  bool group_made = false;
  std::int64_t waiting = 0;  ///< entries already there for a group made now
  std::int64_t groups = 0;
  ServerMs epoch = 0;  ///< the group's, for tokens
};

struct TakeRequest {
  std::uint32_t max = 1;  ///< entries, 1..1024
  milliseconds wait{0};   ///< 0: answer at once, also when there is nothing
};

struct TickReply {
  ServerMs now = 0;
  std::vector<EntryId> due;          ///< parked entries whose time has come, oldest first, <= max
  std::optional<ServerMs> next_due;  ///< of those not yet due (or not listed)
  std::int64_t due_rows = 0;         ///< size of the due set
  std::int64_t parked = 0;           ///< entries that penstock:parked holds
  bool group_there = true;
  std::int64_t groups = 0;
  Retention retention = Retention::keep;
};

/// An entry of somebody's (or of our own consumer's) that looks abandoned.
struct Pending {
  EntryId id;
  std::string owner;
  std::int64_t idle_ms = 0;
  std::int64_t delivery = 0;
};

/// One row of {stream}.workers:<group>.
struct Registration {
  std::string consumer;
  std::int64_t lease_ms = 0;
  ServerMs renewed_at = 0;
  std::string host;
  std::int64_t pid = 0;
  std::int64_t pid_started = 0;  ///< start time of the process, the system's own ticks; 0 unknown
  std::string version;
};

struct PeekRequest {
  std::string cursor;                 ///< as the last reply gave it; empty: from the start
  std::uint32_t max = 64;             ///< candidates wanted, 1..256
  std::int64_t default_lease_ms = 0;  ///< for owners of our names that have no registration row
  std::int64_t foreign_idle_ms = 0;   ///< for owners of no name of ours and no row
};

/// Candidates for reclaim: per owner by that owner's own lease. Own consumer included (the caller
/// knows what it holds), penstock:parked left out. Idle times are the server's.
struct PeekReply {
  ServerMs now = 0;
  std::vector<Pending> overdue;
  std::vector<Registration> workers;  ///< all rows (bounded by 1024)
  std::vector<std::string>
      gone;            ///< consumers that hold nothing and whose row is older than 2 leases
  std::string cursor;  ///< empty: the turn is done
};

struct ClaimItem {
  EntryId id;
  std::string owner;             ///< who must still hold it
  std::int64_t delivery = -1;    ///< what its number must still be; -1: any (due ids)
  std::int64_t min_idle_ms = 0;  ///< repeated on the server
};

enum class ClaimStatus : std::uint8_t {
  claimed,
  owner_changed,  ///< another owner or delivery number now, or younger than min_idle
  not_pending,    ///< settled meanwhile; a due row or note of it is removed
  vanished        ///< its body was deleted: removed from the pending list
};

struct ClaimReply {
  std::vector<ClaimStatus> status;  ///< one per item
  BatchPtr batch;                   ///< the claimed ones, in the items' order; may be empty
};

enum class RenewStatus : std::uint8_t { renewed, other_owner, not_pending, no_body };

struct Settlement {
  enum class Kind : std::uint8_t { ack, park, dead };
  Kind kind = Kind::ack;
  Receipt receipt;
  milliseconds delay{0};  ///< park: from the server's now. 0 with release: hand-back
  bool release = false;   ///< park: stamp very idle, so that others may take it at once
  Note note;              ///< park: written (all zeros but base: only base is kept); dead: history
  std::string reason;     ///< dead: attempts, lapses, crashes, timeout, decode, ...
};

enum class SettleStatus : std::uint8_t {
  done,
  lease_lost,  ///< somebody else holds it, or another delivery: nothing changed
  already,     ///< not pending any more: nothing changed
  refused      ///< the server refused a write of it (full, wrong type): nothing changed
};

struct AckReply {
  std::int64_t acked = 0;  ///< < ids sent: some were not pending any more
};

struct Draft {
  Fields fields;  ///< as they stand on the stream, in order
};

struct Survey {  ///< of one stream, for people
  struct Consumer {
    std::string name;
    std::int64_t pending = 0;
    std::int64_t idle_ms = 0;
    std::optional<Registration> worker;  ///< empty: foreign, or penstock:parked, or gone
  };
  struct Group {
    std::string name;
    std::optional<std::int64_t> ready;  ///< entries after its position; empty: unknown
    bool ready_capped = false;          ///< there are at least `ready`
    std::int64_t leased = 0;            ///< pending and not parked
    std::int64_t parked = 0;
    std::int64_t dead = 0;                          ///< dead letters of this group; -1 unknown
    std::optional<std::int64_t> oldest_ready_ms;    ///< age of the oldest entry not yet delivered
    std::optional<std::int64_t> oldest_pending_ms;  ///< age of the oldest pending entry
    std::vector<Consumer> consumers;
  };
  std::string stream;
  bool exists = false;
  std::int64_t length = 0;             ///< XLEN: entries stored, settled ones included; no backlog
  std::int64_t dead = 0;               ///< all dead letters
  std::optional<Retention> retention;  ///< empty: none decided
  ServerMs now = 0;
  std::vector<Group> groups;
};

struct PendingRow {
  EntryId id;
  std::string owner;
  std::int64_t idle_ms = 0;
  std::int64_t delivery = 0;
  std::optional<ServerMs> due;  ///< parked ones
  Note note;
};

}  // namespace penstock::store
