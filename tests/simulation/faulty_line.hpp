#pragma once

// How one call travels: included by faulty_store.cpp only.
#include <algorithm>
#include <utility>

#include "simulation/faulty_store.hpp"

namespace penstock::simulation {

template <class T>
struct FaultyStore::Call {
  Line* line;
  std::uint64_t number, generation;
  std::shared_ptr<Far> far;
  Fate fate;
  MonoTime sent;
  Operation<T> operation;
  Done<T> done;
};

template <class T>
void FaultyStore::send(Line& line, std::string_view what, MonoDuration wait, Done<T> done,
                       Operation<T> operation) {
  const MonoTime now = net_.loop.now();
  net_.trace.add(now, link_.condition.consumer, what);
  if (!line.up && !(requests_pass() && replies_pass())) {
    link_.condition.trouble = now;
    // Refused at once, or nobody answers.
    const MonoDuration after = net_.rng.chance(0.5) ? latency() : net_.plan.command_timeout;
    link_.process.schedule(now + after, [done = std::move(done)] {
      done(base::Failure{errc::unreachable, "no way to the server"});
    });
    return;
  }
  line.up = true;
  auto call = std::make_shared<Call<T>>();
  *call = {&line,       ++last_call_, line.generation,      line.far,
           draw_fate(), now,          std::move(operation), std::move(done)};
  line.out.emplace(call->number, [call](base::Failure why) { call->done(std::move(why)); });
  const MonoDuration patience = wait + net_.plan.command_timeout;
  const std::uint64_t generation = line.generation;
  const std::uint64_t number = call->number;
  link_.process.schedule(now + patience, [this, &line, generation, number] {
    if (line.out.contains(number)) cut(line, generation, errc::timed_out);
  });
  // The line breaks, and the client sees it: before the request was read, or after the reply left.
  const bool seen = net_.rng.chance(0.5);
  if (call->fate == Fate::stale_request || (call->fate == Fate::lost_request && seen)) {
    link_.process.schedule(
        now, [this, &line, generation] { cut(line, generation, errc::connection_lost); });
  }
  if (call->fate == Fate::lost_reply && seen) {
    link_.process.schedule(now + 2 * net_.plan.latency_max, [this, &line, generation] {
      cut(line, generation, errc::connection_lost);
    });
  }
  line.last_arrival = std::max(line.last_arrival, now + latency());
  MonoTime at = line.last_arrival;
  if (call->fate == Fate::stale_request) at += net_.plan.command_timeout / 2;
  net_.loop.at(at, &net_.wire, [this, call] { arrive(call); });
}

template <class T>
void FaultyStore::arrive(const std::shared_ptr<Call<T>>& call) {
  if (call->fate == Fate::lost_request || !requests_pass()) {
    link_.condition.trouble = net_.loop.now();
    return;
  }
  // What was given up takes effect within its time-out, or never.
  const bool stale = call->generation != call->line->generation;
  if (call->far->closed || (stale && call->fate != Fate::stale_request)) return;
  if (net_.loop.now() - call->sent > net_.plan.command_timeout) return;
  call->operation(call->far->store,
                  [this, call](base::Result<T> result) { reply(call, std::move(result)); });
}

template <class T>
void FaultyStore::reply(const std::shared_ptr<Call<T>>& call, base::Result<T> result) {
  Line& line = *call->line;
  if (call->generation != line.generation) return;
  if (call->fate == Fate::lost_reply || !replies_pass()) {
    link_.condition.trouble = net_.loop.now();
    return;
  }
  line.last_reply = std::max(line.last_reply, net_.loop.now() + latency());
  if (call->fate == Fate::late_reply) {
    const auto most = static_cast<std::uint64_t>(2 * net_.plan.command_timeout.count());
    line.last_reply += MonoDuration(net_.rng.below(most));
    link_.condition.trouble = line.last_reply;
  }
  net_.loop.at(line.last_reply, &link_.process,
               [call, &line, result = std::move(result)]() mutable {
                 if (call->generation != line.generation || line.out.erase(call->number) == 0)
                   return;
                 call->done(std::move(result));
               });
}

}  // namespace penstock::simulation
