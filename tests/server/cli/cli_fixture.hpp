#pragma once

#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "support/eventually.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

namespace penstock::test {

/// The program as a process, on a server of its own.
class CliTest : public testing::Test {
 protected:
  static constexpr std::chrono::milliseconds patience{15'000};

  Spawn command(std::vector<std::string> args, const std::string& input = "") {
    Spawn spawn;
    spawn.argv = {PENSTOCK_PROGRAM};
    spawn.argv.insert(spawn.argv.end(), args.begin(), args.end());
    spawn.env["PENSTOCK_URL"] = server_.url();
    if (!input.empty()) {
      spawn.stdin_file = dir_ / ("input" + std::to_string(++inputs_));
      std::ofstream(spawn.stdin_file, std::ios::binary) << input;
    }
    return spawn;
  }
  Finished penstock(std::vector<std::string> args, const std::string& input = "") {
    return run(command(std::move(args), input), patience);
  }
  static int code(const Finished& finished) { return finished.status ? finished.status->code : -2; }

  /// A worker in the background, its log in the file `log`.
  Process work(std::vector<std::string> args, const std::string& log = "log") {
    args.insert(args.begin(), "work");
    Spawn spawn = command(std::move(args));
    spawn.stderr_file = dir_ / log;
    spawn.stdout_file = dir_ / (log + ".out");
    return Process(std::move(spawn));
  }
  std::string log(const std::string& name = "log") { return read_file(dir_ / name); }

  RedisServer server_;
  TempDir dir_;
  int inputs_ = 0;
};

inline std::size_t lines(const std::string& text) {
  std::size_t n = 0;
  for (const char c : text) n += c == '\n' ? 1 : 0;
  return n;
}

}  // namespace penstock::test
