#include "store/memory/memory_store.hpp"

#include <functional>
#include <optional>
#include <tuple>
#include <utility>

#include "base/assert.hpp"

namespace penstock::store::memory {

using base::Failure;
using base::Result;

// Touched on the executor's thread only. Functions that were posted hold it weakly.
struct MemoryStore::Session : std::enable_shared_from_this<Session> {
  using LaneKey = std::tuple<std::string, std::string, std::string>;

  /// A take that waits in the server's line.
  struct Read {
    std::shared_ptr<MemoryServer::Waiter> waiter;
    std::uint64_t call = 0;
    Done<BatchPtr> done;
  };

  Session(std::shared_ptr<MemoryServer> home, base::Executor& loop)
      : server(std::move(home)), executor(loop) {}

  std::shared_ptr<MemoryServer> server;
  base::Executor& executor;
  bool closed = false;
  std::uint64_t last_call = 0;
  /// Answers on their way, by call: invoked, it puts a failure in the answer's place.
  std::map<std::uint64_t, std::function<void(Failure)>> out;
  std::map<LaneKey, Read> reads;

  static LaneKey key(const Lane& lane) { return {lane.stream, lane.group, lane.consumer}; }

  template <class T>
  void answer(Done<T> done, Result<T> result) {
    const std::uint64_t call = ++last_call;
    auto slot = std::make_shared<Result<T>>(std::move(result));
    out.emplace(call, [slot](Failure failure) { *slot = std::move(failure); });
    executor.post([weak = weak_from_this(), call, slot, done = std::move(done)] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->out.erase(call);
      done(std::move(*slot));
    });
  }

  /// Runs `operation` on the server and answers, unless the session or the batch forbids it.
  template <class T, class Operation>
  void run(Done<T> done, std::size_t items, Operation&& operation) {
    if (closed) return answer<T>(std::move(done), Failure{errc::closed, "the store is closed"});
    if (items > batch_max) {
      return answer<T>(std::move(done), Failure{errc::would_exceed, "more items than a batch has"});
    }
    answer<T>(std::move(done), operation());
  }

  void end_read(const LaneKey& lane, std::uint64_t call, Result<BatchPtr> result) {
    const auto found = reads.find(lane);
    if (found == reads.end() || found->second.call != call) return;
    Done<BatchPtr> done = std::move(found->second.done);
    reads.erase(found);
    answer<BatchPtr>(std::move(done), std::move(result));
  }

  /// Ends a read that still waits on the server. One that was served is answered by its delivery.
  void give_up(const LaneKey& lane, std::uint64_t call) {
    const auto found = reads.find(lane);
    if (found == reads.end() || found->second.call != call) return;
    if (!server->cancel(found->second.waiter)) return;
    end_read(lane, call, BatchPtr(std::make_shared<Batch>()));
  }

  void wait(const Lane& lane, TakeRequest request, Done<BatchPtr> done) {
    const LaneKey lane_key = key(lane);
    PENSTOCK_ASSERT(!reads.contains(lane_key));
    const std::uint64_t call = ++last_call;
    auto waiter = std::make_shared<MemoryServer::Waiter>();
    waiter->lane = lane;
    waiter->max = request.max;
    // Comes from whichever thread appended: only hands the batch over to this session's own.
    waiter->deliver = [weak = weak_from_this(), loop = &executor, lane_key,
                       call](Result<BatchPtr> result) {
      loop->post([weak, lane_key, call, result = std::move(result)] {
        if (const auto self = weak.lock()) self->end_read(lane_key, call, result);
      });
    };
    if (auto at_once = server->take_or_wait(waiter)) {
      return answer<BatchPtr>(std::move(done), std::move(*at_once));
    }
    reads.emplace(lane_key, Read{std::move(waiter), call, std::move(done)});
    executor.schedule(executor.now() + request.wait, [weak = weak_from_this(), lane_key, call] {
      if (const auto self = weak.lock()) self->give_up(lane_key, call);
    });
  }

  /// Everything that is out fails. What a read was handed in the same moment stays leased.
  void fail_all(const Failure& failure) {
    for (auto& [call, fail] : out) fail(failure);
    auto waiting = std::move(reads);
    reads.clear();
    for (auto& [lane, read] : waiting) {
      server->cancel(read.waiter);
      answer<BatchPtr>(std::move(read.done), failure);
    }
  }
};

