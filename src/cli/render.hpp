#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <penstock/inspect.hpp>

namespace penstock::cli {

/// Text for people: every name and error escaped, "unknown" where the server does not know.
std::string streams_text(const std::vector<StreamView>& streams, bool bold);
/// Header and rows of one page; `header` false for the pages after the first.
std::string pending_text(const std::vector<PendingView>& rows, bool header, bool bold);

/// One document (docs/program.md). Texts that are no UTF-8 are repaired, and a further member
/// `<name>_hex` holds their bytes.
std::string streams_json(const std::vector<StreamView>& streams);
std::string pending_row_json(const PendingView& row);
/// A JSON string, quotes included.
std::string json_text(std::string_view text);
/// One line for one message of `send`.
std::string sent_json(const std::string& id, std::string_view error, std::string_view text);

/// `250ms`, `12.5s`, `3min 20s`, `2h 5min`, `3d 4h`: an age for people.
std::string age_text(std::int64_t ms);

}  // namespace penstock::cli
