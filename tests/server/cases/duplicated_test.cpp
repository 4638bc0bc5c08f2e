// Cases in which messages ran twice: B12, B13, B15, B23.
#include <fstream>
#include <signal.h>

#include "server/cases/cases_fixture.hpp"

namespace penstock::test {
namespace {

TEST_F(CasesTest, B12_healthy_long_handler_is_not_reclaimed) {
  send(4, "H:10000");
  Process w1 = worker("w1");
  ASSERT_TRUE(eventually([&] { return started() == 4; }, patience)) << log("w1");
  Process w2 = worker("w2");
  ASSERT_TRUE(eventually(
      [&] {
        for (const PendingRow& row : server_.pending_rows("s", "g")) {
          EXPECT_EQ(row.deliveries, 1) << row.id;
          EXPECT_EQ(row.consumer.substr(0, 3), "w1.") << row.id;
        }
        return all_done() || testing::Test::HasFailure();
      },
      patience, 50ms));
  EXPECT_EQ(runs("w1").size(), 4u);
  EXPECT_EQ(runs("w2").size(), 0u);
  expect_clean();
  EXPECT_EQ(close(w1), 0) << log("w1");
  EXPECT_EQ(close(w2), 0) << log("w2");
}

// The last of the eight start only after more than two leases in the buffer.
TEST_F(CasesTest, B13_what_waits_in_the_buffer_keeps_its_lease_with_one_worker) {
  send(8, "H:1500");
  Process w1 = worker("w1", {"--concurrency", "2"});
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << log("w1");
  EXPECT_EQ(started(), 8u);
  expect_clean();
  EXPECT_EQ(close(w1), 0) << log("w1");
}

TEST_F(CasesTest, B13_what_waits_in_the_buffer_keeps_its_lease_with_two_workers) {
  send(8, "H:1500");
  Process w1 = worker("w1", {"--concurrency", "2"});
  ASSERT_TRUE(eventually([&] { return server_.pending_rows("s", "g").size() == 8; }, patience));
  Process w2 = worker("w2", {"--concurrency", "2"});
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << log("w1") << log("w2");
  EXPECT_EQ(started(), 8u);
  expect_clean();
  EXPECT_EQ(close(w1), 0) << log("w1");
  EXPECT_EQ(close(w2), 0) << log("w2");
}

class B15 : public CasesTest {
 protected:
  /// Eight workers that come at one instant to what a dead consumer left. One repeat.
  void sweep_together(int count, bool foreign) {
    send(count, "H:200");
    std::size_t before = 0;
    if (foreign) {
      abandon(count);
    } else {
      Process dead = worker("dead", {"--prefetch", "none", "--do", "X"});
      ASSERT_TRUE(eventually([&] { return server_.xpending("s", "g") == count && started() == 4; },
                             patience))
          << log("dead");
      kill9(dead, "dead");
      before = started();
    }
    std::vector<Process> workers;
    const auto barrier = dir_ / "barrier";
    for (int i = 1; i <= 8; ++i) {
      workers.push_back(worker("w" + std::to_string(i), {"--barrier", barrier}));
    }
    for (int i = 1; i <= 8; ++i) {
      ASSERT_TRUE(eventually([&] { return !log("w" + std::to_string(i)).empty(); }, patience));
    }
    std::ofstream(barrier).flush();
    ASSERT_TRUE(eventually([&] { return all_done(); }, patience, 20ms)) << verdict().json();
    EXPECT_EQ(started() - before, static_cast<std::size_t>(count));
    for (Process& process : workers) process.signal(SIGTERM);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      EXPECT_EQ(workers[i].wait(5s).value_or(ExitStatus{}).code, 0)
          << log("w" + std::to_string(i + 1));
    }
    expect_clean();
  }
};

// One after the other in the full form, on a server and with a ledger of their own each.
class B15Repeat : public B15 {
 public:
  explicit B15Repeat(bool foreign) : foreign_(foreign) {}
  void TestBody() override { sweep_together(pick(250, 500), foreign_); }

 private:
  bool foreign_;
};

TEST(B15_two_sweepers_never_start_one_entry, left_by_another_library) {
  for (int i = 0; i < pick(1, 50) && !testing::Test::HasFailure(); ++i) {
    B15Repeat(true).TestBody();
  }
}

TEST(B15_two_sweepers_never_start_one_entry, left_by_a_killed_worker) {
  for (int i = 0; i < pick(1, 50) && !testing::Test::HasFailure(); ++i) {
    B15Repeat(false).TestBody();
  }
}

TEST_F(CasesTest, B23_each_stream_is_acked_on_itself) {
  streams_ = {"s1", "s2", "s3"};
  for (const std::string& stream : streams_) send(30, "H:1", stream);
  Process w1 = worker("w1");
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << log("w1");
  EXPECT_EQ(close(w1), 0) << log("w1");
  EXPECT_EQ(started(), 90u);
  expect_clean();
}

}  // namespace
}  // namespace penstock::test
