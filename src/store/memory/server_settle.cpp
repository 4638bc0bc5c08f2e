// Ends of leases: acks, parking, dead letters.

#include <algorithm>

#include "store/keys.hpp"
#include "store/memory/memory_server.hpp"

namespace penstock::store::memory {

namespace {

ServerMs first_failure(const Note& note, ServerMs now) {
  return note.first_failed == 0 && note.attempts > 0 ? now : note.first_failed;
}

/// Above these one XADD from a script cannot carry it: the letter points to the entry.
constexpr std::size_t letter_pairs_max = 3900;
constexpr std::size_t letter_bytes_max = 64UL * 1024 * 1024;

bool too_large(const Fields& fields) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : fields) bytes += name.size() + value.size();
  return fields.size() > letter_pairs_max || bytes > letter_bytes_max;
}

Fields dead_letter(const Lane& lane, const Settlement& item, const Fields& own, ServerMs now) {
  Fields out;
  std::string redrives = "0";
  for (const auto& [name, value] : own) {
    if (name == "penstock-redrives") redrives = value;
  }
  if (!too_large(own)) out = own;
  out.emplace_back("penstock-group", lane.group);
  out.emplace_back("penstock-reason", item.reason);
  out.emplace_back("penstock-error", item.note.error);
  out.emplace_back("penstock-worker", lane.consumer);
  out.emplace_back("penstock-attempt", std::to_string(item.note.attempts));
  out.emplace_back("penstock-deliveries", std::to_string(item.receipt.delivery));
  out.emplace_back("penstock-first-failed", std::to_string(first_failure(item.note, now)));
  out.emplace_back("penstock-died", std::to_string(now));
  out.emplace_back("penstock-redrives", std::move(redrives));
  out.emplace_back("penstock-original-id", base::to_string(item.receipt.id));
  return out;
}

}  // namespace

Result<AckReply> MemoryServer::ack(const Lane& lane, const std::vector<EntryId>& ids,
                                   Retention retention) {
  const Lock lock(mutex_);
  if (spoiled(lane.stream)) return Failure{errc::wrong_type, "'" + lane.stream + "' is no stream"};
  AckReply reply;
  // XACK and XDEL of what is not there are no errors, nor is a missing group.
  const auto place = find(lane.stream, lane.group);
  const auto held = streams_.find(lane.stream);
  for (const EntryId id : ids) {
    if (place && pending_row(*place->group, id) != nullptr) {
      remove_pending(*place->group, id);
      ++reply.acked;
    }
    if (retention == Retention::delete_on_ack && held != streams_.end()) {
      held->second.entries.erase(id);
    }
  }
  return reply;
}

SettleStatus MemoryServer::park(const Lane& lane, const Place& place, const Settlement& item) {
  const Keys keys(lane.stream, lane.group);
  if (full_ || spoiled(keys.due) || spoiled(keys.note)) return SettleStatus::refused;
  const EntryId id = item.receipt.id;
  if (!place.stream->entries.contains(id)) {
    // XCLAIM drops a row without a body, so there is nothing left to wait.
    remove_pending(*place.group, id);
    drop_side_rows(lane, id);
    return SettleStatus::already;
  }
  Note note = item.note;
  note.first_failed = first_failure(note, clock_());
  if (note == Note{}) {
    notes_[keys.note].erase(id);
  } else {
    notes_[keys.note][id] = std::move(note);
  }
  due_[keys.due].set(id, clock_() + item.delay.count());
  hand_to(*place.group, id, std::string(parked_consumer), item.release ? released_idle_ms : 0);
  return SettleStatus::done;
}

SettleStatus MemoryServer::bury(const Lane& lane, const Place& place, const Settlement& item) {
  const Keys keys(lane.stream, lane.group);
  if (full_ || spoiled(keys.dead)) return SettleStatus::refused;
  const auto body = place.stream->entries.find(item.receipt.id);
  const Fields own = body == place.stream->entries.end() ? Fields{} : body->second;
  add_entry(keys.dead, dead_letter(lane, item, own, clock_()));
  serve_waiters(keys.dead);
  return SettleStatus::done;
}

SettleStatus MemoryServer::settle_one(const Lane& lane, const Place& place, const Settlement& item,
                                      Retention retention) {
  const EntryId id = item.receipt.id;
  const PelRow* row = pending_row(*place.group, id);
  if (row == nullptr) return SettleStatus::already;
  if (row->owner != lane.consumer || row->delivery != item.receipt.delivery) {
    return SettleStatus::lease_lost;
  }
  if (item.kind == Settlement::Kind::park) return park(lane, place, item);
  bool keep_body = retention != Retention::delete_on_ack;
  if (item.kind == Settlement::Kind::dead) {
    const auto body = place.stream->entries.find(id);
    keep_body = keep_body || (body != place.stream->entries.end() && too_large(body->second));
    const SettleStatus buried = bury(lane, place, item);
    if (buried != SettleStatus::done) return buried;
  }
  remove_pending(*place.group, id);
  drop_side_rows(lane, id);
  if (!keep_body) place.stream->entries.erase(id);
  return SettleStatus::done;
}

Result<std::vector<SettleStatus>> MemoryServer::settle(const Lane& lane,
                                                       const std::vector<Settlement>& items,
                                                       Retention retention) {
  const Lock lock(mutex_);
  const auto place = find(lane.stream, lane.group);
  if (!place) return place.error();
  std::vector<SettleStatus> out;
  for (const Settlement& item : items) out.push_back(settle_one(lane, *place, item, retention));
  return out;
}

}  // namespace penstock::store::memory
