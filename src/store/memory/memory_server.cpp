#include "store/memory/memory_server.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "store/keys.hpp"

namespace penstock::store::memory {

void add_to(Batch& batch, EntryId id, std::int64_t delivery, Origin origin, const Fields& fields,
            const Note* note) {
  Taken taken;
  taken.id = id;
  taken.delivery = delivery;
  taken.origin = origin;
  taken.field_begin = static_cast<std::uint32_t>(batch.spans.size());
  taken.field_count = static_cast<std::uint32_t>(fields.size());
  const std::size_t before = batch.arena.size();
  const auto put = [&batch](const std::string& text) {
    batch.spans.push_back(
        {static_cast<std::uint32_t>(batch.arena.size()), static_cast<std::uint32_t>(text.size())});
    batch.arena.append(text);
  };
  for (const auto& [name, value] : fields) {
    put(name);
    put(value);
  }
  taken.bytes = static_cast<std::uint32_t>(batch.arena.size() - before);
  if (note != nullptr) {
    taken.note = static_cast<std::int32_t>(batch.notes.size());
    batch.notes.push_back(*note);
  }
  batch.entries.push_back(taken);
}

Result<MemoryServer::Place> MemoryServer::find(const std::string& stream,
                                               const std::string& group) {
  if (spoiled(stream)) return Failure{errc::wrong_type, "'" + stream + "' is no stream"};
  const auto held = streams_.find(stream);
  if (held != streams_.end()) {
    const auto found = held->second.groups.find(group);
    if (found != held->second.groups.end()) return Place{&held->second, &found->second};
  }
  return Failure{errc::group_lost, "no stream '" + stream + "' or no group '" + group + "' on it"};
}

PelRow* MemoryServer::pending_row(Group& group, EntryId id) {
  const auto found = group.pel.find(id);
  return found == group.pel.end() ? nullptr : &found->second;
}

void MemoryServer::remove_pending(Group& group, EntryId id) {
  const auto found = group.pel.find(id);
  if (found == group.pel.end()) return;
  const auto owner = group.consumers.find(found->second.owner);
  PENSTOCK_ASSERT(owner != group.consumers.end());
  owner->second.held.erase(id);
  group.pel.erase(found);
}

void MemoryServer::hand_to(Group& group, EntryId id, const std::string& consumer,
                           std::int64_t idle_ms) {
  PelRow& row = group.pel[id];
  const auto before = group.consumers.find(row.owner);
  if (before != group.consumers.end()) before->second.held.erase(id);
  Consumer& owner = group.consumers[consumer];
  owner.held.insert(id);
  owner.seen_at = clock_();
  row.owner = consumer;
  row.delivered_at = clock_() - idle_ms;
}

void MemoryServer::drop_side_rows(const Lane& lane, EntryId id) {
  const Keys keys(lane.stream, lane.group);
  if (const auto due = due_.find(keys.due); due != due_.end()) due->second.erase(id);
  if (const auto notes = notes_.find(keys.note); notes != notes_.end()) notes->second.erase(id);
}

EntryId MemoryServer::add_entry(const std::string& key, Fields fields) {
  Stream& stream = streams_[key];
  const ServerMs now = std::max<ServerMs>(clock_(), 0);
  EntryId id{static_cast<std::uint64_t>(now), 0};
  if (id <= stream.last) id = base::next(stream.last);
  // Redis refuses 0-0, and a clock at zero would give it.
  if (id == EntryId{}) id.seq = 1;
  stream.last = id;
  ++stream.added;
  stream.entries.emplace(id, std::move(fields));
  return id;
}

std::vector<Result<EntryId>> MemoryServer::append(const std::string& stream,
                                                  std::vector<Draft> drafts) {
  const Lock lock(mutex_);
  std::vector<Result<EntryId>> out;
  out.reserve(drafts.size());
  for (Draft& draft : drafts) {
    if (draft.fields.empty()) {
      out.emplace_back(Failure{errc::rejected, "an entry needs at least one field"});
    } else if (full_) {
      out.emplace_back(Failure{errc::storage_full, "the server refuses writes"});
    } else if (spoiled(stream)) {
      out.emplace_back(Failure{errc::wrong_type, "'" + stream + "' is no stream"});
    } else {
      out.emplace_back(add_entry(stream, std::move(draft.fields)));
      serve_waiters(stream);
    }
  }
  return out;
}

BatchPtr MemoryServer::take_from(Place place, const std::string& consumer, std::uint32_t max) {
  auto batch = std::make_shared<Batch>();
  auto next = place.stream->entries.upper_bound(place.group->last_delivered);
  const std::uint32_t limit = std::clamp<std::uint32_t>(max, 1, 1024);
  while (next != place.stream->entries.end() && batch->entries.size() < limit) {
    // A position set back delivers an entry that is pending already: new owner, numbers anew.
    hand_to(*place.group, next->first, consumer, 0);
    place.group->pel[next->first].delivery = 1;
    place.group->last_delivered = next->first;
    add_to(*batch, next->first, 1, Origin::fresh, next->second, nullptr);
    ++next;
  }
  return batch;
}

Result<BatchPtr> MemoryServer::take(const Lane& lane, std::uint32_t max) {
  const Lock lock(mutex_);
  const auto place = find(lane.stream, lane.group);
  if (!place) return place.error();
  return take_from(*place, lane.consumer, max);
}

std::optional<Result<BatchPtr>> MemoryServer::take_or_wait(const std::shared_ptr<Waiter>& waiter) {
  const Lock lock(mutex_);
  const auto place = find(waiter->lane.stream, waiter->lane.group);
  if (!place) return Result<BatchPtr>(place.error());
  BatchPtr batch = take_from(*place, waiter->lane.consumer, waiter->max);
  if (!batch->entries.empty()) return Result<BatchPtr>(std::move(batch));
  waiters_[{waiter->lane.stream, waiter->lane.group}].push_back(waiter);
  return std::nullopt;
}

bool MemoryServer::cancel(const std::shared_ptr<Waiter>& waiter) {
  const Lock lock(mutex_);
  const auto line = waiters_.find({waiter->lane.stream, waiter->lane.group});
  if (line == waiters_.end()) return false;
  // Those whose session went away are swept out on the way.
  bool waited = false;
  std::erase_if(line->second, [&](const std::weak_ptr<Waiter>& entry) {
    const auto held = entry.lock();
    waited = waited || held == waiter;
    return held == nullptr || held == waiter;
  });
  if (line->second.empty()) waiters_.erase(line);
  return waited;
}

void MemoryServer::serve_waiters(const std::string& stream) {
  // As Redis does: each new entry goes to the reader of each group that waited longest.
  for (auto line = waiters_.lower_bound({stream, {}});
       line != waiters_.end() && line->first.first == stream;) {
    auto& queue = line->second;
    while (!queue.empty()) {
      const auto waiter = queue.front().lock();
      if (waiter == nullptr) {
        queue.erase(queue.begin());
        continue;
      }
      const auto place = find(stream, line->first.second);
      PENSTOCK_ASSERT(place.has_value());
      BatchPtr batch = take_from(*place, waiter->lane.consumer, waiter->max);
      if (batch->entries.empty()) break;
      queue.erase(queue.begin());
      waiter->deliver(std::move(batch));
    }
    line = queue.empty() ? waiters_.erase(line) : std::next(line);
  }
}

void MemoryServer::fail_waiters(const std::string& stream, const std::string* group) {
  for (auto line = waiters_.lower_bound({stream, {}});
       line != waiters_.end() && line->first.first == stream;) {
    if (group != nullptr && line->first.second != *group) {
      ++line;
      continue;
    }
    const auto place = find(stream, line->first.second);
    PENSTOCK_ASSERT(place.has_error());
    for (const auto& entry : line->second) {
      if (const auto waiter = entry.lock()) waiter->deliver(place.error());
    }
    line = waiters_.erase(line);
  }
}

}  // namespace penstock::store::memory
