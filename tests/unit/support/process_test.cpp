#include "support/process.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "support/eventually.hpp"
#include "support/temp_dir.hpp"

namespace penstock::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Spawn shell(const std::string& line) {
  return {.argv = {"sh", "-c", line},
          .env = {},
          .cwd = {},
          .stdin_file = {},
          .stdout_file = {},
          .stderr_file = {}};
}

pid_t number_in(const std::filesystem::path& file) {
  return static_cast<pid_t>(std::atoi(read_file(file).c_str()));
}

TEST(Process, captures_output_and_exit_code_and_passes_the_environment) {
  const TempDir dir;
  Spawn spawn = shell("echo \"$WORD\"; pwd; echo bad >&2; exit 3");
  spawn.env["WORD"] = "two words";
  spawn.cwd = dir.path();
  const Finished finished = run(spawn, seconds(10));
  EXPECT_EQ(finished.status, (ExitStatus{.code = 3, .signal = 0}));
  EXPECT_EQ(finished.out, "two words\n" + dir.path().string() + "\n");
  EXPECT_EQ(finished.err, "bad\n");
}

TEST(Process, missing_program_is_an_exception) {
  Spawn spawn = shell("");
  spawn.argv = {"/nowhere/program"};
  EXPECT_THROW(Process{spawn}, std::system_error);
}

TEST(Process, wait_has_a_time_out) {
  Process process(shell("sleep 100"));
  EXPECT_EQ(process.wait(milliseconds(20)), std::nullopt);
  EXPECT_TRUE(process.running());
  process.kill9();
  EXPECT_EQ(process.wait(milliseconds(0)), (ExitStatus{.code = -1, .signal = SIGKILL}));
  EXPECT_FALSE(process.signal(SIGTERM)) << "a reaped pid may be somebody else's";
}

TEST(Process, stop_and_resume) {
  const TempDir dir;
  Process process(
      shell("while :; do echo x >> " + (dir / "ticks").string() + "; sleep 0.01; done"));
  const auto ticks = [&] { return read_file(dir / "ticks").size(); };
  ASSERT_TRUE(eventually([&] { return ticks() > 4; }, seconds(10)));
  process.stop();
  const auto before = ticks();
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_LE(ticks(), before + 2);  // the sleep it had started runs on, the loop does not
  process.resume();
  EXPECT_TRUE(eventually([&] { return ticks() > before + 4; }, seconds(10)));
}

TEST(Process, destructor_kills_the_whole_group) {
  const TempDir dir;
  pid_t group = 0;
  {
    Process process(shell("sleep 1000 & echo $! > " + (dir / "child").string() + "; wait"));
    group = process.pid();
    ASSERT_TRUE(eventually([&] { return number_in(dir / "child") > 0; }, seconds(10)));
    EXPECT_EQ(group_members(group).size(), 2U);
  }
  EXPECT_TRUE(eventually([&] { return !alive(number_in(dir / "child")); }, seconds(5)));
  EXPECT_TRUE(group_members(group).empty());
}

TEST(Process, destructor_kills_what_a_reaped_leader_left_in_its_group) {
  const TempDir dir;
  {
    Process process(shell("sleep 1000 & echo $! > " + (dir / "child").string()));
    ASSERT_EQ(process.wait(seconds(10)), (ExitStatus{.code = 0, .signal = 0}));
    EXPECT_TRUE(alive(number_in(dir / "child")));
  }
  EXPECT_TRUE(eventually([&] { return !alive(number_in(dir / "child")); }, seconds(5)));
}

TEST(Process, nothing_outlives_a_test_that_crashes) {
  const TempDir dir;
  const pid_t crashing = ::fork();
  if (crashing == 0) {
    const Process process(shell("sleep 1000"));
    std::ofstream(dir / "pid") << process.pid();
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(crashing, &status, 0), crashing);
  const pid_t child = number_in(dir / "pid");
  ASSERT_GT(child, 0);
  EXPECT_TRUE(eventually([&] { return !alive(child); }, seconds(5)));
}

TEST(Process, move_leaves_one_owner) {
  Process first(shell("sleep 1000"));
  const pid_t pid = first.pid();
  Process second = std::move(first);
  EXPECT_EQ(second.pid(), pid);
  second = Process(shell("sleep 1000"));
  EXPECT_FALSE(alive(pid));
  EXPECT_TRUE(second.running());
}

TEST(Eventually, says_no_after_the_time_out) {
  int calls = 0;
  EXPECT_FALSE(eventually([&] { return ++calls < 0; }, milliseconds(20)));
  EXPECT_GT(calls, 1);
  EXPECT_TRUE(eventually([&] { return true; }, milliseconds(0)));
}

}  // namespace
}  // namespace penstock::test
