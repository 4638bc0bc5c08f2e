// A worker's making and start: names, options, threads, lanes.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <unistd.h>
#include <utility>

#include "api/worker_impl.hpp"

namespace penstock {

namespace {

using base::MonoDuration;

constexpr const char* version = "0.1.0";

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "worker";
  return name;
}

/// Unique for each start of a process: the name alone is not, for two may share it.
std::string consumer_name(const std::string& wanted) {
  std::random_device random;
  char instance[16];
  std::snprintf(instance, sizeof instance, ".%08x", static_cast<unsigned>(random()));
  return (wanted.empty() ? host_name() : wanted) + instance;
}

/// Field 22 of /proc/self/stat: with the pid it names a process for good. 0: unknown.
std::int64_t process_start_ticks() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto after_name = text.rfind(')');
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(text.substr(after_name + 1));
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i) {
  }
  return fields ? std::strtoll(field.c_str(), nullptr, 10) : 0;
}

engine::LaneConfig lane_config(const HandlerOptions& o, const WorkerOptions& worker,
                               store::Lane where) {
  engine::LaneConfig c;
  c.lane = std::move(where);
  c.concurrency = o.concurrency;
  c.prefetch = o.prefetch.kind == Prefetch::Kind::count  ? engine::PrefetchKind::count
               : o.prefetch.kind == Prefetch::Kind::none ? engine::PrefetchKind::none
                                                         : engine::PrefetchKind::automatic;
  c.prefetch_entries = o.prefetch.entries;
  c.prefetch_bytes = o.prefetch_bytes;
  c.lease = o.lease;
  c.sweep = o.sweep;
  c.max_run.reset();
  if (o.max_run) c.max_run = *o.max_run;
  c.stop_grace = o.stop_grace;
  c.drain = worker.drain;
  c.not_yet = o.not_yet;
  c.foreign_idle = o.foreign_idle;
  c.attempts = o.retry.attempts;
  c.backoff_min = o.retry.backoff_min;
  c.backoff_max = o.retry.backoff_max;
  c.backoff_factor = o.retry.factor;
  c.max_lapses = o.max_lapses;
  if (o.retention) c.retention = static_cast<store::Retention>(*o.retention);
  c.start = o.start;
  c.stop_when_hung = worker.exit_when_hung;
  std::random_device random;
  c.seed = (static_cast<std::uint64_t>(random()) << 32) ^ random();
  return c;
}

