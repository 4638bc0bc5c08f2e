#include <algorithm>
#include <chrono>

#include "contract/harness.hpp"

namespace penstock::contract {
namespace {

using namespace std::chrono_literals;

const std::string parked(parked_consumer);
constexpr auto del = Retention::delete_on_ack;

std::string value_of(const Fields& fields, const std::string& name) {
  const auto found = std::find_if(fields.rbegin(), fields.rend(),
                                  [&](const auto& field) { return field.first == name; });
  return found == fields.rend() ? "(none)" : found->second;
}

TEST_F(Contract, a_dead_letter_carries_the_entry_and_its_history) {
  open_keep();
  const Fields own{{"body", "x"}, {"h", "1"}, {"h", "2"}, {"", ""}};
  backend->add_foreign_entry(stream, own);
  const BatchPtr batch = a.take(1).get();
  const Receipt mine = receipts(*batch).at(0);
  const ServerMs before = backend->now();
  Note note = note_with(5, 1, 42, "no such\r\ncustomer");
  ASSERT_EQ(a.settle({dead_of(mine, "attempts", note)}).get(), std::vector{SettleStatus::done});
  EXPECT_FALSE(row(mine.id));
  EXPECT_EQ(backend->entries(stream).size(), 1u) << "kept";
  const auto letters = backend->entries(keys().dead);
  ASSERT_EQ(letters.size(), 1u);
  const Fields& letter = letters[0].second;
  ASSERT_EQ(letter.size(), own.size() + 10);
  EXPECT_TRUE(std::equal(own.begin(), own.end(), letter.begin())) << "its own fields come first";
  EXPECT_EQ(value_of(letter, "penstock-group"), group);
  EXPECT_EQ(value_of(letter, "penstock-reason"), "attempts");
  EXPECT_EQ(value_of(letter, "penstock-error"), "no such\r\ncustomer");
  EXPECT_EQ(value_of(letter, "penstock-worker"), name_a);
  EXPECT_EQ(value_of(letter, "penstock-attempt"), "5");
  EXPECT_EQ(value_of(letter, "penstock-deliveries"), "1");
  EXPECT_EQ(value_of(letter, "penstock-first-failed"), "42");
  EXPECT_GE(std::stoll(value_of(letter, "penstock-died")), before);
  EXPECT_LE(std::stoll(value_of(letter, "penstock-died")), backend->now());
  EXPECT_EQ(value_of(letter, "penstock-redrives"), "0");
  EXPECT_EQ(value_of(letter, "penstock-original-id"), base::to_string(mine.id));
}

TEST_F(Contract, a_dead_letter_ends_the_entry_by_retention_and_clears_its_note) {
  open_keep();
  const Receipt mine = taken_by_a();
  a.settle({park_of(mine, 0ms, note_with(1))}).get();
  a.claim({claim_of(mine.id, parked)}).get();
  ASSERT_EQ(a.settle({dead_of({mine.id, 2}, "lapses")}, del).get(),
            std::vector{SettleStatus::done});
  EXPECT_TRUE(backend->entries(stream).empty());
  EXPECT_TRUE(backend->notes(stream, group).empty());
  EXPECT_TRUE(backend->due_rows(stream, group).empty());
  EXPECT_EQ(backend->entries(keys().dead).size(), 1u);
  EXPECT_EQ(a.settle({dead_of({mine.id, 2}, "lapses")}, del).get(),
            std::vector{SettleStatus::already});
  EXPECT_EQ(backend->entries(keys().dead).size(), 1u) << "never two copies";
}

TEST_F(Contract, a_dead_letter_of_a_vanished_entry_keeps_the_history) {
  open_keep();
  const Receipt mine = taken_by_a();
  backend->delete_body(stream, mine.id);
  EXPECT_EQ(a.settle({dead_of(mine, "attempts")}).get(), std::vector{SettleStatus::done});
  EXPECT_FALSE(row(mine.id));
  const auto letters = backend->entries(keys().dead);
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters[0].second.size(), 10u);
  EXPECT_EQ(value_of(letters[0].second, "penstock-first-failed"), "0");
}

TEST_F(Contract, a_redriven_entry_that_dies_again_keeps_its_count) {
  open_keep();
  backend->add_foreign_entry(stream, {{"body", "x"}, {"penstock-redrives", "3"}});
  const Receipt mine = receipts(*a.take(1).get()).at(0);
  a.settle({dead_of(mine, "attempts")}).get();
  EXPECT_EQ(value_of(backend->entries(keys().dead).at(0).second, "penstock-redrives"), "3");
}

TEST_F(Contract, a_full_server_refuses_park_and_dead_and_changes_nothing) {
  open_keep();
  const auto sent = send(3);
  a.take(3).get();
  backend->refuse_writes(true);
  EXPECT_EQ(a.settle({park_of({sent[0], 1}, 1s, note_with(1))}).get(),
            std::vector{SettleStatus::refused});
  EXPECT_EQ(a.settle({dead_of({sent[1], 1}, "attempts")}).get(),
            std::vector{SettleStatus::refused});
  EXPECT_EQ(a.settle({ack_of({sent[2], 1})}, del).get(), std::vector{SettleStatus::done});
  backend->refuse_writes(false);
  EXPECT_EQ(row(sent[0])->owner, name_a);
  EXPECT_EQ(row(sent[1])->owner, name_a);
  EXPECT_FALSE(row(sent[2]));
  EXPECT_TRUE(backend->due_rows(stream, group).empty());
  EXPECT_TRUE(backend->notes(stream, group).empty());
  EXPECT_TRUE(backend->entries(keys().dead).empty());
  EXPECT_EQ(a.renew({{sent[0], 1}}).get(), std::vector{RenewStatus::renewed});
}

TEST_F(Contract, T07_a_dead_letter_that_cannot_be_written_loses_nothing) {
  open_keep();
  const auto sent = send(2);
  a.take(2).get();
  backend->spoil_key(keys().dead);
  EXPECT_EQ(a.settle({dead_of({sent[0], 1}, "attempts"), ack_of({sent[1], 1})}, del).get(),
            (std::vector{SettleStatus::refused, SettleStatus::done}));
  EXPECT_EQ(row(sent[0])->owner, name_a);
  EXPECT_EQ(backend->entries(stream).size(), 1u);
}

TEST_F(Contract, a_park_whose_rows_cannot_be_written_changes_nothing) {
  open_keep();
  const Receipt mine = taken_by_a();
  backend->spoil_key(keys().note);
  EXPECT_EQ(a.settle({park_of(mine, 1s, note_with(1))}).get(), std::vector{SettleStatus::refused});
  EXPECT_TRUE(backend->due_rows(stream, group).empty());
  backend->delete_key(keys().note);
  backend->spoil_key(keys().due);
  EXPECT_EQ(a.settle({park_of(mine, 1s, note_with(1))}).get(), std::vector{SettleStatus::refused});
  EXPECT_TRUE(backend->notes(stream, group).empty());
  EXPECT_EQ(row(mine.id)->owner, name_a);
}

}  // namespace
}  // namespace penstock::contract
