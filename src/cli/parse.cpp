#include <array>
#include <fmt/core.h>
#include <limits>
#include <optional>
#include <span>

#include "base/duration.hpp"
#include "base/entry_id.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/text.hpp"

namespace penstock::cli {
namespace {

using base::Failure;
using Kind = OptionSpec::Kind;
using Specs = std::vector<OptionSpec>;
using Problem = std::optional<Failure>;

constexpr const char* default_url = "redis://localhost:6379";
constexpr std::array<std::string_view, 4> commands{"send", "work", "show", "pending"};

Failure bad(std::string text) { return {errc::bad_option, std::move(text)}; }

Specs globals() { return {{"--url"}, {"--help", 'h', Kind::flag}, {"--version", 0, Kind::flag}}; }

Specs specs_of(std::string_view command) {
  Specs specs = globals();
  const auto add = [&](std::initializer_list<OptionSpec> more) {
    specs.insert(specs.end(), more.begin(), more.end());
  };
  if (command != "work") add({{"--output", 'o'}});
  if (command == "send") {
    add({{"--body"},
         {"--lines", 0, Kind::flag},
         {"--field", 0, Kind::list},
         {"--count"},
         {"--timeout"}});
  } else if (command == "work") {
    add({{"--group"},
         {"--exec"},
         {"--shell", 0, Kind::flag},
         {"--consumer"},
         {"--concurrency"},
         {"--prefetch"},
         {"--lease"},
         {"--sweep"},
         {"--max-run"},
         {"--drain"},
         {"--retention"},
         {"--start"},
         {"--attempts"},
         {"--backoff"},
         {"--not-yet"}});
  } else if (command == "pending") {
    add({{"--group"}});
  }
  return specs;
}

// Reads the options of one command; the first problem is kept.
class Reader {
 public:
  explicit Reader(const Arguments& args) : args_(args) {}

  const Problem& problem() const { return problem_; }
  void fail(std::string text) {
    if (!problem_) problem_ = bad(std::move(text));
  }

  void number(std::string_view name, std::uint64_t min, std::uint64_t max,
              const std::function<void(std::uint64_t)>& set) {
    const std::string* text = args_.value(name);
    if (text == nullptr) return;
    std::string why;
    if (const auto value = parse_number(*text, min, max, why)) return set(*value);
    fail(fmt::format("{}: {}", name, why));
  }

  std::optional<milliseconds> duration(std::string_view name, std::string_view text,
                                       milliseconds min) {
    const auto value = base::parse_duration(text);
    if (!value) {
      fail(fmt::format("{}: {}", name, value.error().text));
      return std::nullopt;
    }
    if (*value < min) {
      fail(fmt::format("{}: {} is too short, the least is {}", name, text,
                       base::format_duration(min)));
      return std::nullopt;
    }
    return *value;
  }

  void duration(std::string_view name, milliseconds min, milliseconds& out) {
    const std::string* text = args_.value(name);
    if (text == nullptr) return;
    if (const auto value = duration(name, *text, min)) out = *value;
  }

  std::string required(std::string_view name, std::string_view example) {
    const std::string* text = args_.value(name);
    if (text != nullptr && !text->empty()) return *text;
    fail(fmt::format("{} is missing, as in {} {}", name, name, example));
    return {};
  }

