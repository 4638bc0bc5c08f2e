#include "support/ledger_check.hpp"

#include <algorithm>
#include <cstdio>
#include <tuple>

namespace penstock::test {
namespace {

using Ids = std::vector<std::string>;

/// True if a fault of `worker` touches [from, to].
bool faulty(const LedgerInput& input, const std::string& worker, std::int64_t from,
            std::int64_t to) {
  const auto killed = input.killed_ns.find(worker);
  if (killed != input.killed_ns.end() && killed->second <= to) return true;
  return std::any_of(input.faults.begin(), input.faults.end(), [&](const Fault& f) {
    return f.worker == worker && f.from_ns <= to && f.to_ns >= from;
  });
}

/// Judges the runs [first, last) of one id, sorted by start.
void judge_runs(const LedgerInput& input, const Run* first, const Run* last, Verdict& verdict) {
  bool overlapped = false;
  bool overlap_explained = true;
  bool duplicated = false;
  bool duplicate_explained = true;
  const Run* acked = nullptr;
  const Run* longest = first;  // of those before: the one that ends last
  for (const Run* run = first; run != last; ++run) {
    if (run != first && run->start_ns < longest->end_ns) {
      overlapped = true;
      // A fault of the older owner takes its lease away: it must lie between the older run's start
      // and the younger's. What happens to either later does not make the overlap right.
      overlap_explained &= faulty(input, longest->worker, longest->start_ns, run->start_ns);
    }
    if (run->end_ns > longest->end_ns) longest = run;
    if (run->outcome != RunOutcome::ack) continue;
    if (acked != nullptr) {
      duplicated = true;
      duplicate_explained &= faulty(input, acked->worker, acked->start_ns, run->start_ns);
    }
    acked = run;
  }
  if (last - first > 1) verdict.rerun.push_back(first->id);
  if (overlapped) {
    (overlap_explained ? verdict.overlapped_explained : verdict.overlapped).push_back(first->id);
  }
  if (duplicated) {
    (duplicate_explained ? verdict.duplicated_explained : verdict.duplicated).push_back(first->id);
  }
}

void quote(std::string& out, const std::string& text) {
  out += '"';
  for (const char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c) & 0xffU);
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
}

/// {"count": n, "first": [up to ten]}
void list(std::string& out, const char* name, const Ids& ids) {
  out += std::string(", \"") + name + "\": {\"count\": " + std::to_string(ids.size()) +
         ", \"first\": [";
  for (std::size_t i = 0; i < ids.size() && i < 10; ++i) {
    if (i > 0) out += ", ";
    quote(out, ids[i]);
  }
  out += "]}";
}

}  // namespace

bool Verdict::clean() const {
  return damaged == 0 && lost.empty() && stuck.empty() && overlapped.empty() &&
         duplicated.empty() && unexpected.empty();
}

std::string Verdict::json() const {
  std::string out =
      "{\"sent\": " + std::to_string(sent) + ", \"finished\": " + std::to_string(finished) +
      ", \"runs\": " + std::to_string(runs) + ", \"damaged\": " + std::to_string(damaged);
  list(out, "lost", lost);
  list(out, "stuck", stuck);
  list(out, "overlapped", overlapped);
  list(out, "overlapped_explained", overlapped_explained);
  list(out, "duplicated", duplicated);
  list(out, "duplicated_explained", duplicated_explained);
  list(out, "unexpected", unexpected);
  list(out, "rerun", rerun);
  return out + "}";
}

std::vector<Run> runs_of(const LedgerInput& input) {
  std::vector<Run> runs;
  // Not by (pid, run) alone: a pid may be used again by a later process.
  std::map<std::tuple<std::int32_t, std::uint32_t, std::string, std::string>, std::size_t> open;
  for (const LedgerRecord& r : input.ledger.records) {
    const auto key = std::tuple(r.pid, r.run, r.worker, r.id);
    if (r.kind == RunEvent::start) {
      Run run{.id = r.id,
              .worker = r.worker,
              .pid = r.pid,
              .attempt = r.attempt,
              .delivery = r.delivery,
              .start_ns = r.at_ns};
      const auto killed = input.killed_ns.find(r.worker);
      if (killed != input.killed_ns.end()) run.end_ns = std::max(killed->second, r.at_ns);
      open[key] = runs.size();
      runs.push_back(std::move(run));
    } else if (const auto it = open.find(key); it != open.end()) {
      runs[it->second].end_ns = r.at_ns;
      runs[it->second].outcome = r.outcome;
      open.erase(it);
    }
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::tie(a.id, a.start_ns) < std::tie(b.id, b.start_ns);
  });
  return runs;
}

Verdict check(const LedgerInput& input) {
  const std::vector<Run> runs = runs_of(input);
  const std::set<std::string> sent(input.sent.begin(), input.sent.end());
  Verdict verdict;
  verdict.sent = sent.size();
  verdict.runs = runs.size();
  verdict.damaged = input.ledger.damaged;

  std::set<std::string> finished = input.dead;
  for (std::size_t i = 0; i < runs.size();) {
    std::size_t j = i;
    for (; j < runs.size() && runs[j].id == runs[i].id; ++j) {
      const RunOutcome outcome = runs[j].outcome;
      if (outcome == RunOutcome::ack || outcome == RunOutcome::dead) finished.insert(runs[j].id);
    }
    judge_runs(input, runs.data() + i, runs.data() + j, verdict);
    if (!sent.contains(runs[i].id)) verdict.unexpected.push_back(runs[i].id);
    i = j;
  }
  for (const std::string& id : sent) {
    // Finished by a handler and still there: its ack is missing. That is stuck, not done.
    if (input.still_there.contains(id)) {
      verdict.stuck.push_back(id);
    } else if (finished.contains(id)) {
      ++verdict.finished;
    } else {
      verdict.lost.push_back(id);
    }
  }
  return verdict;
}

std::map<std::string, std::size_t> starts_per_id(const Ledger& ledger) {
  std::map<std::string, std::size_t> starts;
  for (const LedgerRecord& r : ledger.records) {
    if (r.kind == RunEvent::start) ++starts[r.id];
  }
  return starts;
}

std::vector<Takeover> takeovers(const LedgerInput& input, const std::string& worker,
                                std::int64_t at_ns) {
  std::vector<std::string> ids;
  for (const Run& run : runs_of(input)) {
    const bool open = run.outcome == RunOutcome::none || run.end_ns > at_ns;
    if (run.worker == worker && run.start_ns <= at_ns && open) ids.push_back(run.id);
  }
  return first_start_elsewhere(input.ledger, ids, worker, at_ns);
}

std::vector<Takeover> first_start_elsewhere(const Ledger& ledger,
                                            const std::vector<std::string>& ids,
                                            const std::string& worker, std::int64_t at_ns) {
  std::map<std::string, std::int64_t> first;
  for (const LedgerRecord& r : ledger.records) {
    if (r.kind != RunEvent::start || r.worker == worker || r.at_ns < at_ns) continue;
    const auto [it, added] = first.emplace(r.id, r.at_ns);
    if (!added) it->second = std::min(it->second, r.at_ns);
  }
  std::vector<Takeover> result;
  for (const std::string& id : ids) {
    const auto it = first.find(id);
    result.push_back({.id = id, .after_ns = std::nullopt});
    if (it != first.end()) result.back().after_ns = it->second - at_ns;
  }
  return result;
}

}  // namespace penstock::test
