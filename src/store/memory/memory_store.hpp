#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.hpp"
#include "store/memory/memory_server.hpp"
#include "store/store.hpp"

namespace penstock::store::memory {

/// A session on a MemoryServer. An operation takes effect when it is called; its answer comes
/// through the executor. Sessions of one server may live on different executors and threads.
/// The executor must outlive the session. Answers that are still out when the session is
/// destroyed are dropped; close() first to get them.
class MemoryStore final : public Store {
 public:
  MemoryStore(std::shared_ptr<MemoryServer> server, base::Executor& executor);
  ~MemoryStore() override;
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  void open(const Lane& lane, OpenRequest request, Done<Opened> done) override;
  void append(const std::string& stream, std::vector<Draft> drafts,
              Done<std::vector<base::Result<EntryId>>> done) override;
  void take(const Lane& lane, TakeRequest request, Done<BatchPtr> done) override;
  void wake(const Lane& lane) override;
  void tick(const Lane& lane, std::uint32_t max, Done<TickReply> done) override;
  void peek(const Lane& lane, PeekRequest request, Done<PeekReply> done) override;
  void claim(const Lane& lane, std::vector<ClaimItem> items, Done<ClaimReply> done) override;
  void renew(const Lane& lane, std::vector<Receipt> receipts,
             Done<std::vector<RenewStatus>> done) override;
  void ack(const Lane& lane, std::vector<EntryId> ids, Retention retention,
           Done<AckReply> done) override;
  void settle(const Lane& lane, std::vector<Settlement> items, Retention retention,
              Done<std::vector<SettleStatus>> done) override;
  void enlist(const Lane& lane, Registration row, Done<Nothing> done) override;
  void forget(const Lane& lane, const std::string& consumer, Done<bool> done) override;
  void trim(const std::string& stream, Done<std::int64_t> done) override;
  void survey(const std::string& stream, Done<Survey> done) override;
  void streams(Done<std::vector<std::string>> done) override;
  void pending(const Lane& lane, EntryId from, std::uint32_t max,
               Done<std::vector<PendingRow>> done) override;
  std::uint64_t epoch() const override { return epoch_.load(std::memory_order_acquire); }
  void close() override;

  /// Fault hook: what is out is answered with errc::connection_lost (its effect stays, as with a
  /// reply that got lost), reads that wait included, and epoch() goes up. From the executor's
  /// thread, like every call.
  void break_connection();

 private:
  struct Session;

  std::shared_ptr<MemoryServer> server_;
  std::shared_ptr<Session> session_;
  std::atomic<std::uint64_t> epoch_{1};
};

}  // namespace penstock::store::memory
