#include <chrono>

#include "contract/harness.hpp"

namespace penstock::contract {
namespace {

using namespace std::chrono_literals;

TEST_F(Contract, append_answers_rising_ids) {
  const auto sent = send(300);
  for (std::size_t i = 1; i < sent.size(); ++i) ASSERT_LT(sent[i - 1], sent[i]);
  EXPECT_EQ(backend->entries(stream).size(), 300u);
}

TEST_F(Contract, append_answers_item_by_item_where_one_is_bad) {
  const auto out = a.append({{{{"n", "1"}}}, Draft{}, {{{"n", "3"}}}}).get();
  ASSERT_EQ(out.size(), 3u);
  EXPECT_TRUE(out[0].has_value());
  EXPECT_TRUE(out[1].has_error());
  EXPECT_TRUE(out[2].has_value());
  EXPECT_EQ(backend->entries(stream).size(), 2u);
}

TEST_F(Contract, append_to_a_full_server_is_storage_full) {
  open_keep();
  backend->refuse_writes(true);
  auto out = a.append({{{{"n", "1"}}}}).get();
  EXPECT_EQ(out.at(0).error().code, errc::storage_full);
  backend->refuse_writes(false);
  out = a.append({{{{"n", "2"}}}}).get();
  EXPECT_TRUE(out.at(0).has_value());
  EXPECT_EQ(backend->entries(stream).size(), 1u);
}

TEST_F(Contract, append_to_a_key_of_another_type_is_wrong_type) {
  backend->spoil_key(stream);
  const auto out = a.append({{{{"n", "1"}}}}).get();
  EXPECT_EQ(out.at(0).error().code, errc::wrong_type);
}

TEST_F(Contract, a_batch_of_more_than_256_is_refused_whole) {
  open_keep();
  const Receipt mine = taken_by_a();
  EXPECT_EQ(a.renew(std::vector<Receipt>(257, mine)).error(), errc::would_exceed);
  EXPECT_EQ(a.settle(std::vector<Settlement>(257, ack_of(mine))).error(), errc::would_exceed);
  EXPECT_EQ(b.claim(std::vector<ClaimItem>(257, claim_of(mine.id, name_a))).error(),
            errc::would_exceed);
  EXPECT_EQ(a.append(std::vector<Draft>(257, Draft{{{"n", "x"}}})).error(), errc::would_exceed);
  EXPECT_EQ(row(mine.id)->owner, name_a);
  EXPECT_EQ(backend->entries(stream).size(), 1u);
}

TEST_F(Contract, take_hands_out_new_entries_once_in_order_with_number_one) {
  open_keep();
  const auto sent = send(5);
  const BatchPtr first = a.take(3).get();
  const BatchPtr second = b.take(10).get();
  EXPECT_EQ(ids(*first), std::vector<EntryId>(sent.begin(), sent.begin() + 3));
  EXPECT_EQ(ids(*second), std::vector<EntryId>(sent.begin() + 3, sent.end()));
  for (const Taken& entry : first->entries) {
    EXPECT_EQ(entry.delivery, 1);
    EXPECT_EQ(entry.origin, Origin::fresh);
    EXPECT_EQ(entry.note, -1);
    EXPECT_EQ(entry.bytes, 2u);
  }
  EXPECT_EQ(fields(*first, 1), (Fields{{"n", "1"}}));
  EXPECT_TRUE(a.take(10).get()->entries.empty());
  const auto rows = backend->raw_pending(stream, group);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].owner, name_a);
  EXPECT_EQ(rows[0].delivery, 1);
  EXPECT_EQ(rows[4].owner, name_b);
}

TEST_F(Contract, take_hands_out_a_thousand_at_once) {
  open_keep();
  const auto sent = send(1100);
  const BatchPtr batch = a.take(1024).get();
  ASSERT_EQ(batch->entries.size(), 1024u);
  EXPECT_EQ(fields(*batch, 1023), (Fields{{"n", "1023"}}));
}

TEST_F(Contract, take_of_nothing_answers_at_once_or_when_its_wait_has_passed) {
  open_keep();
  EXPECT_TRUE(a.take(1).get()->entries.empty());
  const ServerMs before = backend->now();
  EXPECT_TRUE(a.take(1, 300ms).get()->entries.empty());
  EXPECT_GE(backend->now() - before, 299);
}

