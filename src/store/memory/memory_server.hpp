#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "store/memory/model.hpp"
#include "store/types.hpp"

namespace penstock::store::memory {

using base::Failure;
using base::Result;

/// The "server" that sessions in one process share: synchronous, deterministic, and with the
/// semantics of the Redis scripts. Reads no clock: server time comes from `clock`, which may jump
/// and go back. All methods may be called from any thread.
class MemoryServer {
 public:
  using Clock = std::function<ServerMs()>;

  /// A read that waits. `deliver` is called at most once, under the server's mutex: it may only
  /// hand its argument on (post).
  struct Waiter {
    Lane lane;
    std::uint32_t max = 1;
    std::function<void(Result<BatchPtr>)> deliver;
  };

  explicit MemoryServer(Clock clock) : clock_(std::move(clock)) {}

  // ---- what a Store does; the words are those of store.hpp ----
  Result<Opened> open(const Lane& lane, const OpenRequest& request);
  std::vector<Result<EntryId>> append(const std::string& stream, std::vector<Draft> drafts);
  Result<BatchPtr> take(const Lane& lane, std::uint32_t max);
  /// Answers at once where take would have an entry or a failure; else keeps the waiter (weakly),
  /// first come first served, and answers nothing.
  std::optional<Result<BatchPtr>> take_or_wait(const std::shared_ptr<Waiter>& waiter);
  /// True: it still waited, and will not be served any more.
  bool cancel(const std::shared_ptr<Waiter>& waiter);
  Result<TickReply> tick(const Lane& lane, std::uint32_t max);
  Result<PeekReply> peek(const Lane& lane, const PeekRequest& request);
  Result<ClaimReply> claim(const Lane& lane, const std::vector<ClaimItem>& items);
  Result<std::vector<RenewStatus>> renew(const Lane& lane, const std::vector<Receipt>& receipts);
  Result<AckReply> ack(const Lane& lane, const std::vector<EntryId>& ids, Retention retention);
  Result<std::vector<SettleStatus>> settle(const Lane& lane, const std::vector<Settlement>& items,
                                           Retention retention);
  Result<base::Nothing> enlist(const Lane& lane, Registration row);
  Result<bool> forget(const Lane& lane, const std::string& consumer);
  Result<std::int64_t> trim(const std::string& stream);
  Result<Survey> survey(const std::string& stream);
  std::vector<std::string> streams();
  Result<std::vector<PendingRow>> pending(const Lane& lane, EntryId from, std::uint32_t max);

  // ---- what other hands do: for tests and the simulator (server_faults.cpp) ----
  /// DEL of any key that Keys names.
  void delete_key(const std::string& key);
  /// FLUSHALL.
  void flush();
  /// Writes a value of another type over the key. delete_key makes it well again.
  void spoil_key(const std::string& key);
  bool create_group(const std::string& stream, const std::string& group, EntryId last = {});
  bool destroy_group(const std::string& stream, const std::string& group);
  bool set_group_id(const std::string& stream, const std::string& group, EntryId id);
  /// XGROUP DELCONSUMER: what it holds is pending with nobody any more. Answers how many.
  std::size_t delete_consumer(const std::string& stream, const std::string& group,
                              const std::string& consumer);
  /// XDEL: pending rows stay.
  bool delete_body(const std::string& stream, EntryId id);
  /// XCLAIM .. 0 id by anybody: owner changed, delivery number raised, idle 0.
  bool raw_claim(const std::string& stream, const std::string& group, const std::string& consumer,
                 EntryId id);
  void add_due_row(const std::string& stream, const std::string& group, EntryId id, ServerMs at);
  /// OOM: everything that would need memory is refused while on.
  void refuse_writes(bool on);

  // ---- looks behind the store's back ----
  ServerMs now() const { return clock_(); }
  std::vector<std::pair<EntryId, PelRow>> pel(const std::string& stream, const std::string& group);
  std::vector<std::pair<EntryId, ServerMs>> due_rows(const std::string& stream,
                                                     const std::string& group);
  std::vector<EntryId> notes(const std::string& stream, const std::string& group);
  std::vector<std::pair<EntryId, Fields>> entries(const std::string& key);
  std::vector<std::string> consumers(const std::string& stream, const std::string& group);
  /// A group's own position; none: no such group.
  std::optional<EntryId> last_delivered(const std::string& stream, const std::string& group);

 private:
  using Lock = std::lock_guard<std::mutex>;
  struct Place {  // a stream and one of its groups, found
    Stream* stream;
    Group* group;
  };

  bool spoiled(const std::string& key) const { return spoiled_.contains(key); }
  Result<Place> find(const std::string& stream, const std::string& group);
  EntryId add_entry(const std::string& key, Fields fields);
  BatchPtr take_from(Place place, const std::string& consumer, std::uint32_t max);
  void serve_waiters(const std::string& stream);
  void fail_waiters(const std::string& stream, const std::string* group);
  void drop_side_rows(const Lane& lane, EntryId id);
  /// Who holds it, or null where it is not pending.
  static PelRow* pending_row(Group& group, EntryId id);
  void hand_to(Group& group, EntryId id, const std::string& consumer, std::int64_t idle_ms);
  static void remove_pending(Group& group, EntryId id);

  bool make_group(const Lane& lane, const OpenRequest& request, Opened& opened);
  EntryId healing_start(const Stream& stream, const GroupConf& conf, Retention retention) const;
  void keep_checkpoint(const Lane& lane, const Place& place);
  ClaimStatus claim_one(const Lane& lane, const Place& place, const ClaimItem& item, Batch& batch);
  SettleStatus settle_one(const Lane& lane, const Place& place, const Settlement& item,
                          Retention retention);
  SettleStatus park(const Lane& lane, const Place& place, const Settlement& item);
  SettleStatus bury(const Lane& lane, const Place& place, const Settlement& item);
  std::vector<std::string> gone_consumers(const Lane& lane, const Group& group,
                                          std::int64_t default_lease_ms);
  Survey::Group survey_group(const std::string& stream, const std::string& name,
                             const Stream& held);

  std::mutex mutex_;
  Clock clock_;
  bool full_ = false;
  std::map<std::string, Stream> streams_;  // dead letters too, under their own key
  std::map<std::string, DueSet> due_;
  std::map<std::string, Notes> notes_;
  std::map<std::string, Workers> workers_;
  std::map<std::string, Conf> conf_;
  std::set<std::string> spoiled_;
  std::map<std::pair<std::string, std::string>, std::vector<std::weak_ptr<Waiter>>> waiters_;
};

}  // namespace penstock::store::memory
