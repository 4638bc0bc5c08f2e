#include "base/entry_id.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>

namespace penstock::base {
namespace {

constexpr auto top = std::numeric_limits<std::uint64_t>::max();

TEST(EntryId, text_and_back) {
  for (const EntryId id :
       {EntryId{0, 0}, EntryId{1, 2}, EntryId{1'700'000'000'000, 17}, EntryId{top, top}}) {
    const auto back = parse_entry_id(to_string(id));
    ASSERT_TRUE(back.has_value()) << to_string(id);
    EXPECT_EQ(*back, id);
  }
  EXPECT_EQ(to_string({top, top}), "18446744073709551615-18446744073709551615");
  EXPECT_EQ(parse_entry_id("5"), (EntryId{5, 0}));
}

TEST(EntryId, strict) {
  for (const char* text :
       {"", "-", "1-", "-1", "+1-0", "1-+0", " 1-0", "1-0 ", "1--0", "1-0-0",
        "18446744073709551616-0", "0-18446744073709551616", "0x1-0", "$", "*", "1.0-0"}) {
    EXPECT_FALSE(parse_entry_id(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_entry_id(std::string_view("1-0\0", 4)).has_value());
}

TEST(EntryId, order_is_by_number_not_by_text) {
  EXPECT_LT((EntryId{9, 0}), (EntryId{10, 0}));
  EXPECT_LT((EntryId{10, 9}), (EntryId{10, 10}));
}

TEST(EntryId, next_carries_and_saturates) {
  EXPECT_EQ(next({1, 1}), (EntryId{1, 2}));
  EXPECT_EQ(next({1, top}), (EntryId{2, 0}));
  EXPECT_EQ(next({top, top}), (EntryId{top, top}));
}

TEST(EntryId, append_keeps_what_is_there) {
  std::string out = "id=";
  append_to(out, {12, 3});
  EXPECT_EQ(out, "id=12-3");
}

}  // namespace
}  // namespace penstock::base
