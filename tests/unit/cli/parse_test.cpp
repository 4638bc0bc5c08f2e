#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/command.hpp"

namespace penstock::cli {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> out;
  std::size_t at = 0;
  while (at < line.size()) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) out.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string refusal(const std::string& line) {
  const auto command = parse_command(split(line), "");
  return command ? "taken" : command.error().text;
}

template <class T>
T taken(const std::string& line, const std::string& env_url = "") {
  auto command = parse_command(split(line), env_url);
  EXPECT_TRUE(command.has_value()) << line << ": " << (command ? "" : command.error().text);
  if (!command || !std::holds_alternative<T>(*command)) {
    ADD_FAILURE() << line << " is another command";
    return {};
  }
  return std::get<T>(*command);
}

TEST(Parse, work_with_everything) {
  const auto work = taken<WorkCommand>(
      "work orders events --group billing --exec ./charge --shell --consumer box --concurrency 8 "
      "--prefetch 16 --lease 30s --sweep 0s --max-run none --drain 1min --retention keep "
      "--start $ --attempts 7 --backoff 250ms..5min --not-yet 0.5min --url unix:///tmp/s");
  EXPECT_EQ(work.streams, (std::vector<std::string>{"orders", "events"}));
  EXPECT_EQ(work.exec, "./charge");
  EXPECT_TRUE(work.shell);
  EXPECT_EQ(work.consumer, "box");
  EXPECT_EQ(work.drain, milliseconds{60'000});
  EXPECT_EQ(work.common.url, "unix:///tmp/s");
  const HandlerOptions& o = work.options;
  EXPECT_EQ(o.group, "billing");
  EXPECT_EQ(o.concurrency, 8u);
  EXPECT_EQ(o.prefetch.kind, Prefetch::Kind::count);
  EXPECT_EQ(o.prefetch.entries, 16u);
  EXPECT_EQ(o.lease, milliseconds{30'000});
  EXPECT_EQ(o.sweep, milliseconds{0});
  EXPECT_FALSE(o.max_run.has_value());
  EXPECT_EQ(o.retention, Retention::keep);
  EXPECT_EQ(o.start, "$");
  EXPECT_EQ(o.retry.attempts, 7);
  EXPECT_EQ(o.retry.backoff_min, milliseconds{250});
  EXPECT_EQ(o.retry.backoff_max, milliseconds{300'000});
  EXPECT_EQ(o.not_yet, milliseconds{30'000});
  EXPECT_EQ(o.stop_grace, milliseconds{10'000});
}

TEST(Parse, defaults_are_the_librarys) {
  const auto work = taken<WorkCommand>("work s --group g --exec x");
  const HandlerOptions o;
  EXPECT_EQ(work.options.lease, o.lease);
  EXPECT_EQ(work.options.sweep, o.sweep);
  EXPECT_EQ(work.options.max_run, o.max_run);
  EXPECT_EQ(work.options.stop_grace, o.stop_grace);
  EXPECT_EQ(work.options.prefetch.kind, o.prefetch.kind);
  EXPECT_EQ(work.options.start, o.start);
  EXPECT_EQ(work.drain, WorkerOptions{}.drain);
}

// A short --drain must not contradict a knob that the program does not show.
TEST(Parse, stop_grace_follows_a_short_drain) {
  const auto work = taken<WorkCommand>("work s --group g --exec x --drain 5s");
  EXPECT_EQ(work.options.stop_grace, milliseconds{2'000});
}

TEST(Parse, url_by_option_then_environment_then_default) {
  EXPECT_EQ(taken<ShowCommand>("show").common.url, "redis://localhost:6379");
  EXPECT_EQ(taken<ShowCommand>("show", "redis://env").common.url, "redis://env");
  EXPECT_EQ(taken<ShowCommand>("--url redis://opt show", "redis://env").common.url, "redis://opt");
  EXPECT_EQ(taken<ShowCommand>("show --url=redis://opt", "redis://env").common.url, "redis://opt");
}

TEST(Parse, send) {
  const auto send = taken<SendCommand>(
      "send orders --body= --field a=1 --field b=x=y --count 10 --timeout 30s -o json");
  EXPECT_EQ(send.stream, "orders");
  EXPECT_EQ(send.body, "");
  EXPECT_EQ(send.fields,
            (std::vector<std::pair<std::string, std::string>>{{"a", "1"}, {"b", "x=y"}}));
  EXPECT_EQ(send.count, 10u);
  EXPECT_EQ(send.timeout, milliseconds{30'000});
  EXPECT_EQ(send.common.format, Format::json);
  EXPECT_FALSE(taken<SendCommand>("send orders").body.has_value());
  EXPECT_EQ(taken<SendCommand>("send -- --odd").stream, "--odd");
}

TEST(Parse, help_and_version) {
  EXPECT_NE(taken<TextCommand>("--help").text.find("penstock work"), std::string::npos);
  EXPECT_NE(taken<TextCommand>("--help").text.find("redis://localhost:6379"), std::string::npos);
  EXPECT_NE(taken<TextCommand>("work --lease 3 --help").text.find("--backoff"), std::string::npos);
  EXPECT_NE(taken<TextCommand>("help send").text.find("--lines"), std::string::npos);
  EXPECT_EQ(taken<TextCommand>("--version").text.rfind("penstock ", 0), 0u);
}

TEST(Parse, refusals_name_the_remedy) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "send, work, show and pending"},
      {"wrok s", "did you mean \"work\"?"},
      {"show a b", "one stream at a time"},
      {"show --grup g", "unknown option --grup"},
      {"work s --grup g --exec x", "did you mean \"--group\"?"},
      {"work s --exec x", "--group is missing"},
      {"work s --group g", "--exec is missing"},
      {"work --group g --exec x", "which streams?"},
      {"work s s --group g --exec x", "named twice"},
      {"work s --group g --exec x --lease 30", "--lease: \"30\" is no duration"},
      {"work s --group g --exec x --lease 100ms", "the least is 400ms"},
      {"work s --group g --exec x --lease 0s", "the least is 400ms"},
      {"work s --group g --exec x --max-run 0s", "write none"},
      {"work s --group g --exec x --drain none", "needs a limit"},
      {"work s --group g --exec x --sweep 5", "--sweep"},
      {"work s --group g --exec x --backoff 1s", "MIN..MAX"},
      {"work s --group g --exec x --backoff 10s..1s", "write 1s..10s"},
      {"work s --group g --exec x --backoff 1..2s", "1s"},
      {"work s --group g --exec x --concurrency 0", "from 1 to 1024"},
      {"work s --group g --exec x --concurrency 99999999999999999999", "from 1 to 1024"},
      {"work s --group g --exec x --concurrency -1", "no whole number"},
      {"work s --group g --exec x --prefetch 0", "auto or none"},
      {"work s --group g --exec x --retention kep", "did you mean \"keep\"?"},
      {"work s --group g --exec x --start yesterday", "no entry id"},
      {"work s --group g --exec x -o json", "unknown option"},
      {"send", "which stream?"},
      {"send s --body x --lines", "exclude each other"},
      {"send s --field x", "NAME=VALUE"},
      {"send s --field body=x", "use --body"},
      {"send s --field penstock-timeout=1", "taken by penstock"},
      {"send s --count 0", "from 1 to"},
      {"send s --count 1e3", "no whole number"},
      {"send s --timeout 0s", "too short"},
      {"send s -o jsn", "did you mean \"json\"?"},
      {"pending s", "--group is missing"},
  };
  for (const auto& [line, part] : cases) {
    const std::string text = refusal(line);
    EXPECT_NE(text.find(part), std::string::npos) << line << " -> " << text;
  }
}

}  // namespace
}  // namespace penstock::cli
