// The one place that includes Boost.JSON.
#include <fmt/core.h>

#include <boost/json.hpp>

#include "cli/render.hpp"
#include "cli/text.hpp"

namespace penstock::cli {
namespace {

namespace json = boost::json;

std::string hex(std::string_view data) {
  std::string out;
  for (const char c : data) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

void put_text(json::object& out, std::string_view name, std::string_view value) {
  out[name] = repaired_utf8(value);
  if (!valid_utf8(value)) out[std::string(name) + "_hex"] = hex(value);
}

template <class T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::value dead_value(std::int64_t dead) { return dead < 0 ? json::value(nullptr) : dead; }

json::value retention_value(const std::optional<Retention>& retention) {
  if (!retention) return nullptr;
  switch (*retention) {
    case Retention::delete_on_ack:
      return "delete_on_ack";
    case Retention::trim_settled:
      return "trim_settled";
    case Retention::keep:
      return "keep";
  }
  return nullptr;
}

json::object consumer_object(const ConsumerView& c) {
  json::object out;
  put_text(out, "name", c.name);
  out["pending"] = c.pending;
  out["idle_ms"] = c.idle_ms;
  out["registered"] = c.registered;
  out["parked"] = c.parked;
  if (c.registered) {
    put_text(out, "host", c.host);
    out["pid"] = c.pid;
    out["lease_ms"] = c.lease_ms;
    out["renewed_ms_ago"] = c.renewed_ms_ago;
  }
  return out;
}

json::object group_object(const GroupView& g) {
  json::object out;
  put_text(out, "name", g.name);
  out["ready"] = or_null(g.ready);
  out["ready_at_least"] = g.ready_capped;
  out["leased"] = g.leased;
  out["parked"] = g.parked;
  out["dead"] = dead_value(g.dead);
  out["oldest_ready_ms"] = or_null(g.oldest_ready_ms);
  out["oldest_pending_ms"] = or_null(g.oldest_pending_ms);
  json::array consumers;
  for (const ConsumerView& c : g.consumers) consumers.push_back(consumer_object(c));
  out["consumers"] = std::move(consumers);
  return out;
}

}  // namespace

std::string streams_json(const std::vector<StreamView>& streams) {
  json::array list;
  for (const StreamView& s : streams) {
    json::object out;
    put_text(out, "name", s.name);
    out["initialised"] = s.exists;
    out["stored"] = s.length;
    out["dead"] = dead_value(s.dead);
    out["retention"] = retention_value(s.retention);
    json::array groups;
    for (const GroupView& g : s.groups) groups.push_back(group_object(g));
    out["groups"] = std::move(groups);
    list.push_back(std::move(out));
  }
  return json::serialize(json::object{{"streams", std::move(list)}}) + "\n";
}

std::string pending_row_json(const PendingView& row) {
  json::object out;
  out["id"] = row.id;
  put_text(out, "owner", row.owner);
  out["idle_ms"] = row.idle_ms;
  out["delivery"] = row.delivery;
  out["attempts"] = row.attempts;
  out["due_in_ms"] = or_null(row.due_in_ms);
  out["first_failed_ms"] =
      row.first_failed_ms == 0 ? json::value(nullptr) : json::value(row.first_failed_ms);
  put_text(out, "last_error", row.last_error);
  return json::serialize(out);
}

std::string json_text(std::string_view text) {
  return json::serialize(json::value(json::string(repaired_utf8(text))));
}

std::string sent_json(const std::string& id, std::string_view error, std::string_view text) {
  json::object out;
  if (!id.empty()) {
    out["id"] = id;
  } else {
    out["id"] = nullptr;
    out["error"] = json::string(error);
    put_text(out, "text", text);
  }
  return json::serialize(out) + "\n";
}

}  // namespace penstock::cli
