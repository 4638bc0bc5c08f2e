#include "redis/asio_executor.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace penstock::redis {

using base::MonoTime;

class AsioExecutor::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(boost::asio::io_context& io) : io_(io), timer_(io) {}

  void post(std::function<void()> fn) {
    boost::asio::post(io_, [self = shared_from_this(), fn = std::move(fn)] {
      if (!self->stopped()) fn();
    });
  }

  void schedule(MonoTime at, std::function<void()> fn) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
      heap_.push_back({at, sequence_++, std::move(fn)});
      std::push_heap(heap_.begin(), heap_.end(), Later());
      // The timer is touched on the loop's thread only; one post covers all callers until then.
      if (at >= wanted_) return;
      wanted_ = at;
    }
    boost::asio::post(io_, [self = shared_from_this()] { self->arm(); });
  }

  void stop() {
    std::vector<Item> dropped;  // destroyed outside the lock: they may hold anything
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      dropped.swap(heap_);
    }
    boost::asio::post(io_, [self = shared_from_this()] { self->timer_.cancel(); });
  }

 private:
  struct Item {
    MonoTime at;
    std::uint64_t sequence;
    std::function<void()> fn;
  };
  struct Later {
    bool operator()(const Item& a, const Item& b) const {
      return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
    }
  };

  bool stopped() {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

  void arm() {
    {
      const std::lock_guard lock(mutex_);
      wanted_ = heap_.empty() ? base::never : heap_.front().at;
      if (stopped_ || heap_.empty() || wanted_ >= armed_) return;
      armed_ = wanted_;
    }
    timer_.expires_at(armed_);
    timer_.async_wait([self = shared_from_this()](boost::system::error_code ec) {
      if (!ec) self->fire();
    });
  }

  void fire() {
    armed_ = base::never;
    const MonoTime now = std::chrono::steady_clock::now();
    for (;;) {
      std::function<void()> fn;
      {
        const std::lock_guard lock(mutex_);
        if (heap_.empty() || heap_.front().at > now) break;
        std::pop_heap(heap_.begin(), heap_.end(), Later());
        fn = std::move(heap_.back().fn);
        heap_.pop_back();
      }
      fn();
    }
    arm();
  }

  boost::asio::io_context& io_;
  boost::asio::steady_timer timer_;
  MonoTime armed_ = base::never;  // loop's thread only
  std::mutex mutex_;
  bool stopped_ = false;
  MonoTime wanted_ = base::never;
  std::uint64_t sequence_ = 0;
  std::vector<Item> heap_;
};

AsioExecutor::AsioExecutor(boost::asio::io_context& io) : state_(std::make_shared<State>(io)) {}
AsioExecutor::~AsioExecutor() { state_->stop(); }
MonoTime AsioExecutor::now() const { return std::chrono::steady_clock::now(); }
void AsioExecutor::post(std::function<void()> fn) { state_->post(std::move(fn)); }
void AsioExecutor::schedule(MonoTime at, std::function<void()> fn) {
  state_->schedule(at, std::move(fn));
}

}  // namespace penstock::redis
