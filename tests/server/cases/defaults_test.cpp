// What is promised of a worker that nobody has tuned: the program, running commands. The full form
// takes the default lease (20 s) and sweep (5 s), the short one a lease of 2 s.
#include <algorithm>
#include <fstream>
#include <set>
#include <signal.h>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "server/cases/cases_fixture.hpp"

namespace penstock::test {
namespace {

using std::chrono::milliseconds;

class Defaults : public CasesTest {
 protected:
  const milliseconds lease_ = pick(milliseconds(2'000), milliseconds(20'000));
  const milliseconds sweep_ = pick(milliseconds(500), milliseconds(5'000));
  const milliseconds long_ = 3 * lease_;

  Process program(const std::string& name, milliseconds sleep,
                  std::vector<std::string> arguments = {}) {
    if (!full()) arguments.insert(arguments.end(), {"--lease", "2s", "--sweep", "500ms"});
    return untuned(name, sleep, arguments);
  }
  Process untuned(const std::string& name, milliseconds sleep,
                  const std::vector<std::string>& arguments = {}) {
    Spawn spawn;
    spawn.argv = {PENSTOCK_PROGRAM,
                  "work",
                  "s",
                  "--group",
                  "g",
                  "--consumer",
                  name,
                  "--url",
                  server_.url(),
                  "--exec",
                  std::string(PENSTOCK_LEDGER_HANDLER) + " " + (dir_ / "ledger").string() + " " +
                      std::to_string(sleep.count())};
    spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
    spawn.env["PENSTOCK_LEDGER_WORKER"] = name;
    spawn.stderr_file = dir_ / (name + ".log");
    return Process(std::move(spawn));
  }
  /// Their bodies are their ids in the ledger.
  void send_numbers(int count) {
    for (int i = 0; i < count; ++i) send(1, std::to_string(sent_.size() + 1));
  }
};

TEST_F(Defaults, a_command_of_three_leases_runs_once) {
  send_numbers(4);
  Process w1 = program("w1", long_, {"--concurrency", "4"});
  ASSERT_TRUE(eventually([&] { return started() == 4; }, patience)) << log("w1");
  Process w2 = program("w2", 1ms, {"--concurrency", "4"});
  ASSERT_TRUE(eventually([&] { return all_done(); }, long_ + patience, 20ms)) << log("w1");
  EXPECT_EQ(started(), 4u);
  EXPECT_EQ(runs("w2").size(), 0u);
  expect_clean();
  EXPECT_EQ(close(w1), 0) << log("w1");
  EXPECT_EQ(close(w2), 0) << log("w2");
}

TEST_F(Defaults, what_a_killed_worker_held_starts_elsewhere_when_its_commands_are_gone) {
  send_numbers(4);
  Process w1 = program("w1", long_, {"--concurrency", "4"});
  ASSERT_TRUE(eventually([&] { return started() == 4; }, patience)) << log("w1");
  Process w2 = program("w2", 1ms, {"--concurrency", "4"});
  std::this_thread::sleep_for(lease_ / 2);  // w2 is up and has looked around
  const std::int64_t killed = ns(w1.kill9());
  std::set<pid_t> commands;
  for (const HandlerRun& run : runs("w1")) commands.insert(run.pid);
  ASSERT_EQ(commands.size(), 4u);
  EXPECT_TRUE(eventually(
      [&] {
        return std::none_of(commands.begin(), commands.end(), [](pid_t p) { return alive(p); });
      },
      1s, 1ms))
      << "commands outlive their worker";
  killed_ns_["w1"] = monotonic_ns();  // their runs ended with the commands

  ASSERT_TRUE(eventually([&] { return all_done(); }, lease_ + sweep_ + patience)) << log("w2");
  std::vector<std::string> ids = sent_;
  for (const Takeover& t : first_start_elsewhere(ledger(), ids, "w1", killed)) {
    ASSERT_TRUE(t.after_ns.has_value()) << t.id;
    EXPECT_LE(*t.after_ns, ns(scaled(lease_ + sweep_ + 1s))) << t.id;
  }
  const Verdict v = verdict();
  EXPECT_EQ(v.overlapped.size() + v.overlapped_explained.size(), 0u) << v.json();
  expect_clean();
  EXPECT_EQ(close(w2), 0) << log("w2");
}

TEST_F(Defaults, what_a_closing_worker_has_not_started_starts_elsewhere_within_a_second) {
  send_numbers(8);
  Process w1 = program("w1", 3s, {"--concurrency", "4", "--prefetch", "8"});
  ASSERT_TRUE(
      eventually([&] { return started() == 4 && server_.xpending("s", "g") == 8; }, patience))
      << log("w1");
  std::set<std::string> begun;
  for (const HandlerRun& run : runs("w1")) begun.insert(run.id);
  std::vector<std::string> waiting;
  for (const std::string& id : sent_) {
    if (!begun.contains(id)) waiting.push_back(id);
  }
  Process w2 = program("w2", 1ms, {"--concurrency", "4"});
  ASSERT_TRUE(
      eventually([&] { return server_.cli("HLEN", "{s}.workers:g").integer == 2; }, patience));
  std::this_thread::sleep_for(300ms);
  const std::int64_t closed = monotonic_ns();
  w1.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return all_done(); }, patience)) << log("w1") << log("w2");
  const auto moved = first_start_elsewhere(ledger(), waiting, "w1", closed);
  EXPECT_EQ(moved.size(), 4u);
  for (const Takeover& t : moved) {
    ASSERT_TRUE(t.after_ns.has_value()) << t.id;
    EXPECT_LE(*t.after_ns, ns(scaled(1s))) << t.id;
  }
  EXPECT_EQ(started(), 8u) << "what was started stayed where it was";
  expect_clean();
  EXPECT_EQ(w1.wait(patience).value_or(ExitStatus{}).code, 0) << log("w1");
  EXPECT_EQ(close(w2), 0) << log("w2");
}

/// utime + stime of a process, in clock ticks.
long long cpu_ticks(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream in(stat.substr(stat.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) in >> skipped;
  long long user = 0, system = 0;
  in >> user >> system;
  return user + system;
}

TEST_F(Defaults, an_idle_stream_costs_three_commands_a_second_and_no_cpu) {
  Process w1 = untuned("w1", 1ms);
  ASSERT_TRUE(eventually([&] { return server_.xpending("s", "g") == 0; }, patience)) << log("w1");
  std::this_thread::sleep_for(1s);
  Monitor monitor(server_);
  monitor.take();
  const long long ticks = cpu_ticks(w1.pid());
  const auto begin = std::chrono::steady_clock::now();
  const auto time = pick(8s, 60s);
  std::this_thread::sleep_for(time);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const long long used = cpu_ticks(w1.pid()) - ticks;
  std::string seen;
  double commands = 0;
  for (const std::string& line : monitor.take()) {
    if (line.find(" lua]") != std::string::npos) continue;  // inside one of our scripts
    ++commands;
    seen += line.substr(0, 100) + "\n";
  }
  EXPECT_LE(commands, 3 * seconds) << seen;
  EXPECT_GT(commands, 0);
  EXPECT_LE(static_cast<double>(used) / static_cast<double>(::sysconf(_SC_CLK_TCK)),
            0.01 * seconds);
  RecordProperty("commands_per_second", std::to_string(commands / seconds));
  EXPECT_EQ(close(w1), 0) << log("w1");
}

}  // namespace
}  // namespace penstock::test
