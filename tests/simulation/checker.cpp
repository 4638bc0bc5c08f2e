// The books: what is there, who ran it, and the end. The judgements are in judge.cpp.
#include "simulation/checker.hpp"

#include <algorithm>

#include "store/keys.hpp"

namespace penstock::simulation {

void Checker::fail(const std::string& what) {
  if (failed()) return;
  failure_ = what;
  trace_.add(loop_.now(), "checker", "FAILED", {}, 0, what);
}

std::string Checker::text(const store::Lane& lane, EntryId id) const {
  return base::to_string(id) + " of " + lane.stream + "/" + lane.group + " (" + lane.consumer + ")";
}

void Checker::add_group(const std::string& stream, const std::string& name) {
  groups_[{stream, name}];
}

void Checker::appended(const std::string& stream, EntryId id) {
  for (auto& [key, group] : groups_) {
    if (key.first != stream) continue;
    group.entries[id] = {};
    ++unsettled_;
  }
}

void Checker::disturbed(const std::string& stream, const std::string& name) {
  groups_[{stream, name}].disturbed.push_back(loop_.now());
}

void Checker::stream_deleted(const std::string& stream) {
  for (auto& [key, group] : groups_) {
    if (key.first != stream) continue;
    group.disturbed.push_back(loop_.now());
    for (auto& [id, entry] : group.entries) {
      if (entry.end == Entry::End::none) end(entry, Entry::End::taken_away);
    }
  }
}

void Checker::killed(const Condition& worker) {
  for (auto& [key, group] : groups_) {
    for (auto& [id, entry] : group.entries) {
      for (const RunPtr& run : entry.runs) {
        if (run->worker == &worker && !run->ended) run->ended = run->killed = true;
      }
    }
  }
}

void Checker::end(Entry& entry, Entry::End how) {
  if (entry.end == Entry::End::none) --unsettled_;
  entry.end = how;
}

void Checker::handed(const store::Lane& lane, const store::Batch& batch, MonoTime now) {
  Group& in = group(lane);
  for (const store::Taken& taken : batch.entries) {
    trace_.add(now, lane.consumer, "handed", taken.id, taken.delivery, lane.group);
    Entry& entry = in.entries[taken.id];
    if (taken.origin == store::Origin::fresh && !entry.handed.empty()) {
      if (in.disturbed.empty()) fail("handed over twice as new: " + text(lane, taken.id));
      entry.again = now;
    }
    entry.handed.push_back({lane.consumer, taken.delivery, now});
  }
}

const RunRecord* Checker::run_of(const Entry& entry, const std::string& consumer,
                                 std::int64_t delivery) const {
  for (auto run = entry.runs.rbegin(); run != entry.runs.rend(); ++run) {
    if ((*run)->delivery == delivery && (*run)->worker->consumer == consumer) return run->get();
  }
  return nullptr;
}

std::vector<Checker::EntryId> Checker::ids_of(const std::vector<store::Settlement>& items) {
  std::vector<EntryId> ids;
  for (const store::Settlement& item : items) ids.push_back(item.receipt.id);
  return ids;
}

Checker::Rows Checker::rows_of(const store::Lane& lane, const std::vector<EntryId>& ids) {
  Rows rows;
  for (const EntryId id : ids) {
    auto found = server_->pending(lane, id, 1);
    const bool there = found && !found->empty() && found->front().id == id;
    rows.push_back(there ? Row(std::move(found->front())) : std::nullopt);
  }
  return rows;
}

std::string Checker::unsettled_text() const {
  std::string out;
  std::size_t shown = 0;
  for (const auto& [key, group] : groups_) {
    for (const auto& [id, entry] : group.entries) {
      if (entry.end != Entry::End::none || shown >= 4) continue;
      ++shown;
      out += " " + base::to_string(id) + " of " + key.first + "/" + key.second;
      const auto row = server_->pending({key.first, key.second, {}}, id, 1);
      if (row && !row->empty() && row->front().id == id) {
        out += " pending with " + row->front().owner + " for " +
               std::to_string(row->front().idle_ms) + " ms;";
      } else {
        out += entry.handed.empty() ? " never handed over;" : " in no list;";
      }
    }
  }
  return out;
}

bool Checker::at_rest() {
  for (const auto& [key, group] : groups_) {
    if (group.disturbed.empty()) continue;
    const auto last = server_->last_delivered(key.first, key.second);
    const auto entries = server_->entries(key.first);
    if (!entries.empty() && (!last || *last < entries.back().first)) return false;
    if (!server_->pel(key.first, key.second).empty()) return false;
  }
  return true;
}

void Checker::check_rest() {
  std::map<std::string, std::size_t> letters;
  for (const auto& [key, group] : groups_) {
    const store::Keys keys(key.first, key.second);
    letters[keys.dead] += group.dead;
    const std::string where = key.first + "/" + key.second;
    if (const auto rows = server_->pel(key.first, key.second); !rows.empty()) {
      fail("G1: all is settled, and " + base::to_string(rows.front().first) + " of " + where +
           " is still pending with " + rows.front().second.owner);
    }
    if (!group.disturbed.empty()) continue;  // rows of a lost group wait for the slow pass
    if (!server_->due_rows(key.first, key.second).empty()) fail("due rows are left in " + where);
    if (!server_->notes(key.first, key.second).empty()) fail("notes are left in " + where);
  }
  for (const auto& [key, wanted] : letters) {
    const std::size_t there = server_->entries(key).size();
    if (there != wanted) {
      fail("G4: " + std::to_string(there) + " dead letters in " + key + ", " +
           std::to_string(wanted) + " were written");
    }
  }
}

}  // namespace penstock::simulation
