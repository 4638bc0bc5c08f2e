// A worker of the library whose handler does what the message says and writes it into a ledger.
//
//   penstock_ledger_worker --url URL --ledger FILE --stream S [--stream S].. [--option N]..
//
// The body says what the handler does (or `--do BODY`, for every message):
//   H:MS  sleeps so long, whatever it is told, and succeeds
//   S:MS  the same, but hands back when it is asked to stop
//   F     fails      K  kills its process      X  never returns
// The id in the ledger is the header `n`, else the entry id. Times are milliseconds.
// Standard error: penstock's log, and `told N NS` when the handler of message N is asked to stop.
#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <penstock/worker.hpp>

#include "support/ledger.hpp"

namespace {

using penstock::Message;
using penstock::Outcome;
using penstock::test::LedgerRecord;
using penstock::test::LedgerWriter;
using penstock::test::RunOutcome;
using std::chrono::milliseconds;

struct Arguments {
  std::vector<std::string> streams;
  std::map<std::string, std::string> values;

  std::string text(const std::string& name, const std::string& otherwise = "") const {
    const auto it = values.find(name);
    return it == values.end() ? otherwise : it->second;
  }
  std::size_t number(const std::string& name, std::size_t otherwise) const {
    const auto it = values.find(name);
    return it == values.end() ? otherwise : std::stoull(it->second);
  }
  milliseconds ms(const std::string& name, std::size_t otherwise) const {
    return milliseconds(static_cast<milliseconds::rep>(number(name, otherwise)));
  }
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--stream") {
      arguments.streams.emplace_back(argv[i + 1]);
    } else {
      arguments.values[name] = argv[i + 1];
    }
  }
  return arguments;
}

/// The setting of the cases; each can be given.
penstock::HandlerOptions handler_options(const Arguments& a) {
  penstock::HandlerOptions o;
  o.group = a.text("--group", "g");
  o.concurrency = a.number("--concurrency", 4);
  const std::string prefetch = a.text("--prefetch", "8");
  o.prefetch = prefetch == "none"   ? penstock::Prefetch::none()
               : prefetch == "auto" ? penstock::Prefetch::automatic()
                                    : penstock::Prefetch::count(std::stoull(prefetch));
  o.lease = a.ms("--lease", 2'000);
  o.sweep = a.ms("--sweep", 500);
  o.stop_grace = a.ms("--stop-grace", 500);
  o.max_run = a.ms("--max-run", 900'000);
  o.retry.attempts = static_cast<std::int64_t>(a.number("--attempts", 3));
  o.retry.backoff_min = a.ms("--backoff-min", 200);
  o.retry.backoff_max = a.ms("--backoff-max", 2'000);
  return o;
}

/// One write: lines of several threads do not mix.
void say(const std::string& line) {
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

Outcome act(const std::string& what, const std::stop_token& stop) {
  const milliseconds time(what.size() > 2 ? std::atoll(what.c_str() + 2) : 0);
  const auto until = std::chrono::steady_clock::now() + time;
  switch (what.empty() ? '?' : what[0]) {
    case 'H':
      std::this_thread::sleep_until(until);
      return Outcome::ack();
    case 'S':
      while (std::chrono::steady_clock::now() < until) {
        if (stop.stop_requested()) return Outcome::release();
        std::this_thread::sleep_for(milliseconds(2));
      }
      return Outcome::ack();
    case 'F':
      return Outcome::retry("told to fail");
    case 'K':
      ::kill(::getpid(), SIGKILL);
      [[fallthrough]];
    case 'X':
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    default:
      return Outcome::dead("no such thing to do: " + what);
  }
}

Outcome handle(LedgerWriter& ledger, const std::string& order, const Message& m,
               const std::stop_token& stop) {
  const std::string id(m.header("n").value_or(m.id()));
  const std::stop_callback told(stop, [&id] {
    say("told " + id + " " + std::to_string(penstock::test::monotonic_ns()) + "\n");
  });
  const LedgerRecord run = ledger.start(id, static_cast<std::uint32_t>(m.attempt()),
                                        static_cast<std::uint32_t>(m.delivery()));
  Outcome outcome = act(order.empty() ? std::string(m.body()) : order, stop);
  static constexpr std::pair<Outcome::Kind, RunOutcome> kinds[] = {
      {Outcome::Kind::ack, RunOutcome::ack},
      {Outcome::Kind::retry, RunOutcome::retry},
      {Outcome::Kind::release, RunOutcome::release},
      {Outcome::Kind::dead, RunOutcome::dead}};
  for (const auto& [kind, name] : kinds) {
    if (outcome.kind() == kind) ledger.end(run, name);
  }
  return outcome;
}

/// Sums over the lanes, one `name value` a line; replaced whole.
void write_stats(const std::filesystem::path& file, const penstock::WorkerStats& stats) {
  using Lane = penstock::LaneStats;
  static constexpr std::pair<const char*, std::uint64_t Lane::*> fields[] = {
      {"taken", &Lane::taken},
      {"started", &Lane::started},
      {"acked", &Lane::acked},
      {"lease_lost", &Lane::lease_lost},
      {"stale_settles", &Lane::stale_settles},
      {"sweeps", &Lane::sweeps},
      {"renewals", &Lane::renewals},
      {"renew_failures", &Lane::renew_failures},
      {"groups_recreated", &Lane::groups_recreated},
      {"store_failures", &Lane::store_failures},
      {"timed_out", &Lane::timed_out},
      {"held", &Lane::held},
      {"running", &Lane::running}};
  std::filesystem::path fresh = file;
  fresh += ".new";
  {
    std::ofstream out(fresh);
    for (const auto& [name, member] : fields) {
      std::uint64_t sum = 0;
      for (const Lane& lane : stats.lanes) sum += lane.*member;
      out << name << ' ' << sum << '\n';
    }
  }
  std::filesystem::rename(fresh, file);
}

int work(const Arguments& a) {
  LedgerWriter ledger(a.text("--ledger"), a.text("--consumer", "w"));
  penstock::WorkerOptions options;
  options.consumer = a.text("--consumer", "w");
  options.drain = a.ms("--drain", 3'000);
  options.log = [](penstock::LogLevel, std::string_view text) { say(std::string(text) + "\n"); };
  penstock::Worker worker(a.text("--url"), options);
  const std::string order = a.text("--do");
  for (const std::string& stream : a.streams) {
    worker.handle(stream, handler_options(a), [&](const Message& m, const std::stop_token& stop) {
      return handle(ledger, order, m, stop);
    });
  }
  // All that wait for the same file start at one instant.
  const std::string barrier = a.text("--barrier");
  if (!barrier.empty()) {
    say("waiting\n");
    while (!std::filesystem::exists(barrier)) std::this_thread::sleep_for(milliseconds(1));
  }
  const std::string stats = a.text("--stats");
  std::jthread writer;
  if (!stats.empty()) {
    writer = std::jthread([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        write_stats(stats, worker.stats());
        std::this_thread::sleep_for(milliseconds(20));
      }
    });
  }
  return worker.run();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    if (arguments.streams.empty() || arguments.text("--ledger").empty()) {
      std::cerr << "usage: penstock_ledger_worker --url URL --ledger FILE --stream S ..\n";
      return 64;
    }
    return work(arguments);
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 78;
  }
}
