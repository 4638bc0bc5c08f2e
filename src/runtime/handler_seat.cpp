// What a handler thread does.
#include "runtime/handler_seat.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace penstock::runtime {

namespace {

using base::MonoTime;
using std::chrono::nanoseconds;

constexpr std::int64_t short_run_ns = 50'000;  // below it, runs are handed over in chunks
constexpr std::int64_t chunk_ns = 1'000'000;   // what a chunk may take
constexpr std::size_t chunk_max = 64;
constexpr std::int64_t wake_backlog_ns = 200'000;  // what must wait before one more thread is woken
constexpr nanoseconds tell_at_once{20'000};        // results of longer runs are told one by one

engine::Finished::Kind kind_of(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::ack:
      return engine::Finished::Kind::ack;
    case Outcome::Kind::retry:
      return engine::Finished::Kind::retry;
    case Outcome::Kind::not_yet:
      return engine::Finished::Kind::not_yet;
    case Outcome::Kind::release:
      return engine::Finished::Kind::release;
    case Outcome::Kind::dead:
      return engine::Finished::Kind::dead;
  }
  return engine::Finished::Kind::retry;
}

}  // namespace

void HandlerPool::Shared::serve(const std::shared_ptr<Shared>& shared,
                                const std::shared_ptr<Seat>& seat) {
  while (shared->next_chunk(*seat)) shared->run_chunk(*seat);
  const std::lock_guard lock(shared->mutex);
  --shared->live;
  seat->ended = true;
  if (seat->given_up) ++shared->spares_back;
  shared->gone.notify_all();
}

bool HandlerPool::Shared::worth_waking() const {
  if (idle == 0 || queued == 0) return false;
  const std::int64_t mean = mean_run_ns.load(std::memory_order_relaxed);
  if (mean == 0 || mean >= short_run_ns || idle == live) return true;
  return static_cast<std::int64_t>(queued) * mean > wake_backlog_ns;
}

bool HandlerPool::Shared::all_awake_are_long(MonoTime now) const {
  std::size_t lasting = 0;
  for (const std::shared_ptr<Seat>& seat : seats) {
    const std::lock_guard lock(seat->mutex);
    if (seat->busy && now - seat->since > nanoseconds(wake_backlog_ns)) ++lasting;
  }
  return lasting >= live - idle;
}

/// Waits for work. False: the pool closes, or this seat was given up.
bool HandlerPool::Shared::next_chunk(Seat& seat) {
  std::unique_lock lock(mutex);
  for (;;) {
    {
      const std::lock_guard seat_lock(seat.mutex);
      if (seat.given_up) return false;
    }
    if (closing) return false;
    if (take_queued(seat) || steal(seat)) break;
    ++idle;
    work.wait(lock);
    --idle;
  }
  if (worth_waking()) work.notify_one();
  return true;
}

bool HandlerPool::Shared::take_queued(Seat& seat) {
  if (queue.empty()) return false;
  const std::int64_t mean = mean_run_ns.load(std::memory_order_relaxed);
  std::size_t most = 1;
  if (mean > 0 && mean < short_run_ns) {
    most =
        std::min(chunk_max, static_cast<std::size_t>(chunk_ns / std::max<std::int64_t>(mean, 1)));
  }
  Chunk& front = queue.front();
  const std::size_t n = std::min(most, front.size());
  const Chunk taken{front.block, front.next, front.next + n};
  front.next += n;
  if (front.size() == 0) queue.pop_front();
  queued -= n;
  const std::lock_guard lock(seat.mutex);
  seat.chunk = taken;
  return true;
}

/// The later half of what another thread has taken and not begun.
bool HandlerPool::Shared::steal(Seat& thief) {
  for (const std::shared_ptr<Seat>& victim : seats) {
    if (victim.get() == &thief) continue;
    Chunk taken;
    {
      const std::lock_guard lock(victim->mutex);
      if (victim->chunk.size() == 0) continue;
      const std::size_t n = (victim->chunk.size() + 1) / 2;
      taken = {victim->chunk.block, victim->chunk.end - n, victim->chunk.end};
      victim->chunk.end -= n;
    }
    const std::lock_guard lock(thief.mutex);
    thief.chunk = std::move(taken);
    return true;
  }
  return false;
}

/// The next run of the chunk that may begin, marked as begun. False: none is left.
bool HandlerPool::Shared::begin_next(Seat& seat, MonoTime now, Run** run, std::stop_token* stop) {
  const std::lock_guard lock(seat.mutex);
  while (!seat.given_up && seat.chunk.size() > 0) {
    Run& next = (*seat.chunk.block)[seat.chunk.next++];
    std::uint8_t expected = HandlerPool::queued;
    if (now.time_since_epoch().count() > next.start_before.load(std::memory_order_relaxed)) {
      if (next.state.compare_exchange_strong(expected, taken_back)) {
        seat.finished.push_back(
            {next.slot, engine::Finished::Kind::not_started, false, {}, {}, {}});
      }
      continue;
    }
    if (!next.state.compare_exchange_strong(expected, begun)) continue;
    seat.busy = true;
    seat.slot = next.slot;
    seat.since = now;
    seat.stop = std::stop_source();
    *run = &next;
    *stop = seat.stop.get_token();
    return true;
  }
  return false;
}

engine::Finished HandlerPool::Shared::call(const Run& run, std::stop_token stop) const {
  engine::Finished finished;
  finished.slot = run.slot;
  try {
    const Message message = detail::MessageAccess::make(run.data, run.index);
    const Outcome outcome = handler(message, std::move(stop));
    finished.kind = kind_of(outcome.kind());
    if (outcome.after()) finished.after = *outcome.after();
    finished.why = outcome.why();
  } catch (const std::exception& error) {
    finished.kind = engine::Finished::Kind::retry;
    finished.threw = true;
    finished.why = error.what();
  } catch (...) {
    finished.kind = engine::Finished::Kind::retry;
    finished.threw = true;
    finished.why = "the handler threw something that is no std::exception";
  }
  return finished;
}

void HandlerPool::Shared::tell() {
  if (!notified.exchange(true)) ended();
}

void HandlerPool::Shared::run_chunk(Seat& seat) {
  MonoTime now = std::chrono::steady_clock::now();
  Run* run = nullptr;
  std::stop_token stop;
  // The chunk may be cut short by a thief; its block must outlive the run.
  std::shared_ptr<Block> block;
  {
    const std::lock_guard lock(seat.mutex);
    block = seat.chunk.block;
  }
  bool untold = false;
  while (begin_next(seat, now, &run, &stop)) {
    started.fetch_add(1, std::memory_order_relaxed);
    engine::Finished finished = call(*run, std::move(stop));
    const MonoTime end = std::chrono::steady_clock::now();
    finished.took = end - now;
    const std::int64_t mean = mean_run_ns.load(std::memory_order_relaxed);
    const std::int64_t took = std::max<std::int64_t>(finished.took.count(), 1);
    mean_run_ns.store(mean == 0 ? took : mean + (took - mean) / 8, std::memory_order_relaxed);
    now = end;
    untold = finished.took < tell_at_once;
    {
      const std::lock_guard lock(seat.mutex);
      seat.busy = false;
      seat.stop = std::stop_source(std::nostopstate);
      seat.finished.push_back(std::move(finished));
    }
    if (!untold) tell();
  }
  tell();
}

}  // namespace penstock::runtime
