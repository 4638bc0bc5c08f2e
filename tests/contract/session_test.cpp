#include <chrono>

#include "contract/harness.hpp"

namespace penstock::contract {
namespace {

using namespace std::chrono_literals;

TEST_F(Contract, no_operation_answers_from_inside_its_call) {
  open_keep();
  auto take = a.take(1);
  auto tick = a.tick();
  auto survey = a.survey();
  EXPECT_FALSE(take.ready() || tick.ready() || survey.ready());
  survey.get();
  take.get();
  tick.get();
}

TEST_F(Contract, a_broken_connection_leaves_the_outcome_unknown_and_raises_the_epoch) {
  open_keep();
  const std::uint64_t before = a.store().epoch();
  auto waiting = a.take(1, 15s);
  backend->pass(50ms);
  backend->break_connection(a.store());
  EXPECT_EQ(waiting.error(), errc::connection_lost);
  send(1);  // comes back by itself
  EXPECT_TRUE(backend->run_until([&] { return a.store().epoch() > before; }, 10s));
  EXPECT_EQ(a.take(1).get()->entries.size(), 1u) << "nobody else got it";
}

TEST_F(Contract, a_session_broken_while_idle_comes_back) {
  open_keep();
  const Receipt mine = taken_by_a();
  const std::uint64_t before = a.store().epoch();
  backend->break_connection(a.store());
  ASSERT_TRUE(backend->run_until([&] { return a.store().epoch() > before; }, 10s));
  EXPECT_EQ(a.renew({mine}).get(), std::vector{RenewStatus::renewed})
      << "the lease is the consumer's, not the connection's";
}

TEST_F(Contract, close_answers_what_is_out_and_refuses_the_rest) {
  open_keep();
  auto waiting = a.take(1, 15s);
  backend->pass(50ms);
  a.store().close();
  EXPECT_EQ(waiting.error(), errc::closed);
  EXPECT_EQ(a.take(1).error(), errc::closed);
  EXPECT_EQ(a.take(1, 1s).error(), errc::closed);
  EXPECT_EQ(a.tick().error(), errc::closed);
  EXPECT_EQ(a.settle({}).error(), errc::closed);
  a.store().close();
  const auto sent = b.append({{{{"n", "1"}}}}).get();
  EXPECT_EQ(b.take(1).get()->entries.size(), 1u) << "the closed read took nothing";
}

TEST_F(Contract, a_session_that_went_away_is_served_nothing) {
  open_keep();
  {
    Client gone{*backend, {stream, group, "gone.0000000c"}};
    auto waiting = gone.take(1, 15s);
    backend->pass(50ms);
    gone.store().close();
    EXPECT_EQ(waiting.error(), errc::closed);
  }
  send(1);
  EXPECT_EQ(b.take(1).get()->entries.size(), 1u);
}

TEST_F(Contract, one_session_reads_several_lanes_at_once) {
  open_keep();
  const Lane other{"refunds", group, name_a};
  Call<Opened> opened(*backend);
  a.store().open(other, {}, opened.done());
  opened.get();
  Call<BatchPtr> refunds(*backend);
  a.store().take(other, TakeRequest{1, 10s}, refunds.done());
  auto orders = a.take(1, 10s);
  backend->pass(50ms);
  Call<std::vector<Result<EntryId>>> sent(*backend);
  b.store().append("refunds", {Draft{{{"n", "1"}}}}, sent.done());
  sent.get();
  EXPECT_EQ(refunds.get()->entries.size(), 1u);
  EXPECT_FALSE(orders.ready());
  b.append({{{{"n", "1"}}}}).get();
  EXPECT_EQ(orders.get()->entries.size(), 1u);
}

// Two sessions do everything at once; each entry must end exactly once.
TEST_F(Contract, two_racing_sessions_settle_each_entry_once) {
  open_keep();
  const auto sent = send(200);
  std::size_t acked = 0;
  for (int round = 0; round < 100 && acked < sent.size(); ++round) {
    auto take_a = a.take(7);
    auto take_b = b.take(5);
    const BatchPtr of_a = take_a.get();
    const BatchPtr of_b = take_b.get();
    // b goes for what a was just given; a settles it in the same moment.
    std::vector<ClaimItem> grabs;
    for (const Receipt& mine : receipts(*of_a)) grabs.push_back(claim_of(mine.id, name_a, 1));
    std::vector<Settlement> acks;
    for (const Receipt& mine : receipts(*of_a)) acks.push_back(ack_of(mine));
    auto settled = round % 2 == 0 ? a.settle(acks) : Call<std::vector<SettleStatus>>(*backend);
    auto claimed = b.claim(grabs);
    if (round % 2 != 0) settled = a.settle(acks);
    const auto status = settled.get();
    const ClaimReply grabbed = claimed.get();
    for (std::size_t i = 0; i < status.size(); ++i) {
      const bool by_a = status[i] == SettleStatus::done;
      const bool by_b = grabbed.status[i] == ClaimStatus::claimed;
      ASSERT_NE(by_a, by_b) << "one of them has it";
      acked += by_a ? 1 : 0;
    }
    std::vector<Settlement> rest;
    for (const Receipt& mine : receipts(*grabbed.batch)) rest.push_back(ack_of(mine));
    for (const Receipt& mine : receipts(*of_b)) rest.push_back(ack_of(mine));
    for (const SettleStatus one : b.settle(rest).get()) {
      ASSERT_EQ(one, SettleStatus::done);
      ++acked;
    }
  }
  EXPECT_EQ(acked, sent.size());
  EXPECT_TRUE(backend->raw_pending(stream, group).empty());
}

TEST_F(Contract, T21_a_strangers_delconsumer_loses_the_lease_of_ours) {
  open_keep();
  const Receipt mine = taken_by_a();
  backend->delete_consumer(stream, group, name_a);
  EXPECT_EQ(a.renew({mine}).get(), std::vector{RenewStatus::not_pending});
  EXPECT_EQ(a.settle({ack_of(mine)}).get(), std::vector{SettleStatus::already});
  EXPECT_EQ(backend->entries(stream).size(), 1u);
}

}  // namespace
}  // namespace penstock::contract
