// Cases of what is found again, and of what is cleared away: B26, B40, B41, B51.
#include <set>
#include <thread>

#include "server/cases/cases_fixture.hpp"

namespace penstock::test {
namespace {

class B26 : public CasesTest {
 protected:
  /// The server comes back with nothing, and five messages before the worker's next read.
  void come_back_empty(bool frozen) {
    Process w1 = worker("w1", stats("w1"));
    ASSERT_TRUE(eventually([&] { return server_.xpending("s", "g") == 0; }, patience));
    std::this_thread::sleep_for(300ms);  // idle, in a blocked read
    if (frozen) w1.stop();
    server_.kill9();
    server_.restart(Data::empty);
    send(5, "H:1");
    if (frozen) w1.resume();
    const std::int64_t from = monotonic_ns();
    ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << log("w1");
    for (const HandlerRun& run : runs("w1"))
      EXPECT_LE(run.end_ns - from, ns(scaled(2s))) << log("w1");
    EXPECT_EQ(started(), 5u);
    EXPECT_TRUE(eventually([&] { return stat("w1", "groups_recreated") == 1; }, 1s)) << log("w1");
    expect_clean();
    EXPECT_EQ(close(w1), 0) << log("w1");
    EXPECT_EQ(stat("w1", "groups_recreated"), 1) << log("w1");
  }
};

TEST_F(B26, B26_an_empty_server_gets_its_group_back) { come_back_empty(false); }
TEST_F(B26, B26_an_empty_server_gets_its_group_back_for_a_worker_that_saw_nothing) {
  come_back_empty(true);
}

TEST_F(CasesTest, B40_a_thousand_stale_entries_of_another_library_take_seconds) {
  send(1'000, "H:1");
  abandon(1'000);
  const std::int64_t from = monotonic_ns();
  Process w1 = worker("w1");
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << verdict().json() << log("w1");
  EXPECT_LE(monotonic_ns() - from, ns(scaled(10s)));
  EXPECT_EQ(started(), 1'000u);
  expect_clean();
  EXPECT_EQ(close(w1), 0) << log("w1");
}

TEST_F(CasesTest, B40_a_thousand_stale_entries_of_a_killed_worker_take_seconds) {
  send(1'000, "H:1");
  Process dead = worker("dead", {"--prefetch", "none", "--do", "X"});
  ASSERT_TRUE(
      eventually([&] { return server_.xpending("s", "g") == 1'000 && started() == 4; }, patience));
  const std::int64_t from = kill9(dead, "dead");
  Process w1 = worker("w1");
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << verdict().json() << log("w1");
  EXPECT_LE(monotonic_ns() - from, ns(scaled(10s)));
  EXPECT_EQ(runs("w1").size(), 1'000u);
  expect_clean();
  EXPECT_EQ(close(w1), 0) << log("w1");
}

TEST_F(CasesTest, B41_orphans_are_found_without_another_start) {
  send(4, "H:60000");
  Process w1 = worker("w1");
  ASSERT_TRUE(eventually([&] { return started() == 4; }, patience));
  Process w2 = worker("w2", {"--do", "H:1"});
  std::this_thread::sleep_for(1s);
  const std::int64_t killed = kill9(w1, "w1");
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << log("w2");
  const auto taken = takeovers(input(), "w1", killed);
  EXPECT_EQ(taken.size(), 4u);
  for (const Takeover& t : taken) {
    ASSERT_TRUE(t.after_ns.has_value()) << t.id;
    EXPECT_LE(*t.after_ns, ns(scaled(L + sweep))) << t.id;
  }
  expect_clean();
  EXPECT_EQ(close(w2), 0) << log("w2");
}

// An entry that its owner does not know of, while the owner lives, renews what it does hold, and
// has no room to find it itself.
TEST_F(CasesTest, B41_an_entry_forgotten_under_a_live_owner_is_found) {
  send(1, "X");
  Process w1 = worker("w1", {"--concurrency", "1", "--prefetch", "1"});
  ASSERT_TRUE(eventually([&] { return started() == 1; }, patience)) << log("w1");
  const std::string owner = server_.pending_rows("s", "g").at(0).consumer;
  const std::string id = send(1, "H:1").at(0);
  server_.cli("XREADGROUP", "GROUP", "g", owner, "STREAMS", "s", ">");
  const std::int64_t from = monotonic_ns();
  Process w2 = worker("w2");
  ASSERT_TRUE(eventually([&] { return server_.xpending("s", "g") == 1; }, patience)) << log("w2");
  ASSERT_EQ(runs("w2").size(), 1u);
  EXPECT_EQ(runs("w2").at(0).id, id);
  EXPECT_LE(runs("w2").at(0).start_ns - from, ns(scaled(L + sweep + 1s)));
  EXPECT_EQ(runs("w1").size(), 1u);
}

class B51 : public CasesTest {
 protected:
  std::set<std::string> consumers() {
    std::set<std::string> names;
    for (const Value& row : server_.cli("XINFO", "CONSUMERS", "s", "g").items) {
      names.insert(row.at("name").text);
    }
    return names;
  }
  std::size_t registered() {
    return static_cast<std::size_t>(server_.cli("HLEN", "{s}.workers:g").integer);
  }
};

// Of every fifth that is killed an entry is left behind.
TEST_F(B51, B51_dead_consumers_go_and_only_those_that_hold_nothing) {
  Process live = worker("live", {"--do", "H:1", "--concurrency", "1"});
  ASSERT_TRUE(eventually([&] { return registered() == 1; }, patience));
  const auto idle_end = std::chrono::steady_clock::now() + pick(1s, 300s);
  while (std::chrono::steady_clock::now() < idle_end) {
    std::this_thread::sleep_for(200ms);
    ASSERT_LE(consumers().size(), 2u) << "an idle worker is one consumer";
  }
  const int cycles = pick(15, 50);
  for (int i = 0; i < cycles; ++i) {
    const std::string name = "w" + std::to_string(i);
    const bool leaves = i % 5 == 0;
    if (leaves) live.stop();
    Process w = worker(name, {"--do", "X"});
    ASSERT_TRUE(eventually(
        [&] {
          return server_.cli("HKEYS", "{s}.workers:g").str().find(name + ".") != std::string::npos;
        },
        patience))
        << log(name);
    if (leaves) {
      const std::string id = send(1, "H:1").at(0);
      ASSERT_TRUE(eventually([&] { return !runs(name).empty(); }, patience)) << log(name);
    }
    kill9(w, name);
    if (leaves) live.resume();
  }
  const std::int64_t from = monotonic_ns();
  EXPECT_TRUE(eventually([&] { return all_done(); }, patience)) << verdict().json() << log("live");
  const auto left = [&] {
    auto names = consumers();
    names.erase("penstock:parked");
    return names;
  };
  EXPECT_TRUE(eventually([&] { return left().size() == 1 && registered() == 1; }, patience));
  EXPECT_EQ(left().size(), 1u);
  EXPECT_EQ(registered(), 1u);
  EXPECT_LE(monotonic_ns() - from, ns(scaled(2 * L + sweep + 500ms))) << "2 L and one clean-up";
  EXPECT_EQ(left().begin()->substr(0, 5), "live.");
  expect_clean();
  EXPECT_EQ(close(live), 0) << log("live");
}

}  // namespace
}  // namespace penstock::test
