#include "simulation/faulty_store.hpp"

#include "simulation/faulty_line.hpp"

namespace penstock::simulation {

FaultyStore::FaultyStore(Network& network, Link& link) : net_(network), link_(link) {
  commands_.far = std::make_shared<Far>(net_.server, net_.wire);
  reads_.far = std::make_shared<Far>(net_.server, net_.wire);
}

bool FaultyStore::requests_pass() const { return !net_.server_away && !link_.requests_blocked; }
bool FaultyStore::replies_pass() const { return !net_.server_away && !link_.replies_blocked; }

MonoDuration FaultyStore::latency() {
  const auto width =
      static_cast<std::uint64_t>((net_.plan.latency_max - net_.plan.latency_min).count());
  return net_.plan.latency_min + MonoDuration(net_.rng.below(width + 1));
}

void FaultyStore::count(Fault fault) {
  ++net_.counts[static_cast<std::size_t>(fault)];
  net_.trace.add(net_.loop.now(), link_.condition.consumer, name_of(fault));
  link_.condition.trouble = net_.loop.now();
}

FaultyStore::Fate FaultyStore::draw_fate() {
  if (net_.calm) return Fate::fine;
  double at = net_.rng.unit();
  for (std::size_t i = 0; i < net_.plan.call_faults.size(); ++i) {
    at -= net_.plan.call_faults[i];
    if (at >= 0) continue;
    count(static_cast<Fault>(i));
    return static_cast<Fate>(i + 1);
  }
  return Fate::fine;
}

void FaultyStore::cut(Line& line, std::uint64_t generation, errc why) {
  if (line.generation != generation) return;
  net_.trace.add(net_.loop.now(), link_.condition.consumer, "cut", {},
                 static_cast<std::int64_t>(why));
  link_.condition.trouble = net_.loop.now();
  hang_up(line);
  ++link_.epoch;
  for (auto& [number, fail] : std::exchange(line.out, {})) {
    fail(base::Failure{why, "the simulated line broke"});
  }
}

/// The server's end of the old connection goes on until it notices: what it hands to a read that
/// nobody hears any more stays leased. The next read ends it at the latest (CLIENT KILL).
void FaultyStore::hang_up(Line& line) {
  ++line.generation;
  line.up = false;
  std::shared_ptr<Far> old = std::exchange(line.far, std::make_shared<Far>(net_.server, net_.wire));
  line.stale.push_back(old);
  const auto most = static_cast<std::uint64_t>(net_.plan.command_timeout.count());
  net_.loop.at(net_.loop.now() + MonoDuration(net_.rng.below(most)), &net_.wire,
               [old = std::move(old)] { old->close(); });
}

void FaultyStore::close() {
  hang_up(commands_);
  hang_up(reads_);
}

void FaultyStore::open(const Lane& lane, store::OpenRequest request, Done<store::Opened> done) {
  send<store::Opened>(commands_, "open", {}, std::move(done),
                      [lane, request](Inner& s, auto d) { s.open(lane, request, std::move(d)); });
}

void FaultyStore::append(const std::string& stream, std::vector<store::Draft> drafts,
                         Done<std::vector<base::Result<store::EntryId>>> done) {
  send<std::vector<base::Result<store::EntryId>>>(
      commands_, "append", {}, std::move(done),
      [stream, drafts](Inner& s, auto d) { s.append(stream, drafts, std::move(d)); });
}

void FaultyStore::take(const Lane& lane, store::TakeRequest request, Done<store::BatchPtr> done) {
  if (net_.plant == Plant::reads_too_much) request.max = request.max * 2 + 2;
  // The lanes of a worker read side by side: a wait of one must not hold up another's reply.
  send<store::BatchPtr>(
      reads_, "take", request.wait, std::move(done), [this, lane, request](Inner& s, auto d) {
        for (const std::weak_ptr<Far>& old : std::exchange(reads_.stale, {})) {
          if (const auto held = old.lock()) held->close();
        }
        s.take(lane, request, [this, lane, d = std::move(d)](base::Result<store::BatchPtr> r) {
          if (r) net_.checker.handed(lane, **r, net_.loop.now());
          d(std::move(r));
        });
      });
}

void FaultyStore::wake(const Lane& lane) {
  if (!requests_pass()) return;
  net_.loop.at(net_.loop.now() + latency(), &net_.wire,
               [lane, weak = std::weak_ptr<Far>(reads_.far)] {
                 if (const auto far = weak.lock()) far->store.wake(lane);
               });
}

void FaultyStore::tick(const Lane& lane, std::uint32_t max, Done<store::TickReply> done) {
  send<store::TickReply>(commands_, "tick", {}, std::move(done),
                         [lane, max](Inner& s, auto d) { s.tick(lane, max, std::move(d)); });
}

void FaultyStore::peek(const Lane& lane, store::PeekRequest request, Done<store::PeekReply> done) {
  send<store::PeekReply>(commands_, "peek", {}, std::move(done), [lane, request](Inner& s, auto d) {
    s.peek(lane, request, std::move(d));
  });
}

void FaultyStore::claim(const Lane& lane, std::vector<store::ClaimItem> items,
                        Done<store::ClaimReply> done) {
  send<store::ClaimReply>(
      commands_, "claim", {}, std::move(done), [this, lane, items](Inner& s, auto d) {
        s.claim(lane, items, [this, lane, d = std::move(d)](base::Result<store::ClaimReply> r) {
          if (r && r->batch != nullptr) net_.checker.handed(lane, *r->batch, net_.loop.now());
          d(std::move(r));
        });
      });
}

void FaultyStore::renew(const Lane& lane, std::vector<store::Receipt> receipts,
                        Done<std::vector<store::RenewStatus>> done) {
  const bool blind = net_.plant == Plant::blind_renew;
  send<std::vector<store::RenewStatus>>(
      commands_, "renew", {}, std::move(done), [lane, receipts, blind](Inner& s, auto d) {
        if (!blind) return s.renew(lane, receipts, std::move(d));
        d(std::vector<store::RenewStatus>(receipts.size(), store::RenewStatus::renewed));
      });
}

void FaultyStore::ack(const Lane& lane, std::vector<store::EntryId> ids, store::Retention retention,
                      Done<store::AckReply> done) {
  send<store::AckReply>(
      commands_, "ack", {}, std::move(done), [this, lane, ids, retention](Inner& s, auto d) {
        std::vector<store::EntryId> all = ids;
        if (net_.plant == Plant::acks_too_much && net_.rng.chance(0.05)) {
          for (const auto& [id, row] : net_.server->pel(lane.stream, lane.group)) {
            if (std::find(ids.begin(), ids.end(), id) == ids.end()) all.push_back(id);
          }
        }
        net_.checker.acks(lane, ids, [&] { s.ack(lane, all, retention, std::move(d)); });
      });
}

void FaultyStore::settle(const Lane& lane, std::vector<store::Settlement> items,
                         store::Retention retention, Done<std::vector<store::SettleStatus>> done) {
  if (net_.plant == Plant::counts_twice) {
    for (store::Settlement& item : items) item.note.attempts *= 2;
  }
  send<std::vector<store::SettleStatus>>(
      commands_, "settle", {}, std::move(done), [this, lane, items, retention](Inner& s, auto d) {
        net_.checker.settles(lane, items, [&] {
          s.settle(lane, items, retention, std::move(d));
          for (const store::Settlement& item : items) {
            if (net_.plant == Plant::unfenced_settle && item.kind == store::Settlement::Kind::ack) {
              net_.server->ack(lane, {item.receipt.id}, store::Retention::keep);
            }
            if (net_.plant == Plant::loses_body && item.kind == store::Settlement::Kind::park) {
              net_.server->delete_body(lane.stream, item.receipt.id);
            }
          }
        });
      });
}

void FaultyStore::enlist(const Lane& lane, store::Registration row, Done<base::Nothing> done) {
  send<base::Nothing>(commands_, "enlist", {}, std::move(done),
                      [lane, row](Inner& s, auto d) { s.enlist(lane, row, std::move(d)); });
}

void FaultyStore::forget(const Lane& lane, const std::string& consumer, Done<bool> done) {
  send<bool>(commands_, "forget", {}, std::move(done),
             [lane, consumer](Inner& s, auto d) { s.forget(lane, consumer, std::move(d)); });
}

void FaultyStore::trim(const std::string& stream, Done<std::int64_t> done) {
  send<std::int64_t>(commands_, "trim", {}, std::move(done),
                     [stream](Inner& s, auto d) { s.trim(stream, std::move(d)); });
}

void FaultyStore::survey(const std::string& stream, Done<store::Survey> done) {
  send<store::Survey>(commands_, "survey", {}, std::move(done),
                      [stream](Inner& s, auto d) { s.survey(stream, std::move(d)); });
}

void FaultyStore::streams(Done<std::vector<std::string>> done) {
  send<std::vector<std::string>>(commands_, "streams", {}, std::move(done),
                                 [](Inner& s, auto d) { s.streams(std::move(d)); });
}

void FaultyStore::pending(const Lane& lane, store::EntryId from, std::uint32_t max,
                          Done<std::vector<store::PendingRow>> done) {
  send<std::vector<store::PendingRow>>(
      commands_, "pending", {}, std::move(done),
      [lane, from, max](Inner& s, auto d) { s.pending(lane, from, max, std::move(d)); });
}

}  // namespace penstock::simulation
