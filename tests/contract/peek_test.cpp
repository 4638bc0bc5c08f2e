#include <algorithm>
#include <chrono>
#include <set>

#include "contract/harness.hpp"

namespace penstock::contract {
namespace {

using namespace std::chrono_literals;

const std::string parked(parked_consumer);

PeekRequest request(std::uint32_t max = 64, std::int64_t default_lease_ms = 60'000,
                    std::int64_t foreign_idle_ms = 60'000) {
  PeekRequest out;
  out.max = max;
  out.default_lease_ms = default_lease_ms;
  out.foreign_idle_ms = foreign_idle_ms;
  return out;
}

class Peek : public Contract {
 protected:
  /// All pages of a turn.
  std::vector<Pending> turn(PeekRequest ask, std::size_t* pages = nullptr) {
    std::vector<Pending> out;
    std::size_t count = 0;
    do {
      const PeekReply reply = b.peek(ask).get();
      EXPECT_LE(reply.overdue.size(), ask.max);
      out.insert(out.end(), reply.overdue.begin(), reply.overdue.end());
      ask.cursor = reply.cursor;
      if (++count > 1000) throw std::runtime_error("a turn never ends");
    } while (!ask.cursor.empty());
    if (pages != nullptr) *pages = count;
    return out;
  }
};

TEST_F(Peek, shows_each_owner_by_its_own_lease) {
  open_keep();
  const auto sent = send(4);
  a.take(1).get();
  a.enlist(100).get();
  Client slow{*backend, {stream, group, "slow.0000000c"}};
  slow.take(1).get();
  slow.enlist(60'000).get();
  backend->raw_take(stream, group, "foreign", 1);
  backend->raw_take(stream, group, "unknown.0000000d", 1);
  backend->pass(250ms);
  EXPECT_EQ(turn(request()).size(), 1u) << "only a's lease has lapsed";
  const auto overdue = turn(request());
  EXPECT_EQ(overdue.at(0).id, sent[0]);
  EXPECT_EQ(overdue.at(0).owner, name_a);
  EXPECT_EQ(overdue.at(0).delivery, 1);
  EXPECT_GE(overdue.at(0).idle_ms, 250);
  const auto with_foreign = turn(request(64, 60'000, 200));
  ASSERT_EQ(with_foreign.size(), 2u);
  EXPECT_TRUE(std::any_of(with_foreign.begin(), with_foreign.end(),
                          [](const Pending& p) { return p.owner == "foreign"; }));
  const auto with_unknown = turn(request(64, 200, 60'000));
  ASSERT_EQ(with_unknown.size(), 2u);
  EXPECT_TRUE(std::any_of(with_unknown.begin(), with_unknown.end(),
                          [](const Pending& p) { return p.owner == "unknown.0000000d"; }));
}

TEST_F(Peek, shows_the_own_consumer_too_and_never_the_parked_ones) {
  open_keep();
  const auto sent = send(2);
  b.take(2).get();
  b.enlist(100).get();
  b.settle({release_of({sent[0], 1})}).get();
  backend->pass(200ms);
  const auto overdue = turn(request(64, 0, 0));
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0].id, sent[1]);
  EXPECT_EQ(overdue[0].owner, name_b);
}

TEST_F(Peek, renewed_entries_are_not_overdue) {
  open_keep();
  const Receipt mine = taken_by_a();
  a.enlist(500).get();
  backend->pass(350ms);
  a.renew({mine}).get();
  backend->pass(200ms);
  EXPECT_TRUE(turn(request()).empty());
}

TEST_F(Peek, B12_a_forgotten_entry_under_a_live_owner_is_found) {
  open_keep();
  const auto sent = send(2);
  a.take(2).get();
  a.enlist(500).get();
  backend->pass(550ms);
  a.renew({{sent[1], 1}}).get();
  a.enlist(500).get();
  const auto overdue = turn(request());
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0].id, sent[0]);
}

// More than ten times `max` protected entries stand before the overdue ones.
TEST_F(Peek, T13_protected_heads_hide_nothing) {
  open_keep();
  send(1200);
  backend->raw_take(stream, group, "a_young_foreigner", 600);
  const BatchPtr head = a.take(600).get();
  a.enlist(300).get();
  std::set<EntryId> wanted;
  for (std::size_t i = 570; i < 600; ++i) wanted.insert(head->entries[i].id);
  backend->pass(350ms);
  std::vector<Receipt> kept;
  for (std::size_t i = 0; i < 570; ++i) {
    kept.push_back({head->entries[i].id, 1});
    if (kept.size() < batch_max && i + 1 < 570) continue;
    a.renew(kept).get();
    kept.clear();
  }
  std::size_t pages = 0;
  const auto overdue = turn(request(8), &pages);
  EXPECT_EQ(overdue.size(), wanted.size()) << "each once in a turn";
  for (const Pending& found : overdue) EXPECT_TRUE(wanted.contains(found.id));
  EXPECT_GE(pages, 4u) << "a page is bounded";
}

TEST_F(Peek, a_turn_goes_on_where_it_stopped_though_entries_were_claimed) {
  open_keep();
  const auto sent = send(20);
  a.take(10).get();
  backend->raw_take(stream, group, "foreign", 10);
  backend->pass(50ms);
  std::set<EntryId> seen;
  PeekRequest ask = request(3, 0, 0);
  do {
    const PeekReply reply = b.peek(ask).get();
    for (const Pending& found : reply.overdue) {
      // What was claimed belongs to b, and may come up once more under that name.
      if (found.owner == name_b) continue;
      EXPECT_TRUE(seen.insert(found.id).second);
      b.claim({claim_of(found.id, found.owner, found.delivery)}).get();
    }
    ask.cursor = reply.cursor;
  } while (!ask.cursor.empty());
  EXPECT_EQ(seen.size(), sent.size());
}

TEST_F(Peek, lists_the_workers_as_they_wrote_themselves) {
  open_keep();
  const ServerMs before = backend->now();
  Registration row;
  row.consumer = name_a;
  row.lease_ms = 20'000;
  row.host = "host with spaces \n and lines";
  row.pid = 4711;
  row.pid_started = 123'456;
  row.version = "0.1.0";
  a.enlist(row).get();
  b.enlist(5'000).get();
  const PeekReply reply = b.peek(request()).get();
  ASSERT_EQ(reply.workers.size(), 2u);
  const auto found = std::find_if(reply.workers.begin(), reply.workers.end(),
                                  [](const auto& worker) { return worker.consumer == name_a; });
  ASSERT_NE(found, reply.workers.end());
  EXPECT_EQ(found->lease_ms, 20'000);
  EXPECT_EQ(found->host, row.host);
  EXPECT_EQ(found->pid, 4711);
  EXPECT_EQ(found->pid_started, 123'456);
  EXPECT_EQ(found->version, "0.1.0");
  EXPECT_GE(found->renewed_at, before) << "the store's clock, not the row's";
  EXPECT_LE(found->renewed_at, backend->now());
  EXPECT_GE(reply.now, before);
}

TEST_F(Peek, enlist_again_renews_the_row) {
  open_keep();
  a.enlist(1'000).get();
  const ServerMs first = b.peek(request()).get().workers.at(0).renewed_at;
  backend->pass(50ms);
  a.enlist(2'000).get();
  const PeekReply reply = b.peek(request()).get();
  ASSERT_EQ(reply.workers.size(), 1u);
  EXPECT_GE(reply.workers[0].renewed_at, first + 50);
  EXPECT_EQ(reply.workers[0].lease_ms, 2'000);
}

TEST_F(Peek, tells_who_is_gone) {
  open_keep();
  const auto sent = send(3);
  a.take(1).get();
  a.enlist(300).get();
  Client holder{*backend, {stream, group, "holder.0000000c"}};
  holder.take(1).get();
  holder.enlist(300).get();
  backend->raw_take(stream, group, "foreign", 1);
  a.ack({sent[0]}).get();
  a.become("foreign");
  a.ack({sent[2]}).get();
  backend->pass(320ms);
  EXPECT_TRUE(b.peek(request()).get().gone.empty()) << "two leases have not passed";
  backend->pass(330ms);
  EXPECT_EQ(b.peek(request()).get().gone, std::vector<std::string>{name_a})
      << "not who holds something, nor a stranger";
}

TEST_F(Peek, never_calls_the_own_consumer_gone) {
  open_keep();
  send(1);
  const BatchPtr batch = b.take(1).get();
  b.ack(ids(*batch)).get();
  backend->pass(50ms);
  EXPECT_TRUE(b.peek(request(64, 0, 0)).get().gone.empty());
  b.enlist(10).get();
  backend->pass(100ms);
  EXPECT_TRUE(b.peek(request(64, 0, 0)).get().gone.empty());
}

TEST_F(Peek, parked_is_never_gone) {
  open_keep();
  const Receipt mine = taken_by_a();
  a.settle({release_of(mine)}).get();
  b.claim({claim_of(mine.id, parked)}).get();
  a.enlist(60'000).get();
  backend->pass(50ms);
  EXPECT_TRUE(b.peek(request(64, 10, 10)).get().gone.empty());
}

TEST_F(Peek, without_its_group_is_group_lost) {
  EXPECT_EQ(b.peek(request()).error(), errc::group_lost);
}

TEST_F(Peek, B01_forget_never_removes_who_holds_something) {
  open_keep();
  const auto sent = send(1);
  a.take(1).get();
  a.enlist(50).get();
  EXPECT_FALSE(b.forget(name_a).get());
  EXPECT_EQ(row(sent[0])->owner, name_a);
  EXPECT_EQ(b.peek(request()).get().workers.size(), 1u);
  a.ack(sent).get();
  EXPECT_TRUE(b.forget(name_a).get());
  EXPECT_TRUE(b.peek(request()).get().workers.empty()) << "its row goes with it";
  const auto left = backend->consumers(stream, group);
  EXPECT_EQ(std::count(left.begin(), left.end(), name_a), 0);
  EXPECT_TRUE(b.forget("nobody.00000000").get());
}

TEST_F(Peek, forget_never_removes_the_parked_consumer) {
  open_keep();
  const Receipt mine = taken_by_a();
  a.settle({release_of(mine)}).get();
  EXPECT_FALSE(b.forget(parked).get());
  b.claim({claim_of(mine.id, parked)}).get();
  EXPECT_FALSE(b.forget(parked).get()) << "also when it holds nothing";
}

TEST_F(Peek, forget_without_its_group_is_group_lost) {
  EXPECT_EQ(b.forget(name_a).error(), errc::group_lost);
}

}  // namespace
}  // namespace penstock::contract
