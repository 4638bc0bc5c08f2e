#include <utility>

#include <penstock/inspect.hpp>

#include "api/home.hpp"
#include "api/wait.hpp"
#include "base/entry_id.hpp"

namespace penstock {

namespace {

ConsumerView view(const store::Survey::Consumer& c, store::ServerMs now) {
  ConsumerView out;
  out.name = c.name;
  out.pending = c.pending;
  out.idle_ms = c.idle_ms;
  out.parked = c.name == store::parked_consumer;
  if (c.worker) {
    out.registered = true;
    out.host = c.worker->host;
    out.pid = c.worker->pid;
    out.lease_ms = c.worker->lease_ms;
    out.renewed_ms_ago = now - c.worker->renewed_at;
  }
  return out;
}

GroupView view(const store::Survey::Group& g, store::ServerMs now) {
  GroupView out;
  out.name = g.name;
  out.ready = g.ready;
  out.ready_capped = g.ready_capped;
  out.leased = g.leased;
  out.parked = g.parked;
  out.dead = g.dead;
  out.oldest_ready_ms = g.oldest_ready_ms;
  out.oldest_pending_ms = g.oldest_pending_ms;
  for (const store::Survey::Consumer& c : g.consumers) out.consumers.push_back(view(c, now));
  return out;
}

}  // namespace

class Inspector::Impl {
 public:
  Impl(std::string_view url, milliseconds timeout) : home(url) {
    if (timeout <= milliseconds::zero())
      throw Error(errc::bad_option, "timeout must be more than 0");
    home.limit_calls(timeout, true);
    home.name_connections("penstock-inspect");
    session = std::make_unique<api::Session>(home);
  }
  api::Home home;
  std::unique_ptr<api::Session> session;
};

Inspector::Inspector(std::string url, milliseconds timeout)
    : impl_(std::make_unique<Impl>(url, timeout)) {}
Inspector::~Inspector() = default;

std::vector<std::string> Inspector::streams() {
  return impl_->session->wait<std::vector<std::string>>(
      [&](auto done) { impl_->session->store().streams(std::move(done)); });
}

StreamView Inspector::stream(std::string_view name) {
  const std::string stream(name);
  const auto s = impl_->session->wait<store::Survey>(
      [&](auto done) { impl_->session->store().survey(stream, std::move(done)); });
  StreamView out;
  out.name = stream;
  out.exists = s.exists;
  out.length = s.length;
  out.dead = s.dead;
  if (s.retention) out.retention = static_cast<Retention>(*s.retention);
  for (const store::Survey::Group& g : s.groups) out.groups.push_back(view(g, s.now));
  return out;
}

std::vector<PendingView> Inspector::pending(std::string_view stream, std::string_view group,
                                            std::string_view from, std::uint32_t max) {
  if (max < 1 || max > store::batch_max) throw Error(errc::bad_option, "max: give 1 to 256");
  base::EntryId first;
  if (!from.empty()) {
    const auto id = base::parse_entry_id(from);
    if (!id) throw Error(errc::bad_option, "from is no entry id: give <ms>-<seq>");
    first = *id;
  }
  const store::Lane lane{std::string(stream), std::string(group), ""};
  const auto survey = impl_->session->wait<store::Survey>(
      [&](auto done) { impl_->session->store().survey(lane.stream, std::move(done)); });
  const auto rows = impl_->session->wait<std::vector<store::PendingRow>>(
      [&](auto done) { impl_->session->store().pending(lane, first, max, std::move(done)); });
  std::vector<PendingView> out;
  for (const store::PendingRow& row : rows) {
    PendingView p;
    p.id = base::to_string(row.id);
    p.owner = row.owner;
    p.idle_ms = row.idle_ms;
    p.delivery = row.delivery;
    if (row.due) p.due_in_ms = *row.due - survey.now;
    p.attempts = row.note.attempts;
    p.first_failed_ms = row.note.first_failed;
    p.last_error = row.note.error;
    out.push_back(std::move(p));
  }
  return out;
}

}  // namespace penstock
