#include "cli/exec/supervisor.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <stop_token>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "cli/exec/run.hpp"
#include "cli/exec/verdict.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/temp_dir.hpp"

namespace penstock::cli::exec {
namespace {

using End = RunResult::End;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::eventually;

std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** e = environ; *e != nullptr; ++e) out.emplace_back(*e);
  return out;
}

Spawn shell(const std::string& line) { return {"/bin/sh", {"sh", "-c", line}, own_environment()}; }

std::vector<pid_t> pids_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<pid_t> out;
  for (pid_t pid = 0; in >> pid;) out.push_back(pid);
  return out;
}

bool all_gone(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    if (test::alive(pid)) return false;
  }
  return true;
}

std::size_t open_files() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
  return n;
}

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() { EXPECT_TRUE(supervisor_.start().has_value()); }

  RunResult run(const Spawn& what, const std::string& body = "", const RunLimits& limits = {},
                const std::stop_token& stop = {}) {
    return run_command(supervisor_, what, body, stop, limits, {});
  }
  /// Runs a line with $F, stops it once it has written a line to $F.
  RunResult run_and_stop(const std::string& line, const RunLimits& limits) {
    std::stop_source source;
    std::jthread stopper([&] {
      EXPECT_TRUE(eventually([&] { return !pids_in(file_).empty(); }, milliseconds{5'000}));
      source.request_stop();
    });
    return run(shell("F=" + file_.string() + "; " + line), "", limits, source.get_token());
  }

  test::TempDir dir_;
  std::filesystem::path file_ = dir_ / "pids";
  Supervisor supervisor_;
};

TEST_F(SupervisorTest, body_in_and_exit_code_out) {
  const RunResult result = run(shell("cat > " + file_.string() + "; exit 76"), "the body\n\xff");
  EXPECT_EQ(result.end, End::exited);
  EXPECT_EQ(result.value, 76);
  EXPECT_FALSE(result.stopped);
  EXPECT_EQ(test::read_file(file_), "the body\n\xff");
}

TEST_F(SupervisorTest, signal_and_reason) {
  const RunResult result = run(shell("echo first >&2; echo why >&2; kill -SEGV $$"));
  EXPECT_EQ(result.end, End::signalled);
  EXPECT_EQ(result.value, SIGSEGV);
  EXPECT_EQ(result.reason, "first\nwhy");
}

TEST_F(SupervisorTest, reason_is_the_last_4_KiB) {
  const RunResult result = run(shell("seq 1 100000 >&2; echo last >&2; exit 3"));
  EXPECT_EQ(result.value, 3);
  EXPECT_LE(result.reason.size(), 4096u);
  EXPECT_GT(result.reason.size(), 4000u);
  EXPECT_TRUE(result.reason.ends_with("100000\nlast"));
}

TEST_F(SupervisorTest, large_body_to_a_command_that_does_not_read) {
  const std::string body(10u << 20, 'x');
  EXPECT_EQ(run(shell("exit 0"), body).value, 0);
  EXPECT_EQ(run(shell("head -c 5 > /dev/null; sleep 0.1"), body).value, 0);
  EXPECT_EQ(run(shell("exec <&-; sleep 0.1; exit 7"), body).value, 7);
  EXPECT_EQ(run(shell("test $(wc -c) = 10485760"), body).value, 0);
}

TEST_F(SupervisorTest, large_output_never_blocks_the_command) {
  const RunResult result =
      run(shell("head -c 10485760 /dev/zero; head -c 10485760 /dev/zero >&2; exit 5"));
  EXPECT_EQ(result.value, 5);
  EXPECT_TRUE(result.output_cut);
}

TEST_F(SupervisorTest, stop_is_TERM_first) {
  const RunResult result = run_and_stop(
      "trap 'exit 75' TERM; echo $$ > $F; while :; do sleep 0.02; done", {milliseconds{20'000}});
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.end, End::exited);
  EXPECT_EQ(result.value, 75);
}

TEST_F(SupervisorTest, stop_is_KILL_after_the_grace) {
  const auto begin = steady_clock::now();
  const RunResult result =
      run_and_stop("trap '' TERM; echo $$ > $F; while :; do sleep 0.02; done", {milliseconds{300}});
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.end, End::signalled);
  EXPECT_EQ(result.value, SIGKILL);
  EXPECT_GE(steady_clock::now() - begin, milliseconds{300});
  EXPECT_LT(steady_clock::now() - begin, test::scaled(milliseconds{3'000}));
}

TEST_F(SupervisorTest, stop_reaches_a_suspended_command) {
  const RunResult result = run_and_stop("trap 'exit 0' TERM; echo $$ > $F; kill -STOP $$; sleep 9",
                                        {milliseconds{9'000}});
  EXPECT_EQ(result.end, End::exited);
  EXPECT_LT(result.took, test::scaled(milliseconds{3'000}));
}

TEST_F(SupervisorTest, stop_before_the_start_runs_nothing) {
  std::stop_source source;
  source.request_stop();
  const RunResult result = run(shell("echo 1 > " + file_.string()), "", {}, source.get_token());
  EXPECT_EQ(result.end, End::not_started);
  EXPECT_TRUE(result.stopped);
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(SupervisorTest, leftovers_of_the_group_end_with_the_command) {
  // A grandchild in the background, and a "daemon" by double fork: both stay in the group, and
  // both hold the pipes open.
  const RunResult result = run(shell("F=" + file_.string() +
                                     "; sleep 60 & echo $! >> $F; (sh -c 'echo $$ >> '$F'; exec "
                                     "sleep 60' &); while test $(wc -l < $F) -lt 2; do sleep "
                                     "0.01; done; exit 0"));
  EXPECT_EQ(result.end, End::exited);
  EXPECT_LT(result.took, test::scaled(milliseconds{5'000}));
  const auto pids = pids_in(file_);
  ASSERT_EQ(pids.size(), 2u);
  EXPECT_TRUE(eventually([&] { return all_gone(pids); }, milliseconds{1'000}));
}

// setsid leaves the group and the promise, and holds the pipes: the run still ends.
TEST_F(SupervisorTest, who_leaves_the_group_is_not_waited_for) {
  const RunResult result =
      run(shell("setsid sh -c 'echo $$ > " + file_.string() +
                "; exec sleep 60' & while ! test -s " + file_.string() + "; do sleep 0.01; done"));
  EXPECT_EQ(result.value, 0);
  EXPECT_LT(result.took, test::scaled(milliseconds{5'000}));
  for (const pid_t pid : pids_in(file_)) ::kill(pid, SIGKILL);
}

TEST_F(SupervisorTest, children_start_with_clean_signals_and_files) {
  const RunResult result =
      run(shell("grep -E '^Sig(Blk|Ign)' /proc/self/status >&2; exec ls /proc/self/fd >&2"));
  // 0, 1, 2 and the one that ls opens.
  EXPECT_EQ(result.reason, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n1\n2\n3");
}

TEST_F(SupervisorTest, an_environment_that_is_too_large_is_said_in_words) {
  Spawn what = shell("exit 0");
  what.env.push_back("PENSTOCK_HEADER_X=" + std::string(200'000, 'x'));
  const RunResult one = run(what);
  EXPECT_EQ(one.end, End::not_executed);
  EXPECT_EQ(one.value, E2BIG);
  EXPECT_NE(verdict_of(one, {}).why.find("too large"), std::string::npos);
  what.env.pop_back();
  for (int i = 0; i < 100; ++i) {
    what.env.push_back("V" + std::to_string(i) + "=" + std::string(100'000, 'x'));
  }
  EXPECT_EQ(run(what).value, E2BIG);
  EXPECT_EQ(run(shell("exit 4")).value, 4) << "the next one is not touched by it";
}

TEST_F(SupervisorTest, what_cannot_be_executed) {
  EXPECT_EQ(run({"/nowhere/x", {"x"}, {}}).value, ENOENT);
  std::ofstream(dir_ / "plain") << "exit 0\n";
  std::filesystem::permissions(dir_ / "plain", std::filesystem::perms::owner_all);
  const RunResult result = run({(dir_ / "plain").string(), {"plain"}, {}});
  EXPECT_EQ(result.end, End::not_executed);
  EXPECT_EQ(result.value, ENOEXEC);
}

TEST_F(SupervisorTest, no_descriptor_leaks) {
  run(shell("exit 0"));
  const std::size_t before = open_files();
  const int rounds = test::pick(500, 5'000);
  for (int i = 0; i < rounds; ++i) {
    ASSERT_EQ(run({"/bin/true", {"true"}, {}}, "x").value, 0) << i;
  }
  EXPECT_EQ(open_files(), before);
  const auto helper = "/proc/" + std::to_string(supervisor_.helper_pid()) + "/fd";
  std::size_t held = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(helper)) ++held;
  EXPECT_LE(held, 6u);
}

TEST_F(SupervisorTest, many_threads_at_once) {
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const int code = 1 + (t * 10 + i) % 60;
        const auto result = run(shell("read x; exit $x"), std::to_string(code) + "\n");
        if (result.end == End::exited && result.value == code) ++right;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right.load(), 160);
}

TEST_F(SupervisorTest, a_dead_helper_ends_its_runs_and_is_replaced) {
  const pid_t first = supervisor_.helper_pid();
  std::jthread killer([&] {
    EXPECT_TRUE(eventually([&] { return pids_in(file_).size() == 2; }, milliseconds{5'000}));
    ::kill(first, SIGKILL);
  });
  const RunResult result =
      run(shell("F=" + file_.string() + "; sleep 60 & echo $! >> $F; echo $$ >> $F; wait"));
  killer.join();
  EXPECT_EQ(result.end, End::helper_lost);
  EXPECT_EQ(verdict_of(result, {}).kind, Verdict::Kind::retry);
  const auto pids = pids_in(file_);
  EXPECT_TRUE(eventually([&] { return all_gone(pids); }, milliseconds{1'000}));
  EXPECT_TRUE(eventually([&] { return run(shell("exit 6")).value == 6; }, milliseconds{3'000}));
  EXPECT_NE(supervisor_.helper_pid(), first);
}

// However the worker dies: its commands and what they started are gone within a second.
class WorkerDies : public testing::TestWithParam<int> {};

TEST_P(WorkerDies, and_its_children_with_it) {
  const test::TempDir dir;
  const auto file = dir / "pids";
  test::Spawn spawn;
  spawn.argv = {"/proc/self/exe", "--as-worker", "/bin/sh", "-c",
                "trap '' TERM HUP INT; F=" + file.string() +
                    "; (trap '' TERM; sleep 60) & echo $! >> $F; echo $$ >> $F; wait; sleep 60"};
  test::Process worker(spawn);
  ASSERT_TRUE(eventually([&] { return pids_in(file).size() == 6; }, milliseconds{5'000}));
  const auto pids = pids_in(file);
  for (const pid_t pid : pids) ASSERT_TRUE(test::alive(pid));
  // To the whole process group: the helper is in another and survives to do its work.
  ASSERT_TRUE(worker.signal_group(GetParam()));
  EXPECT_TRUE(eventually([&] { return all_gone(pids); }, milliseconds{1'000}));
  EXPECT_TRUE(worker.wait(milliseconds{1'000}).has_value());
}

INSTANTIATE_TEST_SUITE_P(By, WorkerDies, testing::Values(SIGKILL, SIGTERM, SIGSEGV));

}  // namespace
}  // namespace penstock::cli::exec
