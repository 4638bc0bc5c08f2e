#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fmt/core.h>
#include <unistd.h>
#include <utility>

#include <penstock/producer.hpp>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"

namespace penstock::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t batch_max = 500;
constexpr std::size_t batch_bytes_max = 8u << 20;
constexpr std::size_t body_bytes_max = 512u << 20;  // what Redis takes at most
constexpr std::chrono::milliseconds progress_every{200};

/// Gathers messages into batches, sends them, prints ids. After the first failure nothing more.
class Sender {
 public:
  explicit Sender(const SendCommand& command)
      : command_(command),
        producer_(command.common.url),
        progress_(command.count > batch_max && ::isatty(STDERR_FILENO) == 1) {
    options_.headers = command.fields;
    options_.timeout = command.timeout;
  }

  /// All copies of one message.
  void add(std::string_view body) {
    for (std::uint64_t i = 0; i < command_.count && code_ == exit_code::ok; ++i) {
      batch_.push_back({std::string(body), options_});
      bytes_ += body.size();
      if (batch_.size() >= batch_max || bytes_ >= batch_bytes_max) flush();
    }
  }

  void flush() {
    if (batch_.empty() || code_ != exit_code::ok) return;
    const auto answers = producer_.send(command_.stream, batch_);
    for (const Sent& sent : answers) report(sent);
    batch_.clear();
    bytes_ = 0;
    if (std::fflush(stdout) != 0) fail(exit_code::io_error, "standard output cannot be written");
    show_progress(false);
  }

  int finish() {
    flush();
    show_progress(true);
    if (code_ == exit_code::ok) return finish_output(code_);
    std::fflush(stdout);
    complain(fmt::format("{} sent; then: {}", sent_, why_));
    if (unknown_ > 0) {
      complain(fmt::format("of {} more it is unknown whether they are on the stream", unknown_));
    }
    return code_;
  }

  int code() const { return code_; }
  void fail(int code, const std::string& why) {
    if (code_ != exit_code::ok) return;
    code_ = code;
    why_ = why;
  }

 private:
  void report(const Sent& sent) {
    const bool json = command_.common.format == Format::json;
    if (sent) {
      ++sent_;
      print(json ? sent_json(sent.id, "", "") : sent.id + "\n");
      return;
    }
    if (sent.error == errc::connection_lost || sent.error == errc::timed_out) ++unknown_;
    if (json) print(sent_json("", make_error_code(sent.error).message(), sent.text));
    fail(exit_code_of(sent.error), sent.text);
  }

  void show_progress(bool last) {
    if (!progress_) return;
    const auto now = steady_clock::now();
    if (!last && now - told_ < progress_every) return;
    told_ = now;
    fmt::print(stderr, "\r{} of {} sent{}", sent_, command_.count, last ? "\n" : "");
  }

  const SendCommand& command_;
  Producer producer_;
  SendOptions options_;
  std::vector<Draft> batch_;
  std::size_t bytes_ = 0;
  std::uint64_t sent_ = 0, unknown_ = 0;
  int code_ = exit_code::ok;
  std::string why_;
  const bool progress_;
  steady_clock::time_point told_{};
};

/// Whole standard input, or its lines, as they come.
class Input {
 public:
  explicit Input(Sender& sender) : sender_(sender), buffer_(256 * 1024, '\0') {}

  void as_one_body() {
    std::string body;
    while (read_more()) {
      body += data_;
      if (body.size() > body_bytes_max) return too_large();
    }
    if (sender_.code() == exit_code::ok) sender_.add(body);
  }

  // What has come is sent before more is waited for: the lines of a slow pipe do not pile up.
  void as_lines() {
    std::string line;
    while (sender_.code() == exit_code::ok && read_more()) {
      while (!data_.empty()) {
        const std::size_t end = data_.find('\n');
        line += data_.substr(0, end);
        if (line.size() > body_bytes_max) return too_large();
        if (end == data_.npos) break;
        data_.remove_prefix(end + 1);
        sender_.add(line);
        line.clear();
      }
      sender_.flush();
    }
    if (!line.empty() && sender_.code() == exit_code::ok) sender_.add(line);
  }

 private:
  bool read_more() {
    while (true) {
      const ssize_t n = ::read(STDIN_FILENO, buffer_.data(), buffer_.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) sender_.fail(exit_code::io_error, "standard input cannot be read");
      data_ = std::string_view(buffer_.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
      return n > 0;
    }
  }
  void too_large() {
    sender_.fail(exit_code::usage, "a message over 512 MiB is more than a Redis server takes");
  }

  Sender& sender_;
  std::string buffer_;
  std::string_view data_;
};

}  // namespace

int run_send(const SendCommand& command) {
  Sender sender(command);
  if (command.body) {
    sender.add(*command.body);
    return sender.finish();
  }
  if (::isatty(STDIN_FILENO) == 1) {
    complain(command.lines ? "one message per line; Ctrl-D ends"
                           : "reading the body from the terminal; Ctrl-D ends it");
  }
  Input input(sender);
  if (command.lines) {
    input.as_lines();
  } else {
    input.as_one_body();
  }
  return sender.finish();
}

}  // namespace penstock::cli
