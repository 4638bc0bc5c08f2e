#include "simulation/sim_dispatcher.hpp"

#include <algorithm>
#include <utility>

namespace penstock::simulation {

using engine::Finished;
using engine::Slot;
using std::chrono::microseconds;

SimDispatcher::SimDispatcher(Network& network, Link& link, store::Lane lane)
    : net_(network),
      link_(link),
      lane_(std::move(lane)),
      seats_(network.plan.lane.concurrency),
      spares_(network.plan.lane.concurrency) {}

void SimDispatcher::connect(std::function<void()> ended, std::function<std::size_t()> held) {
  ended_ = std::move(ended);
  held_ = std::move(held);
}

/// A thread needs a moment to wake: what is queued can still be taken back then.
void SimDispatcher::wake_threads() {
  if (std::exchange(woken_, true)) return;
  link_.process.schedule(net_.loop.now() + microseconds(net_.rng.below(300)), [this] {
    woken_ = false;
    begin_queued();
  });
}

void SimDispatcher::run(std::vector<engine::RunItem> items) {
  net_.checker.holds(lane_, held_());
  for (engine::RunItem& item : items) queue_.push_back(std::move(item));
  wake_threads();
}

void SimDispatcher::begin_queued() {
  bool tell = false;
  while (seats_ > 0 && !queue_.empty()) {
    const engine::RunItem item = std::move(queue_.front());
    queue_.pop_front();
    if (net_.loop.now() > item.start_before) {
      finished_.push_back({item.slot, Finished::Kind::not_started, false, {}, {}, {}});
      tell = true;
      continue;
    }
    begin(item);
  }
  if (tell) ended_();
}

void SimDispatcher::begin(const engine::RunItem& item) {
  const store::Taken& taken = item.batch->entries[item.index];
  --seats_;
  Run run{item.slot, taken.id,
          net_.checker.started(lane_, link_.condition, taken.id, taken.delivery)};
  MonoDuration takes{0};
  draw(run, &takes);
  const std::uint64_t number = next_run_++;
  running_.emplace(number, std::move(run));
  link_.process.schedule(net_.loop.now() + takes, [this, number] { end(number); });
}

void SimDispatcher::draw(Run& run, MonoDuration* takes) {
  const HandlerPlan& h = net_.plan.handlers;
  base::Rng& rng = net_.rng;
  const MonoDuration lease = net_.plan.lane.lease;
  const double kind = rng.unit();
  MonoDuration bound = std::chrono::milliseconds(30);
  if (kind < h.hang) {
    bound = lease * 16;
  } else if (kind < h.hang + h.long_run) {
    bound = lease * 4;
  } else if (kind < h.hang + h.long_run + h.medium) {
    bound = lease / 2;
  }
  run.listens = bound < lease || !rng.chance(h.ignores_stop);
  *takes = std::chrono::floor<microseconds>(MonoDuration(
      static_cast<MonoDuration::rep>(rng.unit() * static_cast<double>(bound.count()))));
  draw_end(*run.record);
}

void SimDispatcher::draw_end(RunRecord& record) {
  const HandlerPlan& h = net_.plan.handlers;
  double at = net_.rng.unit();
  const auto within = [&at](double p) { return (at -= p) < 0; };
  if (within(h.retry)) {
    record.kind = Finished::Kind::retry;
  } else if (within(h.throws)) {
    record.kind = Finished::Kind::retry;
    record.threw = true;
  } else if (within(h.not_yet)) {
    record.kind = Finished::Kind::not_yet;
  } else if (within(h.release)) {
    record.kind = Finished::Kind::release;
  } else if (within(h.dead)) {
    record.kind = Finished::Kind::dead;
  }
}

void SimDispatcher::end(std::uint64_t number) {
  const auto found = running_.find(number);
  if (found == running_.end()) return;  // it listened to a stop, and ended before
  const Run& run = found->second;
  RunRecord& record = *run.record;
  record.ended = true;
  if (record.given_up) {
    ++spares_;  // the thread that took its place stays
  } else {
    ++seats_;
  }
  Finished finished;
  finished.slot = run.slot;
  finished.kind = record.kind;
  finished.threw = record.threw;
  finished.took = net_.loop.now() - record.started;
  if (record.kind == Finished::Kind::retry) finished.why = "simulated";
  net_.trace.add(net_.loop.now(), lane_.consumer, "ends", run.id,
                 static_cast<std::int64_t>(record.kind), lane_.group);
  just_ended_.emplace_back(run.slot, run.record);
  running_.erase(found);
  finished_.push_back(std::move(finished));
  ended_();
  if (!queue_.empty()) wake_threads();
}

std::vector<Slot> SimDispatcher::retract(const std::vector<Slot>& slots) {
  std::vector<Slot> got;
  for (const Slot slot : slots) {
    const auto found = std::find_if(queue_.begin(), queue_.end(),
                                    [slot](const auto& item) { return item.slot == slot; });
    if (found == queue_.end()) continue;
    if (net_.plant != Plant::runs_retracted) queue_.erase(found);
    got.push_back(slot);
  }
  return got;
}

void SimDispatcher::stop(const std::vector<engine::StopItem>& items) {
  if (net_.plant == Plant::deaf_handlers) return;
  for (const engine::StopItem& item : items) {
    const auto found = find(item.slot);
    if (found == running_.end()) {
      for (const auto& [slot, record] : just_ended_) {
        if (slot != item.slot || record->stop_at || record->late_stop) continue;
        record->late_stop = true;
        record->stop_reason = item.reason;
      }
      continue;
    }
    Run& run = found->second;
    net_.checker.asked_to_stop(lane_, run.id, *run.record, item.reason);
    if (!run.listens || std::exchange(run.stopping, true)) continue;
    // It gives up, or was just about to end well.
    if (net_.rng.chance(0.8)) {
      const bool throws = net_.rng.chance(0.7);
      run.record->kind = throws ? Finished::Kind::retry : Finished::Kind::release;
      run.record->threw = throws;
    }
    const std::uint64_t number = found->first;
    link_.process.schedule(net_.loop.now() + microseconds(net_.rng.below(100'000)),
                           [this, number] { end(number); });
  }
}

void SimDispatcher::extend(const std::vector<engine::ExtendItem>& items) {
  for (const engine::ExtendItem& item : items) {
    for (engine::RunItem& queued : queue_) {
      if (queued.slot == item.slot) queued.start_before = item.start_before;
    }
  }
}

bool SimDispatcher::abandon(Slot slot) {
  const auto found = find(slot);
  if (found == running_.end() || found->second.record->given_up) return true;
  found->second.record->given_up = true;
  if (spares_ == 0) return false;
  --spares_;
  ++seats_;
  wake_threads();
  return true;
}

std::vector<engine::Started> SimDispatcher::running() {
  std::vector<engine::Started> out;
  for (const auto& [number, run] : running_) {
    if (!run.record->given_up) out.push_back({run.slot, run.record->started});
  }
  return out;
}

std::vector<Finished> SimDispatcher::collect() {
  just_ended_.clear();
  return std::exchange(finished_, {});
}

std::map<std::uint64_t, SimDispatcher::Run>::iterator SimDispatcher::find(Slot slot) {
  return std::find_if(running_.begin(), running_.end(),
                      [slot](const auto& run) { return run.second.slot == slot; });
}

}  // namespace penstock::simulation
