// What a handler sees of a message, and what it may answer.
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <penstock/message.hpp>
#include <penstock/outcome.hpp>

#include "runtime/message_data.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;

Message message(const store::Fields& fields, std::int64_t delivery = 1,
                const store::Note* note = nullptr) {
  auto batch = std::make_shared<store::Batch>();
  store::Taken taken;
  taken.id = {1'700'000'000'000, 3};
  taken.delivery = delivery;
  taken.field_count = static_cast<std::uint32_t>(fields.size());
  for (const auto& [name, value] : fields) {
    for (const std::string* text : {&name, &value}) {
      batch->spans.push_back({static_cast<std::uint32_t>(batch->arena.size()),
                              static_cast<std::uint32_t>(text->size())});
      batch->arena += *text;
    }
  }
  if (note != nullptr) {
    taken.note = 0;
    batch->notes.push_back(*note);
  }
  batch->entries.push_back(taken);
  auto data = std::make_shared<detail::MessageData>();
  data->batch = batch;
  data->lane = std::make_shared<const store::Lane>(store::Lane{"orders", "billing", "w.00000001"});
  data->group_epoch = 1'600'000'000'000;
  return detail::MessageAccess::make(data, 0);
}

TEST(Message, the_body_is_the_field_body_wherever_it_stands) {
  EXPECT_EQ(message({{"a", "1"}, {"body", "text"}, {"b", "2"}}).body(), "text");
  EXPECT_EQ(message({{"body", "first"}, {"body", "second"}}).body(), "first");
}

TEST(Message, without_one_it_is_the_only_field) {
  EXPECT_EQ(message({{"payload", "text"}}).body(), "text");
  EXPECT_EQ(message({{"a", "1"}, {"b", "2"}}).body(), "");
  EXPECT_EQ(message({}).body(), "");
}

TEST(Message, bytes_are_kept_as_they_are) {
  const std::string raw("\0\xff\r\n\0", 5);
  EXPECT_EQ(message({{"body", raw}}).body(), raw);
  EXPECT_EQ(message({{raw, "x"}, {"body", ""}}).header(raw), "x");
}

TEST(Message, a_header_is_the_first_field_of_that_name) {
  const Message m =
      message({{"body", "x"}, {"trace", "1"}, {"trace", "2"}, {"penstock-timeout", "5"}});
  EXPECT_EQ(m.header("trace"), "1");
  EXPECT_EQ(m.header("body"), "x");
  EXPECT_EQ(m.header("penstock-timeout"), "5");
  EXPECT_EQ(m.header("Trace"), std::nullopt);
  EXPECT_EQ(m.field_count(), 4u);
  EXPECT_EQ(m.field(2).second, "2");
  EXPECT_TRUE(m.field(4).first.empty()) << "past the end is empty, not undefined";
}

TEST(Message, names_its_delivery) {
  store::Note note;
  note.attempts = 2;
  note.error = "no route";
  note.first_failed = 77;
  const Message m = message({{"body", "x"}}, 9, &note);
  EXPECT_EQ(m.id(), "1700000000000-3");
  EXPECT_EQ(m.stream(), "orders");
  EXPECT_EQ(m.group(), "billing");
  EXPECT_EQ(m.delivery(), 9);
  EXPECT_EQ(m.attempt(), 3) << "nine hand-overs, two of them failed runs";
  EXPECT_EQ(m.last_error(), "no route");
  EXPECT_EQ(m.first_failed_ms(), 77);
  EXPECT_EQ(message({{"body", "x"}}, 9).attempt(), 1);
  EXPECT_EQ(message({{"body", "x"}}).last_error(), "");
  EXPECT_EQ(m.token(), (Token{1'600'000'000'000, 1'700'000'000'000, 3, 9}));
}

TEST(Message, a_copy_keeps_the_bytes_alive) {
  auto m = std::make_unique<Message>(message({{"body", "a text of some length, on the heap"}}));
  const Message copy = *m;
  const std::string_view body = copy.body();
  m.reset();
  EXPECT_EQ(body, "a text of some length, on the heap");
}

// A database compares the text: it must order as the tokens do.
TEST(Token, texts_compare_like_the_tokens) {
  const std::int64_t top = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t seq_top = std::numeric_limits<std::uint64_t>::max();
  std::vector<Token> all;
  for (const std::int64_t epoch :
       {std::int64_t{0}, std::int64_t{9}, std::int64_t{1'700'000'000'000}}) {
    for (const std::uint64_t ms :
         {std::uint64_t{0}, std::uint64_t{99}, std::uint64_t{1'800'000'000'000}}) {
      for (const std::uint64_t seq : {std::uint64_t{0}, std::uint64_t{10}, seq_top}) {
        for (const std::int64_t delivery : {std::int64_t{1}, std::int64_t{10}, top}) {
          all.push_back({epoch, ms, seq, delivery});
        }
      }
    }
  }
  for (const Token& a : all) {
    for (const Token& b : all) {
      EXPECT_EQ(a < b, to_string(a) < to_string(b)) << to_string(a) << " " << to_string(b);
    }
  }
  EXPECT_EQ(to_string(all.front()).size(), to_string(all.back()).size());
}

TEST(Outcome, holds_what_it_was_made_of) {
  EXPECT_EQ(Outcome::ack().kind(), Outcome::Kind::ack);
  EXPECT_FALSE(Outcome::retry("why").after());
  EXPECT_EQ(Outcome::retry("why").why(), "why");
  EXPECT_EQ(Outcome::retry(5s, "why").after(), 5s);
  EXPECT_FALSE(Outcome::not_yet().after());
  EXPECT_EQ(Outcome::not_yet(1min).after(), 1min);
  EXPECT_EQ(Outcome::release().kind(), Outcome::Kind::release);
  EXPECT_EQ(Outcome::dead("bad").why(), "bad");
  EXPECT_EQ(Outcome::retry(-5s, "").after(), 0ms) << "no time before now";
  EXPECT_STREQ(to_string(Outcome::Kind::not_yet), "not_yet");
}

}  // namespace
}  // namespace penstock
