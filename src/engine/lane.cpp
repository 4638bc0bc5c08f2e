#include "engine/lane.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace penstock::engine {

namespace {

constexpr MonoDuration early_answer = std::chrono::milliseconds(5);

}  // namespace

Lane::Lane(LaneConfig config, MonoTime now)
    : config_(std::move(config)),
      rng_(config_.seed),
      window_(config_),
      last_freed_(now),
      next_watch_(now),
      next_tick_(now),
      next_sweep_(now),
      next_enlist_(now) {}

void Lane::note(Severity severity, std::string text) {
  log_.push_back(
      {severity, config_.lane.stream + "/" + config_.lane.group + ": " + std::move(text)});
}

/// One place for every failed store call. True: it was dealt with here (the group is lost).
bool Lane::failed(MonoTime now, Op& op, const char* what, const base::Failure& failure) {
  ++counters_.store_failures;
  const std::uint32_t before = op.failures;
  op.failed(now, rng_);
  if (penstock::fatal(failure.code)) {
    if (!fatal_)
      fatal_failure_ = base::Failure{failure.code, std::string(what) + ": " + failure.text};
    fatal_ = true;
    return false;
  }
  // An answer from before the group was made again says nothing of the one that is there now.
  if (failure.code == errc::group_lost && op.era == era_) {
    group_lost(failure.text);
    return true;
  }
  // One line when it begins, then one for each time the count doubles: bounded, never silent.
  if ((before & (before + 1)) == 0 && failure.code != errc::closed) {
    note(Severity::warning, std::string(what) + " failed (" + std::to_string(before + 1) +
                                " in a row), it is tried again: " + failure.text);
  }
  return false;
}

void Lane::group_lost(const std::string& why) {
  if (heal_) return;
  heal_ = true;
  opened_ = false;
  note(Severity::warning, "the group or its stream is gone, it is made again: " + why);
  due_.clear();
  overdue_.clear();
  // The group took the leases with it: nothing that was held can be settled any more.
  table_.each([&](std::uint32_t index, Entry&) { lose(index, true); });
}

void Lane::on_opened(MonoTime now, const Result<store::Opened>& reply) {
  if (!reply) {
    failed(now, open_, "opening the group", reply.error());
    return;
  }
  open_.succeeded();
  const store::Opened& opened = *reply;
  const bool first = !opened_;
  if (heal_ && opened.group_made) ++counters_.groups_recreated;
  if (heal_)
    note(Severity::info, opened.group_made ? "the group is made again" : "the group is back");
  if (!opened_) ++era_;
  opened_ = true;
  reopen_ = false;
  heal_ = false;
  // A read that failed for the lost group goes again at once.
  take_.not_before = tick_.not_before = now;
  if (first && opened.group_made && opened.waiting > 0) {
    note(Severity::info, "a new group finds " + std::to_string(opened.waiting) +
                             " old entries and will handle them");
  }
  if (opened.retention_decided_now && opened.retention == store::Retention::keep &&
      !config_.retention) {
    note(Severity::info,
         "the stream was there before: handled entries stay in it (retention keep); "
         "--retention delete_on_ack or trim_settled would remove them");
  }
  if (opened.retention != retention_ && retention_ == store::Retention::delete_on_ack && !first) {
    note(Severity::warning,
         "a second group appeared: entries are trimmed once every group has "
         "settled them, not deleted on ack");
  }
  retention_ = opened.retention;
  group_epoch_ = opened.epoch;
}

store::Note Lane::note_of(const Entry& entry) const {
  const store::Taken& taken = entry.batch->entries[entry.index];
  if (taken.note < 0) return {};
  return entry.batch->notes[static_cast<std::size_t>(taken.note)];
}

void Lane::on_taken(MonoTime now, MonoTime asked, std::uint64_t epoch,
                    const Result<store::BatchPtr>& r) {
  const std::size_t wanted = take_reserved_;
  const bool early = take_waits_ && !wake_sent_ && now - asked < early_answer;
  take_reserved_ = 0;
  take_waits_ = wake_sent_ = false;
  if (!r) {
    new_may_wait_ = false;
    failed(now, take_, "reading", r.error());
    return;
  }
  if (take_.failures > 0) note(Severity::info, "reading works again");
  take_.succeeded();
  const std::size_t got = *r == nullptr ? 0 : (*r)->entries.size();
  new_may_wait_ = got > 0 && got >= wanted;
  claimed_last_ = false;
  early_ = early && got == 0 ? std::min(early_ + 1, 16u) : 0;
  // A read that should have waited and came back with nothing must not become a loop.
  if (early_ > 0) {
    take_.not_before = now + base::exponential(Op::first / 10, Op::cap, 2.0, early_);
  }
  if (got > 0) admit(now, asked, epoch, *r, nullptr);
}

