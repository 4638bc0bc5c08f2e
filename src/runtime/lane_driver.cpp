#include "runtime/lane_driver.hpp"

#include <utility>

namespace penstock::runtime {

namespace {

constexpr std::chrono::milliseconds sample_period{100};

}  // namespace

LaneDriver::LaneDriver(engine::LaneConfig config, store::Registration registration, Session main,
                       Session renewal, Dispatcher& dispatcher, LaneHost host)
    : lane_(config.lane),
      registration_(std::move(registration)),
      main_(main),
      renewal_(renewal),
      dispatcher_(dispatcher),
      host_(std::move(host)),
      engine_(std::move(config), main.executor->now()) {}

template <class T, class F>
base::Done<T> LaneDriver::answer(F event) {
  return [self = shared_from_this(), event = std::move(event)](base::Result<T> reply) mutable {
    if (self->over_) return;
    {
      const std::lock_guard lock(self->mutex_);
      event(self->engine_, self->main_.executor->now(), reply);
    }
    self->pump();
  };
}

template <class T, class F>
base::Done<T> LaneDriver::renewal_answer(F event) {
  return [self = shared_from_this(), event = std::move(event)](base::Result<T> reply) mutable {
    if (self->over_) return;
    {
      const std::lock_guard lock(self->mutex_);
      event(self->engine_, self->renewal_.executor->now(), reply);
    }
    self->post_pump();
    self->pump_renewal();
  };
}

void LaneDriver::start() {
  post_pump();
  post_renewal();
}

void LaneDriver::notify_finished() { post_pump(); }

void LaneDriver::begin_drain() {
  main_.executor->post([self = shared_from_this()] {
    if (self->over_) return;
    {
      const std::lock_guard lock(self->mutex_);
      self->engine_.begin_drain(self->main_.executor->now());
    }
    self->pump();
  });
}

void LaneDriver::abandon() { over_ = true; }

void LaneDriver::post_pump() {
  if (pump_posted_.exchange(true)) return;
  main_.executor->post([self = shared_from_this()] {
    self->pump_posted_ = false;
    self->pump();
  });
}

void LaneDriver::post_renewal() {
  renewal_.executor->post([self = shared_from_this()] { self->pump_renewal(); });
}

/// One turn on the I/O executor. An answer that arrives inside it (a store may be quick) asks for
/// another turn instead of nesting.
void LaneDriver::pump() {
  if (over_) return;
  if (pumping_) {
    pump_again_ = true;
    return;
  }
  pumping_ = true;
  base::MonoTime next;
  do {
    pump_again_ = false;
    Actions actions;
    const base::MonoTime now = main_.executor->now();
    std::vector<engine::Finished> ended = dispatcher_.collect();
    std::vector<engine::Started> running;
    if (now >= sample_at_) {
      sample_at_ = now + sample_period;
      running = dispatcher_.running();
    }
    {
      const std::lock_guard lock(mutex_);
      if (!ended.empty()) engine_.on_finished(now, std::move(ended));
      if (!running.empty()) engine_.on_started(running);
      engine_.poll(now, main_.store->epoch(), actions);
      next = engine_.next_poll(now);
    }
    carry_out(actions);
  } while (pump_again_ && !over_);
  pumping_ = false;
  if (!over_) schedule_pump(next);
}

void LaneDriver::schedule_pump(base::MonoTime at) {
  if (at == base::never || pump_at_ <= at) return;
  pump_at_ = at;
  main_.executor->schedule(at, [self = shared_from_this(), at] {
    if (self->pump_at_ == at) self->pump_at_ = base::never;
    self->pump();
  });
}

void LaneDriver::schedule_renewal(base::MonoTime at) {
  if (at == base::never || renewal_at_ <= at) return;
  renewal_at_ = at;
  renewal_.executor->schedule(at, [self = shared_from_this(), at] {
    if (self->renewal_at_ == at) self->renewal_at_ = base::never;
    self->pump_renewal();
  });
}

void LaneDriver::carry_out(Actions& actions) {
  for (const engine::LogLine& line : actions.log) host_.log(line.severity, line.text);
  if (actions.fatal) host_.fatal(*actions.fatal);
  carry_out_runs(actions);
  carry_out_reads(actions);
  if (actions.poke_renewal) post_renewal();
  if (actions.drained) {
    {
      const std::lock_guard lock(mutex_);
      drained_ = true;
    }
    host_.drained();
  }
}

void LaneDriver::carry_out_runs(Actions& actions) {
  if (!actions.retract.empty()) {
    const auto got = dispatcher_.retract(actions.retract);
    const std::lock_guard lock(mutex_);
    engine_.on_retracted(main_.executor->now(), actions.retract, got);
    pump_again_ = true;
  }
  if (!actions.stop.empty()) dispatcher_.stop(actions.stop);
  if (!actions.extend.empty()) dispatcher_.extend(actions.extend);
  for (const engine::Slot slot : actions.abandon) {
    if (dispatcher_.abandon(slot)) continue;
    const std::lock_guard lock(mutex_);
    engine_.on_no_spare(main_.executor->now());
    pump_again_ = true;
  }
  if (!actions.run.empty()) dispatcher_.run(std::move(actions.run));
}

void LaneDriver::carry_out_reads(Actions& actions) {
  using base::MonoTime;
  using engine::Lane;
  store::Store& store = *main_.store;
  const MonoTime asked = main_.executor->now();
  const std::uint64_t epoch = store.epoch();
  store::Retention retention;
  {
    const std::lock_guard lock(mutex_);
    retention = engine_.retention();
  }
  if (actions.open) {
    store.open(lane_, *actions.open,
               answer<store::Opened>([this](Lane& lane, MonoTime now, auto& r) {
                 lane.on_opened(now, r);
                 if (r) host_.opened(r->epoch);
               }));
  }
  if (!actions.ack.empty()) {
    store.ack(
        lane_, std::move(actions.ack), retention,
        answer<store::AckReply>([](Lane& lane, MonoTime now, auto& r) { lane.on_acked(now, r); }));
  }
  if (!actions.settle.empty()) {
    store.settle(lane_, std::move(actions.settle), retention,
                 answer<std::vector<store::SettleStatus>>(
                     [](Lane& lane, MonoTime now, auto& r) { lane.on_settled(now, r); }));
  }
  if (!actions.claim.empty()) {
    store.claim(lane_, std::move(actions.claim),
                answer<store::ClaimReply>([asked, epoch](Lane& lane, MonoTime now, auto& r) {
                  lane.on_claimed(now, asked, epoch, r);
                }));
  }
  if (actions.take) {
    store.take(lane_, *actions.take,
               answer<store::BatchPtr>([asked, epoch](Lane& lane, MonoTime now, auto& r) {
                 lane.on_taken(now, asked, epoch, r);
               }));
  }
  if (actions.wake) store.wake(lane_);
  if (actions.tick_max > 0) {
    store.tick(lane_, actions.tick_max,
               answer<store::TickReply>(
                   [](Lane& lane, MonoTime now, auto& r) { lane.on_ticked(now, r); }));
  }
  if (actions.peek) {
    store.peek(lane_, std::move(*actions.peek),
               answer<store::PeekReply>(
                   [](Lane& lane, MonoTime now, auto& r) { lane.on_peeked(now, r); }));
  }
  if (actions.forget) {
    store.forget(lane_, *actions.forget, answer<bool>([](Lane& lane, MonoTime now, auto& r) {
                   lane.on_forgotten(now, r);
                 }));
  }
  if (actions.trim) {
    store.trim(lane_.stream, answer<std::int64_t>([](Lane& lane, MonoTime now, auto& r) {
                 lane.on_trimmed(now, r);
               }));
  }
}

/// One turn on the renewal executor.
void LaneDriver::pump_renewal() {
  if (over_) return;
  Actions actions;
  base::MonoTime next;
  {
    const base::MonoTime now = renewal_.executor->now();
    const std::lock_guard lock(mutex_);
    engine_.poll_renewal(now, renewal_.store->epoch(), actions);
    next = engine_.next_renewal(now);
  }
  if (!actions.stop.empty()) dispatcher_.stop(actions.stop);
  carry_out_renewal(actions);
  if (!over_) schedule_renewal(next);
}

void LaneDriver::carry_out_renewal(Actions& actions) {
  using base::MonoTime;
  using engine::Lane;
  store::Store& store = *renewal_.store;
  const MonoTime asked = renewal_.executor->now();
  const std::uint64_t epoch = store.epoch();
  for (std::vector<store::Receipt>& receipts : actions.renew) {
    std::vector<store::Receipt> copy = receipts;
    store.renew(lane_, std::move(receipts),
                renewal_answer<std::vector<store::RenewStatus>>(
                    [asked, epoch, copy = std::move(copy)](Lane& lane, MonoTime now, auto& r) {
                      lane.on_renewed(now, asked, epoch, copy, r);
                    }));
  }
  if (actions.enlist) {
    store.enlist(lane_, registration_,
                 renewal_answer<base::Nothing>(
                     [](Lane& lane, MonoTime now, auto& r) { lane.on_enlisted(now, r); }));
  }
}

LaneDriver::Snapshot LaneDriver::snapshot() const {
  const std::lock_guard lock(mutex_);
  Snapshot s;
  s.counters = engine_.counters();
  s.held = engine_.held();
  s.held_bytes = engine_.held_bytes();
  s.hung = engine_.hung();
  s.clean = engine_.clean();
  s.unhealthy = engine_.unhealthy();
  s.connected = engine_.connected();
  s.drained = drained_;
  s.opened = engine_.opened();
  s.group_epoch = engine_.epoch_of_group();
  return s;
}

}  // namespace penstock::runtime
