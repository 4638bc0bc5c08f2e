#include "store/redis/decode.hpp"

#include <limits>
#include <memory>

#include "store/redis/call.hpp"
#include "store/redis/codec.hpp"

namespace penstock::store {

namespace {

using resp::Reply;

std::int64_t number(const Reply& reply) { return reply.integer().value_or(0); }
std::optional<std::int64_t> some_number(const Reply& reply) {
  return reply.is_null() ? std::nullopt : reply.integer();
}

/// Where the entries' bytes lie in the reply: their distance bounds the arena. One allocation.
std::size_t bytes_between(const Reply& first, const Reply& last) {
  const std::string_view from = first[0].text();
  Reply end = last[1];
  if (end.size() == 0) return 0;
  std::string_view to;
  for (const Reply& value : end) to = value.text();
  if (from.data() == nullptr || to.data() == nullptr || to.data() < from.data()) return 0;
  return static_cast<std::size_t>(to.data() - from.data()) + to.size();
}

/// Copies one entry's fields into the batch. False: it has no body, or no valid id.
bool add_entry(Batch& batch, std::string_view id, const Reply& fields, Taken taken) {
  if (fields.type() != resp::Type::array) return false;
  const auto parsed = base::parse_entry_id(id);
  if (!parsed) return false;
  taken.id = *parsed;
  taken.field_begin = static_cast<std::uint32_t>(batch.spans.size());
  taken.field_count = static_cast<std::uint32_t>(fields.size() / 2);
  std::size_t left = taken.field_count * std::size_t{2};
  const std::size_t start = batch.arena.size();
  for (const Reply& field : fields) {
    if (left-- == 0) break;
    const std::string_view text = field.text();
    batch.spans.push_back(
        {static_cast<std::uint32_t>(batch.arena.size()), static_cast<std::uint32_t>(text.size())});
    batch.arena.append(text);
  }
  taken.bytes = static_cast<std::uint32_t>(batch.arena.size() - start);
  batch.entries.push_back(taken);
  return true;
}

}  // namespace

base::Result<BatchPtr> decode_taken(const Reply& reply) {
  auto batch = std::make_shared<Batch>();
  if (reply.is_null()) return BatchPtr(std::move(batch));
  if (!reply.is_aggregate()) return strange("XREADGROUP");
  // RESP2: [[stream, entries]]; RESP3: {stream: entries}.
  const Reply entries = reply.type() == resp::Type::map ? reply[1] : reply[0][1];
  const std::size_t count = entries.size();
  if (count == 0) return BatchPtr(std::move(batch));
  Reply first = entries[0];
  Reply last;
  for (const Reply& entry : entries) last = entry;
  const std::size_t bytes = bytes_between(first, last);
  if (bytes > std::numeric_limits<std::uint32_t>::max()) return strange("XREADGROUP");
  batch->arena.reserve(bytes);
  batch->entries.reserve(count);
  batch->spans.reserve(count * first[1].size());
  for (const Reply& entry : entries) {
    auto part = entry.begin();
    if (entry.size() < 2) continue;
    const std::string_view id = (*part).text();
    add_entry(*batch, id, *++part, Taken{});
  }
  return BatchPtr(std::move(batch));
}

base::Result<ClaimReply> decode_claimed(const Reply& reply, const std::vector<ClaimItem>& items) {
  if (reply.size() != items.size()) return strange("a claim");
  auto batch = std::make_shared<Batch>();
  ClaimReply out;
  out.status.reserve(items.size());
  batch->entries.reserve(items.size());
  auto item = items.begin();
  for (const Reply& one : reply) {
    const bool parked = (item++)->owner == parked_consumer;
    if (!one.is_aggregate()) {
      const std::int64_t status = one.integer().value_or(0);
      if (status < 1 || status > 3) return strange("a claim");
      out.status.push_back(static_cast<ClaimStatus>(status));
      continue;
    }
    Taken taken;
    taken.delivery = number(one[1]);
    taken.origin = parked ? Origin::due : Origin::lapsed;
    if (one[2].is_string()) {
      if (auto note = parse_note(one[2].text())) {
        taken.note = static_cast<std::int32_t>(batch->notes.size());
        batch->notes.push_back(std::move(*note));
      }
    }
    if (!add_entry(*batch, one[0].text(), one[3], taken)) return strange("a claim");
    out.status.push_back(ClaimStatus::claimed);
  }
  out.batch = std::move(batch);
  return out;
}

base::Result<TickReply> decode_tick(const Reply& reply) {
  if (reply.size() < 8) return strange("a tick");
  TickReply out;
  out.now = number(reply[0]);
  for (const Reply& id : reply[1]) {
    // A member that is no entry id: another hand's row, nothing that we could claim.
    if (const auto parsed = base::parse_entry_id(id.text())) out.due.push_back(*parsed);
  }
  out.next_due = some_number(reply[2]);
  out.due_rows = number(reply[3]);
  out.parked = number(reply[4]);
  out.group_there = number(reply[5]) == 1;
  out.groups = number(reply[6]);
  out.retention = parse_retention(reply[7].text()).value_or(Retention::keep);
  return out;
}

base::Result<PeekReply> decode_peek(const Reply& reply) {
  if (reply.size() < 6) return strange("a peek");
  PeekReply out;
  out.now = number(reply[0]);
  const Reply overdue = reply[1];
  for (auto at = overdue.begin(); at != overdue.end();) {
    Pending one;
    const auto id = base::parse_entry_id((*at).text());
    if (!id || overdue.size() % 4 != 0) return strange("a peek");
    one.id = *id;
    one.owner = (*++at).text();
    one.idle_ms = number(*++at);
    one.delivery = number(*++at);
    ++at;
    out.overdue.push_back(std::move(one));
  }
  const Reply rows = reply[2];
  for (auto at = rows.begin(); at != rows.end() && rows.size() % 2 == 0;) {
    const std::string_view consumer = (*at).text();
    ++at;
    auto row = parse_row(consumer, (*at).text());
    if (row && out.workers.size() < 1024) out.workers.push_back(std::move(*row));
    ++at;
  }
  for (const Reply& name : reply[3]) out.gone.emplace_back(name.text());
  if (!reply[4].text().empty()) {
    out.cursor.append(reply[4].text()).append(" ").append(reply[5].text());
  }
  return out;
}

base::Result<Opened> decode_opened(const Reply& reply) {
  if (reply.size() < 7) return strange("an open");
  Opened out;
  // A word that a later version wrote: keep is the one that destroys nothing.
  out.retention = parse_retention(reply[0].text()).value_or(Retention::keep);
  out.retention_decided_now = number(reply[1]) == 1;
  out.stream_existed = number(reply[2]) == 1;
  out.group_made = number(reply[3]) == 1;
  out.waiting = number(reply[4]);
  out.groups = number(reply[5]);
  out.epoch = number(reply[6]);
  return out;
}

base::Result<std::vector<PendingRow>> decode_pending(const Reply& reply) {
  if (!reply.is_aggregate()) return strange("a look at the pending list");
  std::vector<PendingRow> out;
  for (const Reply& one : reply) {
    const auto id = base::parse_entry_id(one[0].text());
    if (!id) return strange("a look at the pending list");
    PendingRow row;
    row.id = *id;
    row.owner = one[1].text();
    row.idle_ms = number(one[2]);
    row.delivery = number(one[3]);
    row.due = some_number(one[4]);
    row.note = parse_note(one[5].text()).value_or(Note{});
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace penstock::store
