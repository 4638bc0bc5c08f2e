#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/types.hpp"

// What the in-process server holds, key by key as Redis would. Ordered containers only: two runs
// with the same calls behave the same.
namespace penstock::store::memory {

/// A row of a group's pending entries list.
struct PelRow {
  std::string owner;
  ServerMs delivered_at = 0;  ///< may be negative: a hand-back under a young virtual clock
  std::int64_t delivery = 1;
};

struct Consumer {
  std::set<EntryId> held;
  ServerMs seen_at = 0;
};

struct Group {
  EntryId last_delivered;
  std::map<EntryId, PelRow> pel;
  std::map<std::string, Consumer> consumers;
};

struct Stream {
  std::map<EntryId, Fields> entries;
  EntryId last;             ///< last generated id: survives the deletion of its entry
  std::uint64_t added = 0;  ///< entries ever added
  std::map<std::string, Group> groups;
};

/// A sorted set of entry ids. Ties go by the id's text, as in Redis.
class DueSet {
 public:
  void set(EntryId id, ServerMs at) {
    erase(id);
    at_.emplace(id, at);
    order_.emplace(std::pair(at, base::to_string(id)), id);
  }
  void erase(EntryId id) {
    const auto found = at_.find(id);
    if (found == at_.end()) return;
    order_.erase(std::pair(found->second, base::to_string(id)));
    at_.erase(found);
  }
  std::optional<ServerMs> at(EntryId id) const {
    const auto found = at_.find(id);
    return found == at_.end() ? std::nullopt : std::optional(found->second);
  }
  std::size_t size() const { return at_.size(); }
  const std::map<std::pair<ServerMs, std::string>, EntryId>& order() const { return order_; }

 private:
  std::map<EntryId, ServerMs> at_;
  std::map<std::pair<ServerMs, std::string>, EntryId> order_;
};

/// Where a lost group may start again: everything up to `settled` was settled, provided that the
/// stream is still the one that had reached `last` and `added`.
struct Checkpoint {
  EntryId settled;
  EntryId last;
  std::uint64_t added = 0;
};

struct GroupConf {
  ServerMs epoch = 0;
  std::optional<Checkpoint> checkpoint;
};

struct Conf {
  std::optional<Retention> retention;
  std::map<std::string, GroupConf> groups;
};

using Notes = std::map<EntryId, Note>;
using Workers = std::map<std::string, Registration>;

/// Adds one delivery to a batch under construction.
void add_to(Batch& batch, EntryId id, std::int64_t delivery, Origin origin, const Fields& fields,
            const Note* note);

}  // namespace penstock::store::memory
