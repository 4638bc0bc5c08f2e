#include <algorithm>
#include <chrono>

#include "contract/harness.hpp"

namespace penstock::contract {
namespace {

using namespace std::chrono_literals;

const std::string parked(parked_consumer);

TEST_F(Contract, claim_takes_over_and_raises_the_number) {
  open_keep();
  const Receipt mine = taken_by_a();
  backend->pass(150ms);
  const ClaimReply reply = b.claim({claim_of(mine.id, name_a, 1, 100)}).get();
  ASSERT_EQ(reply.status, std::vector{ClaimStatus::claimed});
  ASSERT_EQ(reply.batch->entries.size(), 1u);
  const Taken& taken = reply.batch->entries[0];
  EXPECT_EQ(taken.id, mine.id);
  EXPECT_EQ(taken.delivery, 2);
  EXPECT_EQ(taken.origin, Origin::lapsed);
  EXPECT_EQ(taken.note, -1);
  EXPECT_EQ(fields(*reply.batch), (Fields{{"n", "0"}}));
  EXPECT_EQ(row(mine.id)->owner, name_b);
  EXPECT_EQ(row(mine.id)->delivery, 2);
  EXPECT_LT(row(mine.id)->idle_ms, 100);
}

TEST_F(Contract, claim_repeats_every_condition) {
  open_keep();
  const Receipt mine = taken_by_a();
  const auto status = [&](ClaimItem item) { return b.claim({std::move(item)}).get().status.at(0); };
  EXPECT_EQ(status(claim_of(mine.id, "somebody", 1)), ClaimStatus::owner_changed);
  EXPECT_EQ(status(claim_of(mine.id, parked, 1)), ClaimStatus::owner_changed);
  EXPECT_EQ(status(claim_of(mine.id, name_a, 2)), ClaimStatus::owner_changed);
  EXPECT_EQ(status(claim_of(mine.id, name_a, 0)), ClaimStatus::owner_changed);
  EXPECT_EQ(status(claim_of(mine.id, name_a, 1, 60'000)), ClaimStatus::owner_changed);
  EXPECT_EQ(row(mine.id)->owner, name_a);
  EXPECT_EQ(row(mine.id)->delivery, 1);
  EXPECT_EQ(status(claim_of(mine.id, name_a)), ClaimStatus::claimed);
}

TEST_F(Contract, claim_of_what_was_settled_is_not_pending_and_clears_its_rows) {
  open_keep();
  const Receipt mine = taken_by_a();
  Note note;
  note.attempts = 1;
  a.settle({park_of(mine, 0ms, note)}).get();
  a.ack({mine.id}).get();  // a stranger's ack: due row and note stay behind
  ASSERT_EQ(backend->due_rows(stream, group).size(), 1u);
  ASSERT_EQ(backend->notes(stream, group).size(), 1u);
  const ClaimReply reply = b.claim({claim_of(mine.id, parked)}).get();
  EXPECT_EQ(reply.status, std::vector{ClaimStatus::not_pending});
  EXPECT_TRUE(reply.batch == nullptr || reply.batch->entries.empty());
  EXPECT_TRUE(backend->due_rows(stream, group).empty());
  EXPECT_TRUE(backend->notes(stream, group).empty());
}

TEST_F(Contract, claim_without_a_body_is_vanished_and_clears_everything) {
  open_keep();
  const Receipt mine = taken_by_a();
  Note note;
  note.attempts = 1;
  a.settle({park_of(mine, 0ms, note)}).get();
  backend->delete_body(stream, mine.id);
  const ClaimReply reply = b.claim({claim_of(mine.id, parked)}).get();
  EXPECT_EQ(reply.status, std::vector{ClaimStatus::vanished});
  EXPECT_FALSE(row(mine.id));
  EXPECT_TRUE(backend->due_rows(stream, group).empty());
  EXPECT_TRUE(backend->notes(stream, group).empty());
}

TEST_F(Contract, claim_under_a_live_lease_is_refused_though_the_body_is_gone) {
  open_keep();
  const Receipt mine = taken_by_a();
  backend->delete_body(stream, mine.id);
  const ClaimReply reply = b.claim({claim_of(mine.id, name_a, 1, 60'000)}).get();
  EXPECT_EQ(reply.status, std::vector{ClaimStatus::owner_changed});
  EXPECT_TRUE(row(mine.id));
}

TEST_F(Contract, a_parked_entry_is_claimed_when_due_and_not_before) {
  open_keep();
  const Receipt mine = taken_by_a();
  Note note = note_with(2, 1, 77, "no", "page 3", 1);
  ASSERT_EQ(a.settle({park_of(mine, 500ms, note)}).get(), std::vector{SettleStatus::done});
  EXPECT_EQ(b.claim({claim_of(mine.id, parked)}).get().status.at(0), ClaimStatus::owner_changed);
  EXPECT_EQ(backend->due_rows(stream, group).size(), 1u);
  EXPECT_EQ(row(mine.id)->owner, parked);
  backend->pass(600ms);
  const ClaimReply reply = b.claim({claim_of(mine.id, parked)}).get();
  ASSERT_EQ(reply.status.at(0), ClaimStatus::claimed);
  EXPECT_EQ(reply.batch->entries[0].origin, Origin::due);
  EXPECT_EQ(reply.batch->entries[0].delivery, 2);
  EXPECT_EQ(contract::note(*reply.batch), note);
  EXPECT_TRUE(backend->due_rows(stream, group).empty());
  EXPECT_EQ(backend->notes(stream, group), std::vector<EntryId>{mine.id}) << "the note is kept";
}

TEST_F(Contract, a_parked_entry_that_no_due_row_knows_can_be_claimed) {
  open_keep();
  const Receipt mine = taken_by_a();
  a.settle({park_of(mine, 60s)}).get();
  backend->delete_key(keys().due);
  const ClaimReply reply = b.claim({claim_of(mine.id, parked)}).get();
  ASSERT_EQ(reply.status.at(0), ClaimStatus::claimed);
  EXPECT_EQ(reply.batch->entries[0].origin, Origin::due);
}

TEST_F(Contract, a_parked_entry_that_another_library_took_loses_its_due_row) {
  open_keep();
  const Receipt mine = taken_by_a();
  a.settle({release_of(mine)}).get();
  backend->raw_claim(stream, group, "foreign", mine.id);
  ASSERT_EQ(backend->due_rows(stream, group).size(), 1u);
  EXPECT_EQ(b.claim({claim_of(mine.id, parked)}).get().status.at(0), ClaimStatus::owner_changed);
  EXPECT_TRUE(backend->due_rows(stream, group).empty());
  EXPECT_EQ(row(mine.id)->owner, "foreign");
}

TEST_F(Contract, claim_of_an_entry_with_a_ghost_due_row_removes_the_row) {
  open_keep();
  const Receipt mine = taken_by_a();
  backend->add_due_row(stream, group, mine.id, backend->now() + 60'000);
  EXPECT_EQ(b.claim({claim_of(mine.id, name_a, 1)}).get().status.at(0), ClaimStatus::claimed);
  EXPECT_TRUE(backend->due_rows(stream, group).empty());
}

TEST_F(Contract, claim_answers_item_by_item_and_batches_in_order) {
  open_keep();
  const auto sent = send(4);
  a.take(10).get();
  a.ack({sent[1]}).get();
  backend->delete_body(stream, sent[2]);
  const ClaimReply reply =
      b.claim({claim_of(sent[3], name_a), claim_of(sent[2], name_a), claim_of(sent[1], name_a),
               claim_of(EntryId{7, 7}, name_a), claim_of(sent[0], name_a)})
          .get();
  EXPECT_EQ(reply.status,
            (std::vector{ClaimStatus::claimed, ClaimStatus::vanished, ClaimStatus::not_pending,
                         ClaimStatus::not_pending, ClaimStatus::claimed}));
  EXPECT_EQ(ids(*reply.batch), (std::vector<EntryId>{sent[3], sent[0]}));
  EXPECT_EQ(fields(*reply.batch, 0), (Fields{{"n", "3"}}));
  EXPECT_EQ(fields(*reply.batch, 1), (Fields{{"n", "0"}}));
}

TEST_F(Contract, claim_handles_256_at_once) {
  open_keep();
  const auto sent = send(256);
  a.take(256).get();
  std::vector<ClaimItem> items;
  for (const EntryId id : sent) items.push_back(claim_of(id, name_a, 1));
  const ClaimReply reply = b.claim(items).get();
  EXPECT_EQ(std::count(reply.status.begin(), reply.status.end(), ClaimStatus::claimed), 256);
  EXPECT_EQ(ids(*reply.batch), sent);
  EXPECT_TRUE(b.claim({}).get().status.empty());
}

// Two reclaimers saw the same candidate: one of them gets it.
TEST_F(Contract, T08_only_one_of_two_claims_wins) {
  open_keep();
  const Receipt mine = taken_by_a();
  Client c{*backend, {stream, group, "worker.0000000c"}};
  auto first = b.claim({claim_of(mine.id, name_a, 1)});
  auto second = c.claim({claim_of(mine.id, name_a, 1)});
  const bool b_won = first.get().status.at(0) == ClaimStatus::claimed;
  const bool c_won = second.get().status.at(0) == ClaimStatus::claimed;
  EXPECT_NE(b_won, c_won);
  EXPECT_EQ(row(mine.id)->owner, b_won ? name_b : "worker.0000000c");
  EXPECT_EQ(row(mine.id)->delivery, 2);
}

// An own entry that lapsed: claimed again it is a new delivery, and the old one has lost.
TEST_F(Contract, T17_own_lapsed_entry_claimed_again_is_a_new_delivery) {
  open_keep();
  const Receipt mine = taken_by_a();
  const ClaimReply reply = a.claim({claim_of(mine.id, name_a, 1)}).get();
  ASSERT_EQ(reply.status.at(0), ClaimStatus::claimed);
  EXPECT_EQ(reply.batch->entries[0].delivery, 2);
  EXPECT_EQ(a.renew({mine}).get(), std::vector{RenewStatus::other_owner});
  EXPECT_EQ(a.settle({ack_of(mine)}).get(), std::vector{SettleStatus::lease_lost});
  EXPECT_EQ(a.settle({ack_of({mine.id, 2})}).get(), std::vector{SettleStatus::done});
}

// T09: deliveries and attempts are two counters.
TEST_F(Contract, T09_renewals_raise_no_number_and_attempts_stay_apart_from_deliveries) {
  open_keep();
  Receipt mine = taken_by_a();
  for (int i = 0; i < 3; ++i) a.renew({mine}).get();
  EXPECT_EQ(row(mine.id)->delivery, 1);
  Note note = note_with(1, 1);
  a.settle({park_of(mine, 0ms, note)}).get();
  EXPECT_EQ(row(mine.id)->delivery, 1) << "parking is no delivery";
  mine.delivery = 2;
  ClaimReply reply = a.claim({claim_of(mine.id, parked, 1)}).get();
  ASSERT_EQ(receipts(*reply.batch), std::vector{mine});
  EXPECT_EQ(contract::note(*reply.batch).attempts, 1);
  a.settle({release_of(mine)}).get();  // a hand-back: no attempt
  mine.delivery = 3;
  reply = b.claim({claim_of(mine.id, parked, 2)}).get();
  ASSERT_EQ(receipts(*reply.batch), std::vector{mine});
  EXPECT_EQ(contract::note(*reply.batch).attempts, 0) << "the note is what was written last";
  EXPECT_EQ(contract::note(*reply.batch).base, 2);
}

TEST_F(Contract, claim_without_its_group_is_group_lost) {
  open_keep();
  const Receipt mine = taken_by_a();
  backend->destroy_group(stream, group);
  EXPECT_EQ(b.claim({claim_of(mine.id, name_a)}).error(), errc::group_lost);
}

}  // namespace
}  // namespace penstock::contract
