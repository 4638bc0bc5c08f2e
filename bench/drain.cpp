// How fast a backlog of no-op messages is drained: penstock with all its guarantees on, in turn
// with the hand-written loop, on one private redis-server. Medians and pair-by-pair ratios.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fmt/core.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <penstock/worker.hpp>

#include "bare_loop.hpp"
#include "support/redis_server.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using namespace penstock::bench;

struct Options {
  std::uint64_t messages = 200'000;
  std::size_t threads = 8;
  int rounds = 5;
  double target = 0.5;
};

struct Run {
  double per_second = 0;
  double server_us = 0;  ///< CPU of the server per message
  double own_us = 0;     ///< CPU of this process per message
};

double own_cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto s = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return s(u.ru_utime) + s(u.ru_stime);
}

template <class F>
Run measure(penstock::test::RedisServer& server, std::uint64_t messages, F drain) {
  const double server_before = server.cpu_seconds(), own_before = own_cpu_seconds();
  const auto from = Clock::now();
  const std::uint64_t handled = drain();
  const double seconds = std::chrono::duration<double>(Clock::now() - from).count();
  if (handled != messages) {
    fmt::print(stderr, "handled {} of {}: the run does not count\n", handled, messages);
    std::exit(1);
  }
  const auto n = static_cast<double>(messages);
  return {n / seconds, (server.cpu_seconds() - server_before) / n * 1e6,
          (own_cpu_seconds() - own_before) / n * 1e6};
}

std::uint64_t drain_with_penstock(const std::string& url, const Options& o, bool print) {
  penstock::Worker worker{url};
  std::atomic<std::uint64_t> handled{0};
  worker.handle("drain",
                {.group = "g", .concurrency = o.threads, .retention = penstock::Retention::keep},
                [&](const penstock::Message&) { handled.fetch_add(1, std::memory_order_relaxed); });
  worker.start();
  while (handled < o.messages) std::this_thread::sleep_for(std::chrono::microseconds(200));
  while (worker.stats().lanes[0].acked < o.messages) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  if (print) {
    const auto lane = worker.stats().lanes[0];
    fmt::print("  penstock's last run: renewals {}, sweeps {}, ticks {}, lease lost {}\n",
               lane.renewals, lane.sweeps, lane.ticks, lane.lease_lost);
  }
  worker.stop();
  return handled;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

template <class F>
double median_of(const std::vector<Run>& runs, F figure) {
  std::vector<double> v;
  for (const Run& run : runs) v.push_back(figure(run));
  return median(v);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--messages") o.messages = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--threads") o.threads = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--rounds") o.rounds = std::atoi(argv[i + 1]);
    if (name == "--target") o.target = std::strtod(argv[i + 1], nullptr);
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  penstock::test::RedisServer server;
  const std::string socket = server.socket_path().string();
  std::vector<Run> bare, ours;
  std::vector<double> ratios;
  for (int round = 0; round < o.rounds; ++round) {
    const auto refill = [&] {
      command(socket, "FLUSHALL");
      fill(socket, "drain", o.messages, 100);
      command(socket, "XGROUP CREATE drain g 0");
    };
    refill();
    bare.push_back(measure(server, o.messages,
                           [&] { return run_bare_loop({socket, "drain", "g", 100}, o.messages); }));
    refill();
    ours.push_back(measure(server, o.messages, [&] {
      return drain_with_penstock(server.url(), o, round + 1 == o.rounds);
    }));
    ratios.push_back(ours.back().per_second / bare.back().per_second);
    fmt::print("  round {}: bare loop {:>9.0f}/s  penstock {:>9.0f}/s  ratio {:.2f}\n", round + 1,
               bare.back().per_second, ours.back().per_second, ratios.back());
  }
  const auto rate = [](const Run& r) { return r.per_second; };
  const auto server_us = [](const Run& r) { return r.server_us; };
  const auto own_us = [](const Run& r) { return r.own_us; };
  fmt::print("{} messages of 100 bytes, {} handler threads, {} rounds in turn, retention keep\n",
             o.messages, o.threads, o.rounds);
  fmt::print("{:<22}{:>14}{:>18}{:>18}\n", "median", "messages/s", "server us/msg",
             "own CPU us/msg");
  fmt::print("{:<22}{:>14.0f}{:>18.2f}{:>18.2f}\n", "bare XREADGROUP loop", median_of(bare, rate),
             median_of(bare, server_us), median_of(bare, own_us));
  fmt::print("{:<22}{:>14.0f}{:>18.2f}{:>18.2f}\n", "penstock", median_of(ours, rate),
             median_of(ours, server_us), median_of(ours, own_us));
  const double ratio = median(ratios);
  const bool met = ratio >= o.target;
  fmt::print("ratio {:.2f}, target {:.2f}: {}\n", ratio, o.target, met ? "met" : "MISSED");
  return met ? 0 : 1;
}
