#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.hpp"
#include "simulation/trace.hpp"

namespace penstock::simulation {

using base::MonoDuration;
using base::MonoTime;

class Process;

/// Stands for "never yet"; far enough from both ends for differences.
inline constexpr MonoTime long_ago = MonoTime{} - std::chrono::hours(10000);

/// Virtual time: one thread, events in the order of (time, sequence). Nothing else moves the clock.
class Loop {
 public:
  explicit Loop(Trace& trace) : trace_(trace) {}

  MonoTime now() const { return now_; }
  MonoDuration elapsed() const { return now_ - MonoTime{}; }
  std::uint64_t events() const { return events_; }
  /// `owner` decides whether it may run when its time has come; null: always.
  void at(MonoTime when, Process* owner, std::function<void()> fn);
  /// Runs all that is due up to `until`, then stands at `until`. `stop` is asked after each event.
  void run_until(MonoTime until, const std::function<bool()>& stop);

 private:
  struct Event {
    MonoTime when;
    std::uint64_t sequence;
    Process* owner;
    std::function<void()> fn;
  };
  static bool later(const Event& a, const Event& b) {
    return std::pair(a.when, a.sequence) > std::pair(b.when, b.sequence);
  }

  Trace& trace_;
  MonoTime now_{};
  std::uint64_t next_ = 0, events_ = 0;
  std::vector<Event> heap_;
};

/// A process as its executor shows it: runs, stands still (SIGSTOP), or is gone (SIGKILL).
class Process final : public base::Executor {
 public:
  explicit Process(Loop& loop) : loop_(loop) {}

  MonoTime now() const override { return loop_.now(); }
  void post(std::function<void()> fn) override { loop_.at(loop_.now(), this, std::move(fn)); }
  void schedule(MonoTime at, std::function<void()> fn) override {
    loop_.at(at, this, std::move(fn));
  }

  void pause() { paused_ = true; }
  void resume();
  void crash() { dead_ = true; }
  bool paused() const { return paused_; }
  bool dead() const { return dead_; }
  /// When it last stood still.
  MonoTime last_paused() const { return paused_ ? loop_.now() : resumed_at_; }

 private:
  friend class Loop;
  void run(std::function<void()> fn);

  Loop& loop_;
  bool paused_ = false, dead_ = false;
  MonoTime resumed_at_ = long_ago;
  std::vector<std::function<void()>> held_;
};

}  // namespace penstock::simulation
