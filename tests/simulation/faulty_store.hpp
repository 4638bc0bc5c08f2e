#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulation/checker.hpp"
#include "store/memory/memory_store.hpp"
#include "store/store.hpp"

namespace penstock::simulation {

/// What all lines to the server share.
struct Network {
  const Plan& plan;
  const Plant plant;
  Loop& loop;
  Trace& trace;
  Checker& checker;
  FaultCounts& counts;
  std::shared_ptr<store::memory::MemoryServer> server;
  base::Rng rng;
  Process wire;       ///< where the server's sessions live: never paused
  bool calm = false;  ///< no call goes wrong any more
  bool server_away = false;
};

/// One worker's way to the server.
struct Link {
  Condition condition;
  Process process;
  std::uint64_t epoch = 1;  ///< of all its sessions together
  bool requests_blocked = false, replies_blocked = false;

  explicit Link(Loop& loop) : process(loop) { condition.process = &process; }
};

/// A session of a worker over a network that delays, loses and cuts. Each command line is first in,
/// first out; where a call is lost or too late its line is cut: all that is out on it fails, its
/// late replies are dropped, and epoch() goes up, as the Redis client does it. Reads that wait have
/// a line of their own.
class FaultyStore final : public store::Store {
 public:
  FaultyStore(Network& network, Link& link);

  using Lane = store::Lane;
  template <class T>
  using Done = base::Done<T>;

  void open(const Lane& lane, store::OpenRequest request, Done<store::Opened> done) override;
  void append(const std::string& stream, std::vector<store::Draft> drafts,
              Done<std::vector<base::Result<store::EntryId>>> done) override;
  void take(const Lane& lane, store::TakeRequest request, Done<store::BatchPtr> done) override;
  void wake(const Lane& lane) override;
  void tick(const Lane& lane, std::uint32_t max, Done<store::TickReply> done) override;
  void peek(const Lane& lane, store::PeekRequest request, Done<store::PeekReply> done) override;
  void claim(const Lane& lane, std::vector<store::ClaimItem> items,
             Done<store::ClaimReply> done) override;
  void renew(const Lane& lane, std::vector<store::Receipt> receipts,
             Done<std::vector<store::RenewStatus>> done) override;
  void ack(const Lane& lane, std::vector<store::EntryId> ids, store::Retention retention,
           Done<store::AckReply> done) override;
  void settle(const Lane& lane, std::vector<store::Settlement> items, store::Retention retention,
              Done<std::vector<store::SettleStatus>> done) override;
  void enlist(const Lane& lane, store::Registration row, Done<base::Nothing> done) override;
  void forget(const Lane& lane, const std::string& consumer, Done<bool> done) override;
  void trim(const std::string& stream, Done<std::int64_t> done) override;
  void survey(const std::string& stream, Done<store::Survey> done) override;
  void streams(Done<std::vector<std::string>> done) override;
  void pending(const Lane& lane, store::EntryId from, std::uint32_t max,
               Done<std::vector<store::PendingRow>> done) override;
  std::uint64_t epoch() const override { return link_.epoch; }
  void close() override;

 private:
  using Inner = store::memory::MemoryStore;
  /// The server's end of a connection: may live on after the client has hung up.
  struct Far {
    Far(const std::shared_ptr<store::memory::MemoryServer>& server, Process& wire)
        : store(server, wire) {}
    void close() {
      closed = true;
      store.close();
    }
    Inner store;
    bool closed = false;
  };
  /// One connection at a time.
  struct Line {
    std::shared_ptr<Far> far;
    std::vector<std::weak_ptr<Far>> stale;
    std::uint64_t generation = 0;
    bool up = true;
    MonoTime last_arrival, last_reply;
    std::map<std::uint64_t, std::function<void(base::Failure)>> out;
  };
  enum class Fate : std::uint8_t { fine, lost_request, stale_request, lost_reply, late_reply };
  template <class T>
  using Operation = std::function<void(Inner&, Done<T>)>;
  template <class T>
  struct Call;

  template <class T>
  void send(Line& line, std::string_view what, MonoDuration wait, Done<T> done,
            Operation<T> operation);
  template <class T>
  void arrive(const std::shared_ptr<Call<T>>& call);
  template <class T>
  void reply(const std::shared_ptr<Call<T>>& call, base::Result<T> result);
  Fate draw_fate();
  MonoDuration latency();
  bool requests_pass() const;
  bool replies_pass() const;
  void cut(Line& line, std::uint64_t generation, errc why);
  void hang_up(Line& line);
  void count(Fault fault);

  Network& net_;
  Link& link_;
  Line commands_, reads_;
  std::uint64_t last_call_ = 0;
};

}  // namespace penstock::simulation
