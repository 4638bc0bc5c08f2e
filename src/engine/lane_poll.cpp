// What a lane decides: reads, claims, runs, stops and the end.
#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/lane.hpp"

namespace penstock::engine {

namespace {

constexpr MonoDuration watch_period = std::chrono::milliseconds(100);
constexpr MonoDuration wait_max = std::chrono::seconds(2);
constexpr std::string_view timeout_field = "penstock-timeout";

}  // namespace

void Lane::poll(MonoTime now, std::uint64_t epoch, Actions& out) {
  if (drained_) return;
  if (fatal_failure_) out.fatal = std::exchange(fatal_failure_, std::nullopt);
  if (std::exchange(seen_epoch_, epoch) != epoch) forget_baseline();  // a new connection: none yet
  poll_open(now, out);
  poll_watch(now);
  if (draining_) {
    poll_drain(now, out);
  } else if (opened_ && !fatal_) {
    poll_reads(now, out);
  }
  poll_runs(now, epoch, out);
  poll_settle(now, epoch, out);
  hand_over(out);
}

void Lane::hand_over(Actions& out) {
  const auto move = [](auto& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    from.clear();
  };
  move(log_, out.log);
  move(to_retract_, out.retract);
  move(to_stop_, out.stop);
  move(to_extend_, out.extend);
  move(to_abandon_, out.abandon);
  out.poke_renewal = std::exchange(want_renewal_, false);
}

void Lane::poll_open(MonoTime now, Actions& out) {
  if ((opened_ && !reopen_) || fatal_ || !open_.ready(now)) return;
  if (draining_ && table_.size() == 0) return;
  store::OpenRequest request;
  request.start = config_.start;
  request.retention = config_.retention;
  request.heal = heal_;
  out.open = std::move(request);
  open_.begin(era_);
}

std::size_t Lane::free_slots() const {
  // A run that was given up has no entry here any more, and a spare thread in its place.
  if (unhealthy_) return 0;
  const std::size_t used = table_.size() + take_reserved_ + claim_reserved_;
  const std::size_t top = limit();
  return used >= top ? 0 : top - used;
}

void Lane::poll_reads(MonoTime now, Actions& out) {
  std::size_t free = free_slots();
  poll_tick(now, out);
  poll_sweep(now, out);
  // Few calls for many entries each: only where handlers might run dry is a small one worth its
  // cost. Claims and reads alike, or the one would use up what the other waits for.
  const std::size_t unfinished = table_.size() - settling_;
  const bool worth = unfinished <= config_.concurrency || free * 4 >= limit();
  poll_claims(now, out, free, worth);
  if (worth) poll_take(now, out, free);
}

void Lane::poll_tick(MonoTime now, Actions& out) {
  if (!tick_.ready(now) || now < next_tick_ || !may_look()) return;
  tick_asked_ = static_cast<std::uint32_t>(std::clamp<std::size_t>(limit(), 16, store::batch_max));
  out.tick_max = tick_asked_;
  tick_.begin(era_);
}

/// Lapsed and due entries. New ones are not starved: at most 3/4 of the free slots where both wait,
/// and turn by turn where there are few.
void Lane::poll_claims(MonoTime now, Actions& out, std::size_t& free, bool worth) {
  if (!candidates() || !claim_.ready(now)) return;
  if (free == 0) {
    // A waiting read keeps all slots for itself: end it, then share them out again.
    if (take_.out && take_waits_ && !wake_sent_) {
      wake_sent_ = true;
      out.wake = true;
    }
    return;
  }
  if (!worth) return;
  std::size_t most = window_.by_bytes(std::min(free, store::batch_max), table_.bytes());
  if (new_may_wait_) {
    if (free >= 4) {
      most = std::min(most, free * 3 / 4);
    } else if (claimed_last_) {
      return;
    }
  }
  out.claim = next_claims(most);
  if (out.claim.empty()) return;
  claim_.begin(era_);
  claim_reserved_ = out.claim.size();
  claimed_last_ = new_may_wait_ = true;
  free -= std::min(free, claim_reserved_);
}

/// In turn from both lists, without what this process holds: its own run is never claimed away.
std::vector<store::ClaimItem> Lane::next_claims(std::size_t most) {
  std::vector<store::ClaimItem> items;
  claims_out_.clear();
  const auto add = [&](Overdue candidate) {
    if (table_.index_of(candidate.item.id) != no_slot) return;
    items.push_back(candidate.item);
    claims_out_.push_back(std::move(candidate));
  };
  while (items.size() < most && candidates()) {
    if (!overdue_.empty()) {
      add(std::move(overdue_.front()));
      overdue_.pop_front();
    }
    if (items.size() < most && !due_.empty()) {
      store::ClaimItem item;
      item.id = due_.front();
      item.owner = store::parked_consumer;
      due_.pop_front();
      add({std::move(item), false});
    }
  }
  return items;
}

void Lane::poll_take(MonoTime now, Actions& out, std::size_t free) {
  if (free == 0 || !take_.ready(now)) return;
  const bool claims_first = claim_.out || (candidates() && claim_.ready(now));
  if (claims_first && !new_may_wait_) return;
  const std::size_t count = window_.by_bytes(std::min(free, prefetch_max), table_.bytes());
  if (count == 0) return;
  store::TakeRequest request;
  request.max = static_cast<std::uint32_t>(count);
  const MonoDuration wait =
      claims_first ? MonoDuration::zero() : std::min(wait_max, config_.lease / 4);
  request.wait = std::chrono::duration_cast<std::chrono::milliseconds>(wait);
  take_reserved_ = count;
  take_waits_ = wait > MonoDuration::zero();
  take_.begin(era_);
  out.take = request;
}

void Lane::poll_runs(MonoTime now, std::uint64_t epoch, Actions& out) {
  std::vector<Slot> later;
  for (const Slot slot : to_run_) {
    Entry* entry = table_.at(slot);
    if (entry == nullptr || entry->state != Entry::State::waiting || entry->blocked) continue;
    if (draining_ || (unhealthy_ && !config_.stop_when_hung)) {
      hand_back(slot.index);
    } else if (entry->epoch != epoch || now - entry->lease_from >= config_.fresh_age()) {
      later.push_back(slot);  // proved again first
      want_renewal_ = true;
    } else {
      entry->state = Entry::State::dispatched;
      entry->retract = Entry::Retract::no;
      entry->stop_sent = false;  // of an earlier turn that never began, as is `started`
      entry->started = base::never;
      out.run.push_back(
          {slot, entry->batch, entry->index, entry->lease_from + config_.fresh_age()});
    }
  }
  to_run_ = std::move(later);
}

std::optional<MonoDuration> Lane::max_run_of(const Entry& entry) const {
  const store::Taken& taken = entry.batch->entries[entry.index];
  for (std::uint32_t i = 0; i < taken.field_count; ++i) {
    if (entry.batch->name(taken, i) != timeout_field) continue;
    const std::string_view text = entry.batch->value(taken, i);
    std::int64_t ms = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
    // What a producer wrote is no order to run for ever, nor to fail at once: a sane number or
    // ours.
    if (error == std::errc{} && end == text.data() + text.size() && ms > 0 &&
        ms < 1'000'000'000'000) {
      return std::chrono::milliseconds(ms);
    }
  }
  return config_.max_run;
}

/// Runs that go on too long, and buffered entries that wait too long.
void Lane::poll_watch(MonoTime now) {
  if (now < next_watch_) return;
  next_watch_ = now + watch_period;
  const MonoDuration patience = config_.lease / 4;
  const bool none_freed = now - last_freed_ > patience;
  table_.each([&](std::uint32_t index, Entry& entry) {
    if (entry.state != Entry::State::dispatched) return;
    if (entry.started != base::never) {
      watch_overtime(now, index, entry);
    } else if (none_freed && now - entry.admitted > patience &&
               entry.retract == Entry::Retract::no) {
      crowded_ = true;
      entry.retract = Entry::Retract::release;
      to_retract_.push_back(table_.slot_of(index));
    }
  });
}

void Lane::watch_overtime(MonoTime now, std::uint32_t index, Entry& entry) {
  const auto most = max_run_of(entry);
  if (!most || now - entry.started < *most) return;
  const Slot slot = table_.slot_of(index);
  if (!entry.timed_out) {
    entry.timed_out = true;
    ++counters_.timed_out;
    if (!entry.stop_sent) {
      entry.stop_sent = true;
      entry.stop_reason = StopReason::max_run;
      to_stop_.push_back({slot, StopReason::max_run});
    }
    return;
  }
  if (now - entry.started < *most + config_.stop_grace) return;
  // It does not stop: the thread is given up, its slot replaced, and the entry runs again
  // elsewhere.
  to_abandon_.push_back(slot);
  ++hung_;
  last_freed_ = now;
  note(Severity::warning, "the run of " + base::to_string(entry.id) +
                              " ignores its stop after max_run and is given up");
  if (entry.lost) {
    free_entry(index);
  } else {
    settle_retry(entry, slot, std::nullopt, "ran longer than max_run and did not stop", "timeout");
  }
}

void Lane::poll_drain(MonoTime now, Actions& out) {
  if (take_.out && !wake_sent_) {
    wake_sent_ = true;
    out.wake = true;
  }
  const bool ask = !stopped_runs_ && now >= drain_from_ + config_.drain - config_.stop_grace;
  table_.each([&](std::uint32_t index, Entry& entry) {
    if (entry.state == Entry::State::waiting && !entry.blocked) return hand_back(index);
    if (entry.state != Entry::State::dispatched) return;
    const Slot slot = table_.slot_of(index);
    if (entry.started == base::never && entry.retract == Entry::Retract::no) {
      entry.retract = Entry::Retract::release;
      to_retract_.push_back(slot);
    }
    if (ask && !entry.stop_sent) {
      entry.stop_sent = true;
      entry.stop_reason = StopReason::drain;
      to_stop_.push_back({slot, StopReason::drain});
    }
  });
  stopped_runs_ = stopped_runs_ || ask;
  if (table_.size() == 0 && !take_.out && !claim_.out) {
    if (!forgot_self_ && opened_ && !fatal_ && !forget_.out) {
      forgot_self_ = true;
      forget_.begin(era_);
      out.forget = config_.lane.consumer;
      return;
    }
    if (!forget_.out) clean_ = drained_ = true;
  }
  if (!drained_ && now >= drain_from_ + config_.drain) {
    clean_ = table_.size() == 0;
    drained_ = true;
  }
  out.drained = drained_;
}

MonoTime Lane::next_poll(MonoTime now) const {
  if (drained_) return base::never;
  MonoTime next = base::never;
  const auto at = [&](MonoTime t) { next = std::min(next, t); };
  if (!fatal_ && (!opened_ || reopen_)) at(open_.next(now));
  if (!log_.empty() || fatal_failure_) at(now);
  if (opened_ && !draining_ && !fatal_) {
    // Without room neither goes: whatever makes room is an event, and polls.
    if (may_look()) {
      at(tick_.next(next_tick_));
      if (overdue_.empty()) at(peek_.next(peek_more_ ? now : next_sweep_));
    }
    if (candidates() && claim_.not_before > now) at(claim_.next(now));
    if (take_.not_before > now) at(take_.next(now));
  }
  if (opened_ && !acks_.empty()) at(ack_.next(now));
  if (opened_ && !outcomes_.empty()) at(settle_.next(now));
  if (table_.size() > 0) at(next_watch_);
  if (draining_) at(now + std::chrono::milliseconds(50));
  return std::max(next, now + std::chrono::milliseconds(1));
}

}  // namespace penstock::engine