void Lane::admit(MonoTime now, MonoTime asked, std::uint64_t epoch, const store::BatchPtr& batch,
                 const std::map<store::EntryId, std::int64_t>* foreign_base) {
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < batch->entries.size(); ++i) {
    const store::Taken& taken = batch->entries[i];
    std::int64_t base = 0;
    if (taken.note >= 0) base = batch->notes[static_cast<std::size_t>(taken.note)].base;
    if (foreign_base != nullptr) {
      if (const auto at = foreign_base->find(taken.id); at != foreign_base->end())
        base = at->second;
    }
    bytes += taken.bytes;
    admit_one(now, asked, epoch, batch, i, base);
  }
  window_.arrived(batch->entries.size(), bytes);
  counters_.taken += batch->entries.size();
}

void Lane::admit_one(MonoTime now, MonoTime asked, std::uint64_t epoch,
                     const store::BatchPtr& batch, std::uint32_t i, std::int64_t base) {
  const store::Taken& taken = batch->entries[i];
  std::uint32_t older = table_.index_of(taken.id);
  if (older != no_slot && !table_[older].lost && table_[older].delivery >= taken.delivery) {
    return;  // an answer that was overtaken: what is held is this delivery or a newer one
  }
  // A newer delivery is here, so the older one is lost. What does not run goes at once; what runs
  // stays, and the newer waits for its end.
  if (older != no_slot) {
    lose(older, true);
    older = table_.index_of(taken.id);
  }
  std::uint32_t index = no_slot;
  Entry& entry = table_.insert(taken.id, &index);
  entry.delivery = taken.delivery;
  entry.base = base;
  entry.batch = batch;
  entry.index = i;
  entry.bytes = taken.bytes;
  entry.epoch = epoch;
  entry.lease_from = asked;
  entry.admitted = now;
  table_.add_bytes(taken.bytes);
  if (taken.origin == store::Origin::due) ++counters_.claimed_due;
  if (taken.origin == store::Origin::lapsed) ++counters_.claimed_lapsed;
  if (older != no_slot) {
    entry.blocked = true;
    entry.predecessor = table_.slot_of(older);
    table_[older].successor = table_.slot_of(index);
    return;
  }
  offer(index);
}

/// An entry that may run: its turn at a handler, or the dead letters if it lapsed too often.
void Lane::offer(std::uint32_t index) {
  Entry& entry = table_[index];
  entry.blocked = false;
  const std::int64_t lapses = entry.delivery - entry.base - 1;
  if (lapses > config_.max_lapses) {
    settle_dead(entry, table_.slot_of(index), "lapses",
                "handed over " + std::to_string(lapses) + " times without any settle");
    return;
  }
  to_run_.push_back(table_.slot_of(index));
}

/// The lease is gone. What runs is asked to stop and keeps its slot; the rest leaves.
void Lane::lose(std::uint32_t index, bool count) {
  Entry& entry = table_[index];
  if (entry.lost) return;
  entry.lost = true;
  if (count) ++counters_.lease_lost;
  switch (entry.state) {
    case Entry::State::waiting:
      free_entry(index);
      return;
    case Entry::State::dispatched:
      entry.retract = Entry::Retract::drop;
      to_retract_.push_back(table_.slot_of(index));
      return;
    case Entry::State::settling:  // the answer of the settle frees it
    case Entry::State::free:
      return;
  }
}

void Lane::free_entry(std::uint32_t index) {
  Entry& entry = table_[index];
  if (entry.state == Entry::State::settling) {
    PENSTOCK_ASSERT(settling_ > 0);
    --settling_;
  }
  const Slot successor = entry.successor;
  table_.erase(index);
  if (const Entry* next = table_.at(successor); next != nullptr && next->blocked) {
    offer(successor.index);
  }
}

void Lane::on_retracted(MonoTime now, const std::vector<Slot>& asked,
                        const std::vector<Slot>& got) {
  for (const Slot slot : got) {
    Entry* entry = table_.at(slot);
    if (entry == nullptr) continue;
    entry->state = Entry::State::waiting;
    if (entry->retract == Entry::Retract::release && !entry->lost) {
      hand_back(slot.index);
    } else {
      free_entry(slot.index);
    }
  }
  for (const Slot slot : asked) {
    Entry* entry = table_.at(slot);
    if (entry == nullptr || entry->state != Entry::State::dispatched) continue;
    // It runs. A lost one is told so; one that should only be handed back goes on.
    entry->retract = Entry::Retract::no;
    entry->started = std::min(entry->started, now);
    if (entry->lost && !entry->stop_sent) {
      entry->stop_sent = true;
      entry->stop_reason = StopReason::lease_lost;
      to_stop_.push_back({slot, StopReason::lease_lost});
    }
  }
}

void Lane::on_started(const std::vector<Started>& runs) {
  for (const Started& run : runs) {
    if (Entry* entry = table_.at(run.slot); entry != nullptr) entry->started = run.at;
  }
}

void Lane::on_no_spare(MonoTime now) {
  if (unhealthy_) return;
  unhealthy_ = true;
  note(Severity::error, "all handler threads and their spares hang: the rest is handed back");
  if (config_.stop_when_hung) begin_drain(now);
}

void Lane::begin_drain(MonoTime now) {
  if (draining_) return;
  draining_ = true;
  drain_from_ = now;
  due_.clear();
  overdue_.clear();
}

}  // namespace penstock::engine
