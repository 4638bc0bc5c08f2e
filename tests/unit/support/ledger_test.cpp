#include "support/ledger.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "support/ledger_check.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace penstock::test {
namespace {

/// Writes runs at chosen times, so that each fault can be planted exactly.
struct Planted {
  LedgerInput input;
  std::uint32_t run = 0;

  void sent(std::initializer_list<const char*> ids) {
    for (const char* id : ids) input.sent.emplace_back(id);
  }
  void start(const char* id, const char* worker, std::int64_t at) {
    input.ledger.records.push_back({.kind = RunEvent::start,
                                    .outcome = RunOutcome::none,
                                    .id = id,
                                    .worker = worker,
                                    .attempt = 1,
                                    .delivery = 1,
                                    .pid = 1,
                                    .run = ++run,
                                    .at_ns = at});
  }
  void ran(const char* id, const char* worker, std::int64_t from, std::int64_t to,
           RunOutcome outcome = RunOutcome::ack) {
    start(id, worker, from);
    LedgerRecord end = input.ledger.records.back();
    end.kind = RunEvent::end;
    end.outcome = outcome;
    end.at_ns = to;
    input.ledger.records.push_back(end);
  }
  Verdict verdict() const { return check(input); }
};

using Ids = std::vector<std::string>;

TEST(LedgerCheck, clean_ledger_gives_zeros) {
  Planted p;
  p.sent({"a", "b", "c"});
  p.ran("a", "w1", 0, 10);
  p.ran("b", "w2", 5, 15);
  p.ran("c", "w1", 20, 30, RunOutcome::retry);
  p.ran("c", "w2", 30, 40);
  const Verdict v = p.verdict();
  EXPECT_TRUE(v.clean()) << v.json();
  EXPECT_EQ(v.sent, 3U);
  EXPECT_EQ(v.finished, 3U);
  EXPECT_EQ(v.runs, 4U);
  EXPECT_EQ(v.rerun, Ids{"c"});
  EXPECT_TRUE(v.overlapped_explained.empty());
  EXPECT_TRUE(v.duplicated_explained.empty());
}

TEST(LedgerCheck, planted_loss_is_found) {
  Planted p;
  p.sent({"a", "b", "failed", "dead"});
  p.ran("a", "w1", 0, 10);
  p.ran("failed", "w1", 10, 20, RunOutcome::retry);
  p.input.dead = {"dead"};
  const Verdict v = p.verdict();
  EXPECT_EQ(v.lost, (Ids{"b", "failed"}));
  EXPECT_EQ(v.finished, 2U);
  EXPECT_FALSE(v.clean());
}

TEST(LedgerCheck, still_there_at_the_end_is_stuck_even_if_a_run_acked_it) {
  Planted p;
  p.sent({"a", "b"});
  p.ran("a", "w1", 0, 10);
  p.input.still_there = {"a", "b"};
  const Verdict v = p.verdict();
  EXPECT_EQ(v.stuck, (Ids{"a", "b"}));
  EXPECT_TRUE(v.lost.empty());
  EXPECT_EQ(v.finished, 0U);
}

TEST(LedgerCheck, planted_overlap_is_found) {
  Planted p;
  p.sent({"a", "b"});
  p.ran("a", "w1", 0, 10, RunOutcome::retry);
  p.ran("a", "w2", 9, 20);
  p.ran("b", "w1", 0, 10, RunOutcome::retry);
  p.ran("b", "w2", 10, 20);
  const Verdict v = p.verdict();
  EXPECT_EQ(v.overlapped, Ids{"a"});
  EXPECT_FALSE(v.clean());
}

TEST(LedgerCheck, overlap_with_a_long_run_is_seen_past_a_short_one_between) {
  Planted p;
  p.sent({"a"});
  p.ran("a", "w1", 0, 100, RunOutcome::release);
  p.input.faults = {{.worker = "w1", .from_ns = 1, .to_ns = 5}};  // explains w2's start only
  p.ran("a", "w2", 4, 10, RunOutcome::retry);
  EXPECT_EQ(p.verdict().overlapped_explained, Ids{"a"});
  p.input.faults = {{.worker = "w2", .from_ns = 0}};
  p.ran("a", "w3", 50, 60);
  EXPECT_EQ(p.verdict().overlapped, Ids{"a"});
}

TEST(LedgerCheck, run_without_end_never_ends_unless_its_worker_was_killed) {
  Planted p;
  p.sent({"a"});
  p.start("a", "w1", 0);
  p.ran("a", "w2", 1'000, 1'010);
  EXPECT_EQ(p.verdict().overlapped, Ids{"a"});
  p.input.killed_ns["w1"] = 900;
  EXPECT_TRUE(p.verdict().clean());
  p.input.killed_ns["w1"] = 1'005;  // killed only after the other had started: no excuse
  EXPECT_EQ(p.verdict().overlapped, Ids{"a"});
}

TEST(LedgerCheck, overlap_with_a_paused_owner_is_explained_only_within_the_pause) {
  Planted p;
  p.sent({"a"});
  p.ran("a", "w1", 0, 100, RunOutcome::release);
  p.ran("a", "w2", 50, 60);
  p.input.faults = {{.worker = "w1", .from_ns = 10, .to_ns = 70}};
  EXPECT_TRUE(p.verdict().clean());
  EXPECT_EQ(p.verdict().overlapped_explained, Ids{"a"});
  p.input.faults = {{.worker = "w1", .from_ns = 55, .to_ns = 70}};
  EXPECT_EQ(p.verdict().overlapped, Ids{"a"});
  p.input.faults = {{.worker = "w2", .from_ns = 0, .to_ns = 70}};
  EXPECT_EQ(p.verdict().overlapped, Ids{"a"});
}

TEST(LedgerCheck, planted_duplicate_is_found_and_explained_by_a_kill_after_the_run) {
  Planted p;
  p.sent({"a"});
  p.ran("a", "w1", 0, 10);
  p.ran("a", "w2", 20, 30);
  EXPECT_EQ(p.verdict().duplicated, Ids{"a"});
  EXPECT_TRUE(p.verdict().overlapped.empty());
  p.input.killed_ns["w1"] = 12;  // before its ack was written: the second run is owed
  EXPECT_TRUE(p.verdict().clean());
  EXPECT_EQ(p.verdict().duplicated_explained, Ids{"a"});
  p.input.killed_ns["w1"] = 25;
  EXPECT_EQ(p.verdict().duplicated, Ids{"a"});
}

TEST(LedgerCheck, run_that_was_never_sent_is_unexpected) {
  Planted p;
  p.ran("ghost", "w1", 0, 10);
  EXPECT_EQ(p.verdict().unexpected, Ids{"ghost"});
  EXPECT_FALSE(p.verdict().clean());
}

TEST(LedgerCheck, takeovers_name_the_open_runs_and_the_first_start_elsewhere) {
  Planted p;
  p.sent({"done", "open", "never"});
  p.ran("done", "w1", 0, 50);
  p.start("open", "w1", 60);
  p.start("never", "w1", 60);
  p.ran("open", "w3", 400, 410);
  p.ran("open", "w2", 300, 310, RunOutcome::retry);
  const auto found = takeovers(p.input, "w1", 100);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].id, "never");
  EXPECT_EQ(found[0].after_ns, std::nullopt);
  EXPECT_EQ(found[1].id, "open");
  EXPECT_EQ(found[1].after_ns, 200);
  EXPECT_EQ(starts_per_id(p.input.ledger).at("open"), 3U);
}

