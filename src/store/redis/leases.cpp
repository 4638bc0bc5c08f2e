#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>

#include "store/keys.hpp"
#include "store/redis/call.hpp"
#include "store/redis/decode.hpp"
#include "store/redis/session.hpp"

namespace penstock::store {

using base::Failure;
using base::Result;

namespace {

constexpr std::size_t ids_per_ack = 1000;

/// An id as an argument, without a string of its own.
void add_id(resp::Command& command, EntryId id) {
  std::array<char, 48> text;
  char* at = std::to_chars(text.data(), text.data() + text.size(), id.ms).ptr;
  *at++ = '-';
  at = std::to_chars(at, text.data() + text.size(), id.seq).ptr;
  command.arg(std::string_view(text.data(), static_cast<std::size_t>(at - text.data())));
}

/// A script's answer of one digit per item, the digit being the status.
template <class Status>
Result<std::vector<Status>> statuses(const resp::Reply& reply, std::size_t items, Status last,
                                     const std::vector<std::uint32_t>* order) {
  const std::string_view digits = reply.text();
  if (digits.size() != items) return strange("a script of leases");
  std::vector<Status> out(items);
  for (std::size_t i = 0; i < items; ++i) {
    const int value = digits[i] - '0';
    if (value < 0 || value > static_cast<int>(last)) return strange("a script of leases");
    out[order == nullptr ? i : (*order)[i]] = static_cast<Status>(value);
  }
  return out;
}

void add_settlement(ScriptCall& call, const Settlement& item) {
  const Note& note = item.note;
  switch (item.kind) {
    case Settlement::Kind::ack:
      call.arg("a").arg(item.receipt.id).arg(item.receipt.delivery);
      break;
    case Settlement::Kind::park:
      call.arg("p").arg(item.receipt.id).arg(item.receipt.delivery);
      call.arg(std::max<std::int64_t>(item.delay.count(), 0)).arg(item.release ? 1 : 0);
      call.arg(note.attempts).arg(note.base).arg(note.crashes).arg(note.first_failed);
      call.arg(note.error).arg(note.checkpoint);
      break;
    case Settlement::Kind::dead:
      call.arg("d").arg(item.receipt.id).arg(item.receipt.delivery);
      call.arg(note.attempts).arg(note.first_failed).arg(note.error).arg(item.reason);
      break;
  }
}

}  // namespace

void RedisStore::claim(const Lane& lane, std::vector<ClaimItem> items, Done<ClaimReply> done) {
  if (refused<ClaimReply>(items.size(), done)) return;
  if (items.empty()) {
    ClaimReply none;
    none.batch = std::make_shared<Batch>();
    return answer_later<ClaimReply>(std::move(done), std::move(none));
  }
  const Keys keys(lane.stream, lane.group);
  ScriptCall call(scripts::claim);
  call.key(keys.stream).key(keys.due).key(keys.note).arg(lane.group).arg(lane.consumer);
  for (const ClaimItem& item : items) {
    call.arg(item.id).arg(item.owner).arg(item.delivery).arg(item.min_idle_ms);
  }
  run(commands_, std::move(call),
      answer(std::move(done), [items = std::move(items)](const resp::Reply& reply) {
        return decode_claimed(reply, items);
      }));
}

void RedisStore::renew(const Lane& lane, std::vector<Receipt> receipts,
                       Done<std::vector<RenewStatus>> done) {
  using Statuses = std::vector<RenewStatus>;
  if (refused<Statuses>(receipts.size(), done)) return;
  if (receipts.empty()) return answer_later<Statuses>(std::move(done), Statuses{});
  std::vector<std::uint32_t> order(receipts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return receipts[a].id < receipts[b].id; });
  ScriptCall call(scripts::renew);
  call.key(lane.stream).arg(lane.group).arg(lane.consumer);
  for (const std::uint32_t i : order) call.arg(receipts[i].id).arg(receipts[i].delivery);
  run(commands_, std::move(call),
      answer(std::move(done), [order = std::move(order)](const resp::Reply& reply) {
        return statuses(reply, order.size(), RenewStatus::no_body, &order);
      }));
}

void RedisStore::ack(const Lane& lane, std::vector<EntryId> ids, Retention retention,
                     Done<AckReply> done) {
  if (ids.empty()) return answer_later<AckReply>(std::move(done), AckReply{});
  // Not fenced, so it goes out on the connection under which the leases were proved, or not at all:
  // behind another one another server may stand.
  struct Sum {
    AckReply reply;
    std::optional<Failure> failure;
    std::size_t left;
    Done<AckReply> done;
  };
  const bool remove = retention == Retention::delete_on_ack;
  const std::size_t chunks = (ids.size() + ids_per_ack - 1) / ids_per_ack;
  auto sum = std::make_shared<Sum>(Sum{{}, {}, chunks, std::move(done)});
  const auto gather = [sum, remove](Result<resp::Reply> reply) {
    if (reply.has_error()) {
      if (!sum->failure) sum->failure = reply.error();
    } else {
      const resp::Reply acked = remove ? (*reply)[0] : *reply;
      if (acked.is_error()) sum->failure = Failure{errc::rejected, std::string(acked.text())};
      sum->reply.acked += acked.integer().value_or(0);
    }
    if (--sum->left != 0) return;
    if (sum->failure) return sum->done(*sum->failure);
    sum->done(sum->reply);
  };
  for (std::size_t begin = 0; begin < ids.size(); begin += ids_per_ack) {
    const std::size_t end = std::min(begin + ids_per_ack, ids.size());
    // One transaction: an entry is never acked and left in the stream, or the other way about.
    resp::Command command(remove ? "MULTI" : "XACK");
    if (remove) command.then("XACK");
    command.arg(lane.stream).arg(lane.group);
    for (std::size_t i = begin; i < end; ++i) add_id(command, ids[i]);
    if (remove) {
      command.then("XDEL").arg(lane.stream);
      for (std::size_t i = begin; i < end; ++i) add_id(command, ids[i]);
      command.then("EXEC");
    }
    // A session's very first command makes the line: no lease can have been proved on an older one.
    if (commands_->generation() == 0) {
      commands_->command(std::move(command), gather);
    } else {
      commands_->command_on_this_line(std::move(command), gather);
    }
  }
}

void RedisStore::settle(const Lane& lane, std::vector<Settlement> items, Retention retention,
                        Done<std::vector<SettleStatus>> done) {
  using Statuses = std::vector<SettleStatus>;
  if (refused<Statuses>(items.size(), done)) return;
  if (items.empty()) return answer_later<Statuses>(std::move(done), Statuses{});
  const Keys keys(lane.stream, lane.group);
  ScriptCall call(scripts::settle);
  call.key(keys.stream).key(keys.due).key(keys.note).key(keys.dead);
  call.arg(lane.group).arg(lane.consumer).arg(retention == Retention::delete_on_ack ? 1 : 0);
  for (const Settlement& item : items) add_settlement(call, item);
  run(commands_, std::move(call),
      answer(std::move(done), [count = items.size()](const resp::Reply& reply) {
        return statuses(reply, count, SettleStatus::refused, nullptr);
      }));
}

}  // namespace penstock::store
