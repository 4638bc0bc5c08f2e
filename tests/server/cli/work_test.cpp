#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <string>

#include "server/cli/cli_fixture.hpp"

namespace penstock::test {
namespace {

using std::chrono::milliseconds;

TEST_F(CliTest, send_work_show_round_trip) {
  ASSERT_EQ(code(penstock({"send", "orders", "--body", "hello", "--field", "x-id=7"})), 0);
  const auto seen = dir_ / "seen";
  Process worker = work({"orders", "--group", "g", "--consumer", "box", "--shell", "--exec",
                         "cat; echo; echo \"$PENSTOCK_STREAM $PENSTOCK_GROUP $PENSTOCK_ATTEMPT "
                         "$PENSTOCK_DELIVERY $PENSTOCK_HEADER_X_ID\"; echo done > " +
                             seen.string()});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(seen); }, patience)) << log();
  ASSERT_TRUE(eventually([&] { return server_.xpending("orders", "g") == 0; }, patience));
  worker.signal(SIGTERM);
  const auto status = worker.wait(patience);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 0) << log();
  EXPECT_EQ(log("log.out"), "hello\norders g 1 1 7\n");
  EXPECT_NE(log().find("acked 1"), std::string::npos) << log();
  EXPECT_EQ(server_.xlen("orders"), 0) << "a stream that penstock made deletes on ack";
}

TEST_F(CliTest, exit_codes_of_the_command_decide) {
  for (const char* how : {"0", "65", "75", "76", "77", "3"}) {
    ASSERT_EQ(code(penstock({"send", "s", "--body", how})), 0);
  }
  // What comes a second time is done.
  Process worker =
      work({"s", "--group", "g", "--concurrency", "4", "--backoff", "10ms..20ms", "--not-yet",
            "50ms", "--shell", "--exec",
            "read how; echo $how $PENSTOCK_ATTEMPT; test $PENSTOCK_DELIVERY -gt 1 && exit 0; echo "
            "because $how >&2; exit $how"});
  ASSERT_TRUE(eventually([&] { return server_.xlen("{s}.dead") == 1; }, patience)) << log();
  ASSERT_TRUE(eventually([&] { return server_.xlen("s") == 0; }, patience))
      << log() << log("log.out");
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(patience).value_or(ExitStatus{}).code, 0) << log();
  const std::string out = log("log.out");
  for (const char* line : {"75 2\n", "3 2\n", "76 1\n", "77 1\n"}) {
    EXPECT_NE(out.find(line), std::string::npos) << line << " in " << out;
  }
  EXPECT_NE(server_.cli("XRANGE", "{s}.dead", "-", "+").str().find("because 65"),
            std::string::npos);
}

TEST_F(CliTest, last_error_is_the_end_of_stderr) {
  ASSERT_EQ(code(penstock({"send", "s", "--body", "x"})), 0);
  Process worker = work({"s", "--group", "g", "--backoff", "1h..1h", "--shell", "--exec",
                         "echo no disk >&2; exit 4"});
  ASSERT_TRUE(eventually(
      [&] {
        return penstock({"pending", "s", "--group", "g"}).out.find("exit 4: no disk") !=
               std::string::npos;
      },
      patience))
      << penstock({"pending", "s", "--group", "g"}).out << log();
}

TEST_F(CliTest, work_waits_for_a_server_and_SIGTERM_ends_it) {
  const auto begin = std::chrono::steady_clock::now();
  Process worker = work({"s", "--group", "g", "--exec", "true", "--url",
                         "unix://" + (dir_ / "nobody.sock").string()});
  ASSERT_TRUE(eventually([&] { return log().find("nobody.sock") != std::string::npos; }, patience));
  std::this_thread::sleep_for(milliseconds{300});
  EXPECT_TRUE(worker.running());
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(patience).value_or(ExitStatus{}).code, 0) << log();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, patience);
}

