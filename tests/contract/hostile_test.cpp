#include <chrono>

#include "contract/harness.hpp"

namespace penstock::contract {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

const std::string parked(parked_consumer);
const std::string nasty = "a\0b\xff\r\n *3\r\n$-1 : {}\"'\\"s;

Fields nasty_fields() {
  return {{nasty, nasty}, {"", ""},         {"\0"s, "\0\0"s},     {"same", "1"},
          {"same", "2"},  {"\xff\xfe", ""}, {"GROUP", "STREAMS"}, {"COUNT", "\r\n"}};
}

TEST_F(Contract, hostile_bytes_in_fields_come_back_as_they_went) {
  open_keep();
  a.append({Draft{nasty_fields()}}).get();
  const BatchPtr batch = a.take(1).get();
  EXPECT_EQ(fields(*batch), nasty_fields());
  const ClaimReply reply = b.claim({claim_of(batch->entries[0].id, name_a)}).get();
  EXPECT_EQ(fields(*reply.batch), nasty_fields());
  b.settle({dead_of({batch->entries[0].id, 2}, "decode")}).get();
  Fields letter = backend->entries(keys().dead).at(0).second;
  letter.resize(nasty_fields().size());
  EXPECT_EQ(letter, nasty_fields());
}

TEST_F(Contract, hostile_names_of_stream_group_and_consumer_work_throughout) {
  const Lane lane{"s" + nasty, "g" + nasty, "c" + nasty};
  Client odd{*backend, lane};
  Client peer{*backend, {lane.stream, lane.group, "p" + nasty}};
  OpenRequest request;
  request.retention = Retention::keep;
  odd.open(request).get();
  odd.append({{{{"n", "1"}}}, {{{"n", "2"}}}, {{{"n", "3"}}}}).get();
  const BatchPtr batch = odd.take(3).get();
  ASSERT_EQ(batch->entries.size(), 3u);
  odd.enlist(1).get();
  EXPECT_EQ(odd.renew(receipts(*batch)).get().at(0), RenewStatus::renewed);
  backend->pass(20ms);
  PeekRequest ask;
  ask.max = 1;
  const PeekReply first = peer.peek(ask).get();
  ASSERT_EQ(first.overdue.size(), 1u);
  EXPECT_EQ(first.overdue[0].owner, lane.consumer);
  EXPECT_EQ(first.workers.at(0).consumer, lane.consumer);
  ask.cursor = first.cursor;
  EXPECT_EQ(peer.peek(ask).get().overdue.at(0).id, batch->entries[1].id) << "the cursor goes on";
  const Note note = note_with(1, 1, 5, nasty, nasty + nasty);
  const auto taken = receipts(*batch);
  EXPECT_EQ(odd.settle({park_of(taken[0], 0ms, note), dead_of(taken[1], nasty, note)}).get(),
            (std::vector{SettleStatus::done, SettleStatus::done}));
  EXPECT_EQ(odd.pending().get().at(0).note, note);
  const ClaimReply reply =
      peer.claim({claim_of(taken[0].id, parked), claim_of(taken[2].id, lane.consumer)}).get();
  EXPECT_EQ(reply.status, (std::vector{ClaimStatus::claimed, ClaimStatus::claimed}));
  EXPECT_EQ(contract::note(*reply.batch), note);
  EXPECT_EQ(contract::note(*reply.batch, 1), Note{});
  const Survey survey = odd.survey().get();
  EXPECT_EQ(survey.groups.at(0).name, lane.group);
  EXPECT_EQ(survey.groups[0].dead, 1);
  EXPECT_TRUE(odd.forget(lane.consumer).get());
  EXPECT_EQ(odd.streams().get(), std::vector<std::string>{lane.stream});
}

TEST_F(Contract, ten_thousand_fields_arrive_whole) {
  open_keep();
  Fields many;
  for (int i = 0; i < 10'000; ++i)
    many.emplace_back("name" + std::to_string(i), std::string(3, '\0'));
  a.append({Draft{many}}).get();
  const BatchPtr batch = a.take(1).get();
  EXPECT_EQ(batch->entries[0].field_count, 10'000u);
  EXPECT_EQ(fields(*batch), many);
  const ClaimReply reply = b.claim({claim_of(batch->entries[0].id, name_a)}).get();
  EXPECT_EQ(fields(*reply.batch), many);
}

// No script can write that many fields in one step: the letter points to the entry, which stays.
TEST_F(Contract, a_dead_letter_of_ten_thousand_fields_points_to_its_entry) {
  open_keep();
  Fields many;
  for (int i = 0; i < 10'000; ++i) many.emplace_back("n", "v");
  a.append({Draft{many}}).get();
  const BatchPtr batch = a.take(1).get();
  EXPECT_EQ(a.settle({dead_of(receipts(*batch).at(0), "attempts")}, Retention::delete_on_ack).get(),
            std::vector{SettleStatus::done});
  EXPECT_TRUE(backend->raw_pending(stream, group).empty());
  const auto letters = backend->entries(keys().dead);
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters[0].second.size(), 10u);
  EXPECT_EQ(letters[0].second.back().second, base::to_string(batch->entries[0].id));
  ASSERT_EQ(backend->entries(stream).size(), 1u) << "the only copy";
  EXPECT_EQ(backend->entries(stream)[0].second, many);
}

TEST_F(Contract, large_values_arrive_whole) {
  open_keep();
  std::string large(3 * 1024 * 1024, 'x');
  large[1] = '\0';
  large[large.size() - 1] = '\xff';
  a.append({Draft{{{"body", large}}}, Draft{{{"body", ""}}}}).get();
  const BatchPtr batch = a.take(2).get();
  EXPECT_EQ(fields(*batch, 0), (Fields{{"body", large}}));
  EXPECT_EQ(fields(*batch, 1), (Fields{{"body", ""}}));
  EXPECT_EQ(batch->entries[0].bytes, large.size() + 4);
}

TEST_F(Contract, a_note_keeps_its_numbers_and_bytes) {
  open_keep();
  const Receipt mine = taken_by_a();
  const Note note = note_with(9'007'199'254'740'991, 1'000'000'007, 1'700'000'000'123,
                              std::string(8192, '\xfe'), std::string(100'000, '\0'), 3);
  a.settle({park_of(mine, 0ms, note)}).get();
  const ClaimReply reply = b.claim({claim_of(mine.id, parked, 1)}).get();
  EXPECT_EQ(contract::note(*reply.batch), note);
}

TEST_F(Contract, ids_at_the_edges_are_compared_by_value) {
  open_keep();
  const auto sent = send(1);
  const EntryId far{std::numeric_limits<std::uint64_t>::max(), 5};
  const EntryId low{0, 1};
  a.take(1).get();
  EXPECT_EQ(
      a.renew({{far, 1}, {sent[0], 1}, {low, 1}}).get(),
      (std::vector{RenewStatus::not_pending, RenewStatus::renewed, RenewStatus::not_pending}));
  EXPECT_EQ(a.settle({ack_of({far, 1}), ack_of({low, 1})}).get(),
            (std::vector{SettleStatus::already, SettleStatus::already}));
}

}  // namespace
}  // namespace penstock::contract
