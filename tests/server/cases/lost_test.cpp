// Cases in which messages were lost: B01, B06, B08.
#include <thread>

#include "server/cases/cases_fixture.hpp"
#include "support/net/tcp_proxy.hpp"

namespace penstock::test {
namespace {

// A dead worker's eight entries and two that nobody had read: all ten end, on a worker of another
// name, and the dead consumer is not removed before its last entry has gone.
TEST_F(CasesTest, B01_a_dead_consumer_takes_no_entry_with_it) {
  send(10, "H:1");
  Process w1 = worker("w1", {"--do", "H:60000"});
  ASSERT_TRUE(eventually(
      [&] { return server_.pending_rows("s", "g").size() == 8 && started() == 4; }, patience))
      << log("w1");
  const std::int64_t killed = kill9(w1, "w1");
  Process w2 = worker("w2");
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << verdict().json() << log("w2");
  EXPECT_LE(monotonic_ns() - killed, ns(scaled(3 * L)));
  EXPECT_EQ(runs("w2").size(), 10u) << "each once";
  expect_clean();
  // Then it goes, for it holds nothing.
  EXPECT_TRUE(eventually(
      [&] {
        return server_.cli("XINFO", "CONSUMERS", "s", "g").str().find("w1.") == std::string::npos;
      },
      patience));
  EXPECT_EQ(verdict().finished, 10u);
  EXPECT_EQ(close(w2), 0) << log("w2");
}

TEST_F(CasesTest, B06_what_was_queued_before_the_group_is_handled) {
  send(5, "H:1");
  Process w1 = worker("w1");
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << log("w1");
  server_.cli("DEL", "s");
  send(5, "H:1");
  EXPECT_TRUE(eventually([&] { return all_done(); }, patience)) << log("w1");
  EXPECT_EQ(started(), 10u) << "each once";
  expect_clean();
  EXPECT_EQ(close(w1), 0) << log("w1");
}

// The answer to an empty read comes back when a client that waits no longer than BLOCK has hung up.
TEST_F(CasesTest, B08_a_slow_line_costs_no_connection_and_no_message) {
  TcpProxy proxy(server_.socket_path().string());
  // There and back: 900 to 1,100 ms.
  proxy.delay(TcpProxy::Way::to_server, 450ms, 100ms);
  proxy.delay(TcpProxy::Way::to_client, 450ms, 100ms);
  url_ = "redis://127.0.0.1:" + std::to_string(proxy.port());
  // BLOCK is a quarter of the lease.
  std::vector<std::string> arguments = {"--lease", "4000", "--sweep", "1000", "--drain", "8000"};
  for (const std::string& argument : stats("w1")) arguments.push_back(argument);
  Process w1 = worker("w1", arguments);
  // Starting takes several times there and back; the case is about a worker that is up.
  send(1, "H:1");
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << log("w1");

  const int count = pick(4, 200);
  std::map<std::string, std::int64_t> sent_at;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    std::this_thread::sleep_until(begin + i * 1s);
    const std::int64_t now = monotonic_ns();
    sent_at[send(1, "H:1").at(0)] = now;
  }
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << verdict().json() << log("w1");
  for (const HandlerRun& run : runs("w1")) {
    if (run.id != "1") {
      EXPECT_LE(run.start_ns - sent_at.at(run.id), ns(scaled(1'100ms + 1s))) << run.id;
    }
    EXPECT_EQ(run.delivery, 1u) << run.id;
  }
  // One each for commands, reads and renewals: none was ever made anew.
  EXPECT_EQ(proxy.connections(), 3) << log("w1");
  EXPECT_EQ(stat("w1", "store_failures") + stat("w1", "renew_failures"), 0) << log("w1");
  EXPECT_EQ(started(), static_cast<std::size_t>(count) + 1);
  expect_clean();
  // Takes several times there and back as well: too long for the short form.
  if (full()) {
    EXPECT_EQ(close(w1, 12s), 0) << log("w1");
  }
}

}  // namespace
}  // namespace penstock::test
