#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "store/types.hpp"

namespace penstock::store {

using base::Done;
using base::Nothing;

/// Where streams, groups and leases live. Speaks in leases, not in commands.
///
/// All operations are asynchronous: they return at once, and call `done` exactly once, later, on
/// the executor the store was made with (never from inside the call). All of an object's calls
/// come from that executor's thread. Batches are at most `batch_max` items. Each operation that
/// changes something is atomic per item, checks its fence in the same step, and one bad item
/// never hides what happened to the others. A Failure of errc::connection_lost or timed_out means
/// that the outcome is unknown.
class Store {
 public:
  virtual ~Store() = default;

  /// Makes stream and group where missing, decides the retention where nobody has. A lost group is
  /// made again with request.heal.
  virtual void open(const Lane& lane, OpenRequest request, Done<Opened> done) = 0;

  virtual void append(const std::string& stream, std::vector<Draft> drafts,
                      Done<std::vector<base::Result<EntryId>>> done) = 0;

  /// New entries for the lane. One take per lane may be out at a time.
  virtual void take(const Lane& lane, TakeRequest request, Done<BatchPtr> done) = 0;
  /// Ends a take that waits: its done is called soon, with what it has. No take out: nothing.
  virtual void wake(const Lane& lane) = 0;

  /// Cheap look at what waits for a time: due ids, next time, differences. <= `max` due ids.
  virtual void tick(const Lane& lane, std::uint32_t max, Done<TickReply> done) = 0;
  virtual void peek(const Lane& lane, PeekRequest request, Done<PeekReply> done) = 0;
  /// Takes over entries whose condition still holds, raising the delivery number.
  virtual void claim(const Lane& lane, std::vector<ClaimItem> items, Done<ClaimReply> done) = 0;

  /// Resets the idle time of what the lane still holds under that delivery number.
  virtual void renew(const Lane& lane, std::vector<Receipt> receipts,
                     Done<std::vector<RenewStatus>> done) = 0;
  /// Unfenced ack of entries without a note whose lease is proved alive (DESIGN G3).
  /// Not bounded by batch_max.
  virtual void ack(const Lane& lane, std::vector<EntryId> ids, Retention retention,
                   Done<AckReply> done) = 0;
  /// Fenced end of a lease.
  virtual void settle(const Lane& lane, std::vector<Settlement> items, Retention retention,
                      Done<std::vector<SettleStatus>> done) = 0;

  /// Writes the lane's row among the group's workers (renewed_at by the store's clock).
  virtual void enlist(const Lane& lane, Registration row, Done<Nothing> done) = 0;
  /// Removes a consumer that holds nothing, with its row, in one step. False: it holds something.
  virtual void forget(const Lane& lane, const std::string& consumer, Done<bool> done) = 0;
  /// trim_settled: removes what every group has settled. Answers how many entries went; -1: none,
  /// for a group that the conf knows is missing, and nobody can tell what it still needs.
  virtual void trim(const std::string& stream, Done<std::int64_t> done) = 0;

  virtual void survey(const std::string& stream, Done<Survey> done) = 0;
  /// Streams that penstock or anybody made, by name. A full turn over the keys: for people only.
  virtual void streams(Done<std::vector<std::string>> done) = 0;
  virtual void pending(const Lane& lane, EntryId from, std::uint32_t max,
                       Done<std::vector<PendingRow>> done) = 0;

  /// Changes whenever a connection of this store was made anew: leases proved under an older value
  /// must be renewed by script before an unfenced ack. Safe from any thread.
  virtual std::uint64_t epoch() const = 0;

  /// Ends all connections. Operations still out are answered with errc::closed.
  virtual void close() = 0;
};

}  // namespace penstock::store
