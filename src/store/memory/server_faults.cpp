// What other hands do to the keys, and looks behind the store's back.

#include "store/keys.hpp"
#include "store/memory/memory_server.hpp"

namespace penstock::store::memory {

void MemoryServer::delete_key(const std::string& key) {
  const Lock lock(mutex_);
  streams_.erase(key);
  due_.erase(key);
  notes_.erase(key);
  workers_.erase(key);
  conf_.erase(key);
  spoiled_.erase(key);
  fail_waiters(key, nullptr);
}

void MemoryServer::flush() {
  const Lock lock(mutex_);
  streams_.clear();
  due_.clear();
  notes_.clear();
  workers_.clear();
  conf_.clear();
  spoiled_.clear();
  while (!waiters_.empty()) {
    const std::string stream = waiters_.begin()->first.first;
    fail_waiters(stream, nullptr);
  }
}

void MemoryServer::spoil_key(const std::string& key) {
  const Lock lock(mutex_);
  streams_.erase(key);
  due_.erase(key);
  notes_.erase(key);
  workers_.erase(key);
  conf_.erase(key);
  spoiled_.insert(key);
  fail_waiters(key, nullptr);
}

bool MemoryServer::create_group(const std::string& stream, const std::string& group, EntryId last) {
  const Lock lock(mutex_);
  if (spoiled(stream)) return false;
  Group made;
  made.last_delivered = last;
  return streams_[stream].groups.emplace(group, std::move(made)).second;
}

bool MemoryServer::destroy_group(const std::string& stream, const std::string& group) {
  const Lock lock(mutex_);
  const auto held = streams_.find(stream);
  if (held == streams_.end() || held->second.groups.erase(group) == 0) return false;
  fail_waiters(stream, &group);
  return true;
}

bool MemoryServer::set_group_id(const std::string& stream, const std::string& group, EntryId id) {
  const Lock lock(mutex_);
  const auto place = find(stream, group);
  if (place) place->group->last_delivered = id;
  return place.has_value();
}

std::size_t MemoryServer::delete_consumer(const std::string& stream, const std::string& group,
                                          const std::string& consumer) {
  const Lock lock(mutex_);
  const auto place = find(stream, group);
  if (!place) return 0;
  const auto found = place->group->consumers.find(consumer);
  if (found == place->group->consumers.end()) return 0;
  for (const EntryId id : found->second.held) place->group->pel.erase(id);
  const std::size_t lost = found->second.held.size();
  place->group->consumers.erase(found);
  return lost;
}

bool MemoryServer::delete_body(const std::string& stream, EntryId id) {
  const Lock lock(mutex_);
  const auto held = streams_.find(stream);
  return held != streams_.end() && held->second.entries.erase(id) == 1;
}

bool MemoryServer::raw_claim(const std::string& stream, const std::string& group,
                             const std::string& consumer, EntryId id) {
  const Lock lock(mutex_);
  const auto place = find(stream, group);
  if (!place || pending_row(*place->group, id) == nullptr) return false;
  if (!place->stream->entries.contains(id)) {
    remove_pending(*place->group, id);
    return false;
  }
  hand_to(*place->group, id, consumer, 0);
  ++place->group->pel[id].delivery;
  return true;
}

void MemoryServer::add_due_row(const std::string& stream, const std::string& group, EntryId id,
                               ServerMs at) {
  const Lock lock(mutex_);
  due_[Keys(stream, group).due].set(id, at);
}

void MemoryServer::refuse_writes(bool on) {
  const Lock lock(mutex_);
  full_ = on;
}

std::vector<std::pair<EntryId, PelRow>> MemoryServer::pel(const std::string& stream,
                                                          const std::string& group) {
  const Lock lock(mutex_);
  const auto place = find(stream, group);
  if (!place) return {};
  return {place->group->pel.begin(), place->group->pel.end()};
}

std::vector<std::pair<EntryId, ServerMs>> MemoryServer::due_rows(const std::string& stream,
                                                                 const std::string& group) {
  const Lock lock(mutex_);
  std::vector<std::pair<EntryId, ServerMs>> out;
  const auto found = due_.find(Keys(stream, group).due);
  if (found == due_.end()) return out;
  for (const auto& [key, id] : found->second.order()) out.emplace_back(id, key.first);
  return out;
}

std::vector<EntryId> MemoryServer::notes(const std::string& stream, const std::string& group) {
  const Lock lock(mutex_);
  std::vector<EntryId> out;
  const auto found = notes_.find(Keys(stream, group).note);
  if (found == notes_.end()) return out;
  for (const auto& [id, note] : found->second) out.push_back(id);
  return out;
}

std::vector<std::pair<EntryId, Fields>> MemoryServer::entries(const std::string& key) {
  const Lock lock(mutex_);
  const auto held = streams_.find(key);
  if (held == streams_.end()) return {};
  return {held->second.entries.begin(), held->second.entries.end()};
}

std::vector<std::string> MemoryServer::consumers(const std::string& stream,
                                                 const std::string& group) {
  const Lock lock(mutex_);
  std::vector<std::string> out;
  const auto place = find(stream, group);
  if (!place) return out;
  for (const auto& [name, consumer] : place->group->consumers) out.push_back(name);
  return out;
}

std::optional<EntryId> MemoryServer::last_delivered(const std::string& stream,
                                                    const std::string& group) {
  const Lock lock(mutex_);
  const auto place = find(stream, group);
  if (!place) return std::nullopt;
  return place->group->last_delivered;
}

}  // namespace penstock::store::memory
