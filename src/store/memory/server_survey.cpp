// Looks for people, and the list of workers.

#include <algorithm>
#include <iterator>
#include <string_view>

#include "store/keys.hpp"
#include "store/memory/memory_server.hpp"

namespace penstock::store::memory {

namespace {

std::int64_t age_of(EntryId id, ServerMs now) {
  return std::max<std::int64_t>(now - static_cast<std::int64_t>(id.ms), 0);
}

/// One of ours beside a stream: its dead letters or a retry stream.
bool side_stream(const std::string& key) {
  if (!has_hash_tag(key)) return false;
  const std::string_view rest = std::string_view(key).substr(key.find('}', key.find('{')) + 1);
  return rest.ends_with(".dead") || rest.find(".retry:") != std::string_view::npos;
}

bool died_in(const Fields& fields, const std::string& group) {
  // Ours come last: an entry's own field of that name does not count.
  const auto found = std::find_if(fields.rbegin(), fields.rend(), [](const auto& field) {
    return field.first == "penstock-group";
  });
  return found != fields.rend() && found->second == group;
}

}  // namespace

Result<base::Nothing> MemoryServer::enlist(const Lane& lane, Registration row) {
  const Lock lock(mutex_);
  const Keys keys(lane.stream, lane.group);
  if (full_) return Failure{errc::storage_full, "the server refuses writes"};
  if (spoiled(keys.workers)) return Failure{errc::wrong_type, "'" + keys.workers + "' is no hash"};
  row.consumer = lane.consumer;
  row.renewed_at = clock_();
  workers_[keys.workers][lane.consumer] = std::move(row);
  return base::Nothing{};
}

Result<bool> MemoryServer::forget(const Lane& lane, const std::string& consumer) {
  const Lock lock(mutex_);
  if (consumer == parked_consumer) return false;
  const auto place = find(lane.stream, lane.group);
  if (!place) return place.error();
  const auto found = place->group->consumers.find(consumer);
  if (found != place->group->consumers.end()) {
    if (!found->second.held.empty()) return false;
    place->group->consumers.erase(found);
  }
  workers_[Keys(lane.stream, lane.group).workers].erase(consumer);
  return true;
}

Survey::Group MemoryServer::survey_group(const std::string& stream, const std::string& name,
                                         const Stream& held) {
  const Keys keys(stream, name);
  const Group& group = held.groups.at(name);
  const ServerMs now = clock_();
  Survey::Group out;
  out.name = name;
  const auto ready = held.entries.upper_bound(group.last_delivered);
  out.ready = std::distance(ready, held.entries.end());
  if (ready != held.entries.end()) out.oldest_ready_ms = age_of(ready->first, now);
  if (!group.pel.empty()) out.oldest_pending_ms = age_of(group.pel.begin()->first, now);
  out.leased = static_cast<std::int64_t>(group.pel.size());
  if (spoiled(keys.dead)) {
    out.dead = -1;
  } else if (const auto dead = streams_.find(keys.dead); dead != streams_.end()) {
    const auto& letters = dead->second.entries;
    out.dead = std::count_if(letters.begin(), letters.end(),
                             [&](const auto& letter) { return died_in(letter.second, name); });
  }
  std::map<std::string, Survey::Consumer> consumers;
  for (const auto& [consumer_name, consumer] : group.consumers) {
    Survey::Consumer& row = consumers[consumer_name];
    row.pending = static_cast<std::int64_t>(consumer.held.size());
    row.idle_ms = std::max<std::int64_t>(now - consumer.seen_at, 0);
    if (consumer_name == parked_consumer) {
      out.parked = row.pending;
      out.leased -= row.pending;
    }
  }
  // A worker that was served nothing yet is no consumer on the server, and works all the same.
  for (const auto& [worker, registration] : workers_[keys.workers]) {
    consumers[worker].worker = registration;
  }
  for (auto& [consumer_name, row] : consumers) {
    row.name = consumer_name;
    out.consumers.push_back(std::move(row));
  }
  return out;
}

Result<Survey> MemoryServer::survey(const std::string& stream) {
  const Lock lock(mutex_);
  const Keys keys(stream);
  if (spoiled(stream)) return Failure{errc::wrong_type, "'" + stream + "' is no stream"};
  Survey out;
  out.stream = stream;
  out.now = clock_();
  if (const auto conf = conf_.find(keys.conf); conf != conf_.end()) {
    out.retention = conf->second.retention;
  }
  if (const auto dead = streams_.find(keys.dead); dead != streams_.end()) {
    out.dead = static_cast<std::int64_t>(dead->second.entries.size());
  }
  const auto held = streams_.find(stream);
  if (held == streams_.end()) return out;
  out.exists = true;
  out.length = static_cast<std::int64_t>(held->second.entries.size());
  for (const auto& [name, group] : held->second.groups) {
    out.groups.push_back(survey_group(stream, name, held->second));
  }
  return out;
}

std::vector<std::string> MemoryServer::streams() {
  const Lock lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [name, stream] : streams_) {
    if (!side_stream(name)) out.push_back(name);
  }
  return out;
}

Result<std::vector<PendingRow>> MemoryServer::pending(const Lane& lane, EntryId from,
                                                      std::uint32_t max) {
  const Lock lock(mutex_);
  const Keys keys(lane.stream, lane.group);
  const auto place = find(lane.stream, lane.group);
  if (!place) return place.error();
  const DueSet& due = due_[keys.due];
  const Notes& notes = notes_[keys.note];
  std::vector<PendingRow> out;
  for (auto row = place->group->pel.lower_bound(from);
       row != place->group->pel.end() && out.size() < max; ++row) {
    PendingRow shown;
    shown.id = row->first;
    shown.owner = row->second.owner;
    shown.idle_ms = std::max<std::int64_t>(clock_() - row->second.delivered_at, 0);
    shown.delivery = row->second.delivery;
    if (shown.owner == parked_consumer) shown.due = due.at(row->first);
    if (const auto note = notes.find(row->first); note != notes.end()) shown.note = note->second;
    out.push_back(std::move(shown));
  }
  return out;
}

}  // namespace penstock::store::memory
