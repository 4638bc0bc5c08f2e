#include <cstring>
#include <gtest/gtest.h>
#include <signal.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "cli/exec/helper.hpp"
#include "cli/exec/run.hpp"

namespace {

// What the kill tests kill: a process that runs argv[2..] in three threads.
int worker(int argc, char** argv) {
  using namespace penstock::cli::exec;
  ::signal(SIGPIPE, SIG_IGN);
  Supervisor supervisor;
  if (!supervisor.start()) return 1;
  Spawn what;
  what.file = argv[2];
  for (int i = 2; i < argc; ++i) what.argv.emplace_back(argv[i]);
  for (char** e = environ; *e != nullptr; ++e) what.env.emplace_back(*e);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { run_command(supervisor, what, "body", {}, {}, {}); });
  }
  for (auto& thread : threads) thread.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = penstock::cli::exec::run_helper_if_asked(argc, argv)) return *code;
  if (argc > 2 && std::strcmp(argv[1], "--as-worker") == 0) return worker(argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
