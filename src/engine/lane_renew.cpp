// Leases kept alive, and what follows when they cannot be.
#include <algorithm>
#include <utility>

#include "engine/lane.hpp"

namespace penstock::engine {

void Lane::poll_renewal(MonoTime now, std::uint64_t epoch, Actions& out) {
  // Also after a refused command: what runs must be renewed, or told to stop, until the end.
  if (drained_) return;
  std::vector<store::Receipt> receipts;
  const bool may_send = opened_ && renew_.ready(now);
  table_.each([&](std::uint32_t index, Entry& entry) {
    if (entry.lost) return;
    const MonoDuration age = now - entry.lease_from;
    if (may_send && !entry.renewing && (age >= config_.renew_age() || entry.epoch != epoch)) {
      entry.renewing = true;
      receipts.push_back({entry.id, entry.delivery});
      if (receipts.size() == store::batch_max) out.renew.push_back(std::exchange(receipts, {}));
    }
    // It could not be renewed: the handler is asked to stop while the server still counts the
    // lease.
    if (entry.state == Entry::State::dispatched && !entry.stop_sent && age >= config_.stop_age()) {
      entry.stop_sent = true;
      entry.stop_reason = StopReason::lease_lost;
      to_stop_.push_back({table_.slot_of(index), StopReason::lease_lost});
    }
  });
  if (!receipts.empty()) out.renew.push_back(std::move(receipts));
  if (!out.renew.empty()) renew_.era = era_;
  if (opened_ && !draining_ && !fatal_ && enlist_.ready(now) && now >= next_enlist_) {
    enlist_.begin(era_);
    out.enlist = true;
    next_enlist_ = now + config_.renew_age();
  }
  out.stop.insert(out.stop.end(), to_stop_.begin(), to_stop_.end());
  to_stop_.clear();
}

MonoTime Lane::next_renewal(MonoTime now) const {
  if (drained_) return base::never;
  MonoTime next = now + config_.renew_period();
  if (renew_.not_before > now) next = std::min(next, renew_.not_before);
  next = std::min(next, enlist_.next(next_enlist_));
  return std::max(next, now + std::chrono::milliseconds(1));
}

void Lane::on_renewed(MonoTime now, MonoTime asked, std::uint64_t epoch,
                      const std::vector<store::Receipt>& receipts,
                      const Result<std::vector<store::RenewStatus>>& reply) {
  const bool answered = reply && reply->size() == receipts.size();
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    const std::uint32_t index = table_.index_of(receipts[i].id);
    if (index == no_slot) continue;  // settled while the call was in flight
    Entry& entry = table_[index];
    if (entry.delivery != receipts[i].delivery) continue;
    entry.renewing = false;
    if (!answered || entry.lost) continue;
    switch ((*reply)[i]) {
      case store::RenewStatus::renewed:
        entry.lease_from = std::max(entry.lease_from, asked);
        entry.epoch = epoch;
        ++counters_.renewals;
        // One that was told to stop does not begin: it comes back unstarted and is given out anew.
        if (entry.state == Entry::State::dispatched && entry.started == base::never &&
            !entry.stop_sent) {
          to_extend_.push_back({table_.slot_of(index), entry.lease_from + config_.fresh_age()});
        }
        break;
      case store::RenewStatus::no_body:
        ++counters_.vanished;
        [[fallthrough]];
      case store::RenewStatus::other_owner:
      case store::RenewStatus::not_pending:
        // A settle of it is on the way: its own answer tells.
        if (entry.state != Entry::State::settling) lose(index, true);
        break;
    }
  }
  if (answered) {
    renew_.succeeded();
    return;
  }
  counters_.renew_failures += 1;
  const base::Failure odd{errc::protocol_error,
                          "a renewal was answered with another number of items"};
  failed(now, renew_, "renewing leases", reply ? odd : reply.error());
}

void Lane::on_enlisted(MonoTime now, const Result<base::Nothing>& reply) {
  if (!reply) {
    failed(now, enlist_, "registering the worker", reply.error());
    return;
  }
  enlist_.succeeded();
}

}  // namespace penstock::engine
