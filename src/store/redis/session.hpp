#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "redis/config.hpp"
#include "redis/connection.hpp"
#include "store/redis/reader.hpp"
#include "store/store.hpp"

namespace penstock::store {

/// Store on a Redis server. What each operation does stands in its script, in scripts/.
class RedisStore final : public Store {
 public:
  RedisStore(boost::asio::io_context& io, redis::Config config,
             std::shared_ptr<std::atomic<std::uint64_t>> epoch);
  ~RedisStore() override;

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
  std::uint64_t epoch() const override { return epoch_->load(); }
  void close() override;

 private:
  /// Answers with a value or failure that is known already: later, never from inside the call.
  template <class T>
  void answer_later(Done<T> done, base::Result<T> result);
  template <class T>
  bool refused(std::size_t items, Done<T>& done);
  void watch();
  void ask_cluster(std::function<void(base::Result<bool>)> then);

  boost::asio::io_context& io_;
  redis::Config config_;
  std::shared_ptr<std::atomic<std::uint64_t>> epoch_;
  std::shared_ptr<redis::Connection> commands_;
  std::map<std::tuple<std::string, std::string, std::string>, std::shared_ptr<Reader>> readers_;
  std::shared_ptr<std::optional<bool>> cluster_ = std::make_shared<std::optional<bool>>();
  std::function<void()> stop_watch_;
  bool closed_ = false;
};

}  // namespace penstock::store

#include "store/redis/session_inl.hpp"