 private:
  const Arguments& args_;
  Problem problem_;
};

Problem read_common(const Arguments& args, const std::string& env_url, Common& out) {
  out.url = env_url.empty() ? default_url : env_url;
  if (const std::string* url = args.value("--url")) {
    if (url->empty()) return bad("--url: the URL is empty");
    out.url = *url;
  }
  const std::string* format = args.value("--output");
  if (format == nullptr || *format == "text") return std::nullopt;
  if (*format != "json") {
    constexpr std::array<std::string_view, 2> formats{"text", "json"};
    return bad(fmt::format("--output: \"{}\" is neither text nor json{}", escaped(*format, 40),
                           did_you_mean(*format, formats)));
  }
  out.format = Format::json;
  return std::nullopt;
}

Problem one_stream(const Arguments& args, std::string_view command, std::string& out) {
  if (args.words.empty()) {
    return bad(fmt::format("which stream? As in: penstock {} orders", command));
  }
  if (args.words.size() > 1) {
    return bad(fmt::format("one stream at a time: \"{}\" is one too many (quote what holds spaces)",
                           escaped(args.words[1], 80)));
  }
  if (args.words[0].empty()) return bad("the name of the stream is empty");
  out = args.words[0];
  return std::nullopt;
}

base::Result<Command> read_send(const Arguments& args, SendCommand command) {
  if (auto problem = one_stream(args, "send", command.stream)) return *problem;
  Reader reader(args);
  if (const std::string* body = args.value("--body")) command.body = *body;
  command.lines = args.has("--lines");
  if (command.body && command.lines) reader.fail("--body and --lines exclude each other");
  if (const auto fields = args.options.find("--field"); fields != args.options.end()) {
    for (const std::string& field : fields->second) {
      const std::size_t equals = field.find('=');
      const std::string name = field.substr(0, equals);
      if (equals == field.npos || name.empty()) {
        reader.fail(fmt::format("--field: \"{}\" is no NAME=VALUE", escaped(field, 80)));
      } else if (name == "body" || name.starts_with("penstock-")) {
        reader.fail(fmt::format("--field: the name {} is taken by penstock{}", escaped(name, 80),
                                name == "body" ? "; use --body" : ""));
      } else {
        command.fields.emplace_back(name, field.substr(equals + 1));
      }
    }
  }
  reader.number("--count", 1, 1'000'000'000, [&](std::uint64_t n) { command.count = n; });
  if (args.has("--timeout")) {
    milliseconds timeout{};
    reader.duration("--timeout", milliseconds{1}, timeout);
    command.timeout = timeout;
  }
  if (reader.problem()) return *reader.problem();
  return Command{std::move(command)};
}

void read_prefetch(const Arguments& args, Reader& reader, Prefetch& out) {
  const std::string* text = args.value("--prefetch");
  if (text == nullptr || *text == "auto") return;
  if (*text == "none") {
    out = Prefetch::none();
    return;
  }
  std::string why;
  if (const auto n = parse_number(*text, 1, 1024, why)) {
    out = Prefetch::count(static_cast<std::size_t>(*n));
  } else {
    reader.fail(fmt::format("--prefetch: {}, auto or none", why));
  }
}

void read_backoff(const Arguments& args, Reader& reader, RetryPolicy& out) {
  const std::string* text = args.value("--backoff");
  if (text == nullptr) return;
  const std::size_t dots = text->find("..");
  if (dots == text->npos) {
    reader.fail(
        fmt::format("--backoff: \"{}\" is no MIN..MAX, as in 1s..10min", escaped(*text, 40)));
    return;
  }
  const auto min = reader.duration("--backoff", text->substr(0, dots), milliseconds{1});
  const auto max = reader.duration("--backoff", text->substr(dots + 2), milliseconds{1});
  if (!min || !max) return;
  if (*min > *max) {
    reader.fail(fmt::format("--backoff: {} is more than {}; write {}..{}",
                            base::format_duration(*min), base::format_duration(*max),
                            base::format_duration(*max), base::format_duration(*min)));
    return;
  }
  out.backoff_min = *min;
  out.backoff_max = *max;
}

void read_retention(const Arguments& args, Reader& reader, std::optional<Retention>& out) {
  const std::string* text = args.value("--retention");
  if (text == nullptr) return;
  if (*text == "delete_on_ack") {
    out = Retention::delete_on_ack;
  } else if (*text == "trim_settled") {
    out = Retention::trim_settled;
  } else if (*text == "keep") {
    out = Retention::keep;
  } else {
    constexpr std::array<std::string_view, 3> known{"delete_on_ack", "trim_settled", "keep"};
    reader.fail(fmt::format("--retention: \"{}\" is none of delete_on_ack, trim_settled, keep{}",
                            escaped(*text, 40), did_you_mean(*text, known)));
  }
}

void read_start(const Arguments& args, Reader& reader, std::string& out) {
  const std::string* text = args.value("--start");
  if (text == nullptr) return;
  if (*text != "$" && !base::parse_entry_id(*text)) {
    reader.fail(fmt::format("--start: \"{}\" is no entry id such as 1700000000000-0, nor 0, nor $",
                            escaped(*text, 40)));
    return;
  }
  out = *text;
}

void read_max_run(const Arguments& args, Reader& reader, std::optional<milliseconds>& out) {
  const std::string* text = args.value("--max-run");
  if (text == nullptr) return;
  if (*text == "none") {
    out.reset();
  } else if (const auto value = base::parse_duration(*text); value && value->count() == 0) {
    reader.fail("--max-run: 0 would stop every run at once; write none for no limit");
  } else {
    out = reader.duration("--max-run", *text, milliseconds{1});
  }
}

base::Result<Command> read_work(const Arguments& args, WorkCommand command) {
  if (args.words.empty()) {
    return bad("which streams? As in: penstock work orders --group billing --exec ./charge");
  }
  for (std::size_t i = 0; i < args.words.size(); ++i) {
    const std::string& word = args.words[i];
    if (word.empty()) return bad("the name of a stream is empty");
    if (std::find(args.words.begin(), args.words.begin() + static_cast<std::ptrdiff_t>(i), word) !=
        args.words.begin() + static_cast<std::ptrdiff_t>(i)) {
      return bad(fmt::format("the stream {} is named twice", escaped(word, 80)));
    }
  }
  command.streams = args.words;
  Reader reader(args);
  HandlerOptions& o = command.options;
  o.group = reader.required("--group", "billing");
  command.exec = reader.required("--exec", "./charge");
  command.shell = args.has("--shell");
  if (const std::string* name = args.value("--consumer")) command.consumer = *name;
  reader.number("--concurrency", 1, 1024,
                [&](std::uint64_t n) { o.concurrency = static_cast<std::size_t>(n); });
  read_prefetch(args, reader, o.prefetch);
  reader.duration("--lease", milliseconds{400}, o.lease);
  reader.duration("--sweep", milliseconds{0}, o.sweep);
  read_max_run(args, reader, o.max_run);
  reader.duration("--drain", milliseconds{1}, command.drain);
  reader.duration("--not-yet", milliseconds{1}, o.not_yet);
  reader.number("--attempts", 1, 1'000'000,
                [&](std::uint64_t n) { o.retry.attempts = static_cast<std::int64_t>(n); });
  read_backoff(args, reader, o.retry);
  read_retention(args, reader, o.retention);
  read_start(args, reader, o.start);
  // No knob of its own on the command line: it follows the time that closing has.
  o.stop_grace = std::min(milliseconds{10'000}, std::max(command.drain * 2 / 5, milliseconds{1}));
  if (reader.problem()) return *reader.problem();
  return Command{std::move(command)};
}

base::Result<Command> read_show(const Arguments& args, ShowCommand command) {
  if (!args.words.empty()) {
    std::string stream;
    if (auto problem = one_stream(args, "show", stream)) return *problem;
    command.stream = std::move(stream);
  }
  return Command{std::move(command)};
}

base::Result<Command> read_pending(const Arguments& args, PendingCommand command) {
  if (auto problem = one_stream(args, "pending", command.stream)) return *problem;
  Reader reader(args);
  command.group = reader.required("--group", "billing");
  if (reader.problem()) return *reader.problem();
  return Command{std::move(command)};
}

// The first word that is neither an option nor an option's value: the command.
std::size_t command_index(const std::vector<std::string>& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].empty() || args[i].front() != '-') return i;
    if (args[i] == "--url" || args[i] == "--output" || args[i] == "-o") ++i;
  }
  return args.size();
}

}  // namespace

base::Result<Command> parse_command(const std::vector<std::string>& args,
                                    const std::string& env_url) {
  const std::size_t at = command_index(args);
  std::string name = at < args.size() ? args[at] : "";
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i != at) rest.push_back(args[i]);
  }
  if (name == "help") return Command{TextCommand{help_text(rest.empty() ? "" : rest.front())}};
  const bool known = std::find(commands.begin(), commands.end(), name) != commands.end();
  if (!name.empty() && !known) {
    return bad(fmt::format("unknown command \"{}\"{}; there are send, work, show and pending",
                           escaped(name, 80), did_you_mean(name, commands)));
  }
  // Help is given however wrong the rest of the line is; not past "--", where words are data.
  for (const std::string& word : rest) {
    if (word == "--") break;
    if (word == "--help" || word == "-h") return Command{TextCommand{help_text(name)}};
  }
  const auto split = split_arguments(rest, specs_of(name));
  if (!split) return split.error();
  if (split->has("--version")) return Command{TextCommand{version_text()}};
  if (name.empty()) return bad("which command? There are send, work, show and pending");
  Common common;
  if (auto problem = read_common(*split, env_url, common)) return *problem;
  if (name == "send") return read_send(*split, {common, {}, {}, false, {}, 1, {}});
  if (name == "show") return read_show(*split, {common, {}});
  if (name == "pending") return read_pending(*split, {common, {}, {}});
  WorkCommand work;
  work.common = common;
  return read_work(*split, std::move(work));
}

}  // namespace penstock::cli