// The command ignores TERM: KILL comes before the time for closing is over, and no attempt is
// counted for it.
TEST_F(CliTest, SIGTERM_ends_running_commands_and_hands_back) {
  ASSERT_EQ(code(penstock({"send", "s", "--body", "x"})), 0);
  const auto pids = dir_ / "pids";
  Process worker = work({"s", "--group", "g", "--drain", "2s", "--shell", "--exec",
                         "trap '' TERM; echo $$ > " + pids.string() + "; sleep 60; sleep 60"});
  ASSERT_TRUE(eventually([&] { return !read_file(pids).empty(); }, patience)) << log();
  const pid_t pid = std::stoi(read_file(pids));
  const auto begin = std::chrono::steady_clock::now();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(patience).value_or(ExitStatus{}).code, 0) << log();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, scaled(milliseconds{3'500}));
  EXPECT_TRUE(eventually([&] { return !alive(pid); }, milliseconds{1'000}));
  // The next one takes it at once, as the first attempt.
  const auto again = dir_ / "again";
  Process next =
      work({"s", "--group", "g", "--shell", "--exec", "echo $PENSTOCK_ATTEMPT > " + again.string()},
           "log2");
  EXPECT_TRUE(eventually([&] { return read_file(again) == "1\n"; }, milliseconds{3'000}))
      << log() << log("log2");
}

// The second signal does not wait: 75, and still no command is left behind.
TEST_F(CliTest, a_second_SIGTERM_ends_at_once_with_75) {
  ASSERT_EQ(code(penstock({"send", "s", "--body", "x"})), 0);
  const auto pids = dir_ / "pids";
  Process worker = work({"s", "--group", "g", "--shell", "--exec",
                         "trap '' TERM; echo $$ > " + pids.string() + "; sleep 60; sleep 60"});
  ASSERT_TRUE(eventually([&] { return !read_file(pids).empty(); }, patience)) << log();
  const pid_t pid = std::stoi(read_file(pids));
  worker.signal(SIGTERM);
  std::this_thread::sleep_for(milliseconds{200});
  ASSERT_TRUE(worker.running()) << "it waits for the command";
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(milliseconds{5'000}).value_or(ExitStatus{}).code, 75) << log();
  EXPECT_TRUE(eventually([&] { return !alive(pid); }, milliseconds{1'000}));
  EXPECT_NE(log().find("ended with 75"), std::string::npos) << log();
}

TEST_F(CliTest, max_run_counts_an_attempt) {
  ASSERT_EQ(code(penstock({"send", "s", "--body", "x"})), 0);
  Process worker = work({"s", "--group", "g", "--max-run", "300ms", "--backoff", "10ms..20ms",
                         "--attempts", "2", "--exec", "sleep 30"});
  EXPECT_TRUE(eventually([&] { return server_.xlen("{s}.dead") == 1; }, patience)) << log();
}

TEST_F(CliTest, a_killed_worker_leaves_no_command_behind) {
  for (int i = 0; i < 4; ++i) ASSERT_EQ(code(penstock({"send", "s", "--body", "x"})), 0);
  const auto pids = dir_ / "pids";
  Process worker = work({"s", "--group", "g", "--concurrency", "4", "--shell", "--exec",
                         "trap '' TERM; sleep 60 & echo $! >> " + pids.string() + "; echo $$ >> " +
                             pids.string() + "; wait"});
  ASSERT_TRUE(eventually([&] { return lines(read_file(pids)) == 8; }, patience)) << log();
  worker.kill9();
  EXPECT_TRUE(eventually(
      [&] {
        std::ifstream in(pids);
        for (pid_t pid = 0; in >> pid;) {
          if (alive(pid)) return false;
        }
        return true;
      },
      milliseconds{1'000}));
}

TEST_F(CliTest, a_header_with_NUL_is_left_out_and_said) {
  server_.xadd("s", {{"body", "x"}, {"bad\x1b", std::string("a\0b", 3)}, {"good", "1"}});
  Process worker = work({"s", "--group", "g", "--shell", "--exec",
                         "echo \"good=$PENSTOCK_HEADER_GOOD\"; env | grep -c BAD"});
  EXPECT_TRUE(
      eventually([&] { return log("log.out").find("good=1\n0\n") != std::string::npos; }, patience))
      << log("log.out");
  EXPECT_NE(log().find("holds a NUL byte"), std::string::npos) << log();
  EXPECT_EQ(log().find('\x1b'), std::string::npos);
}

TEST_F(CliTest, many_messages_then_SIGTERM_is_0) {
  ASSERT_EQ(code(penstock({"send", "s", "--body", "x", "--count", "1000"})), 0);
  Process worker = work({"s", "--group", "g", "--concurrency", "4", "--exec", "true"});
  ASSERT_TRUE(eventually([&] { return server_.xlen("s") == 0; }, patience)) << log();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(patience).value_or(ExitStatus{}).code, 0) << log();
}

}  // namespace
}  // namespace penstock::test
