#include "cli/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fmt/core.h>
#include <vector>

namespace penstock::cli {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: no character begins here
};

Character decode(std::string_view data) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(data[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || data.size() < bytes) return {};
  std::uint32_t code = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, bytes};
}

// Moves the cursor, turns the reading direction, or cannot be seen.
bool hostile(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) || (code >> 4) == 0xE000;
}

std::string escape_code(std::uint32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  return code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{{{:04x}}}", code);
}

// Letters to insert, drop, replace or swap with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = last;
    last = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string escaped(std::string_view data, std::size_t max) {
  std::string out;
  std::size_t at = 0;
  while (at < data.size()) {
    if (at >= max) return out + "...";
    const Character c = decode(data.substr(at));
    if (c.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(data[at]));
      ++at;
      continue;
    }
    if (hostile(c.code)) {
      out += escape_code(c.code);
    } else if (c.code == '\\') {
      out += "\\\\";
    } else {
      out += data.substr(at, c.bytes);
    }
    at += c.bytes;
  }
  return out;
}

bool valid_utf8(std::string_view data) {
  while (!data.empty()) {
    const Character c = decode(data);
    if (c.bytes == 0) return false;
    data.remove_prefix(c.bytes);
  }
  return true;
}

std::string repaired_utf8(std::string_view data) {
  std::string out;
  while (!data.empty()) {
    const Character c = decode(data);
    if (c.bytes == 0) {
      out += "\xEF\xBF\xBD";
      data.remove_prefix(1);
    } else {
      out += data.substr(0, c.bytes);
      data.remove_prefix(c.bytes);
    }
  }
  return out;
}

std::string_view tail(std::string_view data, std::size_t max) {
  if (data.size() <= max) return data;
  data.remove_prefix(data.size() - max);
  for (int i = 0; i < 3 && !data.empty(); ++i) {
    if ((static_cast<unsigned char>(data.front()) & 0xC0) != 0x80) break;
    data.remove_prefix(1);
  }
  return data;
}

std::optional<std::string> closest(std::string_view word, std::span<const std::string_view> known) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    std::size_t d = distance(word, candidate);
    if (word.size() >= 2 && candidate.starts_with(word)) d = 0;
    if (d < best_distance) {
      best_distance = d;
      best = std::string(candidate);
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  const auto best = closest(word, known);
  return best ? fmt::format(" (did you mean \"{}\"?)", *best) : std::string{};
}

std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t min,
                                          std::uint64_t max, std::string& why) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (!digits) {
    why = fmt::format("\"{}\" is no whole number; write one from {} to {}", escaped(text, 40), min,
                      max);
    return std::nullopt;
  }
  if (error != std::errc{} || at != end || value < min || value > max) {
    why = fmt::format("{} is out of range; write a number from {} to {}", escaped(text, 40), min,
                      max);
    return std::nullopt;
  }
  return value;
}

}  // namespace penstock::cli
