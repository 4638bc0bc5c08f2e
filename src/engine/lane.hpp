#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/rng.hpp"
#include "engine/actions.hpp"
#include "engine/config.hpp"
#include "engine/counters.hpp"
#include "engine/entry_table.hpp"
#include "engine/op.hpp"
#include "engine/window.hpp"

namespace penstock::engine {

using base::Result;

/// The consumer of one (stream, group): a state machine without sockets, threads or clocks. It is
/// told what happened (on_*), then asked what to do (poll). Every time in it is handed in.
///
/// poll() decides all but the renewals; poll_renewal() decides those, on a thread of its own, so
/// that nothing the other does can hold them up. The caller makes sure that one call runs at a
/// time.
class Lane {
 public:
  /// `now`: the first time it is told; all its clocks begin there.
  Lane(LaneConfig config, MonoTime now);

  void poll(MonoTime now, std::uint64_t epoch, Actions& out);
  void poll_renewal(MonoTime now, std::uint64_t epoch, Actions& out);
  /// When poll() wants to be called again at the latest, with no event before.
  MonoTime next_poll(MonoTime now) const;
  MonoTime next_renewal(MonoTime now) const;

  // Answers of the store.
  void on_opened(MonoTime now, const Result<store::Opened>& reply);
  /// `asked`: the time before the take was sent; `epoch` as of then.
  void on_taken(MonoTime now, MonoTime asked, std::uint64_t epoch,
                const Result<store::BatchPtr>& r);
  void on_ticked(MonoTime now, const Result<store::TickReply>& reply);
  void on_peeked(MonoTime now, const Result<store::PeekReply>& reply);
  void on_claimed(MonoTime now, MonoTime asked, std::uint64_t epoch,
                  const Result<store::ClaimReply>& reply);
  void on_acked(MonoTime now, const Result<store::AckReply>& reply);
  void on_settled(MonoTime now, const Result<std::vector<store::SettleStatus>>& reply);
  void on_forgotten(MonoTime now, const Result<bool>& reply);
  void on_trimmed(MonoTime now, const Result<std::int64_t>& reply);
  void on_renewed(MonoTime now, MonoTime asked, std::uint64_t epoch,
                  const std::vector<store::Receipt>& receipts,
                  const Result<std::vector<store::RenewStatus>>& reply);
  void on_enlisted(MonoTime now, const Result<base::Nothing>& reply);

  // From the dispatcher.
  void on_finished(MonoTime now, std::vector<Finished> runs);
  void on_started(const std::vector<Started>& runs);
  void on_retracted(MonoTime now, const std::vector<Slot>& asked, const std::vector<Slot>& got);
  /// No spare thread is left for a hung one: hand back the rest.
  void on_no_spare(MonoTime now);

  void begin_drain(MonoTime now);

  const LaneConfig& config() const { return config_; }
  store::Retention retention() const { return retention_; }
  const Counters& counters() const { return counters_; }
  store::ServerMs epoch_of_group() const { return group_epoch_; }
  std::size_t held() const { return table_.size(); }
  std::size_t held_bytes() const { return table_.bytes(); }
  std::size_t hung() const { return hung_; }
  bool opened() const { return opened_; }
  bool draining() const { return draining_; }
  bool unhealthy() const { return unhealthy_; }
  bool connected() const { return take_.failures == 0 && open_.failures == 0; }
  /// After `drained`: all that was held is settled or handed back.
  bool clean() const { return clean_; }

 private:
  struct Overdue {
    store::ClaimItem item;
    bool foreign = false;
  };
  struct Outcome {
    Slot slot;
    Finished::Kind kind = Finished::Kind::ack;
    store::Settlement item;
  };
  /// Server time minus ours, in ms: it was read between the asking and the answer.
  struct ClockOffset {
    std::int64_t low = 0, high = 0;
  };

  // lane.cpp: what arrives
  void admit(MonoTime now, MonoTime asked, std::uint64_t epoch, const store::BatchPtr& batch,
             const std::map<store::EntryId, std::int64_t>* foreign_base);
  void admit_one(MonoTime now, MonoTime asked, std::uint64_t epoch, const store::BatchPtr& batch,
                 std::uint32_t index, std::int64_t base);
  void lose(std::uint32_t index, bool count);
  void free_entry(std::uint32_t index);
  void offer(std::uint32_t index);
  void group_lost(const std::string& why);
  bool failed(MonoTime now, Op& op, const char* what, const base::Failure& failure);
  void note(Severity severity, std::string text);
  store::Note note_of(const Entry& entry) const;

