#include "store/redis/decode.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "resp/parser.hpp"

namespace penstock::store {
namespace {

/// A reply from its wire form; the parser owns the bytes.
class Wire {
 public:
  explicit Wire(const std::string& bytes) {
    const auto room = parser_.prepare(bytes.size());
    std::copy(bytes.begin(), bytes.end(), room.begin());
    parser_.commit(bytes.size());
    reply_ = parser_.next().value().value();
  }
  const resp::Reply& reply() const { return reply_; }

 private:
  resp::Parser parser_;
  resp::Reply reply_;
};

const std::string entry_1 = "*2\r\n$3\r\n1-0\r\n*4\r\n$1\r\na\r\n$2\r\nxy\r\n$0\r\n\r\n$1\r\nz\r\n";
const std::string without_body = "*2\r\n$3\r\n2-0\r\n*-1\r\n";

TEST(Decode, T40_no_entries_come_in_three_forms) {
  for (const char* bytes : {"*-1\r\n", "_\r\n", "*1\r\n*2\r\n$1\r\ns\r\n*0\r\n", "*0\r\n"}) {
    const Wire wire(bytes);
    const auto batch = decode_taken(wire.reply());
    ASSERT_TRUE(batch.has_value()) << bytes;
    EXPECT_TRUE((*batch)->entries.empty()) << bytes;
  }
}

TEST(Decode, an_entry_without_a_body_counts_as_not_there) {
  const Wire wire("*1\r\n*2\r\n$1\r\ns\r\n*3\r\n" + without_body + entry_1 + without_body);
  const auto batch = decode_taken(wire.reply()).value();
  ASSERT_EQ(batch->entries.size(), 1u);
  const Taken& entry = batch->entries[0];
  EXPECT_EQ(entry.id, (EntryId{1, 0}));
  EXPECT_EQ(entry.delivery, 1);
  EXPECT_EQ(entry.origin, Origin::fresh);
  ASSERT_EQ(entry.field_count, 2u);
  EXPECT_EQ(batch->name(entry, 0), "a");
  EXPECT_EQ(batch->value(entry, 0), "xy");
  EXPECT_EQ(batch->name(entry, 1), "");
  EXPECT_EQ(batch->value(entry, 1), "z");
  EXPECT_EQ(entry.bytes, 4u);
}

TEST(Decode, the_map_of_resp3_reads_the_same) {
  const Wire wire("%1\r\n$1\r\ns\r\n*1\r\n" + entry_1);
  EXPECT_EQ(decode_taken(wire.reply()).value()->entries.size(), 1u);
}

TEST(Decode, replies_that_are_none_of_ours_are_protocol_errors) {
  for (const char* bytes : {"+OK\r\n", ":3\r\n", "$1\r\nx\r\n", "*1\r\n:9\r\n"}) {
    const Wire wire(bytes);
    EXPECT_EQ(decode_claimed(wire.reply(), {{}, {}}).error().code, errc::protocol_error);
    EXPECT_EQ(decode_tick(wire.reply()).error().code, errc::protocol_error);
    EXPECT_EQ(decode_peek(wire.reply()).error().code, errc::protocol_error);
    EXPECT_EQ(decode_opened(wire.reply()).error().code, errc::protocol_error);
  }
  EXPECT_EQ(decode_taken(Wire("+OK\r\n").reply()).error().code, errc::protocol_error);
  EXPECT_EQ(decode_claimed(Wire("*1\r\n:9\r\n").reply(), {{}}).error().code, errc::protocol_error);
}

TEST(Decode, a_claim_tells_due_from_lapsed_and_keeps_the_order) {
  const Wire wire(
      "*3\r\n*4\r\n$3\r\n1-0\r\n$1\r\n3\r\n$18\r\n1 1 2 0 99 "
      "2:nocp!\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"
      ":2\r\n*4\r\n$3\r\n5-1\r\n$1\r\n2\r\n$-1\r\n*2\r\n$1\r\nc\r\n$1\r\nd\r\n");
  const auto reply = decode_claimed(wire.reply(), {{{1, 0}, std::string(parked_consumer), -1, 0},
                                                   {{2, 0}, "x", 1, 0},
                                                   {{5, 1}, "x", 1, 0}})
                         .value();
  EXPECT_EQ(reply.status,
            (std::vector{ClaimStatus::claimed, ClaimStatus::not_pending, ClaimStatus::claimed}));
  ASSERT_EQ(reply.batch->entries.size(), 2u);
  EXPECT_EQ(reply.batch->entries[0].origin, Origin::due);
  EXPECT_EQ(reply.batch->entries[0].delivery, 3);
  EXPECT_EQ(reply.batch->notes.at(0).error, "no");
  EXPECT_EQ(reply.batch->notes.at(0).checkpoint, "cp!");
  EXPECT_EQ(reply.batch->entries[1].origin, Origin::lapsed);
  EXPECT_EQ(reply.batch->entries[1].note, -1);
  EXPECT_EQ(reply.batch->value(reply.batch->entries[1], 0), "d");
}

}  // namespace
}  // namespace penstock::store
