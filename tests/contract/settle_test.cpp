#include <chrono>

#include "contract/harness.hpp"

namespace penstock::contract {
namespace {

using namespace std::chrono_literals;

const std::string parked(parked_consumer);
constexpr auto del = Retention::delete_on_ack;

TEST_F(Contract, T04_stale_settlements_change_nothing) {
  open_keep();
  const Receipt mine = taken_by_a();
  b.claim({claim_of(mine.id, name_a, 1)}).get();
  for (const Settlement& stale :
       {ack_of(mine), park_of(mine, 0ms), release_of(mine), dead_of(mine, "attempts")}) {
    EXPECT_EQ(a.settle({stale}, del).get(), std::vector{SettleStatus::lease_lost});
  }
  EXPECT_EQ(row(mine.id)->owner, name_b);
  EXPECT_EQ(backend->entries(stream).size(), 1u);
  EXPECT_TRUE(backend->entries(keys().dead).empty());
  EXPECT_TRUE(backend->due_rows(stream, group).empty());
  EXPECT_TRUE(backend->notes(stream, group).empty());
}

// The same name and another delivery number: the owner alone is no fence.
TEST_F(Contract, T04_a_restart_under_the_same_name_is_fenced_by_the_number) {
  open_keep();
  const Receipt old = taken_by_a();
  Client restarted{*backend, {stream, group, name_a}};
  restarted.claim({claim_of(old.id, name_a, 1)}).get();
  EXPECT_EQ(a.settle({ack_of(old)}).get(), std::vector{SettleStatus::lease_lost});
  EXPECT_EQ(restarted.settle({ack_of({old.id, 2})}).get(), std::vector{SettleStatus::done});
}

// The hand-back at close must not take the entry from the peer that claimed it.
TEST_F(Contract, T18_a_late_hand_back_takes_nothing_from_a_peer) {
  open_keep();
  const Receipt mine = taken_by_a();
  b.claim({claim_of(mine.id, name_a, 1)}).get();
  EXPECT_EQ(a.settle({release_of(mine)}).get(), std::vector{SettleStatus::lease_lost});
  EXPECT_EQ(row(mine.id)->owner, name_b);
  EXPECT_LT(row(mine.id)->idle_ms, 60'000);
}

// Parking raises no number: what fences the old run is that the owner is another.
TEST_F(Contract, T04_a_parked_delivery_is_over_for_its_old_owner) {
  open_keep();
  const Receipt mine = taken_by_a();
  a.settle({park_of(mine, 60s, note_with(1))}).get();
  EXPECT_EQ(a.renew({mine}).get(), std::vector{RenewStatus::other_owner});
  for (const Settlement& stale : {ack_of(mine), release_of(mine), dead_of(mine, "attempts")}) {
    EXPECT_EQ(a.settle({stale}, del).get(), std::vector{SettleStatus::lease_lost});
  }
  EXPECT_EQ(row(mine.id)->owner, parked);
  EXPECT_LT(row(mine.id)->idle_ms, 60'000);
  EXPECT_EQ(backend->notes(stream, group), std::vector<EntryId>{mine.id});
}

TEST_F(Contract, ack_by_settle_ends_the_lease_by_retention) {
  open_keep();
  const auto sent = send(2);
  a.take(2).get();
  EXPECT_EQ(a.settle({ack_of({sent[0], 1})}, Retention::keep).get(),
            std::vector{SettleStatus::done});
  EXPECT_EQ(backend->entries(stream).size(), 2u);
  EXPECT_EQ(a.settle({ack_of({sent[1], 1})}, del).get(), std::vector{SettleStatus::done});
  EXPECT_EQ(backend->entries(stream).size(), 1u);
  EXPECT_TRUE(backend->raw_pending(stream, group).empty());
  EXPECT_EQ(a.settle({ack_of({sent[1], 1})}, del).get(), std::vector{SettleStatus::already});
}

TEST_F(Contract, ack_by_settle_removes_the_note) {
  open_keep();
  const Receipt mine = taken_by_a();
  a.settle({park_of(mine, 0ms, note_with(1))}).get();
  a.claim({claim_of(mine.id, parked)}).get();
  a.settle({ack_of({mine.id, 2})}).get();
  EXPECT_TRUE(backend->notes(stream, group).empty());
}

TEST_F(Contract, ack_of_a_vanished_entry_still_ends_it) {
  open_keep();
  const Receipt mine = taken_by_a();
  backend->delete_body(stream, mine.id);
  EXPECT_EQ(a.settle({ack_of(mine)}).get(), std::vector{SettleStatus::done});
  EXPECT_FALSE(row(mine.id));
}

TEST_F(Contract, unfenced_ack_counts_what_was_pending_and_deletes_by_retention) {
  open_keep();
  const auto sent = send(4);
  a.take(4).get();
  b.claim({claim_of(sent[1], name_a)}).get();
  EXPECT_EQ(a.ack({sent[0], EntryId{5, 5}}, Retention::keep).get().acked, 1);
  EXPECT_EQ(a.ack({sent[0], sent[1], sent[2]}, del).get().acked, 2) << "whoever owns it";
  EXPECT_EQ(backend->entries(stream).size(), 1u);
  EXPECT_EQ(backend->raw_pending(stream, group).size(), 1u);
  EXPECT_EQ(a.ack({}, del).get().acked, 0);
}

TEST_F(Contract, unfenced_ack_is_not_bounded_by_a_batch) {
  open_keep();
  const auto sent = send(1000);
  a.take(1000).get();
  EXPECT_EQ(a.ack(sent, del).get().acked, 1000);
  EXPECT_TRUE(backend->entries(stream).empty());
}

TEST_F(Contract, park_waits_in_place_with_its_note) {
  open_keep();
  const Receipt mine = taken_by_a();
  const ServerMs before = backend->now();
  ASSERT_EQ(a.settle({park_of(mine, 5s, note_with(1, 1, 0, "boom"))}, del).get(),
            std::vector{SettleStatus::done});
  const auto held = row(mine.id);
  EXPECT_EQ(held->owner, parked);
  EXPECT_EQ(held->delivery, 1);
  EXPECT_LT(held->idle_ms, 1000);
  EXPECT_EQ(backend->entries(stream).size(), 1u) << "the body stays in its place";
  const auto due = backend->due_rows(stream, group);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].first, mine.id);
  EXPECT_GE(due[0].second, before + 5'000);
  EXPECT_LE(due[0].second, backend->now() + 5'000);
  const auto rows = a.pending().get();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].note.attempts, 1);
  EXPECT_EQ(rows[0].note.error, "boom");
  EXPECT_GE(rows[0].note.first_failed, before) << "0 with attempts means now";
  EXPECT_LE(rows[0].note.first_failed, backend->now());
  EXPECT_EQ(rows[0].due, due[0].second);
}

TEST_F(Contract, park_keeps_the_time_of_the_first_failure) {
  open_keep();
  const Receipt mine = taken_by_a();
  a.settle({park_of(mine, 0ms, note_with(3, 0, 1234))}).get();
  EXPECT_EQ(a.pending().get().at(0).note.first_failed, 1234);
}

TEST_F(Contract, park_without_a_failure_writes_no_time) {
  open_keep();
  const Receipt mine = taken_by_a();
  a.settle({park_of(mine, 0ms, note_with(0, 1))}).get();
  EXPECT_EQ(a.pending().get().at(0).note, (note_with(0, 1)));
}

TEST_F(Contract, a_hand_back_is_due_now_and_very_idle) {
  open_keep();
  const Receipt mine = taken_by_a();
  EXPECT_EQ(a.settle({release_of(mine)}).get(), std::vector{SettleStatus::done});
  EXPECT_EQ(row(mine.id)->owner, parked);
  EXPECT_GE(row(mine.id)->idle_ms, released_idle_ms);
  EXPECT_EQ(b.tick().get().due, std::vector<EntryId>{mine.id});
}

TEST_F(Contract, park_of_a_vanished_entry_leaves_nothing_behind) {
  open_keep();
  const Receipt mine = taken_by_a();
  backend->delete_body(stream, mine.id);
  EXPECT_EQ(a.settle({park_of(mine, 1s, note_with(1))}).get(), std::vector{SettleStatus::already});
  EXPECT_FALSE(row(mine.id));
  EXPECT_TRUE(backend->due_rows(stream, group).empty());
  EXPECT_TRUE(backend->notes(stream, group).empty());
}

TEST_F(Contract, T12_one_bad_item_hides_nothing_of_the_others) {
  open_keep();
  const auto sent = send(5);
  a.take(5).get();
  b.claim({claim_of(sent[1], name_a)}).get();
  a.ack({sent[2]}).get();
  EXPECT_EQ(a.settle({dead_of({sent[0], 1}, "decode"), ack_of({sent[1], 1}), ack_of({sent[2], 1}),
                      park_of({sent[3], 9}, 1s), park_of({sent[4], 1}, 1s)})
                .get(),
            (std::vector{SettleStatus::done, SettleStatus::lease_lost, SettleStatus::already,
                         SettleStatus::lease_lost, SettleStatus::done}));
  EXPECT_EQ(backend->due_rows(stream, group).size(), 1u);
}

TEST_F(Contract, settle_handles_256_of_a_mixed_kind) {
  open_keep();
  const auto sent = send(256);
  a.take(256).get();
  std::vector<Settlement> items;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Receipt mine{sent[i], 1};
    items.push_back(i % 3 == 0   ? ack_of(mine)
                    : i % 3 == 1 ? park_of(mine, 1s, note_with(1))
                                 : dead_of(mine, "attempts"));
  }
  EXPECT_EQ(a.settle(items, del).get(), std::vector<SettleStatus>(256, SettleStatus::done));
  EXPECT_EQ(backend->raw_pending(stream, group).size(), 85u);
  EXPECT_EQ(backend->entries(keys().dead).size(), 85u);
  EXPECT_EQ(backend->entries(stream).size(), 85u);
  EXPECT_TRUE(a.settle({}).get().empty());
}

TEST_F(Contract, settle_and_renew_without_their_group_are_group_lost) {
  open_keep();
  const Receipt mine = taken_by_a();
  backend->delete_key(stream);
  EXPECT_EQ(a.settle({ack_of(mine)}).error(), errc::group_lost);
  EXPECT_EQ(a.renew({mine}).error(), errc::group_lost);
  EXPECT_EQ(a.ack({mine.id}).get().acked, 0);
}

}  // namespace
}  // namespace penstock::contract
