#include "store/redis/codec.hpp"

#include <gtest/gtest.h>
#include <string>

namespace penstock::store {
namespace {

TEST(Codec, a_note_is_read_as_the_script_writes_it) {
  const auto note = parse_note("1 2 7 1 1700000000123 5:no: 1checkpoint: \r\n");
  ASSERT_TRUE(note.has_value());
  EXPECT_EQ(note->attempts, 2);
  EXPECT_EQ(note->base, 7);
  EXPECT_EQ(note->crashes, 1);
  EXPECT_EQ(note->first_failed, 1'700'000'000'123);
  EXPECT_EQ(note->error, "no: 1");
  EXPECT_EQ(note->checkpoint, "checkpoint: \r\n");
  EXPECT_EQ(parse_note("1 0 20 0 0 0:"), (Note{.base = 20, .error = {}, .checkpoint = {}}));
}

TEST(Codec, a_note_of_other_hands_is_none) {
  for (const char* text :
       {"", "1", "2 0 0 0 0 0:", "1 0 0 0 0 5:abc", "1 0 0 0 0 -1:", "1 x 0 0 0 0:", "1 0 0 0 0 0",
        "1 0 0 0 99999999999999999999 0:", "1  0 0 0 0 0:"}) {
    EXPECT_EQ(parse_note(text), std::nullopt) << text;
  }
}

TEST(Codec, a_worker_row_keeps_a_host_with_spaces) {
  const auto row = parse_row("w.0000000a", "20000 1700000000000 12 345 0.1.0 my host\nname");
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->consumer, "w.0000000a");
  EXPECT_EQ(row->lease_ms, 20'000);
  EXPECT_EQ(row->renewed_at, 1'700'000'000'000);
  EXPECT_EQ(row->pid, 12);
  EXPECT_EQ(row->pid_started, 345);
  EXPECT_EQ(row->version, "0.1.0");
  EXPECT_EQ(row->host, "my host\nname");
  EXPECT_FALSE(parse_row("w", "20000 1700000000000 12").has_value());
  EXPECT_FALSE(parse_row("w", "").has_value());
}

TEST(Codec, retention_names_are_those_of_the_contract) {
  for (const auto one : {Retention::delete_on_ack, Retention::trim_settled, Retention::keep}) {
    EXPECT_EQ(parse_retention(name_of(one)), one);
  }
  EXPECT_EQ(parse_retention("forever"), std::nullopt);
}

TEST(Codec, names_that_a_server_reads_as_options_are_refused) {
  EXPECT_NE(refused_name("the group", "streams").find("streams"), std::string::npos);
  EXPECT_FALSE(refused_name("the group", "GROUP").empty());
  EXPECT_FALSE(refused_name("the group", "").empty());
  EXPECT_TRUE(refused_name("the group", "streams2").empty());
}

}  // namespace
}  // namespace penstock::store
