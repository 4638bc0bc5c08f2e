#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "cli/render.hpp"
#include "cli/text.hpp"

namespace penstock::cli {
namespace {

using Row = std::vector<std::string>;

// Characters, not bytes: names may hold any.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// The first column to the left, the others as `left` says; two spaces between them.
std::string table(const std::vector<Row>& rows, const std::vector<bool>& left,
                  std::string_view indent, bool bold_head) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line(indent);
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const std::string pad(widths[i] - width(rows[r][i]), ' ');
      line += left[i] ? rows[r][i] + pad : pad + rows[r][i];
      if (i + 1 < rows[r].size()) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += bold_head && r == 0 ? "\x1b[1m" + line + "\x1b[0m\n" : line + "\n";
  }
  return out;
}

std::string ready_text(const GroupView& group) {
  if (!group.ready) return "unknown";
  return (group.ready_capped ? ">=" : "") + std::to_string(*group.ready);
}

std::string dead_text(std::int64_t dead) { return dead < 0 ? "unknown" : std::to_string(dead); }

// The older of the two where both are there: how long the group's oldest work has waited.
std::string oldest_text(const GroupView& group) {
  if (!group.oldest_ready_ms && !group.oldest_pending_ms) return "-";
  return age_text(std::max(group.oldest_ready_ms.value_or(0), group.oldest_pending_ms.value_or(0)));
}

std::string retention_text(const std::optional<Retention>& retention) {
  if (!retention) return "not decided";
  switch (*retention) {
    case Retention::delete_on_ack:
      return "delete_on_ack";
    case Retention::trim_settled:
      return "trim_settled";
    case Retention::keep:
      return "keep";
  }
  return "unknown";
}

std::string consumers_text(const GroupView& group) {
  std::vector<Row> rows;
  for (const ConsumerView& c : group.consumers) {
    if (c.parked) continue;  // said by the group's own number
    std::string state = "keeps no leases, seen " + age_text(c.idle_ms) + " ago";
    if (c.registered) {
      state = fmt::format("lease {}, renewed {} ago, pid {} on {}", age_text(c.lease_ms),
                          age_text(c.renewed_ms_ago), c.pid, escaped(c.host, 80));
    }
    rows.push_back({escaped(c.name, 80), fmt::format("{} held", c.pending), std::move(state)});
  }
  return rows.empty() ? "" : table(rows, {true, false, true}, "      ", false);
}

std::string stream_text(const StreamView& stream, bool bold) {
  std::string out = fmt::format("{}{}{}", bold ? "\x1b[1m" : "", escaped(stream.name, 200),
                                bold ? "\x1b[0m" : "");
  if (!stream.exists) out += "  not initialised";
  out += fmt::format("  stored {}  dead {}  retention {}\n", stream.length, dead_text(stream.dead),
                     retention_text(stream.retention));
  if (stream.groups.empty()) {
    return out + "  no group  ready 0  leased 0  parked 0  dead " + dead_text(stream.dead) + "\n";
  }
  for (const GroupView& group : stream.groups) {
    out += table({{"group", "ready", "leased", "parked", "dead", "oldest"},
                  {escaped(group.name, 80), ready_text(group), std::to_string(group.leased),
                   std::to_string(group.parked), dead_text(group.dead), oldest_text(group)}},
                 {true, false, false, false, false, false}, "  ", bold);
    out += consumers_text(group);
  }
  return out;
}

}  // namespace

std::string age_text(std::int64_t ms) {
  if (ms < 0) return "0ms";
  if (ms < 1'000) return fmt::format("{}ms", ms);
  const std::int64_t s = ms / 1'000;
  if (s < 60) return fmt::format("{}.{}s", s, ms % 1'000 / 100);
  if (s < 3'600) return fmt::format("{}min {}s", s / 60, s % 60);
  if (s < 86'400) return fmt::format("{}h {}min", s / 3'600, s % 3'600 / 60);
  return fmt::format("{}d {}h", s / 86'400, s % 86'400 / 3'600);
}

std::string streams_text(const std::vector<StreamView>& streams, bool bold) {
  if (streams.empty()) return "no streams\n";
  std::string out;
  for (const StreamView& stream : streams) {
    if (!out.empty()) out += "\n";
    out += stream_text(stream, bold);
  }
  return out;
}

std::string pending_text(const std::vector<PendingView>& rows, bool header, bool bold) {
  std::vector<Row> cells;
  if (header) cells.push_back({"id", "owner", "silent", "delivery", "failed", "due", "last error"});
  for (const PendingView& row : rows) {
    std::string due = "-";
    if (row.due_in_ms) {
      due = *row.due_in_ms > 0 ? "in " + age_text(*row.due_in_ms) : "now";
    }
    cells.push_back({escaped(row.id, 60), escaped(row.owner, 80), age_text(row.idle_ms),
                     std::to_string(row.delivery), std::to_string(row.attempts), std::move(due),
                     escaped(row.last_error, 120)});
  }
  return table(cells, {true, true, false, false, false, false, true}, "", bold && header);
}

}  // namespace penstock::cli
