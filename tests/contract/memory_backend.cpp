#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "base/executor.hpp"
#include "contract/backend.hpp"
#include "store/memory/memory_server.hpp"
#include "store/memory/memory_store.hpp"

namespace penstock::contract {

namespace {

using base::MonoTime;
using store::memory::MemoryServer;
using store::memory::MemoryStore;

/// A loop whose time stands still until nothing is left to do.
class VirtualLoop final : public base::Executor {
 public:
  MonoTime now() const override { return now_; }
  void post(std::function<void()> fn) override { ready_.push_back(std::move(fn)); }
  void schedule(MonoTime at, std::function<void()> fn) override {
    later_.emplace(std::max(at, now_), std::move(fn));
  }

  bool run_until(const std::function<bool()>& done, MonoTime limit) {
    while (!done()) {
      if (!ready_.empty()) {
        const auto fn = std::move(ready_.front());
        ready_.pop_front();
        fn();
      } else if (!later_.empty() && later_.begin()->first <= limit) {
        now_ = later_.begin()->first;
        ready_.push_back(std::move(later_.begin()->second));
        later_.erase(later_.begin());
      } else {
        now_ = limit;
        return done();
      }
    }
    return true;
  }

 private:
  MonoTime now_{std::chrono::hours(1)};
  std::deque<std::function<void()>> ready_;
  std::multimap<MonoTime, std::function<void()>> later_;
};

class MemoryBackend final : public Backend {
 public:
  std::string name() const override { return "memory"; }
  std::unique_ptr<store::Store> session() override {
    return std::make_unique<MemoryStore>(server_, loop_);
  }
  void break_connection(store::Store& session) override {
    dynamic_cast<MemoryStore&>(session).break_connection();
  }
  bool run_until(const std::function<bool()>& ready, milliseconds limit) override {
    return loop_.run_until(ready, loop_.now() + limit);
  }
  void pass(milliseconds time) override {
    run_until([] { return false; }, time);
  }
  ServerMs now() override { return server_->now(); }

  void delete_key(const std::string& key) override { server_->delete_key(key); }
  void spoil_key(const std::string& key) override { server_->spoil_key(key); }
  void create_group(const std::string& stream, const std::string& group) override {
    server_->create_group(stream, group);
  }
  void destroy_group(const std::string& stream, const std::string& group) override {
    server_->destroy_group(stream, group);
  }
  void set_group_id(const std::string& stream, const std::string& group, EntryId id) override {
    server_->set_group_id(stream, group, id);
  }
  void delete_consumer(const std::string& stream, const std::string& group,
                       const std::string& consumer) override {
    server_->delete_consumer(stream, group, consumer);
  }
  void delete_body(const std::string& stream, EntryId id) override {
    server_->delete_body(stream, id);
  }
  EntryId add_foreign_entry(const std::string& stream, const Fields& fields) override {
    return server_->append(stream, {store::Draft{fields}}).at(0).value();
  }
  std::vector<EntryId> raw_take(const std::string& stream, const std::string& group,
                                const std::string& consumer, std::uint32_t max) override {
    std::vector<EntryId> out;
    const auto batch = server_->take({stream, group, consumer}, max).value();
    for (const auto& entry : batch->entries) out.push_back(entry.id);
    return out;
  }
  void raw_claim(const std::string& stream, const std::string& group, const std::string& consumer,
                 EntryId id) override {
    server_->raw_claim(stream, group, consumer, id);
  }
  void add_due_row(const std::string& stream, const std::string& group, EntryId id,
                   ServerMs at) override {
    server_->add_due_row(stream, group, id, at);
  }
  void refuse_writes(bool on) override { server_->refuse_writes(on); }

  std::vector<RawPending> raw_pending(const std::string& stream,
                                      const std::string& group) override {
    std::vector<RawPending> out;
    for (const auto& [id, row] : server_->pel(stream, group)) {
      out.push_back({id, row.owner, std::max<ServerMs>(now() - row.delivered_at, 0), row.delivery});
    }
    return out;
  }
  std::vector<std::pair<EntryId, ServerMs>> due_rows(const std::string& stream,
                                                     const std::string& group) override {
    return server_->due_rows(stream, group);
  }
  std::vector<EntryId> notes(const std::string& stream, const std::string& group) override {
    return server_->notes(stream, group);
  }
  std::vector<std::pair<EntryId, Fields>> entries(const std::string& key) override {
    return server_->entries(key);
  }
  std::vector<std::string> consumers(const std::string& stream, const std::string& group) override {
    return server_->consumers(stream, group);
  }

 private:
  VirtualLoop loop_;
  std::shared_ptr<MemoryServer> server_ = std::make_shared<MemoryServer>([this] {
    // A plain wall clock that has nothing to do with the loop's own zero.
    const auto ms = std::chrono::duration_cast<milliseconds>(loop_.now().time_since_epoch());
    return ServerMs{1'700'000'000'000} + ms.count();
  });
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<MemoryBackend>(); }

}  // namespace penstock::contract
