// How deliveries end: outcomes become settlements, settlements are gathered and sent.
#include <algorithm>
#include <utility>

#include "engine/lane.hpp"

namespace penstock::engine {

namespace {

constexpr std::size_t ack_flush_max = 4096;
constexpr std::size_t error_bytes_max = 8 * 1024;
constexpr MonoDuration delay_max = std::chrono::hours(24 * 3650);

std::string bounded(const std::string& text) {
  return text.size() <= error_bytes_max ? text : text.substr(0, error_bytes_max);
}

std::chrono::milliseconds to_ms(MonoDuration d) {
  return std::chrono::ceil<std::chrono::milliseconds>(
      std::clamp(d, MonoDuration::zero(), delay_max));
}

}  // namespace

bool Lane::proved(const Entry& entry, MonoTime now, std::uint64_t epoch) const {
  return !entry.lost && !entry.unsure && entry.epoch == epoch &&
         now - entry.lease_from < config_.fresh_age();
}

void Lane::on_finished(MonoTime now, std::vector<Finished> runs) {
  for (const Finished& run : runs) {
    Entry* entry = table_.at(run.slot);
    if (entry == nullptr || entry->state != Entry::State::dispatched) {
      // Only a run that was given up after max_run ends after its entry did.
      if (hung_ > 0) --hung_;
      continue;
    }
    finish(now, *entry, run.slot.index, run);
  }
}

void Lane::finish(MonoTime now, Entry& entry, std::uint32_t index, const Finished& run) {
  const Slot slot = run.slot;
  if (run.kind == Finished::Kind::not_started) {
    entry.state = Entry::State::waiting;
    if (entry.lost) {
      free_entry(index);
    } else if (draining_) {
      hand_back(index);
    } else {
      to_run_.push_back(slot);
    }
    return;
  }
  ++counters_.finished;
  last_freed_ = now;
  crowded_ = false;
  window_.ran(run.took);
  if (entry.lost) {
    ++counters_.stale_settles;
    free_entry(index);
    return;
  }
  const bool stopped = entry.stop_sent && entry.stop_reason != StopReason::max_run;
  switch (run.kind) {
    case Finished::Kind::ack:
      if (entry.batch->entries[entry.index].note < 0) {
        entry.state = Entry::State::settling;
        ++settling_;
        acks_.push_back(slot);
      } else {
        queue_outcome(entry, {slot, run.kind, {}});
      }
      return;
    case Finished::Kind::retry:
      // A handler that throws because it was asked to stop has not failed.
      if (stopped && run.threw) return hand_back(index);
      return settle_retry(entry, slot, run.after, run.why,
                          entry.timed_out ? "timeout" : "attempts");
    case Finished::Kind::not_yet:
      return settle_park(entry, slot, run.kind, run.after.value_or(config_.not_yet),
                         note_of(entry));
    case Finished::Kind::release:
      return hand_back(index);
    case Finished::Kind::dead:
      return settle_dead(entry, slot, "rejected", run.why);
    case Finished::Kind::not_started:
      return;
  }
}

void Lane::queue_outcome(Entry& entry, Outcome outcome) {
  if (entry.state != Entry::State::settling) ++settling_;
  entry.state = Entry::State::settling;
  outcome.item.receipt = {entry.id, entry.delivery};
  outcomes_.push_back(std::move(outcome));
}

void Lane::settle_retry(Entry& entry, Slot slot, std::optional<MonoDuration> after,
                        const std::string& why, const char* reason) {
  store::Note note = note_of(entry);
  note.attempts = std::min<std::int64_t>(note.attempts, 1'000'000'000) + 1;
  note.error = bounded(why);
  if (note.attempts >= config_.attempts) {
    Outcome outcome{slot, Finished::Kind::dead, {}};
    outcome.item.kind = store::Settlement::Kind::dead;
    outcome.item.reason = reason;
    outcome.item.note = std::move(note);
    return queue_outcome(entry, std::move(outcome));
  }
  const MonoDuration bound = base::exponential(config_.backoff_min, config_.backoff_max,
                                               config_.backoff_factor, note.attempts - 1);
  settle_park(entry, slot, Finished::Kind::retry,
              after ? *after : MonoDuration(base::full_jitter(bound, rng_)), std::move(note));
}

void Lane::settle_park(Entry& entry, Slot slot, Finished::Kind kind, MonoDuration delay,
                       store::Note note) {
  Outcome outcome{slot, kind, {}};
  outcome.item.kind = store::Settlement::Kind::park;
  outcome.item.delay = to_ms(delay);
  outcome.item.release = kind == Finished::Kind::release;
  note.base = entry.delivery;
  outcome.item.note = std::move(note);
  queue_outcome(entry, std::move(outcome));
}

void Lane::settle_dead(Entry& entry, Slot slot, const char* reason, const std::string& why) {
  Outcome outcome{slot, Finished::Kind::dead, {}};
  outcome.item.kind = store::Settlement::Kind::dead;
  outcome.item.reason = reason;
  outcome.item.note = note_of(entry);
  if (!why.empty()) outcome.item.note.error = bounded(why);
  queue_outcome(entry, std::move(outcome));
}

void Lane::hand_back(std::uint32_t index) {
  Entry& entry = table_[index];
  settle_park(entry, table_.slot_of(index), Finished::Kind::release, MonoDuration::zero(),
              note_of(entry));
}

void Lane::poll_settle(MonoTime now, std::uint64_t epoch, Actions& out) {
  if (!opened_) return;
  if (ack_.ready(now) && !acks_.empty()) {
    acks_out_.clear();
    while (!acks_.empty() && acks_out_.size() < ack_flush_max) {
      const Slot slot = acks_.front();
      acks_.pop_front();
      Entry* entry = table_.at(slot);
      if (entry == nullptr) continue;
      if (entry->lost) {
        ++counters_.stale_settles;
        free_entry(slot.index);
      } else if (proved(*entry, now, epoch)) {
        acks_out_.push_back(slot);
        out.ack.push_back(entry->id);
      } else {
        queue_outcome(*entry, {slot, Finished::Kind::ack, {}});
      }
    }
    if (!out.ack.empty()) ack_.begin(era_);
  }
  if (settle_.ready(now) && !outcomes_.empty()) {
    while (!outcomes_.empty() && outcomes_out_.size() < store::batch_max) {
      Outcome outcome = std::move(outcomes_.front());
      outcomes_.pop_front();
      Entry* entry = table_.at(outcome.slot);
      if (entry == nullptr) continue;
      if (entry->lost) {
        ++counters_.stale_settles;
        free_entry(outcome.slot.index);
        continue;
      }
      out.settle.push_back(outcome.item);
      outcomes_out_.push_back(std::move(outcome));
    }
    if (!out.settle.empty()) settle_.begin(era_);
  }
}

void Lane::on_acked(MonoTime now, const Result<store::AckReply>& reply) {
  const std::vector<Slot> sent = std::exchange(acks_out_, {});
  if (!reply) {
    for (const Slot slot : sent) {
      Entry* entry = table_.at(slot);
      if (entry == nullptr) continue;
      entry->unsure = true;
      queue_outcome(*entry, {slot, Finished::Kind::ack, {}});
    }
    failed(now, ack_, "acknowledging", reply.error());
    return;
  }
  ack_.succeeded();
  const auto acked = static_cast<std::uint64_t>(std::max<std::int64_t>(reply->acked, 0));
  const std::uint64_t zero = sent.size() > acked ? sent.size() - acked : 0;
  counters_.acked += sent.size() - zero;
  if (zero > 0) {
    if (counters_.ack_zero == 0) {
      note(Severity::warning,
           "some acknowledged entries were not pending any more: another hand "
           "acked them, or the group was made again");
    }
    counters_.ack_zero += zero;
  }
  for (const Slot slot : sent) {
    if (table_.at(slot) != nullptr) free_entry(slot.index);
  }
}

void Lane::on_settled(MonoTime now, const Result<std::vector<store::SettleStatus>>& reply) {
  std::vector<Outcome> sent = std::exchange(outcomes_out_, {});
  if (!reply || reply->size() != sent.size()) {
    for (auto at = sent.rbegin(); at != sent.rend(); ++at) {
      if (Entry* entry = table_.at(at->slot); entry != nullptr) entry->unsure = true;
      outcomes_.push_front(std::move(*at));
    }
    const base::Failure odd{errc::protocol_error,
                            "a settle was answered with another number of items"};
    failed(now, settle_, "settling", reply ? odd : reply.error());
    return;
  }
  bool refused = false;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if ((*reply)[i] == store::SettleStatus::refused) {
      refused = true;
      outcomes_.push_back(std::move(sent[i]));
    } else {
      settled_one(sent[i], (*reply)[i]);
    }
  }
  if (refused) {
    failed(now, settle_, "settling",
           {errc::storage_full,
            "the server refuses to store a retry or a dead letter; the entry "
            "keeps its lease until it can"});
  } else {
    settle_.succeeded();
  }
}

void Lane::settled_one(const Outcome& outcome, store::SettleStatus status) {
  Entry* entry = table_.at(outcome.slot);
  if (entry == nullptr) return;
  bool done = status == store::SettleStatus::done;
  if (status == store::SettleStatus::already) {
    // It was sent before and its answer was lost: then this is how that one ended.
    done = entry->unsure;
    if (!done) ++counters_.ack_zero;
  }
  // Parked by a settle of ours whose answer was lost: the new owner is penstock:parked, or whoever
  // took it from there. Only the first answer would have told; nothing is lost either way.
  if (status == store::SettleStatus::lease_lost) {
    ++counters_.stale_settles;
    if (!entry->lost) ++counters_.lease_lost;
    if (!entry->unsure) {
      note(Severity::warning,
           "the lease of " + base::to_string(entry->id) +
               " was lost before its outcome could be stored; another delivery counts");
    }
  }
  if (done) {
    switch (outcome.kind) {
      case Finished::Kind::ack:
        ++counters_.acked;
        break;
      case Finished::Kind::retry:
        ++counters_.retried;
        break;
      case Finished::Kind::not_yet:
        ++counters_.not_yet;
        break;
      case Finished::Kind::release:
        ++counters_.released;
        break;
      case Finished::Kind::dead:
        ++counters_.dead;
        break;
      case Finished::Kind::not_started:
        break;
    }
  }
  free_entry(outcome.slot.index);
}

}  // namespace penstock::engine
