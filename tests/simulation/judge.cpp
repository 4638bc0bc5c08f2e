// What may not happen: each judgement names the promise of the design that it stands for.
#include <algorithm>

#include "simulation/checker.hpp"

namespace penstock::simulation {

using Kind = engine::Finished::Kind;

namespace {

bool same(const std::optional<store::PendingRow>& a, const std::optional<store::PendingRow>& b) {
  if (!a || !b) return !a && !b;
  return a->owner == b->owner && a->delivery == b->delivery && a->note == b->note &&
         a->due == b->due;
}

std::string row_text(const std::optional<store::PendingRow>& row) {
  if (!row) return "not pending";
  return "with " + row->owner + ", delivery " + std::to_string(row->delivery);
}

/// A failed run counts, unless it failed because it was asked to stop for our sake.
bool counts(const RunRecord* run) {
  if (run == nullptr) return false;
  if (run->given_up) return true;
  if (!run->ended || run->killed || run->kind != Kind::retry) return false;
  // The engine cannot tell a stop that came just too late from one that was heard.
  const bool asked = run->stop_at || run->late_stop;
  return !(run->threw && asked && run->stop_reason != engine::StopReason::max_run);
}

}  // namespace

void Checker::judge_acks(const store::Lane& lane, const std::vector<EntryId>& ids,
                         const Rows& before) {
  Group& in = group(lane);
  const Rows after = rows_of(lane, ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Entry& entry = in.entries[ids[i]];
    trace_.add(loop_.now(), lane.consumer, "acked", ids[i], before[i] ? before[i]->delivery : -1);
    const RunRecord* run = nullptr;
    for (const RunPtr& r : entry.runs) {
      if (r->worker->consumer == lane.consumer && r->ended && r->kind == Kind::ack) run = r.get();
    }
    if (run == nullptr)
      return fail("G1: acked without a run that ended well: " + text(lane, ids[i]));
    // An ack that came late, after its repetition: it changes nothing.
    const bool late = !before[i] && entry.end != Entry::End::none;
    const bool excused = late || in.disturbed_since(entry, run->handed);
    if (!excused &&
        (!before[i] || before[i]->owner != lane.consumer || before[i]->delivery != run->delivery)) {
      return fail("G3: plain ack of delivery " + std::to_string(run->delivery) + " of " +
                  text(lane, ids[i]) + ", which is " + row_text(before[i]));
    }
    if (!excused && before[i]->note != store::Note{} && in.disturbed.empty()) {
      return fail("a plain ack leaves a note behind: " + text(lane, ids[i]));
    }
    if (after[i]) return fail("an ack left its entry pending: " + text(lane, ids[i]));
    // With its group away an ack that deletes still ends it: it was handled.
    const bool deleted = plan_.lane.retention == store::Retention::delete_on_ack;
    if (before[i] || deleted) end(entry, Entry::End::acked);
    // Under a foreign hand: whoever had it from that hand loses it now.
    if (before[i] && before[i]->owner != lane.consumer) entry.again = loop_.now();
  }
}

void Checker::judge_settles(const store::Lane& lane, const std::vector<store::Settlement>& items,
                            const Rows& before) {
  Group& in = group(lane);
  const Rows after = rows_of(lane, ids_of(items));
  for (std::size_t i = 0; i < items.size() && !failed(); ++i) {
    const store::Settlement& item = items[i];
    const EntryId id = item.receipt.id;
    Entry& entry = in.entries[id];
    const bool held = before[i] && before[i]->owner == lane.consumer &&
                      before[i]->delivery == item.receipt.delivery;
    trace_.add(loop_.now(), lane.consumer, held ? "settled" : "settle_stale", id,
               item.receipt.delivery,
               item.kind == store::Settlement::Kind::ack    ? "ack"
               : item.kind == store::Settlement::Kind::dead ? item.reason
               : item.release                               ? "release"
                                                            : "park");
    if (!held) {
      if (!same(before[i], after[i])) {
        fail("G3: a settle without a lease changed " + text(lane, id) + ": " + row_text(before[i]) +
             " became " + row_text(after[i]));
      }
      continue;
    }
    if (full_ && item.kind != store::Settlement::Kind::ack && same(before[i], after[i])) continue;
    const RunRecord* run = run_of(entry, lane.consumer, item.receipt.delivery);
    switch (item.kind) {
      case store::Settlement::Kind::ack:
        if (run == nullptr || !run->ended || run->kind != Kind::ack) {
          fail("G1: settled as done without a run that ended well: " + text(lane, id));
        }
        if (after[i]) fail("a settle left its entry pending: " + text(lane, id));
        end(entry, Entry::End::acked);
        break;
      case store::Settlement::Kind::dead:
        judge_dead(lane, in, entry, item, *before[i]);
        if (after[i]) fail("a dead letter left its entry pending: " + text(lane, id));
        ++in.dead;
        end(entry, Entry::End::dead);
        break;
      case store::Settlement::Kind::park:
        judge_park(lane, in, entry, item, *before[i]);
        if (!after[i] || after[i]->owner != store::parked_consumer || !after[i]->due) {
          if (in.disturbed.empty()) fail("a parked entry is " + row_text(after[i]));
        }
        break;
    }
  }
}

void Checker::judge_attempts(const store::Lane& lane, const Group& in, const Entry& entry,
                             const store::Settlement& item, const store::PendingRow& before) {
  // A group made anew hands over without the notes of the old one.
  if (!in.disturbed.empty()) return;
  const RunRecord* run = run_of(entry, lane.consumer, item.receipt.delivery);
  const std::int64_t expected = before.note.attempts + (counts(run) ? 1 : 0);
  if (item.note.attempts != expected) {
    fail("attempts of " + text(lane, item.receipt.id) + ": " + std::to_string(item.note.attempts) +
         " are written, " + std::to_string(expected) + " were made");
  }
}

void Checker::judge_park(const store::Lane& lane, const Group& in, const Entry& entry,
                         const store::Settlement& item, const store::PendingRow& before) {
  judge_attempts(lane, in, entry, item, before);
  if (item.note.base != item.receipt.delivery) {
    fail("the base of lapses of " + text(lane, item.receipt.id) + " is not its delivery number");
  }
  const RunRecord* run = run_of(entry, lane.consumer, item.receipt.delivery);
  // A group made anew gives out the same receipts again: a late settle may hit the wrong one.
  if (!in.disturbed.empty()) return;
  if (run != nullptr && !run->ended && !run->given_up) {
    fail("G2: parked while its handler runs: " + text(lane, item.receipt.id));
  }
}

void Checker::judge_dead(const store::Lane& lane, const Group& in, const Entry& entry,
                         const store::Settlement& item, const store::PendingRow& before) {
  if (item.reason == "lapses") {
    if (before.delivery - before.note.base - 1 <= plan_.lane.max_lapses) {
      fail("buried for lapses that it has not: " + text(lane, item.receipt.id));
    }
    return;
  }
  judge_attempts(lane, in, entry, item, before);
  const RunRecord* run = run_of(entry, lane.consumer, item.receipt.delivery);
  if (item.reason == "rejected") {
    if (run == nullptr || run->kind != Kind::dead) {
      fail("buried, and its handler did not say so: " + text(lane, item.receipt.id));
    }
  } else if (item.note.attempts != plan_.lane.attempts) {
    fail("buried after " + std::to_string(item.note.attempts) +
         " attempts: " + text(lane, item.receipt.id));
  }
}

RunPtr Checker::started(const store::Lane& lane, const Condition& worker, EntryId id,
                        std::int64_t delivery) {
  Group& in = group(lane);
  Entry& entry = in.entries[id];
  auto run = std::make_shared<RunRecord>();
  run->worker = &worker;
  run->delivery = delivery;
  run->started = loop_.now();
  run->handed = loop_.now();
  for (const Handed& h : entry.handed) {
    if (h.consumer == lane.consumer && h.delivery == delivery) run->handed = h.at;
  }
  trace_.add(loop_.now(), lane.consumer, "starts", id, delivery, lane.group);
  // No run begins on a lease that the server may have given to somebody else: no excuse but a
  // foreign hand.
  if (!in.disturbed_since(entry, run->handed)) {
    const Row row = rows_of(lane, {id}).front();
    if (!row || row->owner != lane.consumer || row->delivery != delivery) {
      fail("G2: delivery " + std::to_string(delivery) + " of " + text(lane, id) +
           " is run, and it is " + row_text(row));
    }
  }
  judge_overlap(lane, in, entry, *run, id);
  entry.runs.push_back(run);
  return run;
}

void Checker::judge_overlap(const store::Lane& lane, const Group& in, const Entry& entry,
                            const RunRecord& newer, EntryId id) {
  constexpr auto just_now = std::chrono::milliseconds(50);
  for (const RunPtr& older : entry.runs) {
    if (older->ended) continue;
    const bool own = older->worker == newer.worker;
    // One process never runs an entry twice at once, whoever takes its lease away.
    if (own && !older->given_up) {
      return fail("G2: a second run in the same worker of " + text(lane, id));
    }
    const Process& process = *older->worker->process;
    const bool stood = process.paused() || loop_.now() - process.last_paused() < just_now;
    if (older->given_up || older->stop_at || stood) continue;
    if (in.disturbed_since(entry, std::min(older->handed, newer.handed))) continue;
    return fail("G2: " + text(lane, id) + " is run while " + older->worker->consumer +
                " runs it and was not asked to stop");
  }
}

void Checker::asked_to_stop(const store::Lane& lane, EntryId id, RunRecord& run,
                            engine::StopReason reason) {
  if (run.stop_at) return;
  run.stop_at = loop_.now();
  run.stop_reason = reason;
  trace_.add(loop_.now(), lane.consumer, "stop", id, static_cast<std::int64_t>(reason));
  if (reason != engine::StopReason::lease_lost) return;
  // Back-off after the trouble may take its time, too.
  const MonoDuration memory = plan_.lane.lease + std::chrono::seconds(3);
  const Condition& worker = *run.worker;
  Group& in = group(lane);
  const auto recent = [&](MonoTime t) { return loop_.now() - t < memory; };
  const bool cause = worker.cut_off || recent(worker.trouble) ||
                     recent(worker.process->last_paused()) ||
                     in.disturbed_since(in.entries[id], run.handed);
  if (!cause) fail("G2: a lease is lost with nothing wrong: " + text(lane, id));
}

void Checker::holds(const store::Lane& lane, std::size_t held) {
  const std::size_t most = plan_.lane.prefetch == engine::PrefetchKind::count
                               ? plan_.lane.prefetch_entries
                               : engine::prefetch_max;
  if (held > most) {
    fail("G5: " + lane.consumer + " holds " + std::to_string(held) + " of " + lane.stream + "/" +
         lane.group + ", its prefetch is " + std::to_string(most));
  }
}

}  // namespace penstock::simulation