MemoryStore::MemoryStore(std::shared_ptr<MemoryServer> server, base::Executor& executor)
    : server_(std::move(server)), session_(std::make_shared<Session>(server_, executor)) {}

MemoryStore::~MemoryStore() {
  // After cancel no other thread touches the executor on this session's behalf.
  for (auto& [lane, read] : session_->reads) server_->cancel(read.waiter);
}

void MemoryStore::open(const Lane& lane, OpenRequest request, Done<Opened> done) {
  session_->run(std::move(done), 0, [&] { return server_->open(lane, request); });
}

void MemoryStore::append(const std::string& stream, std::vector<Draft> drafts,
                         Done<std::vector<base::Result<EntryId>>> done) {
  session_->run(std::move(done), drafts.size(), [&] {
    return Result<std::vector<Result<EntryId>>>(server_->append(stream, std::move(drafts)));
  });
}

void MemoryStore::take(const Lane& lane, TakeRequest request, Done<BatchPtr> done) {
  if (session_->closed || request.wait.count() <= 0) {
    session_->run(std::move(done), 0, [&] { return server_->take(lane, request.max); });
  } else {
    session_->wait(lane, request, std::move(done));
  }
}

void MemoryStore::wake(const Lane& lane) {
  const auto key = Session::key(lane);
  const auto found = session_->reads.find(key);
  if (found != session_->reads.end()) session_->give_up(key, found->second.call);
}

void MemoryStore::tick(const Lane& lane, std::uint32_t max, Done<TickReply> done) {
  session_->run(std::move(done), 0, [&] { return server_->tick(lane, max); });
}

void MemoryStore::peek(const Lane& lane, PeekRequest request, Done<PeekReply> done) {
  session_->run(std::move(done), 0, [&] { return server_->peek(lane, request); });
}

void MemoryStore::claim(const Lane& lane, std::vector<ClaimItem> items, Done<ClaimReply> done) {
  session_->run(std::move(done), items.size(), [&] { return server_->claim(lane, items); });
}

void MemoryStore::renew(const Lane& lane, std::vector<Receipt> receipts,
                        Done<std::vector<RenewStatus>> done) {
  session_->run(std::move(done), receipts.size(), [&] { return server_->renew(lane, receipts); });
}

void MemoryStore::ack(const Lane& lane, std::vector<EntryId> ids, Retention retention,
                      Done<AckReply> done) {
  session_->run(std::move(done), 0, [&] { return server_->ack(lane, ids, retention); });
}

void MemoryStore::settle(const Lane& lane, std::vector<Settlement> items, Retention retention,
                         Done<std::vector<SettleStatus>> done) {
  session_->run(std::move(done), items.size(),
                [&] { return server_->settle(lane, items, retention); });
}

void MemoryStore::enlist(const Lane& lane, Registration row, Done<Nothing> done) {
  session_->run(std::move(done), 0, [&] { return server_->enlist(lane, std::move(row)); });
}

void MemoryStore::forget(const Lane& lane, const std::string& consumer, Done<bool> done) {
  session_->run(std::move(done), 0, [&] { return server_->forget(lane, consumer); });
}

void MemoryStore::trim(const std::string& stream, Done<std::int64_t> done) {
  session_->run(std::move(done), 0, [&] { return server_->trim(stream); });
}

void MemoryStore::survey(const std::string& stream, Done<Survey> done) {
  session_->run(std::move(done), 0, [&] { return server_->survey(stream); });
}

void MemoryStore::streams(Done<std::vector<std::string>> done) {
  session_->run(std::move(done), 0,
                [&] { return Result<std::vector<std::string>>(server_->streams()); });
}

void MemoryStore::pending(const Lane& lane, EntryId from, std::uint32_t max,
                          Done<std::vector<PendingRow>> done) {
  session_->run(std::move(done), 0, [&] { return server_->pending(lane, from, max); });
}

void MemoryStore::break_connection() {
  session_->fail_all(Failure{errc::connection_lost, "the connection was cut"});
  epoch_.fetch_add(1, std::memory_order_acq_rel);
}

void MemoryStore::close() {
  if (session_->closed) return;
  session_->closed = true;
  session_->fail_all(Failure{errc::closed, "the store is closed"});
}

}  // namespace penstock::store::memory
