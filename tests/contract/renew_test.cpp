#include <chrono>

#include "contract/harness.hpp"

namespace penstock::contract {
namespace {

using namespace std::chrono_literals;

TEST_F(Contract, renew_resets_the_idle_time_and_keeps_the_number) {
  open_keep();
  const Receipt mine = taken_by_a();
  backend->pass(200ms);
  ASSERT_GE(row(mine.id)->idle_ms, 200);
  EXPECT_EQ(a.renew({mine}).get(), std::vector{RenewStatus::renewed});
  EXPECT_LT(row(mine.id)->idle_ms, 150);
  EXPECT_EQ(row(mine.id)->delivery, 1);
}

TEST_F(Contract, renew_answers_each_item_apart) {
  open_keep();
  const auto sent = send(6);
  a.take(6).get();
  b.claim({claim_of(sent[1], name_a)}).get();
  a.ack({sent[2]}).get();
  backend->delete_body(stream, sent[3]);
  a.claim({claim_of(sent[4], name_a)}).get();  // ours still, but another delivery
  const auto status =
      a.renew({{sent[5], 1}, {sent[4], 1}, {sent[3], 1}, {sent[2], 1}, {sent[1], 1}, {sent[0], 1}})
          .get();
  EXPECT_EQ(status, (std::vector{RenewStatus::renewed, RenewStatus::other_owner,
                                 RenewStatus::no_body, RenewStatus::not_pending,
                                 RenewStatus::other_owner, RenewStatus::renewed}));
  EXPECT_FALSE(row(sent[3])) << "a row without a body goes";
  EXPECT_EQ(row(sent[1])->owner, name_b);
}

TEST_F(Contract, renew_handles_256_among_many_others) {
  open_keep();
  const auto sent = send(1000);
  a.take(1000).get();
  std::vector<Receipt> some;
  for (std::size_t i = 0; i < 256; ++i) some.push_back({sent[i * 3], 1});
  EXPECT_EQ(a.renew(some).get(), std::vector<RenewStatus>(256, RenewStatus::renewed));
  EXPECT_TRUE(a.renew({}).get().empty());
}

// A renewal after B claimed must not take the entry from B.
TEST_F(Contract, T02_renewal_never_steals_back) {
  open_keep();
  const Receipt mine = taken_by_a();
  b.claim({claim_of(mine.id, name_a, 1)}).get();
  EXPECT_EQ(a.renew({mine}).get(), std::vector{RenewStatus::other_owner});
  EXPECT_EQ(row(mine.id)->owner, name_b);
  EXPECT_EQ(row(mine.id)->delivery, 2);
}

// Renewal and claim cross on the wire: whichever comes first, one owner is left.
TEST_F(Contract, T03_a_renewal_that_crosses_a_claim_robs_nobody) {
  open_keep();
  const Receipt mine = taken_by_a();
  auto claim = b.claim({claim_of(mine.id, name_a, 1)});
  auto renewal = a.renew({mine});
  const bool claimed = claim.get().status.at(0) == ClaimStatus::claimed;
  const RenewStatus renewed = renewal.get().at(0);
  ASSERT_TRUE(claimed) << "min_idle 0: a renewal alone does not refuse it";
  EXPECT_EQ(row(mine.id)->owner, name_b);
  // A renewal that was first has since been overtaken: the next one says so.
  if (renewed == RenewStatus::renewed) {
    EXPECT_EQ(a.renew({mine}).get(), std::vector{RenewStatus::other_owner});
  } else {
    EXPECT_EQ(renewed, RenewStatus::other_owner);
  }
}

}  // namespace
}  // namespace penstock::contract