TEST_F(Contract, a_waiting_take_gets_the_entry_that_comes) {
  open_keep();
  auto waiting = a.take(10, 10s);
  backend->pass(50ms);
  ASSERT_FALSE(waiting.ready());
  Client producer{*backend, {stream, group, name_b}};
  const auto sent = producer.append({{{{"n", "1"}}}}).get();
  const BatchPtr batch = waiting.get();
  ASSERT_EQ(batch->entries.size(), 1u);
  EXPECT_EQ(batch->entries[0].id, sent[0].value());
  EXPECT_EQ(row(sent[0].value())->owner, name_a);
}

TEST_F(Contract, waiting_takes_are_served_first_come_first_served) {
  open_keep();
  auto first = a.take(1, 10s);
  backend->pass(50ms);
  auto second = b.take(1, 10s);
  backend->pass(50ms);
  Client producer{*backend, {stream, group, "worker.0000000c"}};
  const auto one = producer.append({{{{"n", "1"}}}}).get();
  EXPECT_EQ(ids(*first.get()), std::vector<EntryId>{one[0].value()});
  EXPECT_FALSE(second.ready());
  const auto two = producer.append({{{{"n", "2"}}}}).get();
  EXPECT_EQ(ids(*second.get()), std::vector<EntryId>{two[0].value()});
}

TEST_F(Contract, each_group_gets_every_entry) {
  open_keep();
  Client other{*backend, {stream, "audit", "audit.0000000c"}};
  other.open().get();
  const auto sent = send(3);
  EXPECT_EQ(ids(*a.take(10).get()), sent);
  EXPECT_EQ(ids(*other.take(10).get()), sent);
  a.ack(sent).get();
  EXPECT_EQ(backend->raw_pending(stream, group).size(), 0u);
  EXPECT_EQ(backend->raw_pending(stream, "audit").size(), 3u);
}

TEST_F(Contract, wake_ends_a_waiting_take) {
  open_keep();
  a.wake();  // nobody waits: nothing happens
  const ServerMs before = backend->now();
  auto waiting = a.take(1, 15s);
  backend->pass(50ms);
  a.wake();
  EXPECT_TRUE(waiting.get()->entries.empty());
  EXPECT_LT(backend->now() - before, 5'000);
  send(1);
  EXPECT_EQ(a.take(1).get()->entries.size(), 1u);
}

TEST_F(Contract, take_without_stream_or_group_is_group_lost) {
  EXPECT_EQ(a.take(1).error(), errc::group_lost);
  send(1);
  EXPECT_EQ(a.take(1).error(), errc::group_lost);
  EXPECT_EQ(a.take(1, 5s).error(), errc::group_lost);
}

TEST_F(Contract, a_waiting_take_whose_group_goes_is_group_lost) {
  open_keep();
  auto waiting = a.take(1, 15s);
  backend->pass(50ms);
  backend->destroy_group(stream, group);
  EXPECT_EQ(waiting.error(), errc::group_lost);
}

TEST_F(Contract, a_waiting_take_whose_stream_goes_is_group_lost) {
  open_keep();
  auto waiting = a.take(1, 15s);
  backend->pass(50ms);
  backend->delete_key(stream);
  EXPECT_EQ(waiting.error(), errc::group_lost);
}

TEST_F(Contract, a_position_set_back_delivers_again_with_numbers_anew) {
  open_keep();
  const Receipt mine = taken_by_a();
  b.claim({claim_of(mine.id, name_a, 1)}).get();
  backend->set_group_id(stream, group, EntryId{});
  const BatchPtr again = a.take(10).get();
  ASSERT_EQ(ids(*again), std::vector<EntryId>{mine.id});
  EXPECT_EQ(again->entries[0].delivery, 1);
  EXPECT_EQ(row(mine.id)->owner, name_a);
  EXPECT_EQ(backend->raw_pending(stream, group).size(), 1u);
}

TEST_F(Contract, take_reads_what_another_library_sent) {
  open_keep();
  const Fields sent{{"data", "{}"}, {"data", "twice"}, {"", ""}};
  backend->add_foreign_entry(stream, sent);
  EXPECT_EQ(fields(*a.take(1).get()), sent);
}

}  // namespace
}  // namespace penstock::contract
