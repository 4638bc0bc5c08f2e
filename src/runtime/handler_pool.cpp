#include "runtime/handler_pool.hpp"

#include <algorithm>
#include <utility>

#include "runtime/handler_seat.hpp"

namespace penstock::runtime {

using base::MonoTime;

HandlerPool::HandlerPool(std::shared_ptr<const store::Lane> lane, Handler handler,
                         std::size_t threads, std::function<void()> ended)
    : shared_(std::make_shared<Shared>()), lane_(std::move(lane)), spares_(threads) {
  shared_->handler = std::move(handler);
  shared_->ended = std::move(ended);
  for (std::size_t i = 0; i < threads; ++i) add_seat();
  notifier_ = std::thread([shared = shared_] { notify_stops(shared); });
}

HandlerPool::~HandlerPool() { shut_down(std::chrono::steady_clock::now()); }

void HandlerPool::add_seat() {
  auto seat = std::make_shared<Seat>();
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->seats.push_back(seat);
    ++shared_->live;
  }
  seat->thread = std::thread([shared = shared_, seat] { Shared::serve(shared, seat); });
}

bool HandlerPool::shut_down(MonoTime until) {
  if (std::exchange(down_, true)) return true;
  std::vector<std::shared_ptr<Seat>> seats;
  bool all = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->closing = true;
    shared_->work.notify_all();
    all = shared_->gone.wait_until(lock, until, [&] { return shared_->live == 0; });
    seats = shared_->seats;
  }
  for (const std::shared_ptr<Seat>& seat : seats) {
    if (all) {
      seat->thread.join();
    } else {
      seat->thread.detach();
    }
  }
  // A stop callback is user code as well, and may hang.
  std::unique_lock lock(shared_->stop_mutex);
  shared_->stops_closing = true;
  shared_->stop_work.notify_all();
  // Where the threads have used up the time, it still gets what an idle one needs to return.
  const MonoTime patience =
      std::max(until, std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  const bool told =
      shared_->stop_work.wait_until(lock, patience, [&] { return shared_->stops_ended; });
  lock.unlock();
  if (told) {
    notifier_.join();
  } else {
    notifier_.detach();
  }
  return all && told;
}

void HandlerPool::set_group_epoch(store::ServerMs epoch) { shared_->group_epoch = epoch; }
std::uint64_t HandlerPool::started_total() const { return shared_->started; }

void HandlerPool::run(std::vector<engine::RunItem> items) {
  auto block = std::make_shared<Block>(items.size());
  std::shared_ptr<detail::MessageData> data;
  {
    const std::lock_guard lock(places_mutex_);
    for (std::size_t i = 0; i < items.size(); ++i) {
      engine::RunItem& item = items[i];
      if (data == nullptr || data->batch != item.batch) {
        data = std::make_shared<detail::MessageData>();
        *data = {std::move(item.batch), lane_, shared_->group_epoch};
      }
      Run& run = (*block)[i];
      run.slot = item.slot;
      run.data = data;
      run.index = item.index;
      run.start_before = item.start_before.time_since_epoch().count();
      if (places_.size() <= item.slot.index) places_.resize(item.slot.index + 64);
      places_[item.slot.index] = {block, i};
    }
  }
  std::size_t wake = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->queue.push_back({std::move(block), 0, items.size()});
    shared_->queued += items.size();
    // A thread whose run lasts is awake and no help: one that is idle must come.
    if (shared_->worth_waking() ||
        (shared_->idle > 0 && shared_->all_awake_are_long(std::chrono::steady_clock::now()))) {
      // Where runs are short one thread wakes the next itself; long ones need all at once.
      const bool short_runs = shared_->mean_run_ns > 0 && shared_->mean_run_ns < 50'000;
      wake = short_runs ? 1 : std::min(shared_->idle, items.size());
    }
  }
  for (; wake > 0; --wake) shared_->work.notify_one();
}

HandlerPool::Run* HandlerPool::find(engine::Slot slot) {
  if (slot.index >= places_.size() || places_[slot.index].block == nullptr) return nullptr;
  Run& run = (*places_[slot.index].block)[places_[slot.index].index];
  return run.slot == slot ? &run : nullptr;
}

