#include <algorithm>
#include <chrono>

#include "contract/harness.hpp"

namespace penstock::contract {
namespace {

using namespace std::chrono_literals;

OpenRequest asking(Retention retention) {
  OpenRequest out;
  out.retention = retention;
  return out;
}
OpenRequest starting(std::string start) {
  OpenRequest out;
  out.start = std::move(start);
  return out;
}
OpenRequest healing() {
  OpenRequest out;
  out.heal = true;
  return out;
}
OpenRequest producing() {
  OpenRequest out;
  out.make_group = false;
  return out;
}

TEST_F(Contract, open_makes_stream_and_group_where_missing) {
  const ServerMs before = backend->now();
  const Opened first = a.open().get();
  EXPECT_FALSE(first.stream_existed);
  EXPECT_TRUE(first.group_made);
  EXPECT_TRUE(first.retention_decided_now);
  EXPECT_EQ(first.retention, Retention::delete_on_ack) << "a stream of ours";
  EXPECT_EQ(first.groups, 1);
  EXPECT_EQ(first.waiting, 0);
  EXPECT_GE(first.epoch, before);
  EXPECT_LE(first.epoch, backend->now());
  const Opened second = b.open().get();
  EXPECT_TRUE(second.stream_existed);
  EXPECT_FALSE(second.group_made);
  EXPECT_FALSE(second.retention_decided_now);
  EXPECT_EQ(second.retention, Retention::delete_on_ack);
  EXPECT_EQ(second.epoch, first.epoch);
}

TEST_F(Contract, open_never_begins_to_delete_a_log_that_was_there) {
  backend->add_foreign_entry(stream, {{"n", "1"}});
  const Opened opened = a.open().get();
  EXPECT_TRUE(opened.stream_existed);
  EXPECT_EQ(opened.retention, Retention::keep);
  EXPECT_TRUE(opened.retention_decided_now);
  EXPECT_EQ(opened.waiting, 1);
}

TEST_F(Contract, retention_is_decided_once) {
  EXPECT_EQ(a.open(asking(Retention::trim_settled)).get().retention, Retention::trim_settled);
  const Opened again = a.open(asking(Retention::keep)).get();
  EXPECT_EQ(again.retention, Retention::trim_settled);
  EXPECT_FALSE(again.retention_decided_now);
  EXPECT_EQ(a.tick().get().retention, Retention::trim_settled);
}

TEST_F(Contract, a_producer_decides_for_a_stream_it_is_about_to_make) {
  const Opened opened = a.open(producing()).get();
  EXPECT_FALSE(opened.group_made);
  EXPECT_EQ(opened.groups, 0);
  EXPECT_EQ(opened.retention, Retention::delete_on_ack);
  EXPECT_TRUE(opened.retention_decided_now);
  send(2);
  const Opened worker = a.open().get();
  EXPECT_EQ(worker.retention, Retention::delete_on_ack);
  EXPECT_FALSE(worker.retention_decided_now);
  EXPECT_EQ(worker.waiting, 2);
}

TEST_F(Contract, a_producer_decides_nothing_for_a_stream_that_was_there) {
  backend->add_foreign_entry(stream, {{"n", "1"}});
  const Opened opened = a.open(producing()).get();
  EXPECT_EQ(opened.retention, Retention::keep);
  EXPECT_FALSE(opened.retention_decided_now);
}

TEST_F(Contract, delete_on_ack_turns_into_trim_settled_at_a_second_group) {
  EXPECT_EQ(a.open(asking(Retention::delete_on_ack)).get().retention, Retention::delete_on_ack);
  Client other{*backend, {stream, "audit", "audit.0000000c"}};
  const Opened second = other.open().get();
  EXPECT_EQ(second.groups, 2);
  EXPECT_EQ(second.retention, Retention::trim_settled);
  EXPECT_EQ(a.open().get().retention, Retention::trim_settled);
  const TickReply tick = a.tick().get();
  EXPECT_EQ(tick.retention, Retention::trim_settled);
  EXPECT_EQ(tick.groups, 2);
}

TEST_F(Contract, delete_on_ack_asked_beside_a_strangers_group_is_trim_settled) {
  backend->add_foreign_entry(stream, {{"n", "1"}});
  backend->create_group(stream, "stranger");
  EXPECT_EQ(a.open(asking(Retention::delete_on_ack)).get().retention, Retention::trim_settled);
  EXPECT_EQ(a.tick().get().retention, Retention::trim_settled);
}

TEST_F(Contract, a_strangers_group_shows_in_the_tick_and_the_next_open_heeds_it) {
  a.open(asking(Retention::delete_on_ack)).get();
  backend->create_group(stream, "stranger");
  EXPECT_EQ(a.tick().get().groups, 2);
  EXPECT_EQ(a.open().get().retention, Retention::trim_settled);
}

TEST_F(Contract, T20_a_group_starts_where_it_is_told_and_at_zero_otherwise) {
  const auto sent = send(4);
  EXPECT_EQ(a.open().get().waiting, 4);
  EXPECT_EQ(ids(*a.take(10).get()), sent);
  Client middle{*backend, {stream, "middle", "m.0000000c"}};
  EXPECT_EQ(middle.open(starting(base::to_string(sent[1]))).get().waiting, 2);
  EXPECT_EQ(ids(*middle.take(10).get()), (std::vector<EntryId>{sent[2], sent[3]}));
  Client last{*backend, {stream, "last", "l.0000000d"}};
  EXPECT_EQ(last.open(starting("$")).get().waiting, 0);
  EXPECT_TRUE(last.take(10).get()->entries.empty());
  const auto later = send(1);
  EXPECT_EQ(ids(*last.take(10).get()), later);
}

TEST_F(Contract, open_at_no_id_is_bad_option_and_makes_nothing) {
  EXPECT_EQ(a.open(starting("yesterday")).error(), errc::bad_option);
  EXPECT_EQ(a.take(1).error(), errc::group_lost);
}

TEST_F(Contract, open_over_another_type_is_wrong_type) {
  backend->spoil_key(stream);
  EXPECT_EQ(a.open().error(), errc::wrong_type);
  EXPECT_EQ(a.take(1).error(), errc::wrong_type);
  EXPECT_EQ(a.tick().error(), errc::wrong_type);
}

TEST_F(Contract, open_on_a_full_server_is_storage_full_only_where_it_must_write) {
  a.open().get();
  backend->refuse_writes(true);
  EXPECT_FALSE(b.open().get().group_made);
  Client other{*backend, {stream, "audit", "audit.0000000c"}};
  EXPECT_EQ(other.open().error(), errc::storage_full);
  backend->refuse_writes(false);
}

TEST_F(Contract, T19_a_lost_group_heals_without_losing_an_entry) {
  const ServerMs first = a.open(asking(Retention::delete_on_ack)).get().epoch;
  const auto sent = send(4);
  a.take(2).get();
  a.ack({sent[0]}, Retention::delete_on_ack).get();
  backend->destroy_group(stream, group);
  backend->pass(5ms);
  EXPECT_FALSE(a.tick().get().group_there);
  const Opened healed = a.open(healing()).get();
  EXPECT_TRUE(healed.group_made);
  EXPECT_GT(healed.epoch, first) << "tokens of the old group stay below";
  EXPECT_EQ(healed.retention, Retention::delete_on_ack);
  EXPECT_EQ(ids(*b.take(10).get()), std::vector<EntryId>(sent.begin() + 1, sent.end()));
  const Opened beside = b.open(healing()).get();
  EXPECT_FALSE(beside.group_made) << "healed by another already";
  EXPECT_EQ(beside.epoch, healed.epoch);
}

TEST_F(Contract, T19_a_group_on_a_kept_log_heals_at_its_checkpoint) {
  open_keep();
  const auto sent = send(5);
  a.take(4).get();
  a.ack({sent[0], sent[1], sent[3]}).get();
  const PeekReply swept = a.peek({}).get();
  ASSERT_TRUE(swept.cursor.empty());
  a.tick().get();
  backend->destroy_group(stream, group);
  a.open(healing()).get();
  // From the lowest unsettled one on: 3 is handled again, 0 and 1 are not, none is lost.
  EXPECT_EQ(ids(*a.take(10).get()), std::vector<EntryId>(sent.begin() + 2, sent.end()));
}

TEST_F(Contract, T19_a_checkpoint_of_another_stream_is_not_used) {
  open_keep();
  const auto sent = send(3);
  a.ack(ids(*a.take(3).get())).get();
  a.peek({}).get();
  a.tick().get();
  backend->delete_key(stream);
  const auto fresh = backend->add_foreign_entry(stream, {{"n", "new"}});
  a.open(healing()).get();
  EXPECT_EQ(ids(*a.take(10).get()), std::vector<EntryId>{fresh});
}

TEST_F(Contract, T19_a_lost_stream_is_made_again) {
  a.open().get();
  send(1);
  backend->delete_key(stream);
  EXPECT_FALSE(a.tick().get().group_there);
  EXPECT_EQ(a.open(healing()).get().retention, Retention::delete_on_ack) << "conf outlived it";
  const auto sent = send(1);
  EXPECT_EQ(ids(*a.take(10).get()), sent);
}

TEST_F(Contract, tick_lists_due_ids_oldest_first) {
  open_keep();
  const auto sent = send(4);
  a.take(4).get();
  a.settle({park_of({sent[0], 1}, 120ms), park_of({sent[1], 1}, 40ms), park_of({sent[2], 1}, 80ms),
            park_of({sent[3], 1}, 60s)})
      .get();
  TickReply tick = b.tick().get();
  EXPECT_EQ(tick.due_rows, 4);
  EXPECT_EQ(tick.parked, 4);
  EXPECT_TRUE(tick.group_there);
  EXPECT_EQ(tick.groups, 1);
  EXPECT_EQ(tick.retention, Retention::keep);
  ASSERT_TRUE(tick.next_due.has_value());
  EXPECT_LE(*tick.next_due, backend->now() + 40);
  backend->pass(200ms);
  tick = b.tick().get();
  EXPECT_EQ(tick.due, (std::vector<EntryId>{sent[1], sent[2], sent[0]}));
  EXPECT_GT(*tick.next_due, tick.now + 30'000);
  tick = b.tick(2).get();
  EXPECT_EQ(tick.due, (std::vector<EntryId>{sent[1], sent[2]}));
  EXPECT_LE(*tick.next_due, tick.now) << "one more is due, and not listed";
}

TEST_F(Contract, tick_of_nothing) {
  TickReply tick = a.tick().get();
  EXPECT_FALSE(tick.group_there);
  EXPECT_EQ(tick.groups, 0);
  EXPECT_LE(std::abs(tick.now - backend->now()), 1'000);
  open_keep();
  tick = a.tick().get();
  EXPECT_TRUE(tick.group_there);
  EXPECT_TRUE(tick.due.empty());
  EXPECT_FALSE(tick.next_due.has_value());
  EXPECT_EQ(tick.due_rows, 0);
  EXPECT_EQ(tick.parked, 0);
}

TEST_F(Contract, tick_shows_that_due_set_and_parked_differ) {
  open_keep();
  const auto sent = send(2);
  a.take(2).get();
  a.settle({park_of({sent[0], 1}, 60s), park_of({sent[1], 1}, 60s)}).get();
  a.ack({sent[0]}).get();
  const TickReply tick = b.tick().get();
  EXPECT_EQ(tick.due_rows, 2);
  EXPECT_EQ(tick.parked, 1);
}

TEST_F(Contract, trim_goes_no_further_than_any_group_needs) {
  a.open(asking(Retention::trim_settled)).get();
  Client other{*backend, {stream, "audit", "audit.0000000c"}};
  other.open().get();
  const auto sent = send(6);
  EXPECT_EQ(a.trim().get(), 0) << "nothing was delivered";
  a.ack(ids(*a.take(6).get())).get();
  EXPECT_EQ(a.trim().get(), 0) << "the other group has read nothing";
  other.take(4).get();
  other.ack({sent[0], sent[1], sent[3]}).get();
  EXPECT_EQ(a.trim().get(), 2) << "the third is pending there";
  EXPECT_EQ(backend->entries(stream).front().first, sent[2]);
  other.ack({sent[2]}).get();
  EXPECT_EQ(a.trim().get(), 2);
  EXPECT_EQ(backend->entries(stream).front().first, sent[4]) << "not yet delivered there";
  other.ack(ids(*other.take(10).get())).get();
  EXPECT_EQ(a.trim().get(), 2);
  EXPECT_TRUE(backend->entries(stream).empty());
  EXPECT_EQ(a.trim().get(), 0);
  EXPECT_EQ(ids(*a.take(1).get()), std::vector<EntryId>{});
}

TEST_F(Contract, T24_nothing_is_trimmed_while_a_known_group_is_missing) {
  a.open(asking(Retention::trim_settled)).get();
  Client other{*backend, {stream, "audit", "audit.0000000c"}};
  other.open().get();
  send(3);
  a.ack(ids(*a.take(3).get())).get();
  backend->destroy_group(stream, "audit");
  EXPECT_EQ(a.trim().get(), -1) << "it has read none of them, and will be made again";
  EXPECT_EQ(backend->entries(stream).size(), 3u);
  OpenRequest heal;
  heal.heal = true;
  other.open(heal).get();
  EXPECT_EQ(other.take(10).get()->entries.size(), 3u);
  EXPECT_EQ(a.trim().get(), 0);
}

TEST_F(Contract, T24_trim_leaves_parked_entries_alone) {
  a.open(asking(Retention::trim_settled)).get();
  const auto sent = send(3);
  a.take(3).get();
  a.settle({ack_of({sent[0], 1}), park_of({sent[1], 1}, 60s), ack_of({sent[2], 1})},
           Retention::trim_settled)
      .get();
  EXPECT_EQ(a.trim().get(), 1);
  EXPECT_EQ(backend->entries(stream).size(), 2u);
}

TEST_F(Contract, trim_without_groups_or_stream_removes_nothing) {
  EXPECT_EQ(a.trim().get(), 0);
  send(2);
  EXPECT_EQ(a.trim().get(), 0);
  EXPECT_EQ(backend->entries(stream).size(), 2u);
}

}  // namespace
}  // namespace penstock::contract
