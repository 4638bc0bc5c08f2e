// What waits for a time, and what others left behind: ticks, sweeps, claims, the group's consumers.
#include <algorithm>
#include <utility>

#include "engine/lane.hpp"

namespace penstock::engine {

namespace {

constexpr MonoDuration tick_period = std::chrono::milliseconds(600);
constexpr MonoDuration tick_spacing = std::chrono::milliseconds(5);
constexpr MonoDuration peek_spacing = std::chrono::milliseconds(12);  // 20,000 entries a second
constexpr MonoDuration sweep_spacing = std::chrono::milliseconds(100);
constexpr std::size_t overdue_max = 256;
constexpr std::size_t gone_max = 64;
constexpr std::size_t seen_max = 4096;

std::int64_t in_ms(MonoDuration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

}  // namespace

/// Ours are `<name>.<8 hex digits>`, unique for each start of a process.
bool Lane::ours_by_name(const std::string& consumer) const {
  if (consumer.size() < 10 || consumer[consumer.size() - 9] != '.') return false;
  return consumer.find_first_not_of("0123456789abcdef", consumer.size() - 8) == std::string::npos;
}

void Lane::on_ticked(MonoTime now, const Result<store::TickReply>& reply) {
  if (!reply) {
    failed(now, tick_, "looking for due entries", reply.error());
    return;
  }
  tick_.succeeded();
  ++counters_.ticks;
  if (!reply->group_there && tick_.era == era_) {
    group_lost("the server does not know it");
    return;
  }
  due_.assign(reply->due.begin(), reply->due.end());
  due_more_ = reply->due.size() >= tick_asked_;
  next_tick_ = now + tick_period;
  // Where more are due than were listed, their claims ask for the next list.
  if (reply->next_due && !due_more_) {
    const auto wait =
        std::chrono::milliseconds(std::max<store::ServerMs>(*reply->next_due - reply->now, 0));
    if (wait < tick_period) next_tick_ = now + std::max<MonoDuration>(wait, tick_spacing);
  }
  if (reply->retention != retention_) retention_ = reply->retention;
  // A second group needs the entries too: the store turns deletion into trimming when asked again.
  if (reply->groups > 1 && retention_ == store::Retention::delete_on_ack) reopen_ = true;
}

void Lane::poll_sweep(MonoTime now, Actions& out) {
  if (forget_.ready(now) && !gone_.empty()) {
    forget_.begin(era_);
    out.forget = std::move(gone_.back());
    gone_.pop_back();
  }
  if (!peek_.ready(now) || !may_look() || !overdue_.empty()) return;
  const bool due = now >= next_sweep_;
  if (!due && !peek_more_) return;
  if (due && !peek_more_) {
    peek_cursor_.clear();
    ++counters_.sweeps;
    const MonoDuration period = std::max(config_.sweep, sweep_spacing);
    next_sweep_ = now + period -
                  MonoDuration(static_cast<MonoDuration::rep>(rng_.unit() * 0.25 *
                                                              static_cast<double>(period.count())));
    if (retention_ == store::Retention::trim_settled && trim_.ready(now)) {
      trim_.begin(era_);
      out.trim = true;
    }
  }
  store::PeekRequest request;
  request.cursor = peek_cursor_;
  request.max = static_cast<std::uint32_t>(std::clamp<std::size_t>(limit() * 2, 64, overdue_max));
  request.default_lease_ms = in_ms(config_.lease);
  request.foreign_idle_ms = in_ms(config_.foreign_idle);
  peek_.begin(era_);
  peek_asked_ = now;
  out.peek = std::move(request);
}

void Lane::on_peeked(MonoTime now, const Result<store::PeekReply>& reply) {
  if (!reply) {
    peek_more_ = false;
    failed(now, peek_, "looking for lapsed entries", reply.error());
    return;
  }
  peek_.succeeded();
  if (heal_ || draining_) return;
  peek_cursor_ = reply->cursor;
  peek_more_ = !reply->cursor.empty();
  learn_workers(now, *reply);
  watch_clock(now, reply->now);
  if (now >= reclaim_from_) {
    add_overdue(now, *reply);
  } else {
    next_sweep_ = std::min(next_sweep_, reclaim_from_);
  }
  if (peek_more_ && overdue_.empty()) peek_.not_before = now + peek_spacing;
  for (const std::string& consumer : reply->gone) {
    if (gone_.size() >= gone_max) break;
    if (consumer == config_.lane.consumer || consumer == store::parked_consumer) continue;
    if (std::find(gone_.begin(), gone_.end(), consumer) == gone_.end()) gone_.push_back(consumer);
  }
}

void Lane::forget_baseline() {
  seen_.clear();
  clock_.reset();
}

/// Idle times are the server's: if its clock jumps against ours, live owners look lapsed until they
/// have renewed. Smaller steps than what lies between stop_age and the lease do no harm.
void Lane::watch_clock(MonoTime now, store::ServerMs server) {
  const ClockOffset fresh{server - in_ms(now.time_since_epoch()),
                          server - in_ms(peek_asked_.time_since_epoch())};
  const std::int64_t slack = in_ms(config_.lease - config_.stop_age());
  const auto before = std::exchange(clock_, fresh);
  if (!before || (fresh.low <= before->high + slack && fresh.high >= before->low - slack)) return;
  std::int64_t longest = in_ms(config_.lease);
  for (const auto& [consumer, lease] : leases_ms_) longest = std::max(longest, lease);
  reclaim_from_ = now + std::chrono::milliseconds(longest);
  overdue_.clear();
  note(Severity::warning, "the server's clock jumped: no lapsed entry is taken over for a lease");
}

/// Since when each registered owner is known here: a worker that has just begun cannot tell whose
/// entries look lapsed because the server's clock jumped before. Whatever a live owner holds is
/// renewed within 3/8 of its lease: half a lease is long enough to see it. What is idle for a whole
/// lease after that was forgotten, be its owner alive or not.
void Lane::learn_workers(MonoTime now, const store::PeekReply& reply) {
  if (seen_.size() > seen_max) seen_.clear();
  std::map<std::string, std::int64_t> leases;
  for (const store::Registration& row : reply.workers) {
    leases[row.consumer] = row.lease_ms;
    seen_.try_emplace(row.consumer, now);
  }
  std::erase_if(seen_, [&](const auto& row) { return !leases.contains(row.first); });
  leases_ms_ = std::move(leases);
}

void Lane::add_overdue(MonoTime now, const store::PeekReply& reply) {
  for (const store::Pending& pending : reply.overdue) {
    if (overdue_.size() >= overdue_max) break;
    if (table_.index_of(pending.id) != no_slot) continue;
    Overdue candidate{{pending.id, pending.owner, pending.delivery, 0}, false};
    if (const auto row = leases_ms_.find(pending.owner); row != leases_ms_.end()) {
      candidate.item.min_idle_ms = row->second;
      const MonoTime watched = seen_[pending.owner] + std::chrono::milliseconds(row->second / 2);
      if (pending.owner != config_.lane.consumer && now < watched) {
        next_sweep_ = std::min(next_sweep_, watched);
        continue;
      }
    } else if (pending.owner == config_.lane.consumer || ours_by_name(pending.owner)) {
      candidate.item.min_idle_ms = in_ms(config_.lease);
    } else {
      candidate.item.min_idle_ms = in_ms(config_.foreign_idle);
      candidate.foreign = true;
    }
    overdue_.push_back(std::move(candidate));
  }
}

void Lane::on_claimed(MonoTime now, MonoTime asked, std::uint64_t epoch,
                      const Result<store::ClaimReply>& reply) {
  claim_reserved_ = 0;
  const std::vector<Overdue> sent = std::exchange(claims_out_, {});
  if (!reply) {
    // What was claimed and not told is ours on the server: a sweep finds it under our own name.
    failed(now, claim_, "claiming", reply.error());
    return;
  }
  claim_.succeeded();
  std::map<store::EntryId, std::int64_t> foreign_base;
  for (std::size_t i = 0; i < sent.size() && i < reply->status.size(); ++i) {
    const store::ClaimItem& item = sent[i].item;
    if (reply->status[i] == store::ClaimStatus::vanished) {
      ++counters_.vanished;
      note(Severity::warning, "the body of " + base::to_string(item.id) +
                                  " was deleted while it was pending: it cannot be handled");
    }
    // What it was handed over elsewhere says nothing of how often it failed here.
    if (sent[i].foreign) foreign_base[item.id] = item.delivery;
  }
  if (reply->batch != nullptr && !reply->batch->entries.empty()) {
    admit(now, asked, epoch, reply->batch, &foreign_base);
  }
  if (due_.empty() && due_more_) {
    due_more_ = false;
    next_tick_ = now;
  }
}

void Lane::on_forgotten(MonoTime now, const Result<bool>& reply) {
  if (!reply) {
    failed(now, forget_, "removing a consumer", reply.error());
    return;
  }
  forget_.succeeded();
  if (*reply) ++counters_.consumers_removed;
}

void Lane::on_trimmed(MonoTime now, const Result<std::int64_t>& reply) {
  if (!reply) {
    failed(now, trim_, "trimming", reply.error());
    return;
  }
  trim_.succeeded();
  if (*reply < 0 && !trim_held_) {
    note(Severity::warning,
         "nothing is trimmed: a group that this stream's conf names is missing, and what it still "
         "needs is unknown. It is made again by its workers; if it is retired, remove its field "
         "epoch:<group> from the stream's .conf");
  }
  trim_held_ = *reply < 0;
}

}  // namespace penstock::engine