void print(LogLevel level, std::string_view text) {
  if (level < LogLevel::warning) return;
  std::fprintf(stderr, "penstock: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace

Worker::Impl::Impl(std::string url, WorkerOptions options)
    : options_(std::move(options)),
      home_(url),
      consumer_(consumer_name(options_.consumer)),
      epoch_(std::make_shared<std::atomic<std::uint64_t>>(1)) {
  check(options_);
  home_.name_connections("penstock-" + consumer_);
}

void Worker::Impl::add(std::string stream, HandlerOptions options, Handler handler) {
  check(options, options_);
  if (stream.empty()) throw Error(errc::bad_option, "the stream's name is empty");
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::made) {
    throw Error(errc::bad_option, "handle() after start(): add all subscriptions first");
  }
  for (const auto& lane : lanes_) {
    if (lane->stream == stream && lane->options.group == options.group) {
      throw Error(errc::bad_option, "stream " + stream + " with group " + options.group +
                                        " is subscribed to twice in this worker");
    }
  }
  auto lane = std::make_unique<Lane>();
  lane->stream = std::move(stream);
  lane->options = std::move(options);
  lane->handler = std::move(handler);
  lanes_.push_back(std::move(lane));
}

void Worker::Impl::start() {
  // A stop() from elsewhere waits until there is all to stop.
  std::unique_lock opening(drain_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::made) throw Error(errc::bad_option, "start() was called before");
    if (lanes_.empty())
      throw Error(errc::bad_option, "start() without a handle(): nothing to read");
    phase_ = Phase::running;
  }
  // A call that is out longer than half a lease may land after the lease: it ends before.
  milliseconds longest{5'000};
  for (const auto& lane : lanes_) longest = std::min(longest, lane->options.lease / 2);
  home_.limit_calls(longest, false);
  aside_ = std::make_unique<runtime::Aside>();
  io_ = std::make_unique<api::EventThread>();
  renewal_ = std::make_unique<api::EventThread>();
  io_->call([this] { main_store_ = home_.open(*io_, epoch_); });
  renewal_->call([this] { renewal_store_ = home_.open(*renewal_, epoch_); });
  for (const auto& lane : lanes_) open_lane(*lane);
  for (const auto& lane : lanes_) lane->driver->start();
  {
    const std::lock_guard lock(mutex_);
    open_ = true;
  }
  opening.unlock();
  wait_for_first_answer();
}

void Worker::Impl::open_lane(Lane& lane) {
  lane.where =
      std::make_shared<const store::Lane>(store::Lane{lane.stream, lane.options.group, consumer_});
  store::Registration row;
  row.consumer = consumer_;
  row.lease_ms = lane.options.lease.count();
  row.host = host_name();
  row.pid = ::getpid();
  row.pid_started = process_start_ticks();
  row.version = version;
  // The pool tells the driver when runs have ended; the driver is made right after it.
  auto driver = std::make_shared<std::weak_ptr<runtime::LaneDriver>>();
  lane.pool = std::make_unique<runtime::HandlerPool>(lane.where, std::move(lane.handler),
                                                     lane.options.concurrency, [driver] {
                                                       if (const auto d = driver->lock())
                                                         d->notify_finished();
                                                     });
  runtime::LaneHost host;
  host.log = [this](engine::Severity severity, const std::string& text) { log(severity, text); };
  host.fatal = [this](const base::Failure& failure) { report_fatal(failure); };
  host.opened = [pool = lane.pool.get()](store::ServerMs epoch) { pool->set_group_epoch(epoch); };
  host.drained = [this, &lane] {
    const std::lock_guard lock(mutex_);
    lane.drained = true;
    const auto s = lane.driver->snapshot();
    unhealthy_ = unhealthy_ || s.unhealthy;
    clean_ = clean_ && s.clean;
    changed_.notify_all();
    // A lane that drains by itself (all its threads hang) takes the worker with it.
    if (watch_ != nullptr) watch_->wake();
  };
  lane.driver = std::make_shared<runtime::LaneDriver>(
      lane_config(lane.options, options_, *lane.where), std::move(row),
      runtime::Session{main_store_.get(), &io_->executor()},
      runtime::Session{renewal_store_.get(), &renewal_->executor()}, *lane.pool, std::move(host));
  *driver = lane.driver;
}

/// Bad credentials and rights are told by start() itself; a server that is away is waited for.
void Worker::Impl::wait_for_first_answer() {
  constexpr auto patience = std::chrono::milliseconds(2500);
  const auto until = std::chrono::steady_clock::now() + patience;
  const auto answered = [this] {
    for (const auto& lane : lanes_) {
      const auto s = lane->driver->snapshot();
      if (!s.opened && s.counters.store_failures == 0) return false;
    }
    return true;
  };
  while (std::chrono::steady_clock::now() < until && !answered()) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::milliseconds(2), [&] { return fatal_.has_value(); }))
      break;
  }
  // A fatal answer is counted a little before it is told.
  bool failed = false;
  for (const auto& lane : lanes_) failed = failed || !lane->driver->snapshot().opened;
  std::unique_lock lock(mutex_);
  if (failed) {
    changed_.wait_for(lock, std::chrono::milliseconds(20), [&] { return fatal_.has_value(); });
  }
  if (!fatal_) return;
  const base::Failure failure = *fatal_;
  lock.unlock();
  stop();
  throw Error(failure.code, failure.text);
}

void Worker::Impl::report_fatal(const base::Failure& failure) {
  log(engine::Severity::error, failure.text);
  const std::lock_guard lock(mutex_);
  if (!fatal_) fatal_ = failure;
  changed_.notify_all();
  if (watch_ != nullptr) watch_->wake();
}

void Worker::Impl::log(engine::Severity severity, const std::string& text) {
  const LogLevel level = severity == engine::Severity::error     ? LogLevel::error
                         : severity == engine::Severity::warning ? LogLevel::warning
                                                                 : LogLevel::info;
  aside_->post([this, level, text] {
    if (options_.log) {
      options_.log(level, text);
    } else {
      print(level, text);
    }
  });
}

}  // namespace penstock
