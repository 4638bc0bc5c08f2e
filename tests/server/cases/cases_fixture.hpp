#pragma once

#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "support/eventually.hpp"
#include "support/ledger_check.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

namespace penstock::test {

using namespace std::chrono_literals;

/// Steady time, as the ledger writes it.
std::int64_t ns(std::chrono::steady_clock::time_point at);
std::int64_t ns(std::chrono::milliseconds d);

/// testing::Test has a Run of its own.
using HandlerRun = Run;

/// The setting of CASES.md: stream `s`, group `g`, lease 2 s, sweep 500 ms, prefetch 8, 4 threads,
/// 3 attempts, back-off 200 ms to 2 s, drain 3 s, stop_grace 500 ms. Worker processes of the
/// library, one ledger, one judge.
class CasesTest : public testing::Test {
 protected:
  static constexpr std::chrono::milliseconds L{2'000};
  static constexpr std::chrono::milliseconds sweep{500};
  static constexpr std::chrono::milliseconds patience{15'000};

  explicit CasesTest(RedisOptions options = {});

  /// `count` messages that say `body`, in one go; their numbers, from 1 on over the whole test.
  std::vector<std::string> send(int count, const std::string& body,
                                const std::string& stream = "s");
  /// A worker process named `name`; further arguments after the setting's own.
  Process worker(const std::string& name, std::vector<std::string> arguments = {});
  /// SIGKILL, and the judge is told.
  std::int64_t kill9(Process& process, const std::string& name);
  /// SIGTERM; its exit code, -1 where it did not end in time.
  static int close(Process& process, std::chrono::milliseconds timeout = 5s);

  std::string log(const std::string& name) const { return read_file(dir_ / (name + ".log")); }
  /// Of a worker started with stats(name).
  std::vector<std::string> stats(const std::string& name) const;
  long long stat(const std::string& name, const std::string& field) const;
  /// When the handler of message `id` was asked to stop; 0 where it was not.
  std::int64_t told_ns(const std::string& name, const std::string& id) const;

  /// What the dead consumer `name` took and left, idle for longer than any limit: entries of
  /// another library, of which nothing else is known.
  void abandon(int count, const std::string& name = "gone");

  Ledger ledger() const { return read_ledger(dir_ / "ledger"); }
  LedgerInput input();
  Verdict verdict() { return check(input()); }
  std::size_t started() const;
  std::size_t acked() const;
  /// Runs of one worker, sorted by id and start.
  std::vector<HandlerRun> runs(const std::string& name);
  /// All sent are acked by a run, and nothing is pending.
  bool all_done();
  /// No row pending and nothing lost, overlapped or duplicated; says what else.
  void expect_clean();

  TempDir dir_;
  RedisServer server_;
  std::vector<std::string> streams_{"s"};
  std::string url_;  ///< the workers'; the server's own where empty
  std::vector<std::string> sent_;
  std::map<std::string, std::int64_t> killed_ns_;
  std::vector<Fault> faults_;
};

}  // namespace penstock::test
