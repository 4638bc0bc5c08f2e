#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace penstock::cli {

/// For people's eyes: control characters, bytes that are no UTF-8, direction overrides and the
/// backslash come out as \n, \t, \xNN, \u{NNNN} or \\, so that data can neither drive a terminal
/// nor forge a line. At most `max` bytes of input, then "...".
std::string escaped(std::string_view data, std::size_t max = 4096);

bool valid_utf8(std::string_view data);
/// Each byte that belongs to no character becomes U+FFFD.
std::string repaired_utf8(std::string_view data);
/// The last `max` bytes at most, begun at a character's first byte.
std::string_view tail(std::string_view data, std::size_t max);

/// The one of `known` that `word` was most likely meant to be.
std::optional<std::string> closest(std::string_view word, std::span<const std::string_view> known);
/// ` (did you mean "known"?)`, or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

/// A whole number in [min, max], digits only. The text of a failure is in `why`.
std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t min,
                                          std::uint64_t max, std::string& why);

}  // namespace penstock::cli