TEST(LedgerCheck, json_is_escaped) {
  Planted p;
  p.sent({"a\"\n"});
  EXPECT_NE(p.verdict().json().find(R"("lost": {"count": 1, "first": ["a\u0022\u000a"]})"),
            std::string::npos)
      << p.verdict().json();
}

TEST(Ledger, records_survive_a_round_trip_and_many_writers) {
  const TempDir dir;
  constexpr int writers = 4;
  constexpr int each = 500;
  {
    std::vector<std::jthread> threads;
    threads.reserve(writers);
    for (int w = 0; w < writers; ++w) {
      threads.emplace_back([&dir, w] {
        LedgerWriter ledger(dir / "ledger", "w" + std::to_string(w));
        for (int i = 0; i < each; ++i) {
          const auto run = ledger.start(std::to_string(w * each + i), 2, 3);
          ledger.end(run, RunOutcome::ack);
        }
      });
    }
  }
  LedgerInput input;
  input.ledger = read_ledger(dir / "ledger");
  EXPECT_EQ(input.ledger.records.size(), 2U * writers * each);
  EXPECT_EQ(input.ledger.records.front().pid, ::getpid());
  EXPECT_EQ(input.ledger.records.front().attempt, 2U);
  EXPECT_EQ(input.ledger.records.front().delivery, 3U);
  for (int i = 0; i < writers * each; ++i) input.sent.push_back(std::to_string(i));
  EXPECT_TRUE(check(input).clean()) << check(input).json();
}

TEST(Ledger, damage_is_counted_not_read) {
  const TempDir dir;
  {
    LedgerWriter ledger(dir / "ledger", "w");
    ledger.end(ledger.start("a", 1, 1), RunOutcome::ack);
    std::ofstream(dir / "ledger", std::ios::app | std::ios::binary) << std::string(128, 'x') << "t";
  }
  const Ledger read = read_ledger(dir / "ledger");
  EXPECT_EQ(read.records.size(), 2U);
  EXPECT_EQ(read.damaged, 2U);
}

TEST(Ledger, absent_file_is_empty) {
  const TempDir dir;
  EXPECT_TRUE(read_ledger(dir / "none").records.empty());
}

TEST(LedgerHandler, writes_start_and_end_with_what_the_environment_says) {
  const TempDir dir;
  std::ofstream(dir / "body") << "message 7";
  const Finished finished = run({.argv = {LEDGER_HANDLER, dir / "ledger", "20", "76"},
                                 .env = {{"PENSTOCK_ID", "1-1"},
                                         {"PENSTOCK_ATTEMPT", "2"},
                                         {"PENSTOCK_DELIVERY", "5"},
                                         {"PENSTOCK_LEDGER_WORKER", "w1"}},
                                 .cwd = {},
                                 .stdin_file = dir / "body",
                                 .stdout_file = {},
                                 .stderr_file = {}},
                                std::chrono::seconds(10));
  ASSERT_EQ(finished.status, (ExitStatus{.code = 76, .signal = 0})) << finished.err;
  const Ledger read = read_ledger(dir / "ledger");
  ASSERT_EQ(read.records.size(), 2U);
  EXPECT_EQ(read.records[0].id, "message 7");
  EXPECT_EQ(read.records[0].worker, "w1");
  EXPECT_EQ(read.records[0].delivery, 5U);
  EXPECT_EQ(read.records[1].outcome, RunOutcome::not_yet);
  EXPECT_GE(read.records[1].at_ns - read.records[0].at_ns, 20'000'000);
}

}  // namespace
}  // namespace penstock::test
