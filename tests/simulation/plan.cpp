#include "simulation/plan.hpp"

#include <algorithm>

namespace penstock::simulation {

namespace {

using base::Rng;
using std::chrono::microseconds;
using std::chrono::milliseconds;

MonoDuration between(Rng& rng, MonoDuration low, MonoDuration high) {
  const auto width = static_cast<std::uint64_t>((high - low).count());
  // Whole microseconds: readable traces.
  return std::chrono::floor<microseconds>(low + MonoDuration(rng.below(width + 1)));
}

void draw_lane(Rng& rng, Plan& plan) {
  engine::LaneConfig& c = plan.lane;
  constexpr std::array<int, 5> leases{2000, 3000, 5000, 10000, 20000};
  c.lease = milliseconds(leases[rng.below(leases.size())]);
  c.sweep = milliseconds(rng.chance(0.1) ? 0 : 500 + rng.below(5000));
  c.concurrency = 1 + rng.below(6);
  const std::uint64_t kind = rng.below(10);
  c.prefetch = kind == 0   ? engine::PrefetchKind::automatic
               : kind == 1 ? engine::PrefetchKind::none
                           : engine::PrefetchKind::count;
  c.prefetch_entries = c.concurrency + rng.below(rng.chance(0.3) ? 60 : 6);
  c.max_run = c.lease * static_cast<int>(2 + rng.below(5));
  if (rng.chance(0.2)) c.max_run.reset();
  c.stop_grace = c.lease / static_cast<int>(1 + rng.below(4));
  c.drain = c.stop_grace + between(rng, c.lease / 4, c.lease * 2);
  c.not_yet = between(rng, milliseconds(100), c.lease);
  c.foreign_idle = c.lease * 4;
  c.attempts = static_cast<std::int64_t>(1 + rng.below(6));
  c.backoff_min = between(rng, milliseconds(50), milliseconds(1000));
  c.backoff_max = between(rng, milliseconds(1000), milliseconds(10000));
  // Two groups beside delete_on_ack would be a decision that changes under way.
  const std::uint64_t kept = plan.groups > 1 ? 1 + rng.below(2) : rng.below(3);
  c.retention = static_cast<store::Retention>(kept);
}

void draw_strikes(Rng& rng, Plan& plan) {
  const std::uint64_t most = rng.chance(0.25) ? 1 : 1 + rng.below(12);
  constexpr std::array<Fault, 13> often{
      Fault::crash,       Fault::crash,         Fault::crash,           Fault::pause,
      Fault::pause,       Fault::close,         Fault::close,           Fault::outage,
      Fault::half_outage, Fault::server_outage, Fault::group_destroyed, Fault::position_back,
      Fault::storage_full};
  for (std::uint64_t i = 0; i < most; ++i) {
    Strike strike;
    strike.fault = often[rng.below(often.size())];
    const double rare = rng.unit();
    if (rare < 0.03) strike.fault = Fault::key_deleted;
    if (rare > 0.96) strike.fault = Fault::clock_jump;
    strike.at = between(rng, milliseconds(0), plan.active);
    const auto tenths = static_cast<int>(1 + rng.below(rng.chance(0.4) ? 10 : 50));
    strike.lasts = plan.lane.lease * tenths / 10;
    strike.target = rng.next();
    plan.strikes.push_back(strike);
  }
  std::stable_sort(plan.strikes.begin(), plan.strikes.end(),
                   [](const Strike& a, const Strike& b) { return a.at < b.at; });
}

void draw_handlers(Rng& rng, HandlerPlan& h) {
  h.medium = 0.2 * rng.unit();
  h.long_run = rng.chance(0.6) ? 0.15 * rng.unit() : 0;
  h.hang = rng.chance(0.3) ? 0.02 * rng.unit() : 0;
  h.ignores_stop = 0.5 * rng.unit();
  if (rng.chance(0.2)) return;
  for (double* p : {&h.retry, &h.throws, &h.not_yet, &h.release, &h.dead}) *p = 0.1 * rng.unit();
}

}  // namespace

Plan draw_plan(std::uint64_t seed) {
  Plan plan;
  plan.seed = seed;
  Rng rng(seed * 0x9E3779B97F4A7C15ULL + 1);
  plan.workers = 1 + rng.below(6);
  plan.streams = 1 + rng.below(rng.chance(0.5) ? 1 : 3);
  plan.groups = std::min<std::size_t>(plan.workers, rng.chance(0.7) ? 1 : 2);
  plan.messages = 20 + rng.below(rng.chance(0.3) ? 281 : 81);
  draw_lane(rng, plan);
  plan.command_timeout = std::min<MonoDuration>(milliseconds(5000), plan.lane.lease / 4);
  plan.latency_min = microseconds(50 + rng.below(500));
  plan.latency_max = plan.latency_min + microseconds(rng.below(rng.chance(0.2) ? 40000 : 3000));
  plan.active = plan.lane.lease * static_cast<int>(2 + rng.below(5));
  plan.appends = between(rng, milliseconds(10), plan.active);
  draw_handlers(rng, plan.handlers);
  if (rng.chance(0.1)) return plan;  // nothing goes wrong
  const bool calls = rng.chance(0.6);
  if (calls) {
    const double rate = rng.chance(0.3) ? 0.05 : 0.008;
    for (double& p : plan.call_faults) p = rng.chance(0.6) ? rate * rng.unit() : 0;
  }
  if (!calls || rng.chance(0.7)) draw_strikes(rng, plan);
  return plan;
}

std::string_view name_of(Fault fault) {
  constexpr std::array<std::string_view, fault_kinds> names{
      "lost_request",    "stale_request", "lost_reply",    "late_reply",   "crash",
      "pause",           "close",         "outage",        "half_outage",  "server_outage",
      "group_destroyed", "key_deleted",   "position_back", "storage_full", "clock_jump"};
  return names[static_cast<std::size_t>(fault)];
}

std::string_view name_of(Plant plant) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Plant::count)> names{
      "none",          "blind_renew",  "unfenced_settle", "runs_retracted", "deaf_handlers",
      "acks_too_much", "counts_twice", "reads_too_much",  "loses_body"};
  return names[static_cast<std::size_t>(plant)];
}

}  // namespace penstock::simulation
