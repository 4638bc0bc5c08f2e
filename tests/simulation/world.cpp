// The simulated world: workers that come and go, messages, and the run from start to end.
#include "simulation/world.hpp"

#include <cstdio>
#include <utility>

#include "simulation/worker.hpp"

namespace penstock::simulation {

using std::chrono::milliseconds;

namespace {

constexpr store::ServerMs first_server_ms = 1'700'000'000'000;
/// Longer than anything in a plan takes with no faults left.
constexpr std::chrono::hours time_to_heal{4};

}  // namespace

World::World(const Plan& plan, Plant plant, bool print)
    : plan_(plan),
      trace_(print),
      loop_(trace_),
      server_(std::make_shared<store::memory::MemoryServer>([this] {
        return first_server_ms + skew_ms_ +
               std::chrono::duration_cast<milliseconds>(loop_.elapsed()).count();
      })),
      checker_(plan_, loop_, trace_, server_),
      net_{plan_,         plant,   loop_,   trace_,
           checker_,      counts_, server_, base::Rng(plan.seed ^ 0x5EED),
           Process(loop_)},
      places_(plan_.workers, nullptr) {}

World::~World() = default;

void World::note(std::string_view who, std::string_view what) {
  trace_.add(loop_.now(), who, what);
}

void World::after(MonoDuration wait, std::function<void()> fn) {
  loop_.at(loop_.now() + wait, nullptr, std::move(fn));
}

void World::append(std::size_t number) {
  const std::string stream = stream_name(net_.rng.below(plan_.streams));
  std::vector<store::Draft> drafts(1);
  drafts[0].fields = {{"body", std::to_string(number)}};
  // Known to the checker before a waiting reader is served: ids follow the server's clock.
  const auto ids = server_->append(stream, std::move(drafts));
  if (!ids[0]) {
    if (!full_) checker_.fail("the server refuses a message");
    return;
  }
  checker_.appended(stream, *ids[0]);
  trace_.add(loop_.now(), stream, "appended", *ids[0]);
}

void World::start_worker(std::size_t place) {
  if (places_[place] != nullptr || ending_) return;
  char instance[16];
  std::snprintf(instance, sizeof instance, ".%08x", static_cast<unsigned>(net_.rng.next()));
  workers_.push_back(std::make_unique<Worker>(net_, place, "w" + std::to_string(place) + instance));
  Worker& worker = *workers_.back();
  places_[place] = &worker;
  note(worker.link.condition.consumer, "begins");
  const std::string group = group_name(place % plan_.groups);
  for (std::size_t i = 0; i < plan_.streams; ++i) {
    worker.add_lane(stream_name(i), group, [this, &worker] { lane_drained(worker); });
  }
}

void World::restart_later(std::size_t place) {
  if (ending_) return;
  const auto most = static_cast<std::uint64_t>(2 * plan_.lane.lease.count());
  after(healed_ ? MonoDuration(milliseconds(1)) : MonoDuration(net_.rng.below(most)),
        [this, place] { start_worker(place); });
}

/// The process ends when its last lane has drained; one that drains by itself takes the others
/// along.
void World::lane_drained(Worker& worker) {
  close(worker);
  if (--worker.lanes_left > 0) return;
  for (const auto& lane : worker.lanes) {
    const auto s = lane->driver->snapshot();
    if (s.clean && s.held != 0)
      checker_.fail("a lane says that it closed clean, and holds entries");
    if (ending_ && !s.clean) note(worker.link.condition.consumer, "closed unclean");
  }
  kill(worker, "ends");
}

void World::close(Worker& worker) {
  if (std::exchange(worker.closing, true)) return;
  note(worker.link.condition.consumer, "closes");
  for (const auto& lane : worker.lanes) lane->driver->begin_drain();
}

void World::kill(Worker& worker, std::string_view how) {
  if (worker.link.process.dead()) return;
  note(worker.link.condition.consumer, how);
  worker.link.process.crash();
  checker_.killed(worker.link.condition);
  worker.main.close();
  worker.renewal.close();
  for (const auto& lane : worker.lanes) lane->driver->abandon();
  places_[worker.place] = nullptr;
  restart_later(worker.place);
}

World::Worker* World::living(std::uint64_t draw) {
  Worker* worker = places_[draw % places_.size()];
  return worker == nullptr || worker->closing ? nullptr : worker;
}

void World::heal() {
  healed_ = true;
  net_.calm = true;
  net_.server_away = false;
  refuse_writes(false);
  note("world", "heals");
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Worker* worker = places_[i];
    if (worker == nullptr) {
      start_worker(i);
      continue;
    }
    worker->link.requests_blocked = worker->link.replies_blocked = false;
    worker->link.condition.cut_off = false;
    worker->link.process.resume();
  }
}

void World::close_all() {
  ending_ = true;
  note("world", "ends");
  for (Worker* worker : places_) {
    if (worker != nullptr) close(*worker);
  }
}

/// What foreign hands brought back comes to an end, too.
void World::settle_down() {
  const MonoTime until = loop_.now() + time_to_heal;
  while (!checker_.failed() && !checker_.at_rest()) {
    if (loop_.now() >= until) return checker_.fail("G1: what was handed over anew does not end");
    loop_.run_until(loop_.now() + milliseconds(500), [this] { return checker_.failed(); });
  }
}

Report World::run() {
  for (std::size_t s = 0; s < plan_.streams; ++s) {
    for (std::size_t g = 0; g < plan_.groups; ++g) {
      checker_.add_group(stream_name(s), group_name(g));
      // A group that is not there yet has no claim on what others settle.
      if (plan_.groups > 1) server_->create_group(stream_name(s), group_name(g));
    }
  }
  for (std::size_t i = 0; i < plan_.workers; ++i) {
    after(milliseconds(net_.rng.below(i == 0 ? 1 : 500)), [this, i] { start_worker(i); });
  }
  for (std::size_t i = 0; i < plan_.messages; ++i) {
    after(MonoDuration(net_.rng.below(static_cast<std::uint64_t>(plan_.appends.count()))),
          [this, i] { append(i); });
  }
  for (const Strike& s : plan_.strikes) after(s.at, [this, s] { strike(s); });

  const auto broken = [this] { return checker_.failed(); };
  loop_.run_until(MonoTime{} + plan_.active, broken);
  if (!broken()) {
    heal();
    const MonoTime until = loop_.now() + time_to_heal;
    loop_.run_until(until, [&] { return broken() || checker_.unsettled() == 0; });
    if (!broken() && checker_.unsettled() > 0) {
      checker_.fail("G1: " + std::to_string(checker_.unsettled()) +
                    " entries do not end:" + checker_.unsettled_text());
    }
  }
  settle_down();
  if (!broken()) {
    close_all();
    const auto all_gone = [this] {
      for (const Worker* worker : places_) {
        if (worker != nullptr) return false;
      }
      return true;
    };
    loop_.run_until(loop_.now() + plan_.lane.drain + milliseconds(1000),
                    [&] { return broken() || all_gone(); });
    if (!broken() && !all_gone()) checker_.fail("a worker does not close within its drain time");
    if (!broken()) checker_.check_rest();
  }
  Report report{plan_.seed,     trace_.hash(),   loop_.events(), 0,
                plan_.messages, loop_.elapsed(), counts_,        checker_.failure()};
  for (const auto& worker : workers_) report.runs += worker->runs();
  return report;
}

Report run_seed(std::uint64_t seed, Plant plant, bool print) {
  const Plan plan = draw_plan(seed);
  return World(plan, plant, print).run();
}

}  // namespace penstock::simulation
