// What options can work: one place, one message per contradiction, before anything starts.
#include <string>

#include <penstock/error.hpp>
#include <penstock/options.hpp>

namespace penstock {

namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(errc::bad_option, text); }

std::string ms(milliseconds d) { return std::to_string(d.count()) + "ms"; }

void check_retry(const RetryPolicy& retry) {
  if (retry.attempts < 1 || retry.attempts > 1'000'000) {
    refuse("attempts is " + std::to_string(retry.attempts) + ": give 1 to 1000000");
  }
  if (retry.backoff_min <= milliseconds::zero()) {
    refuse("backoff min is " + ms(retry.backoff_min) + ": give more than 0");
  }
  if (retry.backoff_max < retry.backoff_min) {
    refuse("backoff max " + ms(retry.backoff_max) + " is below backoff min " +
           ms(retry.backoff_min));
  }
  if (!(retry.factor >= 1.0 && retry.factor <= 100.0)) refuse("backoff factor: give 1 to 100");
}

void check_start(const std::string& start) {
  const bool digits = !start.empty() && start.size() <= 41 &&
                      start.find_first_not_of("0123456789-") == std::string::npos &&
                      start.front() != '-' && start.back() != '-';
  if (start != "$" && !digits) {
    refuse("start is \"" + start + "\": give an entry id such as 0 or 1700000000000-0, or $");
  }
}

}  // namespace

void check(const HandlerOptions& o) {
  if (o.group.empty()) refuse("group is empty: name the consumer group");
  if (o.concurrency < 1 || o.concurrency > 1024) {
    refuse("concurrency is " + std::to_string(o.concurrency) + ": give 1 to 1024");
  }
  if (o.prefetch.kind == Prefetch::Kind::count &&
      (o.prefetch.entries < 1 || o.prefetch.entries > 1024)) {
    refuse("prefetch is " + std::to_string(o.prefetch.entries) + ": give 1 to 1024, auto or none");
  }
  if (o.prefetch.kind == Prefetch::Kind::count && o.prefetch.entries < o.concurrency) {
    refuse("prefetch " + std::to_string(o.prefetch.entries) + " is below concurrency " +
           std::to_string(o.concurrency) + ": some threads could never work");
  }
  if (o.prefetch_bytes < 1024) refuse("prefetch_bytes is below 1024");
  if (o.lease < milliseconds(400) || o.lease > std::chrono::hours(24)) {
    refuse("lease is " + ms(o.lease) + ": give 400ms to 24h (it is renewed each quarter)");
  }
  if (o.sweep < milliseconds::zero() || o.sweep > std::chrono::hours(24)) {
    refuse("sweep is " + ms(o.sweep) +
           ": give 0 to 24h; reclaim cannot be switched off, for then "
           "a crashed worker's messages would wait for ever");
  }
  if (o.max_run && *o.max_run <= milliseconds::zero()) {
    refuse("max_run is 0 or less: leave it empty (none) for no limit");
  }
  if (o.stop_grace <= milliseconds::zero()) refuse("stop_grace must be more than 0");
  if (o.not_yet <= milliseconds::zero()) refuse("not_yet must be more than 0");
  if (o.foreign_idle <= milliseconds::zero()) refuse("foreign_idle must be more than 0");
  if (o.max_lapses < 1) refuse("max_lapses must be at least 1");
  check_retry(o.retry);
  check_start(o.start);
}

void check(const WorkerOptions& o) {
  if (o.drain <= milliseconds::zero()) refuse("drain must be more than 0");
  for (const char c : o.consumer) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 127) {
      refuse("consumer holds a space or a control character");
    }
  }
  if (o.consumer.size() > 200) refuse("consumer is longer than 200 bytes");
  if (o.consumer.starts_with("penstock:")) {
    refuse("consumer \"" + o.consumer + "\": names that begin with penstock: are reserved");
  }
}

void check(const HandlerOptions& o, const WorkerOptions& worker) {
  check(o);
  check(worker);
  if (worker.drain < o.stop_grace) {
    refuse("drain " + ms(worker.drain) + " is below stop_grace " + ms(o.stop_grace) +
           ": a handler could not be given its grace");
  }
}

}  // namespace penstock
