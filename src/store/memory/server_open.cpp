// Streams and groups: how they are made, healed, looked at cheaply and trimmed.

#include <algorithm>
#include <iterator>
#include <limits>

#include "store/keys.hpp"
#include "store/memory/memory_server.hpp"

namespace penstock::store::memory {

namespace {

EntryId before(EntryId id) {
  if (id.seq != 0) return {id.ms, id.seq - 1};
  if (id.ms != 0) return {id.ms - 1, std::numeric_limits<std::uint64_t>::max()};
  return {};
}

/// Everything up to the answer is settled for the group.
EntryId settled_up_to(const Group& group) {
  if (group.pel.empty()) return group.last_delivered;
  return std::min(group.last_delivered, before(group.pel.begin()->first));
}

}  // namespace

EntryId MemoryServer::healing_start(const Stream& stream, const GroupConf& conf,
                                    Retention retention) const {
  // Where acked entries are deleted, all that is left is unsettled.
  if (retention == Retention::delete_on_ack || !conf.checkpoint) return {};
  const Checkpoint& point = *conf.checkpoint;
  // A stream that went back (lost, restored) reuses ids: the checkpoint means other entries.
  if (stream.last < point.last || stream.added < point.added) return {};
  return point.settled;
}

void MemoryServer::keep_checkpoint(const Lane& lane, const Place& place) {
  const auto found = conf_.find(Keys(lane.stream).conf);
  if (full_ || found == conf_.end()) return;
  Conf& conf = found->second;
  if (!conf.retention || *conf.retention == Retention::delete_on_ack) return;
  conf.groups[lane.group].checkpoint =
      Checkpoint{settled_up_to(*place.group), place.stream->last, place.stream->added};
}

bool MemoryServer::make_group(const Lane& lane, const OpenRequest& request, Opened& opened) {
  GroupConf& conf = conf_[Keys(lane.stream).conf].groups[lane.group];
  Stream& stream = streams_[lane.stream];
  const bool made = !stream.groups.contains(lane.group);
  if (made) {
    EntryId start;
    if (request.heal) {
      start = healing_start(stream, conf, opened.retention);
    } else if (request.start == "$") {
      start = stream.last;
    } else {
      start = *base::parse_entry_id(request.start);
    }
    stream.groups[lane.group].last_delivered = start;
    opened.waiting = std::distance(stream.entries.upper_bound(start), stream.entries.end());
  }
  // A group made anew counts its deliveries from 1 again: only a higher epoch keeps tokens apart.
  if (made || conf.epoch == 0) conf.epoch = std::max(clock_(), conf.epoch + 1);
  opened.epoch = conf.epoch;
  return made;
}

Result<Opened> MemoryServer::open(const Lane& lane, const OpenRequest& request) {
  const Lock lock(mutex_);
  const Keys keys(lane.stream, lane.group);
  if (spoiled(keys.stream)) return Failure{errc::wrong_type, "'" + keys.stream + "' is no stream"};
  if (spoiled(keys.conf)) return Failure{errc::wrong_type, "'" + keys.conf + "' is no hash"};
  if (request.start != "$" && !base::parse_entry_id(request.start)) {
    return Failure{errc::bad_option, "'" + request.start + "' is no entry id to start at"};
  }
  Opened opened;
  opened.stream_existed = streams_.contains(lane.stream);
  const bool decided = conf_.contains(keys.conf) && conf_[keys.conf].retention.has_value();
  const bool group_there =
      opened.stream_existed && streams_[lane.stream].groups.contains(lane.group);
  // A producer decides only for a stream that it is about to make.
  const bool decides = !decided && (request.make_group || !opened.stream_existed);
  if (full_ && (decides || (request.make_group && !group_there))) {
    return Failure{errc::storage_full, "the server refuses writes"};
  }
  Conf& conf = conf_[keys.conf];
  opened.retention = conf.retention.value_or(request.retention.value_or(
      opened.stream_existed ? Retention::keep : Retention::delete_on_ack));
  if (decides) {
    conf.retention = opened.retention;
    opened.retention_decided_now = true;
  }
  if (request.make_group) opened.group_made = make_group(lane, request, opened);
  const auto held = streams_.find(lane.stream);
  opened.groups =
      held == streams_.end() ? 0 : static_cast<std::int64_t>(held->second.groups.size());
  // Nothing may be deleted under a second group.
  if (opened.groups > 1 && opened.retention == Retention::delete_on_ack) {
    opened.retention = Retention::trim_settled;
    if (conf.retention) {
      conf.retention = opened.retention;
      opened.retention_decided_now = true;
    }
  }
  return opened;
}

Result<TickReply> MemoryServer::tick(const Lane& lane, std::uint32_t max) {
  const Lock lock(mutex_);
  const Keys keys(lane.stream, lane.group);
  if (spoiled(keys.stream)) return Failure{errc::wrong_type, "'" + keys.stream + "' is no stream"};
  TickReply reply;
  reply.now = clock_();
  if (const auto due = due_.find(keys.due); due != due_.end()) {
    reply.due_rows = static_cast<std::int64_t>(due->second.size());
    for (const auto& [key, id] : due->second.order()) {
      if (key.first > reply.now || reply.due.size() >= max) {
        reply.next_due = key.first;
        break;
      }
      reply.due.push_back(id);
    }
  }
  if (const auto conf = conf_.find(keys.conf); conf != conf_.end()) {
    reply.retention = conf->second.retention.value_or(Retention::keep);
  }
  const auto held = streams_.find(lane.stream);
  if (held != streams_.end()) {
    reply.groups = static_cast<std::int64_t>(held->second.groups.size());
  }
  const auto place = find(lane.stream, lane.group);
  reply.group_there = place.has_value();
  if (!place) return reply;
  const auto parked = place->group->consumers.find(std::string(parked_consumer));
  if (parked != place->group->consumers.end()) {
    reply.parked = static_cast<std::int64_t>(parked->second.held.size());
  }
  return reply;
}

Result<std::int64_t> MemoryServer::trim(const std::string& stream) {
  const Lock lock(mutex_);
  if (spoiled(stream)) return Failure{errc::wrong_type, "'" + stream + "' is no stream"};
  const auto held = streams_.find(stream);
  if (held == streams_.end() || held->second.groups.empty()) return std::int64_t{0};
  if (const auto conf = conf_.find(Keys(stream).conf); conf != conf_.end()) {
    for (const auto& [name, known] : conf->second.groups) {
      if (!held->second.groups.contains(name)) return std::int64_t{-1};
    }
  }
  EntryId bound{std::numeric_limits<std::uint64_t>::max(),
                std::numeric_limits<std::uint64_t>::max()};
  for (const auto& [name, group] : held->second.groups) {
    bound = std::min(bound, settled_up_to(group));
  }
  auto& entries = held->second.entries;
  const auto end = entries.upper_bound(bound);
  const std::int64_t gone = std::distance(entries.begin(), end);
  entries.erase(entries.begin(), end);
  return gone;
}

}  // namespace penstock::store::memory
