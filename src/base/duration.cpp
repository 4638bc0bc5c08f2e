#include "base/duration.hpp"

#include <array>
#include <cctype>
#include <cstdint>

namespace penstock::base {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array<Unit, 4> units{{{"h", 3'600'000}, {"min", 60'000}, {"s", 1'000}, {"ms", 1}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Failure refuse(std::string_view text, const std::string& why) {
  std::string shown;
  for (const char c : text.substr(0, 40)) {
    shown += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
  }
  return {errc::bad_option, "\"" + shown + "\" is no duration: " + why};
}

constexpr const char* form = "write a number and its unit, as in 250ms, 2s, 5min or 1h";

std::string with_units(std::string_view number) {
  const std::string n(number);
  return "write " + n + "ms, " + n + "s, " + n + "min or " + n + "h";
}

Failure unknown_unit(std::string_view text, std::string_view number, std::string_view rest) {
  const std::string n(number.substr(0, 20));
  if (rest.front() == ',') return refuse(text, "write a point, not a comma, as in 0.5s");
  if (rest.front() == ' ' || rest.front() == '\t') {
    const auto unit = rest.substr(std::min(rest.find_first_not_of(" \t"), rest.size()));
    return refuse(text, "no space before the unit, write " + n + std::string(unit.substr(0, 10)));
  }
  if ((rest.front() == 'e' || rest.front() == 'E') && rest.size() > 1) {
    return refuse(text, "write the number out, as in 1000s");
  }
  if (rest == "m" || rest == "M") {
    return refuse(text, "\"m\" could be either, write " + n + "min or " + n + "ms");
  }
  if (rest == "d" || rest == "w") return refuse(text, "the largest unit is h, as in 24h");
  return refuse(text, "the units are ms, s, min and h; " + std::string(form));
}

// Number times unit in ms; the fraction is kept as digits, so that 0.1s is 100ms and no 99.
Result<std::int64_t> scale(std::string_view text, std::string_view whole, std::string_view fraction,
                           std::int64_t unit_ms) {
  const Failure too_long = refuse(text, "the longest one is ten years (87672h)");
  const std::int64_t limit = duration_max.count();
  std::int64_t value = 0;
  for (const char c : whole) {
    value = value * 10 + (c - '0');
    if (value > limit) return too_long;
  }
  if (value > limit / unit_ms) return too_long;
  value *= unit_ms;
  std::int64_t part = unit_ms;
  for (const char c : fraction) {
    // part stays a divisor of the unit: digits below one millisecond must be zero.
    if (part % 10 != 0) {
      if (c != '0') return refuse(text, "the smallest step is 1ms");
      continue;
    }
    part /= 10;
    value += part * (c - '0');
  }
  if (value > limit) return too_long;
  return value;
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (text.empty()) return Failure{errc::bad_option, "a duration is missing: " + std::string(form)};
  if (text.front() == '-') return refuse(text, "it cannot be negative");
  if (text.front() == '+') return refuse(text, "leave the sign out");
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) ++at;
  const auto whole = text.substr(0, at);
  if (whole.empty()) {
    if (text == "none") return refuse(text, std::string("this one needs a limit; ") + form);
    return refuse(text, form);
  }
  std::string_view fraction;
  if (at < text.size() && text[at] == '.') {
    const std::size_t begin = ++at;
    while (at < text.size() && is_digit(text[at])) ++at;
    fraction = text.substr(begin, at - begin);
    if (fraction.empty()) return refuse(text, "digits are missing after the point");
  }
  const auto number = text.substr(0, at);
  const auto rest = text.substr(at);
  if (rest.empty()) return refuse(text, "its unit is missing, " + with_units(number.substr(0, 20)));
  for (const Unit& unit : units) {
    if (unit.name != rest) continue;
    const auto ms = scale(text, whole, fraction, unit.ms);
    if (!ms) return ms.error();
    return std::chrono::milliseconds{*ms};
  }
  return unknown_unit(text, number, rest);
}

std::string format_duration(std::chrono::milliseconds value) {
  const std::int64_t ms = value.count();
  if (ms == 0) return "0s";
  for (const Unit& unit : units) {
    if (ms % unit.ms == 0) return std::to_string(ms / unit.ms) + std::string(unit.name);
  }
  return std::to_string(ms) + "ms";
}

}  // namespace penstock::base
