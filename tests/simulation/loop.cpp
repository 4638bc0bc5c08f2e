#include "simulation/loop.hpp"

#include <algorithm>

namespace penstock::simulation {

void Loop::at(MonoTime when, Process* owner, std::function<void()> fn) {
  if (owner != nullptr && owner->dead()) return;
  heap_.push_back({std::max(when, now_), next_++, owner, std::move(fn)});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void Loop::run_until(MonoTime until, const std::function<bool()>& stop) {
  while (!heap_.empty() && heap_.front().when <= until) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Event event = std::move(heap_.back());
    heap_.pop_back();
    now_ = event.when;
    ++events_;
    trace_.mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()) ^
               (event.sequence << 40));
    if (event.owner == nullptr) {
      event.fn();
    } else {
      event.owner->run(std::move(event.fn));
    }
    if (stop()) return;
  }
  now_ = std::max(now_, until);
}

void Process::run(std::function<void()> fn) {
  if (dead_) return;
  if (paused_) {
    held_.push_back(std::move(fn));
    return;
  }
  fn();
}

void Process::resume() {
  if (!paused_) return;
  paused_ = false;
  resumed_at_ = loop_.now();
  for (std::function<void()>& fn : std::exchange(held_, {})) post(std::move(fn));
}

}  // namespace penstock::simulation
