// Leases: who looks abandoned, taking over, renewing.

#include <algorithm>

#include "store/keys.hpp"
#include "store/memory/memory_server.hpp"

namespace penstock::store::memory {

namespace {

constexpr std::size_t worker_rows_max = 1024;
/// Pending rows that one peek looks at for each candidate wanted: bounds the time of a call.
constexpr std::size_t scan_factor = 16;

constexpr std::size_t gone_max = 64;

/// `<name>.<8 hex of the instance>`
bool looks_like_ours(const std::string& consumer) {
  if (consumer.size() < 9 || consumer[consumer.size() - 9] != '.') return false;
  return std::all_of(consumer.end() - 8, consumer.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

std::int64_t idle_of(const PelRow& row, ServerMs now) {
  return std::max<std::int64_t>(now - row.delivered_at, 0);
}

// A cursor names the last row that was looked at: "<id> <consumer>".
std::string cursor_at(const std::string& consumer, EntryId id) {
  std::string out = base::to_string(id);
  return out.append(" ").append(consumer);
}
bool parse_cursor(const std::string& cursor, std::string& consumer, EntryId& id) {
  if (cursor.empty()) return true;
  const auto space = cursor.find(' ');
  const auto parsed = base::parse_entry_id(std::string_view(cursor).substr(0, space));
  if (space == std::string::npos || !parsed) return false;
  consumer = cursor.substr(space + 1);
  id = *parsed;
  return true;
}

}  // namespace

std::vector<std::string> MemoryServer::gone_consumers(const Lane& lane, const Group& group,
                                                      std::int64_t default_lease_ms) {
  const Workers& rows = workers_[Keys(lane.stream, lane.group).workers];
  std::vector<std::string> out;
  const auto holds_nothing = [&group](const std::string& name) {
    const auto found = group.consumers.find(name);
    return found == group.consumers.end() || found->second.held.empty();
  };
  for (const auto& [name, row] : rows) {
    if (name == lane.consumer || out.size() >= gone_max || !holds_nothing(name)) continue;
    if (clock_() - row.renewed_at > 2 * row.lease_ms) out.push_back(name);
  }
  for (const auto& [name, consumer] : group.consumers) {
    if (name == lane.consumer || out.size() >= gone_max || !consumer.held.empty()) continue;
    // One that has just begun to read may not have registered yet.
    const bool silent = clock_() - consumer.seen_at > 2 * default_lease_ms;
    if (silent && looks_like_ours(name) && !rows.contains(name)) out.push_back(name);
  }
  return out;
}

Result<PeekReply> MemoryServer::peek(const Lane& lane, const PeekRequest& request) {
  const Lock lock(mutex_);
  const Keys keys(lane.stream, lane.group);
  const auto place = find(lane.stream, lane.group);
  if (!place) return place.error();
  std::string from;
  EntryId after;
  if (!parse_cursor(request.cursor, from, after)) {
    return Failure{errc::bad_option, "no cursor of a peek"};
  }
  PeekReply reply;
  reply.now = clock_();
  const Workers& rows = workers_[keys.workers];
  for (const auto& [name, row] : rows) {
    if (reply.workers.size() >= worker_rows_max) break;
    reply.workers.push_back(row);
  }
  reply.gone = gone_consumers(lane, *place->group, request.default_lease_ms);

  const std::size_t wanted = std::clamp<std::size_t>(request.max, 1, batch_max);
  std::size_t budget = wanted * scan_factor;
  const auto& consumers = place->group->consumers;
  for (auto owner = consumers.lower_bound(from); owner != consumers.end(); ++owner) {
    if (owner->first == parked_consumer) continue;
    const auto row = rows.find(owner->first);
    std::int64_t limit = request.foreign_idle_ms;
    if (row != rows.end()) {
      limit = row->second.lease_ms;
    } else if (looks_like_ours(owner->first)) {
      limit = request.default_lease_ms;
    }
    const auto& held = owner->second.held;
    auto id = owner->first == from ? held.upper_bound(after) : held.begin();
    for (; id != held.end(); ++id) {
      const PelRow& pending = place->group->pel.at(*id);
      const std::int64_t idle = idle_of(pending, reply.now);
      if (idle >= limit) reply.overdue.push_back({*id, owner->first, idle, pending.delivery});
      if (--budget == 0 || reply.overdue.size() == wanted) {
        reply.cursor = cursor_at(owner->first, *id);
        return reply;
      }
    }
  }
  keep_checkpoint(lane, *place);
  return reply;
}

ClaimStatus MemoryServer::claim_one(const Lane& lane, const Place& place, const ClaimItem& item,
                                    Batch& batch) {
  const PelRow* row = pending_row(*place.group, item.id);
  if (row == nullptr) {
    drop_side_rows(lane, item.id);
    return ClaimStatus::not_pending;
  }
  const Keys keys(lane.stream, lane.group);
  const auto due = due_.find(keys.due);
  const bool parked = row->owner == parked_consumer;
  if (!parked && due != due_.end()) due->second.erase(item.id);
  const auto due_at = due == due_.end() ? std::nullopt : due->second.at(item.id);
  if (row->owner != item.owner || (item.delivery >= 0 && row->delivery != item.delivery) ||
      idle_of(*row, clock_()) < item.min_idle_ms || (due_at && *due_at > clock_())) {
    return ClaimStatus::owner_changed;
  }
  const auto body = place.stream->entries.find(item.id);
  if (body == place.stream->entries.end()) {
    remove_pending(*place.group, item.id);
    drop_side_rows(lane, item.id);
    return ClaimStatus::vanished;
  }
  hand_to(*place.group, item.id, lane.consumer, 0);
  const std::int64_t delivery = ++place.group->pel[item.id].delivery;
  if (due != due_.end()) due->second.erase(item.id);
  const Notes& notes = notes_[keys.note];
  const auto note = notes.find(item.id);
  add_to(batch, item.id, delivery, parked ? Origin::due : Origin::lapsed, body->second,
         note == notes.end() ? nullptr : &note->second);
  return ClaimStatus::claimed;
}

Result<ClaimReply> MemoryServer::claim(const Lane& lane, const std::vector<ClaimItem>& items) {
  const Lock lock(mutex_);
  const auto place = find(lane.stream, lane.group);
  if (!place) return place.error();
  ClaimReply reply;
  auto batch = std::make_shared<Batch>();
  for (const ClaimItem& item : items) {
    reply.status.push_back(claim_one(lane, *place, item, *batch));
  }
  reply.batch = std::move(batch);
  return reply;
}

Result<std::vector<RenewStatus>> MemoryServer::renew(const Lane& lane,
                                                     const std::vector<Receipt>& receipts) {
  const Lock lock(mutex_);
  const auto place = find(lane.stream, lane.group);
  if (!place) return place.error();
  std::vector<RenewStatus> out;
  for (const Receipt& receipt : receipts) {
    const PelRow* row = pending_row(*place->group, receipt.id);
    if (row == nullptr) {
      out.push_back(RenewStatus::not_pending);
    } else if (row->owner != lane.consumer || row->delivery != receipt.delivery) {
      out.push_back(RenewStatus::other_owner);
    } else if (!place->stream->entries.contains(receipt.id)) {
      remove_pending(*place->group, receipt.id);
      out.push_back(RenewStatus::no_body);
    } else {
      hand_to(*place->group, receipt.id, lane.consumer, 0);
      out.push_back(RenewStatus::renewed);
    }
  }
  return out;
}

}  // namespace penstock::store::memory
