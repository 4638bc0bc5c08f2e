#include "server/cases/cases_fixture.hpp"

#include <algorithm>
#include <set>
#include <signal.h>
#include <sstream>

namespace penstock::test {

std::int64_t ns(std::chrono::steady_clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
}
std::int64_t ns(std::chrono::milliseconds d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

CasesTest::CasesTest(RedisOptions options) : server_(std::move(options)) {}

std::vector<std::string> CasesTest::send(int count, const std::string& body,
                                         const std::string& stream) {
  std::vector<std::vector<std::string>> adds;
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i) {
    ids.push_back(std::to_string(sent_.size() + 1));
    sent_.push_back(ids.back());
    adds.push_back({"XADD", stream, "*", "body", body, "n", ids.back()});
  }
  for (const Value& reply : server_.connect().pipeline(adds)) {
    if (reply.is_error()) throw std::runtime_error(reply.text);
  }
  return ids;
}

Process CasesTest::worker(const std::string& name, std::vector<std::string> arguments) {
  Spawn spawn;
  spawn.argv = {PENSTOCK_LEDGER_WORKER, "--url", url_.empty() ? server_.url() : url_,
                "--consumer",           name,    "--ledger",
                dir_ / "ledger"};
  for (const std::string& stream : streams_) {
    spawn.argv.insert(spawn.argv.end(), {"--stream", stream});
  }
  spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
  spawn.stderr_file = dir_ / (name + ".log");
  return Process(std::move(spawn));
}

std::int64_t CasesTest::kill9(Process& process, const std::string& name) {
  return killed_ns_[name] = ns(process.kill9());
}

int CasesTest::close(Process& process, std::chrono::milliseconds timeout) {
  process.signal(SIGTERM);
  return process.wait(timeout).value_or(ExitStatus{}).code;
}

std::vector<std::string> CasesTest::stats(const std::string& name) const {
  return {"--stats", dir_ / (name + ".stats")};
}

long long CasesTest::stat(const std::string& name, const std::string& field) const {
  std::istringstream in(read_file(dir_ / (name + ".stats")));
  std::string key;
  for (long long value = 0; in >> key >> value;) {
    if (key == field) return value;
  }
  return -1;
}

std::int64_t CasesTest::told_ns(const std::string& name, const std::string& id) const {
  const std::string text = log(name);
  const std::string line = "told " + id + " ";
  const std::size_t at = text.find(line);
  return at == std::string::npos ? 0 : std::stoll(text.substr(at + line.size()));
}

void CasesTest::abandon(int count, const std::string& name) {
  server_.cli("XGROUP", "CREATE", "s", "g", "0");
  const Value got = server_.cli("XREADGROUP", "GROUP", "g", name, "COUNT", std::to_string(count),
                                "STREAMS", "s", ">");
  std::vector<std::string> age = {"XCLAIM", "s", "g", name, "0"};
  for (const Value& entry : got[0][1].items) age.push_back(entry[0].text);
  age.insert(age.end(), {"IDLE", "86400000", "JUSTID"});
  const Value aged = server_.cli(age);
  if (aged.size() != static_cast<std::size_t>(count)) throw std::runtime_error(aged.str());
}

LedgerInput CasesTest::input() {
  LedgerInput in{.sent = sent_,
                 .ledger = ledger(),
                 .killed_ns = killed_ns_,
                 .faults = faults_,
                 .dead = {},
                 .still_there = {}};
  for (const std::string& stream : streams_) {
    for (const Value& letter : server_.cli("XRANGE", "{" + stream + "}.dead", "-", "+").items) {
      const Value& n = letter[1].at("n");
      if (!n.is_nil()) in.dead.insert(n.text);
    }
    // A stream that was there before keeps what is acked: only the group tells what is left.
    std::set<std::string> left;
    for (const PendingRow& row : server_.pending_rows(stream, "g")) left.insert(row.id);
    std::string read = "-";
    const Value groups = server_.cli("XINFO", "GROUPS", stream);
    if (!groups.is_error() && groups.size() == 1)
      read = "(" + groups[0].at("last-delivered-id").text;
    for (const Value& entry : server_.cli("XRANGE", stream, read, "+").items) {
      left.insert(entry[0].text);
    }
    for (const Value& entry : server_.cli("XRANGE", stream, "-", "+").items) {
      const Value& n = entry[1].at("n");
      if (!n.is_nil() && left.contains(entry[0].text)) in.still_there.insert(n.text);
    }
  }
  return in;
}

std::size_t CasesTest::started() const {
  const Ledger all = ledger();
  return static_cast<std::size_t>(
      std::count_if(all.records.begin(), all.records.end(),
                    [](const LedgerRecord& r) { return r.kind == RunEvent::start; }));
}

std::size_t CasesTest::acked() const {
  std::set<std::string> ids;
  for (const LedgerRecord& r : ledger().records) {
    if (r.kind == RunEvent::end && r.outcome == RunOutcome::ack) ids.insert(r.id);
  }
  return ids.size();
}

std::vector<HandlerRun> CasesTest::runs(const std::string& name) {
  std::vector<HandlerRun> all = runs_of(input());
  std::erase_if(all, [&](const HandlerRun& run) { return run.worker != name; });
  return all;
}

bool CasesTest::all_done() {
  if (acked() < sent_.size()) return false;
  return std::all_of(streams_.begin(), streams_.end(),
                     [&](const std::string& s) { return server_.xpending(s, "g") == 0; });
}

void CasesTest::expect_clean() {
  EXPECT_TRUE(eventually([&] { return verdict().finished == sent_.size() && all_done(); }, 1s));
  const Verdict v = verdict();
  EXPECT_TRUE(v.clean()) << v.json();
  for (const std::string& stream : streams_) {
    EXPECT_EQ(server_.xpending(stream, "g"), 0) << stream;
  }
}

}  // namespace penstock::test
