// Workers on a store inside this process: end to end, several at once, closing.
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include <penstock/inspect.hpp>
#include <penstock/producer.hpp>
#include <penstock/worker.hpp>

#include "support/eventually.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using test::eventually;

HandlerOptions options(std::size_t concurrency = 1) {
  HandlerOptions o;
  o.group = "billing";
  o.concurrency = concurrency;
  o.retry.backoff_min = 1ms;
  o.retry.backoff_max = 5ms;
  o.stop_grace = 300ms;
  return o;
}

WorkerOptions quiet() {
  WorkerOptions o;
  o.drain = 2s;
  o.log = [](LogLevel, std::string_view) {};
  return o;
}

errc error_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.kind();
  }
  return errc::ok;
}

void send(const std::string& url, int count) {
  std::vector<Draft> drafts(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) drafts[static_cast<std::size_t>(i)].body = std::to_string(i);
  for (const Sent& s : Producer(url).send("orders", drafts)) ASSERT_TRUE(s) << s.text;
}

TEST(Worker, T20_handles_what_was_sent_before_and_after_it_came) {
  const std::string url = "memory:worker-e2e";
  send(url, 100);
  std::mutex mutex;
  std::multiset<std::string> seen;
  Worker worker(url, quiet());
  worker.handle("orders", options(4), [&](const Message& m) {
    const std::lock_guard lock(mutex);
    seen.insert(std::string(m.body()));
  });
  worker.start();
  send(url, 100);
  EXPECT_TRUE(eventually([&] { return worker.stats().lanes.at(0).acked == 200; }, 10s));
  EXPECT_TRUE(worker.stop());
  EXPECT_EQ(seen.size(), 200u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen.count(std::to_string(i)), 2u);
  const StreamView view = Inspector(url).stream("orders");
  EXPECT_EQ(view.length, 0) << "delete_on_ack: settled entries are gone";
  ASSERT_EQ(view.groups.size(), 1u);
  EXPECT_EQ(view.groups[0].leased + view.groups[0].parked, 0);
  const LaneStats last = worker.stats().lanes.at(0);
  EXPECT_EQ(last.started, 200u);
  EXPECT_EQ(last.held, 0u);
}

TEST(Worker, two_in_one_process_share_the_work_and_run_nothing_twice) {
  const std::string url = "memory:worker-two";
  std::mutex mutex;
  std::map<std::string, int> runs;
  const auto handler = [&](const Message& m) {
    {
      const std::lock_guard lock(mutex);
      ++runs[std::string(m.body())];
    }
    std::this_thread::sleep_for(1ms);
  };
  Worker one(url, quiet()), two(url, quiet());
  one.handle("orders", options(2), handler);
  two.handle("orders", options(2), handler);
  one.start();
  two.start();
  send(url, 500);
  EXPECT_TRUE(eventually(
      [&] { return one.stats().lanes.at(0).acked + two.stats().lanes.at(0).acked == 500; }, 20s));
  EXPECT_GT(one.stats().lanes.at(0).acked, 0u);
  EXPECT_GT(two.stats().lanes.at(0).acked, 0u);
  EXPECT_NE(one.stats().lanes.at(0).consumer, two.stats().lanes.at(0).consumer);
  EXPECT_TRUE(one.stop());
  EXPECT_TRUE(two.stop());
  EXPECT_EQ(runs.size(), 500u);
  for (const auto& [body, n] : runs) EXPECT_EQ(n, 1) << body;
}

TEST(Worker, T18_stop_hands_back_what_has_not_started_and_a_peer_runs_it_soon) {
  const std::string url = "memory:worker-hand-back";
  send(url, 8);
  std::atomic<bool> go{false};
  std::atomic<int> first{0}, second{0};
  auto o = options(1);
  o.prefetch = Prefetch::count(8);
  Worker one(url, quiet()), two(url, quiet());
  one.handle("orders", o, [&](const Message&) {
    ++first;
    while (!go) std::this_thread::sleep_for(1ms);
  });
  one.start();
  ASSERT_TRUE(eventually([&] { return first == 1 && one.stats().lanes.at(0).held == 8; }, 5s));
  two.handle("orders", options(2), [&](const Message& m) {
    EXPECT_EQ(m.attempt(), 1) << "a hand-back is no attempt";
    ++second;
  });
  two.start();
  std::atomic<bool> clean{false};
  const auto from = std::chrono::steady_clock::now();
  std::thread stopper([&] { clean = one.stop(); });
  EXPECT_TRUE(eventually([&] { return second == 7; }, 5s));
  EXPECT_LT(std::chrono::steady_clock::now() - from, test::scaled(1000ms));
  go = true;
  stopper.join();
  EXPECT_TRUE(clean);
  EXPECT_TRUE(two.stop());
  EXPECT_EQ(first, 1);
  EXPECT_EQ(one.stats().lanes.at(0).released, 7u);
}

TEST(Worker, a_handler_that_ignores_its_stop_makes_the_end_unclean_but_in_time) {
  const std::string url = "memory:worker-unclean";
  send(url, 1);
  std::atomic<bool> in{false}, asked{false};
  const auto out = std::make_shared<std::atomic<bool>>(false);
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  auto w = quiet();
  w.drain = 600ms;
  Worker worker(url, w);
  worker.handle("orders", options(1), [&, out, gone](const Message&, const std::stop_token& stop) {
    in = true;
    while (!*out) {
      if (stop.stop_requested()) asked = true;
      std::this_thread::sleep_for(1ms);
    }
    *gone = true;
  });
  worker.start();
  ASSERT_TRUE(eventually([&] { return in.load(); }, 5s));
  const auto from = std::chrono::steady_clock::now();
  EXPECT_FALSE(worker.stop());
  EXPECT_LT(std::chrono::steady_clock::now() - from, test::scaled(3s));
  EXPECT_TRUE(asked);
  EXPECT_FALSE(worker.stop()) << "a second stop() answers the same, at once";
  *out = true;
  EXPECT_TRUE(eventually([&] { return gone->load(); }, 5s));
}

