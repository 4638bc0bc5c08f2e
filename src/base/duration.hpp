#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace penstock::base {

/// The longest duration that is taken: ten years. More is a slip of the hand.
inline constexpr std::chrono::milliseconds duration_max{std::chrono::hours{24 * 3653}};

/// `250ms`, `2s`, `0.5min`, `1h`: a number, at once followed by its unit. Whole milliseconds, 0
/// allowed. The failure's text says what to write instead; it does not name the option.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

/// In the largest unit that divides it: parse_duration gives the same value back.
std::string format_duration(std::chrono::milliseconds value);

}  // namespace penstock::base
