#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace penstock::runtime {

/// A thread for user code that is no handler (the log sink): whatever it does, no engine thread
/// waits for it. At most `queue_max` calls wait; more are dropped and counted.
class Aside {
 public:
  static constexpr std::size_t queue_max = 1024;

  Aside() : thread_([this] { serve(); }) {}
  ~Aside() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    work_.notify_all();
    thread_.join();
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  void post(std::function<void()> fn) {
    {
      const std::lock_guard lock(mutex_);
      if (queue_.size() >= queue_max) {
        ++dropped_;
        return;
      }
      queue_.push_back(std::move(fn));
    }
    work_.notify_one();
  }
  std::uint64_t dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const std::function<void()> fn = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      fn();
      lock.lock();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::deque<std::function<void()>> queue_;
  std::uint64_t dropped_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace penstock::runtime