std::vector<engine::Slot> HandlerPool::retract(const std::vector<engine::Slot>& slots) {
  std::vector<engine::Slot> got;
  const std::lock_guard lock(places_mutex_);
  for (const engine::Slot slot : slots) {
    Run* run = find(slot);
    std::uint8_t expected = queued;
    if (run != nullptr && run->state.compare_exchange_strong(expected, taken_back)) {
      got.push_back(slot);
    }
  }
  return got;
}

void HandlerPool::extend(const std::vector<engine::ExtendItem>& items) {
  const std::lock_guard lock(places_mutex_);
  for (const engine::ExtendItem& item : items) {
    if (Run* run = find(item.slot); run != nullptr) {
      run->start_before = item.start_before.time_since_epoch().count();
    }
  }
}

void HandlerPool::stop(const std::vector<engine::StopItem>& items) {
  std::vector<std::stop_source> found;
  {
    const std::lock_guard lock(shared_->mutex);
    for (const engine::StopItem& item : items) {
      for (const std::shared_ptr<Seat>& seat : shared_->seats) {
        const std::lock_guard seat_lock(seat->mutex);
        if (seat->busy && seat->slot == item.slot) found.push_back(seat->stop);
      }
    }
  }
  // A stop callback is user code: it never runs on the engine's threads.
  const std::lock_guard lock(shared_->stop_mutex);
  shared_->stops.insert(shared_->stops.end(), found.begin(), found.end());
  shared_->stop_work.notify_all();
}

void HandlerPool::notify_stops(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->stop_mutex);
  for (;;) {
    shared->stop_work.wait(lock, [&] { return shared->stops_closing || !shared->stops.empty(); });
    if (shared->stops.empty()) break;
    std::vector<std::stop_source> now = std::exchange(shared->stops, {});
    lock.unlock();
    for (std::stop_source& stop : now) stop.request_stop();
    now.clear();
    lock.lock();
  }
  shared->stops_ended = true;
  shared->stop_work.notify_all();
}

bool HandlerPool::abandon(engine::Slot slot) {
  bool found = false, spare = false;
  {
    const std::lock_guard lock(shared_->mutex);
    spares_ += std::exchange(shared_->spares_back, 0);
    std::erase_if(shared_->seats, [](const std::shared_ptr<Seat>& seat) {
      if (!seat->ended || !seat->finished.empty()) return false;
      seat->thread.join();  // it only has to return
      return true;
    });
    for (const std::shared_ptr<Seat>& seat : shared_->seats) {
      const std::lock_guard seat_lock(seat->mutex);
      if (!seat->busy || seat->given_up || seat->slot != slot) continue;
      found = seat->given_up = true;
      if (seat->chunk.size() > 0) {
        shared_->queued += seat->chunk.size();
        shared_->queue.push_front(std::exchange(seat->chunk, {}));
      }
    }
    spare = spares_ > 0;
    if (found && spare) --spares_;
  }
  if (!found) return true;  // it has just ended: its thread is free again
  if (spare) add_seat();
  return spare;
}

std::vector<engine::Started> HandlerPool::running() {
  std::vector<engine::Started> runs;
  bool stealable = false;
  const std::lock_guard lock(shared_->mutex);
  for (const std::shared_ptr<Seat>& seat : shared_->seats) {
    const std::lock_guard seat_lock(seat->mutex);
    if (!seat->busy || seat->given_up) continue;
    runs.push_back({seat->slot, seat->since});
    stealable = stealable || seat->chunk.size() > 0;
  }
  // The rest of a chunk, or of the queue, behind a run that turned out long.
  if ((stealable || shared_->queued > 0) && shared_->idle > 0) shared_->work.notify_one();
  return runs;
}

std::vector<engine::Finished> HandlerPool::collect() {
  shared_->notified = false;
  std::vector<engine::Finished> all;
  const std::lock_guard lock(shared_->mutex);
  for (const std::shared_ptr<Seat>& seat : shared_->seats) {
    const std::lock_guard seat_lock(seat->mutex);
    if (all.empty()) {
      all.swap(seat->finished);
    } else {
      all.insert(all.end(), std::make_move_iterator(seat->finished.begin()),
                 std::make_move_iterator(seat->finished.end()));
      seat->finished.clear();
    }
  }
  return all;
}

}  // namespace penstock::runtime
