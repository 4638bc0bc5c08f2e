// penstock-sim: worlds drawn from seeds, and what became of them.
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "simulation/world.hpp"

namespace penstock::simulation {
namespace {

constexpr int usage = 64;

struct Options {
  std::optional<std::uint64_t> seed;
  std::uint64_t seeds = 0, from = 1;
  std::string list;
  Plant plant = Plant::none;
  bool trace = false, twice = false, planted = false;
};

struct Sum {
  std::uint64_t seeds = 0, events = 0, runs = 0, messages = 0, failures = 0;
  double virtual_seconds = 0;
  FaultCounts faults{};

  void add(const Report& r) {
    ++seeds;
    events += r.events;
    runs += r.runs;
    messages += r.messages;
    virtual_seconds += std::chrono::duration<double>(r.virtual_time).count();
    for (std::size_t i = 0; i < fault_kinds; ++i) faults[i] += r.faults[i];
    failures += r.failure.empty() ? 0u : 1u;
  }
  void print() const {
    std::printf(
        "%llu seeds, %llu messages, %llu runs, %llu events, %.1f h of virtual time; faults:",
        static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(messages),
        static_cast<unsigned long long>(runs), static_cast<unsigned long long>(events),
        virtual_seconds / 3600);
    for (std::size_t i = 0; i < fault_kinds; ++i) {
      const std::string_view name = name_of(static_cast<Fault>(i));
      std::printf(" %.*s %llu", static_cast<int>(name.size()), name.data(),
                  static_cast<unsigned long long>(faults[i]));
    }
    std::printf("; %llu failures\n", static_cast<unsigned long long>(failures));
  }
};

void run_one(std::uint64_t seed, const Options& o, Sum& sum) {
  Report report = run_seed(seed, o.plant, o.trace);
  if (o.twice && report.failure.empty()) {
    const Report again = run_seed(seed, o.plant, false);
    if (again.hash != report.hash || again.events != report.events) {
      report.failure = "two runs of it have different traces";
    }
  }
  if (!report.failure.empty()) {
    std::printf("seed %llu FAILED: %s\n", static_cast<unsigned long long>(seed),
                report.failure.c_str());
  }
  sum.add(report);
}

/// Each planted fault must be found within so many seeds; a checker that finds nothing proves
/// nothing.
int find_planted(std::uint64_t most) {
  int missed = 0;
  for (std::size_t i = 1; i < static_cast<std::size_t>(Plant::count); ++i) {
    const auto plant = static_cast<Plant>(i);
    const std::string_view name = name_of(plant);
    Report report;
    std::uint64_t seed = 1;
    for (; seed <= most && report.failure.empty(); ++seed) report = run_seed(seed, plant, false);
    if (report.failure.empty()) ++missed;
    std::printf("%-16.*s %s\n", static_cast<int>(name.size()), name.data(),
                report.failure.empty()
                    ? "NOT FOUND"
                    : ("seed " + std::to_string(report.seed) + ": " + report.failure).c_str());
  }
  return missed == 0 ? 0 : 1;
}

std::optional<std::uint64_t> number(const char* text) {
  std::uint64_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || at != end) return std::nullopt;
  return value;
}

std::optional<Options> parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--trace") {
      o.trace = true;
      continue;
    }
    if (word == "--twice") {
      o.twice = true;
      continue;
    }
    if (word == "--planted") {
      o.planted = true;
      continue;
    }
    if (++i >= argc) return std::nullopt;
    const auto value = number(argv[i]);
    if (word == "--list") {
      o.list = argv[i];
    } else if (word == "--plant") {
      for (std::size_t p = 1; p < static_cast<std::size_t>(Plant::count); ++p) {
        if (name_of(static_cast<Plant>(p)) == argv[i]) o.plant = static_cast<Plant>(p);
      }
      if (o.plant == Plant::none) return std::nullopt;
    } else if (!value) {
      return std::nullopt;
    } else if (word == "--seed") {
      o.seed = value;
    } else if (word == "--seeds") {
      o.seeds = *value;
    } else if (word == "--from") {
      o.from = *value;
    } else {
      return std::nullopt;
    }
  }
  if (!o.seed && o.seeds == 0) return std::nullopt;
  return o;
}

/// One seed a line; what follows the number says what it once found.
bool run_list(const Options& o, Sum& sum) {
  if (o.list.empty()) return true;
  std::ifstream file(o.list);
  if (!file) return false;
  for (std::string line; std::getline(file, line);) {
    const std::string first = line.substr(0, line.find(' '));
    if (const auto seed = number(first.c_str()); seed && !first.empty()) run_one(*seed, o, sum);
  }
  return true;
}

int main_of(int argc, char** argv) {
  const auto o = parse(argc, argv);
  if (!o) {
    std::fprintf(stderr,
                 "usage: penstock-sim --seed N [--trace] [--twice] [--plant FAULT]\n"
                 "       penstock-sim --seeds N [--from M] [--list FILE] [--twice] [--planted]\n"
                 "Runs the worlds of these seeds; exit 1 if a promise does not hold in one.\n"
                 "--list FILE  also the seeds in this file; --twice  each must give one trace\n"
                 "--planted    each fault that can be planted must be found within N seeds\n");
    return usage;
  }
  if (o->planted) return find_planted(o->seeds);
  Sum sum;
  if (!run_list(*o, sum)) {
    std::fprintf(stderr, "penstock-sim: %s cannot be read\n", o->list.c_str());
    return usage;
  }
  if (o->seed) run_one(*o->seed, *o, sum);
  for (std::uint64_t i = 0; i < o->seeds; ++i) run_one(o->from + i, *o, sum);
  sum.print();
  return sum.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace penstock::simulation

int main(int argc, char** argv) { return penstock::simulation::main_of(argc, argv); }
