// What goes wrong at a moment of its own.
#include "simulation/worker.hpp"

namespace penstock::simulation {

void World::strike(const Strike& s) {
  switch (s.fault) {
    case Fault::crash:
    case Fault::pause:
    case Fault::close:
    case Fault::outage:
    case Fault::half_outage:
      if (Worker* worker = living(s.target); worker != nullptr) strike_worker(s, *worker);
      return;
    default:
      return strike_server(s);
  }
}

void World::strike_worker(const Strike& s, Worker& worker) {
  ++counts_[static_cast<std::size_t>(s.fault)];
  note(worker.link.condition.consumer, name_of(s.fault));
  Link& link = worker.link;
  switch (s.fault) {
    case Fault::crash:
      return kill(worker, "is killed");
    case Fault::close:
      return close(worker);
    case Fault::pause:
      link.process.pause();
      return after(s.lasts, [this, &link] {
        note(link.condition.consumer, "resumes");
        link.process.resume();
      });
    default:
      break;
  }
  link.requests_blocked = link.requests_blocked || s.fault == Fault::outage;
  link.replies_blocked = link.condition.cut_off = true;
  after(s.lasts, [this, &link] {
    note(link.condition.consumer, "is reachable");
    link.requests_blocked = link.replies_blocked = link.condition.cut_off = false;
    link.condition.trouble = loop_.now();
  });
}

void World::strike_server(const Strike& s) {
  // Known, see docs/testing.md: while one of several groups is away, the others' trim does not
  // know what it needs.
  const bool trims = plan_.groups > 1 && plan_.lane.retention == store::Retention::trim_settled;
  if (trims && (s.fault == Fault::group_destroyed || s.fault == Fault::key_deleted)) return;
  ++counts_[static_cast<std::size_t>(s.fault)];
  const std::string stream = stream_name(s.target % plan_.streams);
  const std::string group = group_name(s.target / 8 % plan_.groups);
  note(stream + "/" + group, name_of(s.fault));
  switch (s.fault) {
    case Fault::server_outage: {
      net_.server_away = true;
      const auto trouble = [this] {
        for (const auto& worker : workers_) worker->link.condition.trouble = loop_.now();
      };
      trouble();
      return after(s.lasts, [this, trouble] {
        net_.server_away = false;
        trouble();
      });
    }
    case Fault::group_destroyed:
      if (server_->destroy_group(stream, group)) checker_.disturbed(stream, group);
      return;
    case Fault::key_deleted:
      server_->delete_key(stream);
      return checker_.stream_deleted(stream);
    case Fault::position_back: {
      const auto entries = server_->entries(stream);
      const auto last = server_->last_delivered(stream, group);
      if (!last || entries.empty()) return;
      const store::EntryId back = entries[s.target / 64 % entries.size()].first;
      if (back >= *last || !server_->set_group_id(stream, group, back)) return;
      return checker_.disturbed(stream, group);
    }
    case Fault::storage_full:
      refuse_writes(true);
      return after(s.lasts, [this] { refuse_writes(false); });
    case Fault::clock_jump: {
      const auto jump = std::chrono::duration_cast<std::chrono::milliseconds>(s.lasts).count();
      skew_ms_ += s.target % 2 == 0 ? jump : -jump;
      return;
    }
    default:
      return;
  }
}

void World::refuse_writes(bool on) {
  full_ = on;
  server_->refuse_writes(on);
  checker_.storage_full(on);
}

}  // namespace penstock::simulation
