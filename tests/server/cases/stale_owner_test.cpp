// Cases of an owner that lives on after its lease is over: B17, B22.
#include <thread>

#include "server/cases/cases_fixture.hpp"
#include "support/net/tcp_proxy.hpp"

namespace penstock::test {
namespace {

// Message 1 ends in the moment the frozen worker wakes, message 2 runs on for a while.
TEST_F(CasesTest, B17_a_worker_that_was_frozen_settles_nothing_of_what_others_took) {
  send(1, "H:1000");
  send(1, "H:6000");
  Process w1 = worker("w1", stats("w1"));
  ASSERT_TRUE(eventually([&] { return started() == 2; }, patience)) << log("w1");
  w1.stop();
  Fault frozen{.worker = "w1", .from_ns = monotonic_ns()};
  Process w2 = worker("w2", {"--do", full() ? "H:10000" : "H:5000"});
  std::this_thread::sleep_for(2 * L);
  w1.resume();
  frozen.to_ns = monotonic_ns();
  faults_.push_back(frozen);

  ASSERT_EQ(runs("w2").size(), 2u) << "taken over before the lease of two was slept off";
  ASSERT_TRUE(eventually([&] { return stat("w1", "running") == 0; }, patience));
  // Both ended on w1, neither on w2: the rows are still w2's.
  ASSERT_TRUE(eventually([&] { return stat("w1", "lease_lost") == 2; }, 1s)) << log("w1");
  for (const HandlerRun& run : runs("w2"))
    ASSERT_EQ(run.outcome, RunOutcome::none) << "too late to see";
  const auto rows = server_.pending_rows("s", "g");
  ASSERT_EQ(rows.size(), 2u);
  for (const PendingRow& row : rows) {
    EXPECT_EQ(row.consumer.substr(0, 3), "w2.");
    EXPECT_EQ(row.deliveries, 2);
  }
  EXPECT_NE(told_ns("w1", "2"), 0) << "the handler was not told";
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << log("w2");
  EXPECT_EQ(stat("w1", "stale_settles"), 2) << "both acks were refused";
  EXPECT_EQ(stat("w1", "acked"), 0);
  expect_clean();
  EXPECT_EQ(verdict().overlapped_explained.size(), 2u);
  EXPECT_EQ(close(w1), 0) << log("w1");
  EXPECT_EQ(close(w2), 0) << log("w2");
}

class B22 : public CasesTest {
 protected:
  B22() { url_ = "redis://127.0.0.1:" + std::to_string(proxy_.port()); }

  /// One message of five leases under way on w1, whose renewals go nowhere from now on, while its
  /// reads, ticks and sweeps go on: what carries the entry's id is a renewal, until it is settled.
  void begin() {
    std::vector<std::string> arguments = stats("w1");
    send(1, "H:10000");
    w1_.emplace(worker("w1", arguments));
    ASSERT_TRUE(eventually([&] { return started() == 1; }, patience)) << log("w1");
    proxy_.swallow_where("\r\n" + server_.pending_rows("s", "g").at(0).id + "\r\n");
    ASSERT_TRUE(eventually([&] { return proxy_.swallowed() == 1; }, patience));
    blocked_ns_ = monotonic_ns();
    faults_.push_back({.worker = "w1", .from_ns = blocked_ns_});
  }

  TcpProxy proxy_{server_.socket_path().string()};
  std::optional<Process> w1_;
  std::int64_t blocked_ns_ = 0;
};

TEST_F(B22, B22_a_worker_does_not_reclaim_what_it_runs_itself) {
  ASSERT_NO_FATAL_FAILURE(begin());
  // Proof that the lease did lapse on the server, and that the sweeps went on.
  ASSERT_TRUE(eventually(
      [&] {
        const auto rows = server_.pending_rows("s", "g");
        return !rows.empty() && rows[0].idle_ms > (L + 2 * sweep).count();
      },
      patience));
  EXPECT_NE(told_ns("w1", "1"), 0) << "the handler was not told: " << log("w1");
  const auto swept = stat("w1", "sweeps");
  EXPECT_TRUE(eventually([&] { return stat("w1", "sweeps") >= swept + 2; }, patience));
  EXPECT_EQ(started(), 1u) << "its own lapsed entry was in reach of each sweep";
  proxy_.swallow_where("");
  send(5, "H:1");  // a worker that cannot renew need not begin new runs (G2); now it can
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << log("w1");
  EXPECT_EQ(started(), 6u) << "each once";
  EXPECT_TRUE(verdict().clean()) << verdict().json();
  EXPECT_EQ(verdict().overlapped_explained.size(), 0u);
}

TEST_F(B22, B22_a_healthy_sibling_takes_it_over) {
  ASSERT_NO_FATAL_FAILURE(begin());
  url_.clear();
  Process w2 = worker("w2", {"--do", "H:1"});
  ASSERT_TRUE(eventually([&] { return runs("w2").size() == 1; }, patience)) << log("w2");
  proxy_.swallow_where("");
  const HandlerRun second = runs("w2").at(0);
  EXPECT_EQ(second.delivery, 2u);
  EXPECT_LE(second.start_ns - blocked_ns_, ns(scaled(L + sweep + 1s)));
  const std::int64_t told = told_ns("w1", "1");
  EXPECT_NE(told, 0) << log("w1");
  EXPECT_LT(told, second.start_ns) << "asked to stop only when the lease was over";
  ASSERT_TRUE(eventually([&] { return runs("w1").at(0).outcome == RunOutcome::ack; }, patience));
  ASSERT_TRUE(eventually([&] { return stat("w1", "stale_settles") == 1; }, patience))
      << "its late ack was refused: " << log("w1");
  EXPECT_EQ(started(), 2u);
  expect_clean();
  EXPECT_EQ(close(w2), 0) << log("w2");
}

}  // namespace
}  // namespace penstock::test
