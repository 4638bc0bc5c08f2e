#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fmt/core.h>
#include <memory>
#include <string>
#include <time.h>
#include <unistd.h>
#include <utility>

#include <penstock/worker.hpp>

#include "base/duration.hpp"
#include "cli/commands.hpp"
#include "cli/exec/environment.hpp"
#include "cli/exec/run.hpp"
#include "cli/exec/verdict.hpp"
#include "cli/exit_code.hpp"
#include "cli/text.hpp"
#include "cli/words.hpp"

namespace penstock::cli {
namespace {

using exec::Output;
using exec::Verdict;

constexpr milliseconds flush_max{1'000};

std::string timestamp() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = ms / 1'000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, ms % 1'000);
}

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "info";
}

/// One line of log; whatever is in it stays one line.
void log_line(Output& output, LogLevel level, std::string_view text) {
  output.put(fmt::format("{} {} {}", timestamp(), level_name(level), escaped(text)));
}

/// What one worker of the program is made of, shared by its handler threads. The outputs' threads
/// begin with it, so it is made after the supervisor's helper was started.
struct Shared {
  exec::Supervisor& supervisor;
  exec::Spawn command;  // without the environment
  exec::RunLimits limits;
  std::optional<milliseconds> max_run;
  Output out{STDOUT_FILENO};
  Output err{STDERR_FILENO};

  void log(LogLevel level, std::string_view text) { log_line(err, level, text); }
};

// As the library reads it: a producer's own limit wins.
std::optional<milliseconds> max_run_of(const Message& message, std::optional<milliseconds> ours) {
  const auto text = message.header("penstock-timeout");
  if (!text) return ours;
  std::int64_t ms = 0;
  const char* const end = text->data() + text->size();
  const auto [at, error] = std::from_chars(text->data(), end, ms);
  if (error != std::errc{} || at != end || ms <= 0 || ms >= 1'000'000'000'000) return ours;
  return milliseconds{ms};
}

exec::Environment environment(const Message& message) {
  exec::MessageFacts facts;
  facts.stream = message.stream();
  facts.group = message.group();
  facts.id = message.id();
  facts.token = to_string(message.token());
  facts.attempt = message.attempt();
  facts.delivery = message.delivery();
  for (std::size_t i = 0; i < message.field_count(); ++i) facts.fields.push_back(message.field(i));
  return exec::environment_of(facts, environ);
}

Outcome outcome_of(const Verdict& verdict) {
  switch (verdict.kind) {
    case Verdict::Kind::ack:
      return Outcome::ack();
    case Verdict::Kind::retry:
      return Outcome::retry(verdict.why);
    case Verdict::Kind::not_yet:
      return verdict.after ? Outcome::not_yet(*verdict.after) : Outcome::not_yet();
    case Verdict::Kind::release:
      return Outcome::release();
    case Verdict::Kind::dead:
      return Outcome::dead(verdict.why);
  }
  return Outcome::retry("unknown verdict");
}

Outcome handle(Shared& shared, const Message& message, const std::stop_token& stop) {
  const std::string where = fmt::format("{} {}", message.stream(), message.id());
  exec::Spawn command = shared.command;
  exec::Environment env = environment(message);
  for (const std::string& name : env.left_out) {
    shared.log(LogLevel::warning,
               fmt::format("{}: {} holds a NUL byte and is not in the environment", where, name));
  }
  command.env = std::move(env.entries);
  const exec::RunResult result = exec::run_command(shared.supervisor, command, message.body(), stop,
                                                   shared.limits, {&shared.out, &shared.err});
  if (result.output_cut) {
    shared.log(LogLevel::warning, fmt::format("{}: output over 1 MiB was dropped", where));
  }
  const Verdict verdict = exec::verdict_of(result, max_run_of(message, shared.max_run));
  if (verdict.trouble) {
    shared.log(LogLevel::warning, fmt::format("{}: {}", where, verdict.why));
  } else if (verdict.kind == Verdict::Kind::retry || verdict.kind == Verdict::Kind::dead) {
    // One line for each; the whole reason is with the message.
    const auto first = std::string_view(verdict.why).substr(0, verdict.why.find('\n'));
    shared.log(LogLevel::info,
               fmt::format("{}: attempt {}: {}{}", where, message.attempt(),
                           verdict.kind == Verdict::Kind::dead ? "dead letter, " : "", first));
  }
  return outcome_of(verdict);
}

