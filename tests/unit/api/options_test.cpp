// Knobs that cannot work are refused at once, in words that name them.
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/inspect.hpp>
#include <penstock/options.hpp>
#include <penstock/producer.hpp>
#include <penstock/worker.hpp>

namespace penstock {
namespace {

using namespace std::chrono_literals;

HandlerOptions good() {
  HandlerOptions o;
  o.group = "billing";
  return o;
}

/// The words of the refusal; empty: it was taken.
std::string refusal(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), errc::bad_option);
    EXPECT_TRUE(error.fatal());
    return error.what();
  }
  return {};
}

struct Case {
  const char* name;
  std::function<void(HandlerOptions&, WorkerOptions&)> spoil;
  std::vector<std::string> words;
};

TEST(Options, defaults_are_good) {
  EXPECT_NO_THROW(check(good()));
  EXPECT_NO_THROW(check(WorkerOptions{}));
  EXPECT_NO_THROW(check(good(), WorkerOptions{}));
}

TEST(Options, each_contradiction_is_refused_and_names_its_knobs) {
  using H = HandlerOptions;
  using W = WorkerOptions;
  const std::vector<Case> cases = {
      {"no group", [](H& h, W&) { h.group.clear(); }, {"group"}},
      {"no threads", [](H& h, W&) { h.concurrency = 0; }, {"concurrency", "1 to 1024"}},
      {"too many threads", [](H& h, W&) { h.concurrency = 1025; }, {"concurrency"}},
      {"prefetch 0", [](H& h, W&) { h.prefetch = Prefetch::count(0); }, {"prefetch"}},
      {"prefetch 1025", [](H& h, W&) { h.prefetch = Prefetch::count(1025); }, {"prefetch"}},
      {"prefetch below concurrency",
       [](H& h, W&) {
         h.prefetch = Prefetch::count(3);
         h.concurrency = 4;
       },
       {"prefetch 3", "concurrency 4"}},
      {"bytes", [](H& h, W&) { h.prefetch_bytes = 1023; }, {"prefetch_bytes"}},
      {"lease too short", [](H& h, W&) { h.lease = 399ms; }, {"lease", "399ms"}},
      {"lease too long", [](H& h, W&) { h.lease = 25h; }, {"lease"}},
      {"sweep below 0", [](H& h, W&) { h.sweep = -1ms; }, {"sweep", "wait for ever"}},
      {"max_run 0", [](H& h, W&) { h.max_run = 0ms; }, {"max_run", "none"}},
      {"max_run below 0", [](H& h, W&) { h.max_run = -1ms; }, {"max_run"}},
      {"grace 0", [](H& h, W&) { h.stop_grace = 0ms; }, {"stop_grace"}},
      {"not_yet 0", [](H& h, W&) { h.not_yet = 0ms; }, {"not_yet"}},
      {"foreign_idle 0", [](H& h, W&) { h.foreign_idle = 0ms; }, {"foreign_idle"}},
      {"max_lapses 0", [](H& h, W&) { h.max_lapses = 0; }, {"max_lapses"}},
      {"attempts 0", [](H& h, W&) { h.retry.attempts = 0; }, {"attempts"}},
      {"attempts", [](H& h, W&) { h.retry.attempts = 1'000'001; }, {"attempts"}},
      {"back-off 0", [](H& h, W&) { h.retry.backoff_min = 0ms; }, {"backoff min"}},
      {"back-off crossed",
       [](H& h, W&) {
         h.retry.backoff_min = 2s;
         h.retry.backoff_max = 1s;
       },
       {"backoff max 1000ms", "backoff min 2000ms"}},
      {"factor", [](H& h, W&) { h.retry.factor = 0.5; }, {"factor"}},
      {"factor NaN", [](H& h, W&) { h.retry.factor = std::stod("nan"); }, {"factor"}},
      {"start empty", [](H& h, W&) { h.start.clear(); }, {"start"}},
      {"start words", [](H& h, W&) { h.start = "now"; }, {"start", "now"}},
      {"start dash", [](H& h, W&) { h.start = "-5"; }, {"start"}},
      {"drain 0", [](H&, W& w) { w.drain = 0ms; }, {"drain"}},
      {"drain below grace",
       [](H& h, W& w) {
         w.drain = 5s;
         h.stop_grace = 6s;
       },
       {"drain 5000ms", "stop_grace 6000ms"}},
      {"consumer space", [](H&, W& w) { w.consumer = "a b"; }, {"consumer"}},
      {"consumer reserved", [](H&, W& w) { w.consumer = "penstock:x"; }, {"consumer", "reserved"}},
      {"consumer long", [](H&, W& w) { w.consumer = std::string(201, 'x'); }, {"consumer"}},
  };
  for (const Case& c : cases) {
    HandlerOptions h = good();
    WorkerOptions w;
    c.spoil(h, w);
    const std::string text = refusal([&] { check(h, w); });
    ASSERT_FALSE(text.empty()) << c.name;
    for (const std::string& word : c.words) {
      EXPECT_NE(text.find(word), std::string::npos) << c.name << ": " << text;
    }
  }
}

TEST(Options, limits_are_inclusive) {
  HandlerOptions h = good();
  h.concurrency = 1024;
  h.prefetch = Prefetch::count(1024);
  h.prefetch_bytes = 1024;
  h.lease = 400ms;
  h.sweep = 0ms;
  h.max_run.reset();
  h.start = "$";
  h.retry.attempts = 1;
  h.retry.factor = 1.0;
  h.retry.backoff_max = h.retry.backoff_min;
  WorkerOptions w;
  w.drain = h.stop_grace;
  EXPECT_EQ(refusal([&] { check(h, w); }), "");
  h.start = "1700000000000-0";
  EXPECT_EQ(refusal([&] { check(h, w); }), "");
}

TEST(Options, a_url_is_checked_before_anything_is_connected) {
  for (const char* url : {"", "localhost", "http://localhost", "redis://localhost:99999"}) {
    EXPECT_NE(refusal([&] { Worker worker(url); }), "") << url;
    EXPECT_NE(refusal([&] { Producer producer(url); }), "") << url;
    EXPECT_NE(refusal([&] { Inspector inspector(url); }), "") << url;
  }
}

TEST(Options, the_password_is_in_no_message) {
  const std::string text = refusal([] { Worker worker("redis://u:s3cret@localhost:99999"); });
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text.find("s3cret"), std::string::npos) << text;
}

TEST(Options, time_limits_of_tools_are_checked) {
  EXPECT_NE(refusal([] { Producer producer("memory:", {0ms}); }), "");
  EXPECT_NE(refusal([] { Inspector inspector("memory:", 0ms); }), "");
}

}  // namespace
}  // namespace penstock
