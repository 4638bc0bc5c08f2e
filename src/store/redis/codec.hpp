#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/types.hpp"

namespace penstock::store {

// The text forms of docs/wire.md. Values that do not parse come from other hands or a later
// version: they answer empty, never half.

/// `1 <attempts> <base> <crashes> <first failed> <bytes of error>:<error><checkpoint>`
std::optional<Note> parse_note(std::string_view text);
/// `<lease ms> <renewed at> <pid> <start of the process> <version> <host>`
std::optional<Registration> parse_row(std::string_view consumer, std::string_view text);

std::string_view name_of(Retention retention);
std::optional<Retention> parse_retention(std::string_view name);

/// Why this name cannot be used for a stream, group or consumer; empty: it can.
std::string refused_name(std::string_view what, std::string_view name);

}  // namespace penstock::store
