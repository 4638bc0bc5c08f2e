#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "store/store.hpp"
#include "store/types.hpp"

namespace penstock::contract {

using store::EntryId;
using store::Fields;
using store::milliseconds;
using store::ServerMs;

/// One home of the store, empty at the start, with the hands of a stranger on it. Each contract
/// executable links one file that defines make_backend(). Everything runs on the test's own thread:
/// the loop turns only inside run_until and pass.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;

  /// A session of its own (on Redis: connections of its own) on the shared home.
  virtual std::unique_ptr<store::Store> session() = 0;
  /// Cuts the session's connections, as a broken network would, and lets it come back.
  virtual void break_connection(store::Store& session) = 0;

  /// Turns the loop until ready() holds. False: `limit` passed first.
  virtual bool run_until(const std::function<bool()>& ready, milliseconds limit) = 0;
  /// Lets that much time pass (memory: the clock jumps; Redis: sleeps), while the loop turns.
  virtual void pass(milliseconds time) = 0;
  /// The home's wall clock.
  virtual ServerMs now() = 0;

  // Faults: what other hands do. `key` is a name as store::Keys gives it.
  virtual void delete_key(const std::string& key) = 0;                                 // DEL
  virtual void spoil_key(const std::string& key) = 0;                                  // SET key x
  virtual void create_group(const std::string& stream, const std::string& group) = 0;  // at 0
  virtual void destroy_group(const std::string& stream, const std::string& group) = 0;
  virtual void set_group_id(const std::string& stream, const std::string& group, EntryId id) = 0;
  virtual void delete_consumer(const std::string& stream, const std::string& group,
                               const std::string& consumer) = 0;
  virtual void delete_body(const std::string& stream, EntryId id) = 0;  // XDEL
  /// XADD by another library.
  virtual EntryId add_foreign_entry(const std::string& stream, const Fields& fields) = 0;
  /// XREADGROUP GROUP group consumer COUNT max STREAMS stream >: the ids.
  virtual std::vector<EntryId> raw_take(const std::string& stream, const std::string& group,
                                        const std::string& consumer, std::uint32_t max) = 0;
  /// XCLAIM stream group consumer 0 id: owner changed, delivery number raised, idle 0.
  virtual void raw_claim(const std::string& stream, const std::string& group,
                         const std::string& consumer, EntryId id) = 0;
  /// A due row that nobody parked (ZADD).
  virtual void add_due_row(const std::string& stream, const std::string& group, EntryId id,
                           ServerMs at) = 0;
  /// The server refuses all writes that need memory (OOM) while on.
  virtual void refuse_writes(bool on) = 0;

  // Looks behind the store's back.
  struct RawPending {
    EntryId id;
    std::string owner;
    std::int64_t idle_ms = 0;
    std::int64_t delivery = 0;
  };
  virtual std::vector<RawPending> raw_pending(const std::string& stream,
                                              const std::string& group) = 0;
  virtual std::vector<std::pair<EntryId, ServerMs>> due_rows(const std::string& stream,
                                                             const std::string& group) = 0;
  /// Ids that have a note.
  virtual std::vector<EntryId> notes(const std::string& stream, const std::string& group) = 0;
  /// XRANGE - + of any stream key, also of `{stream}.dead`.
  virtual std::vector<std::pair<EntryId, Fields>> entries(const std::string& key) = 0;
  virtual std::vector<std::string> consumers(const std::string& stream,
                                             const std::string& group) = 0;
};

std::unique_ptr<Backend> make_backend();

}  // namespace penstock::contract
