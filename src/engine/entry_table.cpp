#include "engine/entry_table.hpp"

#include "base/assert.hpp"

namespace penstock::engine {

Entry& EntryTable::insert(store::EntryId id, std::uint32_t* index_out) {
  std::uint32_t index;
  if (unused_.empty()) {
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    index = unused_.back();
    unused_.pop_back();
  }
  Entry& entry = entries_[index];
  const std::uint32_t generation = entry.generation;
  entry = Entry{};
  entry.generation = generation;
  entry.id = id;
  entry.state = Entry::State::waiting;
  by_id_[id] = index;
  ++used_;
  *index_out = index;
  return entry;
}

void EntryTable::erase(std::uint32_t index) {
  Entry& entry = entries_[index];
  PENSTOCK_ASSERT(entry.state != Entry::State::free);
  if (const auto at = by_id_.find(entry.id); at != by_id_.end() && at->second == index) {
    const Slot older = entry.predecessor;
    if (this->at(older) != nullptr) {
      at->second = older.index;
    } else {
      by_id_.erase(at);
    }
  }
  PENSTOCK_ASSERT(bytes_ >= entry.bytes);
  bytes_ -= entry.bytes;
  entry.state = Entry::State::free;
  entry.batch.reset();
  ++entry.generation;
  --used_;
  unused_.push_back(index);
}

Entry* EntryTable::find(store::EntryId id) {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &entries_[at->second];
}

std::uint32_t EntryTable::index_of(store::EntryId id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? no_slot : at->second;
}

Entry* EntryTable::at(Slot slot) {
  if (slot.index >= entries_.size()) return nullptr;
  Entry& entry = entries_[slot.index];
  if (entry.generation != slot.generation || entry.state == Entry::State::free) return nullptr;
  return &entry;
}

}  // namespace penstock::engine
