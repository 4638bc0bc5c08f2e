// Sending and looking, on a store inside this process.
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <penstock/inspect.hpp>
#include <penstock/producer.hpp>

namespace penstock {
namespace {

using namespace std::chrono_literals;

errc error_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.kind();
  }
  return errc::ok;
}

TEST(Producer, a_send_returns_the_entry_id_and_ids_grow) {
  Producer producer("memory:producer-ids");
  const std::string a = producer.send("orders", "1");
  const std::string b = producer.send("orders", "2");
  EXPECT_NE(a.find('-'), std::string::npos);
  EXPECT_NE(a, b);
  const StreamView view = Inspector("memory:producer-ids").stream("orders");
  EXPECT_TRUE(view.exists);
  EXPECT_EQ(view.length, 2);
  EXPECT_EQ(view.retention, Retention::delete_on_ack) << "penstock made the stream";
  EXPECT_TRUE(view.groups.empty());
}

TEST(Producer, a_batch_is_answered_one_by_one_and_in_order) {
  Producer producer("memory:producer-batch");
  std::vector<Draft> drafts(1'000);
  for (std::size_t i = 0; i < drafts.size(); ++i) drafts[i].body = std::to_string(i);
  const std::vector<Sent> sent = producer.send("orders", drafts);
  ASSERT_EQ(sent.size(), 1'000u);
  std::set<std::string> ids;
  for (const Sent& s : sent) {
    EXPECT_TRUE(s) << s.text;
    ids.insert(s.id);
  }
  EXPECT_EQ(ids.size(), 1'000u);
  EXPECT_EQ(Inspector("memory:producer-batch").stream("orders").length, 1'000);
  EXPECT_TRUE(producer.send("orders", std::vector<Draft>{}).empty());
}

TEST(Producer, reserved_and_empty_names_are_refused_before_anything_is_sent) {
  Producer producer("memory:producer-refuses");
  EXPECT_EQ(error_of([&] { producer.send("orders", "x", {{{"body", "y"}}, {}}); }),
            errc::bad_option);
  EXPECT_EQ(error_of([&] { producer.send("orders", "x", {{{"penstock-x", "y"}}, {}}); }),
            errc::bad_option);
  EXPECT_EQ(error_of([&] { producer.send("orders", "x", {{{"", "y"}}, {}}); }), errc::bad_option);
  EXPECT_EQ(error_of([&] { producer.send("orders", "x", {{}, 0ms}); }), errc::bad_option);
  EXPECT_EQ(error_of([&] { producer.send("", "x"); }), errc::bad_option);
  std::vector<Draft> drafts(3);
  drafts[2].options.headers = {{"body", "y"}};
  EXPECT_EQ(error_of([&] { producer.send("orders", drafts); }), errc::bad_option);
  EXPECT_FALSE(Inspector("memory:producer-refuses").stream("orders").exists);
}

TEST(Producer, many_threads_may_share_one) {
  Producer producer("memory:producer-threads");
  std::vector<std::thread> threads;
  std::vector<std::set<std::string>> ids(4);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) ids[t].insert(producer.send("orders", "x"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& some : ids) all.insert(some.begin(), some.end());
  EXPECT_EQ(all.size(), 400u);
}

TEST(Producer, a_server_that_is_away_is_an_error_in_time_not_a_hang) {
  Producer producer("unix:///nonexistent/penstock-test.sock", {300ms});
  const auto from = std::chrono::steady_clock::now();
  const errc one = error_of([&] { producer.send("orders", "x"); });
  EXPECT_TRUE(one == errc::unreachable || one == errc::timed_out) << static_cast<int>(one);
  const std::vector<Sent> sent = producer.send("orders", std::vector<Draft>(3));
  ASSERT_EQ(sent.size(), 3u);
  for (const Sent& s : sent) {
    EXPECT_FALSE(s);
    EXPECT_TRUE(s.id.empty());
    EXPECT_FALSE(s.text.empty());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - from, 10s);
}

TEST(Inspector, says_what_there_is_and_what_is_not_there) {
  Inspector inspector("memory:inspector");
  EXPECT_TRUE(inspector.streams().empty());
  EXPECT_FALSE(inspector.stream("orders").exists);
  Producer("memory:inspector").send("orders", "x");
  EXPECT_EQ(inspector.streams(), std::vector<std::string>{"orders"});
  EXPECT_EQ(error_of([&] { inspector.pending("orders", "none"); }), errc::group_lost);
  EXPECT_EQ(error_of([&] { inspector.pending("orders", "g", "x-y"); }), errc::bad_option);
  EXPECT_EQ(error_of([&] { inspector.pending("orders", "g", "", 257); }), errc::bad_option);
  EXPECT_EQ(error_of([&] { inspector.pending("orders", "g", "", 0); }), errc::bad_option);
}

}  // namespace
}  // namespace penstock
