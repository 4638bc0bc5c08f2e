#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "engine/actions.hpp"
#include "store/types.hpp"

namespace penstock::engine {

inline constexpr std::uint32_t no_slot = UINT32_MAX;

/// One entry that this lane holds, or whose lease it lost while its handler still runs.
struct Entry {
  enum class State : std::uint8_t {
    free,
    waiting,     ///< not given to the dispatcher: needs a renewal first, or waits for an older run
    dispatched,  ///< with the dispatcher: queued or running
    settling     ///< its outcome is known; queued for the store or on the way
  };
  enum class Retract : std::uint8_t { no, release, drop };

  store::EntryId id;
  std::int64_t delivery = 0;
  std::int64_t base = 0;  ///< lapses = delivery - base - 1
  store::BatchPtr batch;
  std::uint32_t index = 0;  ///< in the batch
  std::uint32_t bytes = 0;
  std::uint32_t generation = 0;
  Slot successor{no_slot, 0};    ///< newer delivery of the same id, waits for this one's end
  Slot predecessor{no_slot, 0};  ///< the older run of the same id that this one waits for
  State state = State::free;
  Retract retract = Retract::no;
  bool lost = false;      ///< the store said, or the group is gone: settles nothing
  bool blocked = false;   ///< waits for an older run of the same id
  bool renewing = false;  ///< a renewal of it is out
  bool stop_sent = false;
  bool timed_out = false;
  bool unsure = false;  ///< an ack of it was sent and not answered
  StopReason stop_reason = StopReason::drain;
  std::uint64_t epoch = 0;  ///< of the connection that proved the lease
  MonoTime lease_from;      ///< before the command was sent that took or renewed it
  MonoTime admitted;
  MonoTime started = base::never;  ///< known start of its run
};

/// The lease table: slots that are used again, found by number or by entry id.
class EntryTable {
 public:
  Entry& insert(store::EntryId id, std::uint32_t* index_out);
  /// Frees a slot. Its id then leads to the older run of it, where one still goes on.
  void erase(std::uint32_t index);
  Entry* find(store::EntryId id);
  std::uint32_t index_of(store::EntryId id) const;
  /// The entry of exactly that generation, or null.
  Entry* at(Slot slot);
  Entry& operator[](std::uint32_t index) { return entries_[index]; }
  Slot slot_of(std::uint32_t index) const { return {index, entries_[index].generation}; }

  std::size_t size() const { return used_; }
  std::size_t bytes() const { return bytes_; }

  /// fn(index, entry) for all used slots. fn may erase the one it is given.
  template <class F>
  void each(F&& fn) {
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].state != Entry::State::free) fn(i, entries_[i]);
    }
  }
  void add_bytes(std::uint32_t n) { bytes_ += n; }

 private:
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> unused_;
  boost::unordered_flat_map<store::EntryId, std::uint32_t, base::EntryIdHash> by_id_;
  std::size_t used_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace penstock::engine
