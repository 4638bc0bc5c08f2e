#include <algorithm>
#include <chrono>

#include "contract/harness.hpp"

namespace penstock::contract {
namespace {

using namespace std::chrono_literals;

const std::string parked(parked_consumer);

TEST_F(Contract, survey_counts_what_waits_what_is_leased_and_what_died) {
  open_keep();
  const auto sent = send(10);
  a.take(6).get();
  a.enlist(20'000).get();
  a.settle({ack_of({sent[0], 1}), park_of({sent[1], 1}, 60s), park_of({sent[2], 1}, 60s),
            dead_of({sent[3], 1}, "attempts")})
      .get();
  backend->pass(30ms);
  const Survey survey = b.survey().get();
  EXPECT_EQ(survey.stream, stream);
  EXPECT_TRUE(survey.exists);
  EXPECT_EQ(survey.length, 10);
  EXPECT_EQ(survey.dead, 1);
  EXPECT_EQ(survey.retention, Retention::keep);
  ASSERT_EQ(survey.groups.size(), 1u);
  const Survey::Group& shown = survey.groups[0];
  EXPECT_EQ(shown.name, group);
  EXPECT_EQ(shown.ready, 4);
  EXPECT_FALSE(shown.ready_capped);
  EXPECT_EQ(shown.leased, 2);
  EXPECT_EQ(shown.parked, 2);
  EXPECT_EQ(shown.dead, 1);
  ASSERT_TRUE(shown.oldest_ready_ms && shown.oldest_pending_ms);
  EXPECT_GE(*shown.oldest_ready_ms, 30);
  EXPECT_LT(*shown.oldest_ready_ms, 60'000);
  EXPECT_GE(*shown.oldest_pending_ms, *shown.oldest_ready_ms);
  ASSERT_EQ(shown.consumers.size(), 2u);
  EXPECT_EQ(shown.consumers[0].name, parked);
  EXPECT_EQ(shown.consumers[0].pending, 2);
  EXPECT_FALSE(shown.consumers[0].worker.has_value());
  EXPECT_EQ(shown.consumers[1].name, name_a);
  EXPECT_EQ(shown.consumers[1].pending, 2);
  ASSERT_TRUE(shown.consumers[1].worker.has_value());
  EXPECT_EQ(shown.consumers[1].worker->lease_ms, 20'000);
}

TEST_F(Contract, survey_of_a_strangers_stream_says_what_is_unknown) {
  backend->add_foreign_entry(stream, {{"n", "1"}});
  Survey survey = b.survey().get();
  EXPECT_TRUE(survey.exists);
  EXPECT_EQ(survey.length, 1);
  EXPECT_EQ(survey.retention, std::nullopt) << "nobody decided";
  EXPECT_TRUE(survey.groups.empty());
  backend->create_group(stream, "theirs");
  survey = b.survey().get();
  ASSERT_EQ(survey.groups.size(), 1u);
  EXPECT_EQ(survey.groups[0].ready, 1);
  EXPECT_EQ(survey.groups[0].oldest_pending_ms, std::nullopt);
  backend->raw_take(stream, "theirs", "foreign", 1);
  survey = b.survey().get();
  EXPECT_EQ(survey.groups[0].ready, 0);
  EXPECT_EQ(survey.groups[0].oldest_ready_ms, std::nullopt);
  EXPECT_EQ(survey.groups[0].leased, 1);
  ASSERT_EQ(survey.groups[0].consumers.size(), 1u);
  EXPECT_EQ(survey.groups[0].consumers[0].name, "foreign");
  EXPECT_FALSE(survey.groups[0].consumers[0].worker.has_value());
}

TEST_F(Contract, survey_of_dead_letters_that_cannot_be_read_is_unknown) {
  open_keep();
  backend->spoil_key(keys().dead);
  EXPECT_EQ(b.survey().get().groups.at(0).dead, -1);
}

TEST_F(Contract, survey_counts_dead_letters_by_group) {
  open_keep();
  Client other{*backend, {stream, "audit", "audit.0000000c"}};
  other.open().get();
  const auto sent = send(3);
  a.take(3).get();
  other.take(3).get();
  a.settle({dead_of({sent[0], 1}, "attempts"), dead_of({sent[1], 1}, "lapses")}).get();
  other.settle({dead_of({sent[2], 1}, "decode")}).get();
  const Survey survey = b.survey().get();
  EXPECT_EQ(survey.dead, 3);
  ASSERT_EQ(survey.groups.size(), 2u);
  for (const auto& shown : survey.groups) EXPECT_EQ(shown.dead, shown.name == group ? 2 : 1);
}

TEST_F(Contract, survey_counts_by_position_whatever_lies_between) {
  open_keep();
  const auto sent = send(5);
  a.take(2).get();
  backend->delete_body(stream, sent[3]);  // makes XINFO's lag unknown
  EXPECT_EQ(b.survey().get().groups.at(0).ready, 2);
}

TEST_F(Contract, survey_shows_a_worker_that_was_served_nothing_yet) {
  open_keep();
  a.enlist(20'000).get();
  const Survey survey = b.survey().get();
  ASSERT_EQ(survey.groups.at(0).consumers.size(), 1u);
  EXPECT_EQ(survey.groups[0].consumers[0].name, name_a);
  EXPECT_EQ(survey.groups[0].consumers[0].pending, 0);
  EXPECT_TRUE(survey.groups[0].consumers[0].worker.has_value());
}

TEST_F(Contract, survey_of_nothing) {
  const Survey survey = b.survey().get();
  EXPECT_EQ(survey.stream, stream);
  EXPECT_FALSE(survey.exists);
  EXPECT_EQ(survey.length, 0);
  EXPECT_TRUE(survey.groups.empty());
}

TEST_F(Contract, survey_over_another_type_is_wrong_type) {
  backend->spoil_key(stream);
  EXPECT_EQ(b.survey().error(), errc::wrong_type);
}

TEST_F(Contract, streams_are_listed_by_name_without_their_side_keys) {
  open_keep();
  const Receipt mine = taken_by_a();
  a.settle({dead_of(mine, "attempts")}).get();
  backend->add_foreign_entry("a stranger's", {{"n", "1"}});
  backend->add_foreign_entry("{tagged}stream", {{"n", "1"}});
  EXPECT_EQ(a.streams().get(),
            (std::vector<std::string>{"a stranger's", stream, "{tagged}stream"}));
}

TEST_F(Contract, pending_shows_rows_with_their_times_and_notes) {
  open_keep();
  const auto sent = send(3);
  a.take(3).get();
  b.claim({claim_of(sent[1], name_a)}).get();
  const Note note = note_with(1, 1, 9, "boom");
  a.settle({park_of({sent[2], 1}, 60s, note)}).get();
  backend->pass(30ms);
  const auto rows = b.pending().get();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].id, sent[0]);
  EXPECT_EQ(rows[0].owner, name_a);
  EXPECT_GE(rows[0].idle_ms, 30);
  EXPECT_EQ(rows[0].delivery, 1);
  EXPECT_EQ(rows[0].due, std::nullopt);
  EXPECT_EQ(rows[0].note, Note{});
  EXPECT_EQ(rows[1].owner, name_b);
  EXPECT_EQ(rows[1].delivery, 2);
  EXPECT_EQ(rows[2].owner, parked);
  EXPECT_EQ(rows[2].note, note);
  ASSERT_TRUE(rows[2].due.has_value());
  EXPECT_GT(*rows[2].due, backend->now() + 30'000);
}

TEST_F(Contract, pending_pages_from_an_id_on) {
  open_keep();
  const auto sent = send(5);
  a.take(5).get();
  const auto page = b.pending(sent[2], 2).get();
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].id, sent[2]);
  EXPECT_EQ(page[1].id, sent[3]);
  EXPECT_TRUE(b.pending(base::next(sent[4]), 2).get().empty());
}

TEST_F(Contract, pending_without_its_group_is_group_lost) {
  EXPECT_EQ(b.pending().error(), errc::group_lost);
}

}  // namespace
}  // namespace penstock::contract