  // lane_settle.cpp: what ends
  void finish(MonoTime now, Entry& entry, std::uint32_t index, const Finished& run);
  void settle_retry(Entry& entry, Slot slot, std::optional<MonoDuration> after,
                    const std::string& why, const char* reason);
  void settle_park(Entry& entry, Slot slot, Finished::Kind kind, MonoDuration delay,
                   store::Note note);
  void queue_outcome(Entry& entry, Outcome outcome);
  void settle_dead(Entry& entry, Slot slot, const char* reason, const std::string& why);
  void hand_back(std::uint32_t index);
  void settled_one(const Outcome& outcome, store::SettleStatus status);
  void poll_settle(MonoTime now, std::uint64_t epoch, Actions& out);
  bool proved(const Entry& entry, MonoTime now, std::uint64_t epoch) const;

  // lane_poll.cpp: what is decided
  void poll_open(MonoTime now, Actions& out);
  void poll_reads(MonoTime now, Actions& out);
  void poll_claims(MonoTime now, Actions& out, std::size_t& free, bool worth);
  void poll_take(MonoTime now, Actions& out, std::size_t free);
  void poll_tick(MonoTime now, Actions& out);
  void poll_runs(MonoTime now, std::uint64_t epoch, Actions& out);
  void poll_watch(MonoTime now);
  void watch_overtime(MonoTime now, std::uint32_t index, Entry& entry);
  bool candidates() const { return !due_.empty() || !overdue_.empty(); }
  bool may_look() const { return take_.out || free_slots() > 0; }
  std::size_t limit() const { return window_.limit(crowded_); }
  void hand_over(Actions& out);
  void poll_drain(MonoTime now, Actions& out);
  std::size_t free_slots() const;
  std::optional<MonoDuration> max_run_of(const Entry& entry) const;
  std::vector<store::ClaimItem> next_claims(std::size_t max);

  // lane_reclaim.cpp
  void poll_sweep(MonoTime now, Actions& out);
  bool ours_by_name(const std::string& consumer) const;
  void forget_baseline();
  void watch_clock(MonoTime now, store::ServerMs server);
  void learn_workers(MonoTime now, const store::PeekReply& reply);
  void add_overdue(MonoTime now, const store::PeekReply& reply);

  LaneConfig config_;
  base::Rng rng_;
  Window window_;
  EntryTable table_;
  Counters counters_;
  store::Retention retention_ = store::Retention::keep;
  store::ServerMs group_epoch_ = 0;

  Op open_, take_, tick_, peek_, claim_, ack_, settle_, forget_, trim_, enlist_, renew_;
  std::uint32_t era_ = 0;  ///< how often the group was found or made again
  bool opened_ = false, heal_ = false, reopen_ = false;
  bool fatal_ = false;
  std::optional<base::Failure> fatal_failure_;
  std::vector<LogLine> log_;

  // reading
  std::size_t take_reserved_ = 0, claim_reserved_ = 0;
  bool take_waits_ = false, wake_sent_ = false, claimed_last_ = false;
  std::uint32_t early_ = 0;    ///< reads in a row that came back empty without waiting
  bool new_may_wait_ = false;  ///< the last read was full, or a claim came since
  std::size_t settling_ = 0;

  // dispatching
  std::vector<Slot> to_run_;  ///< waiting entries whose turn it is
  std::vector<Slot> to_retract_;
  std::vector<StopItem> to_stop_;
  std::vector<ExtendItem> to_extend_;
  std::vector<Slot> to_abandon_;
  bool want_renewal_ = false;
  bool crowded_ = false;
  MonoTime last_freed_;  ///< when a handler last came free
  MonoTime next_watch_;
  std::size_t hung_ = 0;

  // settling
  std::deque<Slot> acks_;         ///< finished well; flushed as fast acks where proved
  std::deque<Outcome> outcomes_;  ///< fenced
  std::vector<Slot> acks_out_;
  std::vector<Outcome> outcomes_out_;

  // reclaiming
  MonoTime next_tick_, next_sweep_;
  std::uint64_t seen_epoch_ = 0;  ///< of the connection that seen_ was learned on
  std::uint32_t tick_asked_ = 0;
  std::deque<store::EntryId> due_;
  std::deque<Overdue> overdue_;
  std::vector<Overdue> claims_out_;
  bool trim_held_ = false;
  std::string peek_cursor_;
  bool peek_more_ = false, due_more_ = false;
  MonoTime peek_asked_;
  std::optional<ClockOffset> clock_;         ///< as the last peek showed it; none: a new connection
  MonoTime reclaim_from_ = MonoTime::min();  ///< the server's clock jumped: nothing is taken before
  std::map<std::string, MonoTime> seen_;     ///< registered owners, and since when they are known
  std::map<std::string, std::int64_t> leases_ms_;  ///< of registered owners, as last seen
  std::vector<std::string> gone_;

  // renewing
  MonoTime next_enlist_;

  // closing
  bool draining_ = false, stopped_runs_ = false, forgot_self_ = false, drained_ = false;
  bool clean_ = false, unhealthy_ = false;
  MonoTime drain_from_;
};

}  // namespace penstock::engine
