#include <algorithm>

#include <penstock/inspect.hpp>

#include "base/entry_id.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "cli/text.hpp"

namespace penstock::cli {
namespace {

constexpr std::uint32_t page = 256;
constexpr std::size_t text_rows_max = 1'000;

/// Pages of the pending entries; `each` says whether to go on.
template <class F>
void pages(Inspector& inspector, const PendingCommand& command, F each) {
  std::string from;
  while (true) {
    const auto rows = inspector.pending(command.stream, command.group, from, page);
    if (!each(rows) || rows.size() < page) return;
    const auto last = base::parse_entry_id(rows.back().id);
    if (!last) throw Error(errc::internal, "the store gave an entry id that is none");
    from = base::to_string(base::next(*last));
  }
}

bool known_group(Inspector& inspector, const PendingCommand& command) {
  const StreamView stream = inspector.stream(command.stream);
  return std::any_of(stream.groups.begin(), stream.groups.end(),
                     [&](const GroupView& group) { return group.name == command.group; });
}

int pending_as_json(Inspector& inspector, const PendingCommand& command, bool known) {
  print("{\"stream\":" + json_text(command.stream) + ",\"group\":" + json_text(command.group) +
        ",\"initialised\":" + (known ? "true" : "false") + ",\"pending\":[");
  bool first = true;
  if (known) {
    pages(inspector, command, [&](const std::vector<PendingView>& rows) {
      for (const PendingView& row : rows) {
        if (!print((first ? "\n" : ",\n") + pending_row_json(row))) return false;
        first = false;
      }
      return true;
    });
  }
  print("]}\n");
  return finish_output(exit_code::ok);
}

}  // namespace

int run_show(const ShowCommand& command) {
  Inspector inspector(command.common.url);
  std::vector<std::string> names;
  if (command.stream) {
    names.push_back(*command.stream);
  } else {
    names = inspector.streams();
    std::sort(names.begin(), names.end());
  }
  std::vector<StreamView> streams;
  for (const std::string& name : names) streams.push_back(inspector.stream(name));
  print(command.common.format == Format::json ? streams_json(streams)
                                              : streams_text(streams, wants_colour()));
  return finish_output(exit_code::ok);
}

int run_pending(const PendingCommand& command) {
  Inspector inspector(command.common.url);
  const bool known = known_group(inspector, command);
  if (command.common.format == Format::json) return pending_as_json(inspector, command, known);
  std::size_t shown = 0;
  if (known) {
    pages(inspector, command, [&](const std::vector<PendingView>& rows) {
      if (!rows.empty()) print(pending_text(rows, shown == 0, wants_colour()));
      shown += rows.size();
      return shown < text_rows_max;
    });
  }
  if (!known) {
    print("nothing pending: group " + escaped(command.group, 80) + " of stream " +
          escaped(command.stream, 200) + " is not initialised\n");
  } else if (shown == 0) {
    print("nothing pending\n");
  } else if (shown >= text_rows_max) {
    print("... there may be more; -o json lists all\n");
  }
  return finish_output(exit_code::ok);
}

}  // namespace penstock::cli