TEST(Worker, outcomes_and_exceptions_go_where_they_should) {
  const std::string url = "memory:worker-outcomes";
  send(url, 5);
  std::mutex mutex;
  std::map<std::string, int> runs;
  Worker worker(url, quiet());
  worker.handle("orders", options(2), [&](const Message& m) -> Outcome {
    int n = 0;
    {
      const std::lock_guard lock(mutex);
      n = ++runs[std::string(m.body())];
    }
    if (m.body() == "0") throw std::runtime_error("never");
    if (m.body() == "1") return n < 3 ? Outcome::retry("again") : Outcome::ack();
    if (m.body() == "2") return n < 4 ? Outcome::not_yet(1ms) : Outcome::ack();
    if (m.body() == "3") return n < 2 ? Outcome::release() : Outcome::ack();
    return Outcome::dead("bad");
  });
  worker.start();
  EXPECT_TRUE(eventually(
      [&] {
        const LaneStats s = worker.stats().lanes.at(0);
        return s.acked == 3 && s.dead == 2;
      },
      20s));
  EXPECT_TRUE(worker.stop());
  EXPECT_EQ(runs["0"], 5);
  EXPECT_EQ(runs["1"], 3);
  EXPECT_EQ(runs["2"], 4);
  EXPECT_EQ(runs["3"], 2);
  EXPECT_EQ(runs["4"], 1);
  EXPECT_EQ(Inspector(url).stream("orders").dead, 2);
}

TEST(Worker, several_subscriptions_each_with_threads_of_their_own) {
  const std::string url = "memory:worker-several";
  std::atomic<int> a{0}, b{0}, other_group{0};
  Worker worker(url, quiet());
  auto second = options(1);
  second.group = "audit";
  worker.handle("orders", options(1), [&](const Message&) { ++a; })
      .handle("orders", second, [&](const Message&) { ++other_group; })
      .handle("mails", options(1), [&](const Message&) { ++b; });
  worker.start();
  Producer producer(url);
  for (int i = 0; i < 20; ++i) {
    producer.send("orders", "x");
    producer.send("mails", "x");
  }
  EXPECT_TRUE(eventually([&] { return a == 20 && b == 20 && other_group == 20; }, 10s));
  EXPECT_TRUE(worker.stop());
}

TEST(Worker, calls_in_the_wrong_order_are_refused_in_words) {
  Worker worker("memory:worker-order", quiet());
  EXPECT_EQ(error_of([&] { worker.start(); }), errc::bad_option) << "nothing to read";
  worker.handle("orders", options(), [](const Message&) {});
  EXPECT_EQ(error_of([&] { worker.handle("orders", options(), [](const Message&) {}); }),
            errc::bad_option)
      << "the same stream and group twice";
  EXPECT_EQ(error_of([&] { worker.handle("", options(), [](const Message&) {}); }),
            errc::bad_option);
  worker.start();
  EXPECT_EQ(error_of([&] { worker.start(); }), errc::bad_option);
  EXPECT_EQ(error_of([&] { worker.handle("mails", options(), [](const Message&) {}); }),
            errc::bad_option);
  EXPECT_TRUE(worker.stop());
  EXPECT_TRUE(worker.stop());
}

// For the sanitizer's eyes: numbers are asked for, and stop() called, whatever start() is doing.
TEST(Worker, start_stop_and_stats_from_several_threads) {
  for (int i = 0; i < 30; ++i) {
    Worker worker("memory:worker-threads", quiet());
    worker.handle("orders", options(2), [](const Message&) {});
    worker.handle("mails", options(2), [](const Message&) {});
    std::atomic<bool> over{false};
    std::thread asking([&] {
      while (!over) worker.stats();
    });
    std::thread starting([&] { worker.start(); });
    while (worker.stats().lanes.empty() && i % 2 == 0) std::this_thread::yield();
    std::thread stopping([&] { worker.stop(); });
    starting.join();
    stopping.join();
    EXPECT_TRUE(worker.stop());
    over = true;
    asking.join();
  }
}

TEST(Worker, one_that_was_never_started_ends_at_once) {
  Worker worker("memory:worker-never", quiet());
  worker.handle("orders", options(), [](const Message&) {});
  EXPECT_TRUE(worker.stop());
  EXPECT_TRUE(worker.stats().lanes.empty());
}

TEST(Worker, start_waits_in_the_background_for_a_server_that_is_away) {
  Worker worker("unix:///nonexistent/penstock-test.sock", quiet());
  worker.handle("orders", options(), [](const Message&) {});
  EXPECT_NO_THROW(worker.start());
  EXPECT_FALSE(worker.stats().connected);
  EXPECT_TRUE(worker.stop()) << "nothing was held";
}

TEST(Worker, its_destructor_drains) {
  const std::string url = "memory:worker-destructor";
  send(url, 10);
  std::atomic<int> ran{0};
  {
    Worker worker(url, quiet());
    worker.handle("orders", options(2), [&](const Message&) { ++ran; });
    worker.start();
    ASSERT_TRUE(eventually([&] { return ran == 10; }, 10s));
  }
  const StreamView view = Inspector(url).stream("orders");
  ASSERT_EQ(view.groups.size(), 1u);
  EXPECT_EQ(view.groups[0].leased, 0);
  EXPECT_TRUE(view.groups[0].consumers.empty() || view.groups[0].consumers[0].parked)
      << "its row and consumer are gone";
}

}  // namespace
}  // namespace penstock