base::Result<exec::Spawn> command_of(const WorkCommand& command) {
  exec::Spawn out;
  if (command.shell) {
    out.file = "/bin/sh";
    out.argv = {"sh", "-c", command.exec};
    if (command.exec.find('\0') != std::string::npos) {
      return base::Failure{errc::bad_option, "a NUL byte cannot be in a command"};
    }
    return out;
  }
  auto words = split_words(command.exec);
  if (!words) return words.error();
  out.argv = std::move(*words);
  const char* const path = std::getenv("PATH");
  auto file = find_program(out.argv.front(), path == nullptr ? "" : path);
  if (!file) return file.error();
  out.file = std::move(*file);
  return out;
}

std::string prefetch_text(const Prefetch& prefetch) {
  switch (prefetch.kind) {
    case Prefetch::Kind::automatic:
      return "auto";
    case Prefetch::Kind::count:
      return std::to_string(prefetch.entries);
    case Prefetch::Kind::none:
      return "none";
  }
  return "auto";
}

// The URL is not in it: it may hold a password.
std::string start_text(const WorkCommand& command) {
  const HandlerOptions& o = command.options;
  std::string streams;
  for (const std::string& stream : command.streams)
    streams += (streams.empty() ? "" : ", ") + stream;
  const auto d = base::format_duration;
  return fmt::format(
      "working on {} as group {}, consumer {}.*: concurrency {}, prefetch {}, lease {}, sweep {}, "
      "max-run {}, attempts {}, backoff {}..{}, not-yet {}, drain {}",
      streams, o.group, command.consumer.empty() ? "<host>" : command.consumer, o.concurrency,
      prefetch_text(o.prefetch), d(o.lease), d(o.sweep), o.max_run ? d(*o.max_run) : "none",
      o.retry.attempts, d(o.retry.backoff_min), d(o.retry.backoff_max), d(o.not_yet),
      d(command.drain));
}

std::string end_text(const WorkerStats& stats, int code) {
  LaneStats sum;
  for (const LaneStats& lane : stats.lanes) {
    sum.taken += lane.taken;
    sum.acked += lane.acked;
    sum.retried += lane.retried;
    sum.not_yet += lane.not_yet;
    sum.released += lane.released;
    sum.dead += lane.dead;
    sum.lease_lost += lane.lease_lost;
    sum.timed_out += lane.timed_out;
  }
  return fmt::format(
      "ended with {}: taken {}, acked {}, retried {}, not yet {}, handed back {}, dead {}, "
      "lease lost {}, timed out {}",
      code, sum.taken, sum.acked, sum.retried, sum.not_yet, sum.released, sum.dead, sum.lease_lost,
      sum.timed_out);
}

// KILL comes a little before the library gives the run up and counts it as hung.
milliseconds kill_after(milliseconds stop_grace) {
  return stop_grace - std::min(milliseconds{1'000}, stop_grace / 5);
}

}  // namespace

int run_work(const WorkCommand& command) {
  auto spawn = command_of(command);
  if (!spawn) {
    complain("--exec: " + spawn.error().text);
    return exit_code::config;
  }
  check(command.options);
  Output* log = nullptr;
  exec::Supervisor supervisor([&](std::string_view text) {
    if (log != nullptr) log_line(*log, LogLevel::warning, text);
  });
  if (const auto started = supervisor.start(); !started) {
    complain("the helper process for --exec cannot be started: " + started.error().text);
    return exit_code::failed;
  }
  Shared shared{supervisor, std::move(*spawn), {}, command.options.max_run};
  shared.limits.kill_after = kill_after(command.options.stop_grace);
  log = &shared.err;

  WorkerOptions options;
  options.consumer = command.consumer;
  options.drain = command.drain;
  options.log = [&](LogLevel level, std::string_view text) { shared.log(level, text); };
  Worker worker(command.common.url, std::move(options));
  for (const std::string& stream : command.streams) {
    worker.handle(stream, command.options,
                  [&shared](const Message& message, const std::stop_token& stop) {
                    return handle(shared, message, stop);
                  });
  }
  shared.log(LogLevel::info, start_text(command));
  const int code = worker.run();
  shared.log(LogLevel::info, end_text(worker.stats(), code));
  if (code == exit_code::hung || code == exit_code::not_drained) {
    // Handler threads may still run, and use what this function owns. The helper sees the end of
    // its socket and kills their commands.
    shared.out.flush(flush_max);
    shared.err.flush(flush_max);
    std::_Exit(code);
  }
  return code;
}

}  // namespace penstock::cli
