#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "contract/backend.hpp"
#include "store/keys.hpp"

namespace penstock::contract {

using base::Done;
using base::Failure;
using base::Nothing;
using base::Result;
using namespace store;  // NOLINT: the suite speaks of nothing else

/// An operation that is out. get() turns the loop until it is answered.
template <class T>
class Call {
 public:
  explicit Call(Backend& backend) : backend_(&backend) {}

  Done<T> done() {
    return [slot = slot_](Result<T> result) {
      if (slot->has_value()) ADD_FAILURE() << "answered twice";
      slot->emplace(std::move(result));
    };
  }
  bool ready() const { return slot_->has_value(); }
  /// The answer, be it a failure.
  Result<T> result() {
    if (!backend_->run_until([this] { return ready(); }, milliseconds(20'000))) {
      throw std::runtime_error("an operation was never answered");
    }
    return std::move(**slot_);
  }
  /// The value; a failure ends the test.
  T get() {
    Result<T> answer = result();
    if (answer.has_error()) throw std::runtime_error("failed: " + answer.error().text);
    return std::move(answer.value());
  }
  errc error() {
    const Result<T> answer = result();
    return answer.has_error() ? answer.error().code : errc::ok;
  }

 private:
  Backend* backend_;
  std::shared_ptr<std::optional<Result<T>>> slot_ = std::make_shared<std::optional<Result<T>>>();
};

/// One session as one consumer, with calls that return what they wait for.
class Client {
 public:
  Client(Backend& backend, Lane lane)
      : lane_(std::move(lane)), backend_(&backend), store_(backend.session()) {}

  const Lane& lane() const { return lane_; }
  Store& store() { return *store_; }
  /// The same session reading as somebody else.
  void become(std::string consumer) { lane_.consumer = std::move(consumer); }

#define PENSTOCK_CALL(T, expression) \
  Call<T> call(*backend_);           \
  store_->expression;                \
  return call

  Call<Opened> open(OpenRequest request = {}) {
    PENSTOCK_CALL(Opened, open(lane_, std::move(request), call.done()));
  }
  Call<std::vector<Result<EntryId>>> append(std::vector<Draft> drafts) {
    PENSTOCK_CALL(std::vector<Result<EntryId>>,
                  append(lane_.stream, std::move(drafts), call.done()));
  }
  Call<BatchPtr> take(std::uint32_t max, milliseconds wait = milliseconds(0)) {
    PENSTOCK_CALL(BatchPtr, take(lane_, TakeRequest{max, wait}, call.done()));
  }
  void wake() { store_->wake(lane_); }
  Call<TickReply> tick(std::uint32_t max = 256) {
    PENSTOCK_CALL(TickReply, tick(lane_, max, call.done()));
  }
  Call<PeekReply> peek(PeekRequest request) {
    PENSTOCK_CALL(PeekReply, peek(lane_, std::move(request), call.done()));
  }
  Call<ClaimReply> claim(std::vector<ClaimItem> items) {
    PENSTOCK_CALL(ClaimReply, claim(lane_, std::move(items), call.done()));
  }
  Call<std::vector<RenewStatus>> renew(std::vector<Receipt> receipts) {
    PENSTOCK_CALL(std::vector<RenewStatus>, renew(lane_, std::move(receipts), call.done()));
  }
  Call<AckReply> ack(std::vector<EntryId> ids, Retention retention = Retention::keep) {
    PENSTOCK_CALL(AckReply, ack(lane_, std::move(ids), retention, call.done()));
  }
  Call<std::vector<SettleStatus>> settle(std::vector<Settlement> items,
                                         Retention retention = Retention::keep) {
    PENSTOCK_CALL(std::vector<SettleStatus>,
                  settle(lane_, std::move(items), retention, call.done()));
  }
  Call<Nothing> enlist(Registration row) {
    PENSTOCK_CALL(Nothing, enlist(lane_, std::move(row), call.done()));
  }
  Call<Nothing> enlist(std::int64_t lease_ms) {
    Registration row;
    row.consumer = lane_.consumer;
    row.lease_ms = lease_ms;
    return enlist(std::move(row));
  }
  Call<bool> forget(const std::string& consumer) {
    PENSTOCK_CALL(bool, forget(lane_, consumer, call.done()));
  }
  Call<std::int64_t> trim() { PENSTOCK_CALL(std::int64_t, trim(lane_.stream, call.done())); }
  Call<Survey> survey() { PENSTOCK_CALL(Survey, survey(lane_.stream, call.done())); }
  Call<std::vector<std::string>> streams() {
    PENSTOCK_CALL(std::vector<std::string>, streams(call.done()));
  }
  Call<std::vector<PendingRow>> pending(EntryId from = {}, std::uint32_t max = 100) {
    PENSTOCK_CALL(std::vector<PendingRow>, pending(lane_, from, max, call.done()));
  }
#undef PENSTOCK_CALL

 private:
  Lane lane_;
  Backend* backend_;
  std::unique_ptr<Store> store_;
};

inline std::vector<Receipt> receipts(const Batch& batch) {
  std::vector<Receipt> out;
  for (const Taken& entry : batch.entries) out.push_back({entry.id, entry.delivery});
  return out;
}
inline std::vector<EntryId> ids(const Batch& batch) {
  std::vector<EntryId> out;
  for (const Taken& entry : batch.entries) out.push_back(entry.id);
  return out;
}
inline Fields fields(const Batch& batch, std::size_t index = 0) {
  Fields out;
  const Taken& entry = batch.entries.at(index);
  for (std::uint32_t i = 0; i < entry.field_count; ++i) {
    out.emplace_back(std::string(batch.name(entry, i)), std::string(batch.value(entry, i)));
  }
  return out;
}
inline Note note(const Batch& batch, std::size_t index = 0) {
  const Taken& entry = batch.entries.at(index);
  return entry.note < 0 ? Note{} : batch.notes.at(static_cast<std::size_t>(entry.note));
}
inline Note note_with(std::int64_t attempts, std::int64_t base = 0, ServerMs first_failed = 0,
                      std::string error = {}, std::string checkpoint = {},
                      std::int64_t crashes = 0) {
  Note out;
  out.attempts = attempts;
  out.base = base;
  out.crashes = crashes;
  out.first_failed = first_failed;
  out.error = std::move(error);
  out.checkpoint = std::move(checkpoint);
  return out;
}
inline Settlement ack_of(Receipt receipt) {
  Settlement out;
  out.receipt = receipt;
  return out;
}
inline Settlement park_of(Receipt receipt, milliseconds delay, Note kept = {}) {
  Settlement out;
  out.kind = Settlement::Kind::park;
  out.receipt = receipt;
  out.delay = delay;
  out.note = std::move(kept);
  return out;
}
inline Settlement release_of(Receipt receipt) {
  Settlement out = park_of(receipt, milliseconds(0));
  out.release = true;
  out.note.base = receipt.delivery;
  return out;
}
inline Settlement dead_of(Receipt receipt, std::string reason, Note history = {}) {
  Settlement out = park_of(receipt, milliseconds(0), std::move(history));
  out.kind = Settlement::Kind::dead;
  out.reason = std::move(reason);
  return out;
}
/// `owner` as it stands in `{stream}`; -1: any delivery number.
inline ClaimItem claim_of(EntryId id, std::string owner, std::int64_t delivery = -1,
                          std::int64_t min_idle_ms = 0) {
  return ClaimItem{id, std::move(owner), delivery, min_idle_ms};
}

/// An empty home, and two consumers of group `billing` on stream `orders`.
class Contract : public ::testing::Test {
 protected:
  static constexpr const char* stream = "orders";
  static constexpr const char* group = "billing";
  static constexpr const char* name_a = "worker.0000000a";
  static constexpr const char* name_b = "worker.0000000b";

  std::unique_ptr<Backend> backend = make_backend();
  Client a{*backend, {stream, group, name_a}};
  Client b{*backend, {stream, group, name_b}};

  /// Makes stream and group as one that was there before: entries stay unless a test says so.
  void open_keep() {
    OpenRequest request;
    request.retention = Retention::keep;
    a.open(request).get();
  }
  /// Sends `count` entries `n: <index>`.
  std::vector<EntryId> send(std::size_t count) {
    std::vector<EntryId> out;
    while (out.size() < count) {
      std::vector<Draft> drafts;
      while (drafts.size() < batch_max && out.size() + drafts.size() < count) {
        drafts.push_back({{{"n", std::to_string(out.size() + drafts.size())}}});
      }
      for (auto& id : a.append(std::move(drafts)).get()) out.push_back(id.value());
    }
    return out;
  }
  /// One entry, taken by a.
  Receipt taken_by_a() {
    send(1);
    const BatchPtr batch = a.take(1).get();
    return receipts(*batch).at(0);
  }
  /// The pending row of `id`; none: not pending.
  std::optional<Backend::RawPending> row(EntryId id) {
    for (auto& candidate : backend->raw_pending(stream, group)) {
      if (candidate.id == id) return candidate;
    }
    return std::nullopt;
  }
  Keys keys() const { return Keys(stream, group); }
};

}  // namespace penstock::contract
