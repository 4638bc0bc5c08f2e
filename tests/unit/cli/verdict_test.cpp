#include "cli/exec/verdict.hpp"

#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <string>

namespace penstock::cli::exec {
namespace {

using End = RunResult::End;
using Kind = Verdict::Kind;
using std::chrono::milliseconds;

RunResult ended(End end, int value, bool stopped = false, std::string reason = "") {
  RunResult result;
  result.end = end;
  result.value = value;
  result.stopped = stopped;
  result.reason = std::move(reason);
  result.took = milliseconds{500};
  return result;
}

TEST(Verdict, by_exit_code) {
  EXPECT_EQ(verdict_of(ended(End::exited, 0), {}).kind, Kind::ack);
  EXPECT_EQ(verdict_of(ended(End::exited, 65), {}).kind, Kind::dead);
  EXPECT_EQ(verdict_of(ended(End::exited, 75), {}).kind, Kind::retry);
  EXPECT_EQ(verdict_of(ended(End::exited, 76), {}).kind, Kind::not_yet);
  EXPECT_EQ(verdict_of(ended(End::exited, 77), {}).kind, Kind::release);
  for (const int code : {1, 2, 64, 66, 74, 78, 127, 255}) {
    EXPECT_EQ(verdict_of(ended(End::exited, code), {}).kind, Kind::retry) << code;
  }
  EXPECT_EQ(verdict_of(ended(End::exited, 3, false, "no disk"), {}).why, "exit 3: no disk");
  EXPECT_EQ(verdict_of(ended(End::exited, 65, false, "bad order"), {}).why, "exit 65: bad order");
  EXPECT_EQ(verdict_of(ended(End::exited, 3), {}).why, "exit 3");
}

TEST(Verdict, by_signal) {
  const Verdict verdict = verdict_of(ended(End::signalled, SIGSEGV, false, "oops"), {});
  EXPECT_EQ(verdict.kind, Kind::retry);
  EXPECT_EQ(verdict.why, "ended by SIGSEGV: oops");
}

// What was stopped has not failed, unless it used up its time.
TEST(Verdict, stopped_counts_no_attempt) {
  EXPECT_EQ(verdict_of(ended(End::signalled, SIGTERM, true), {}).kind, Kind::release);
  EXPECT_EQ(verdict_of(ended(End::exited, 143, true), {}).kind, Kind::release);
  EXPECT_EQ(verdict_of(ended(End::exited, 1, true), milliseconds{600}).kind, Kind::release);
  EXPECT_EQ(verdict_of(ended(End::helper_lost, 0, true), {}).kind, Kind::release);
  EXPECT_EQ(verdict_of(ended(End::not_started, 0, true), {}).kind, Kind::release);
  EXPECT_EQ(verdict_of(ended(End::exited, 0, true), {}).kind, Kind::ack);
  EXPECT_EQ(verdict_of(ended(End::exited, 65, true), {}).kind, Kind::dead);
  EXPECT_EQ(verdict_of(ended(End::exited, 76, true), {}).kind, Kind::not_yet);
  const Verdict over = verdict_of(ended(End::signalled, SIGKILL, true), milliseconds{500});
  EXPECT_EQ(over.kind, Kind::retry);
  EXPECT_NE(over.why.find("timeout"), std::string::npos);
}

TEST(Verdict, what_did_not_run) {
  const Verdict large = verdict_of(ended(End::not_executed, E2BIG), {});
  EXPECT_EQ(large.kind, Kind::retry);
  EXPECT_NE(large.why.find("too large"), std::string::npos);
  EXPECT_EQ(verdict_of(ended(End::not_executed, ENOENT), {}).kind, Kind::retry);
  const Verdict short_of = verdict_of(ended(End::not_executed, EAGAIN), {});
  EXPECT_EQ(short_of.kind, Kind::not_yet) << "a full process table is no fault of the message";
  EXPECT_TRUE(short_of.after.has_value()) << "and must not spin";
  EXPECT_EQ(verdict_of(ended(End::helper_lost, 0), {}).kind, Kind::retry);
}

}  // namespace
}  // namespace penstock::cli::exec
