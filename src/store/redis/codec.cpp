#include "store/redis/codec.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace penstock::store {

namespace {

/// Takes a whole number and the one `end` byte behind it off the front.
bool take_number(std::string_view& text, char end, std::int64_t& value) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || at == text.data() + text.size() || *at != end) return false;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
  return true;
}

}  // namespace

std::optional<Note> parse_note(std::string_view text) {
  if (!text.starts_with("1 ")) return std::nullopt;
  text.remove_prefix(2);
  Note note;
  std::int64_t size = 0;
  if (!take_number(text, ' ', note.attempts) || !take_number(text, ' ', note.base) ||
      !take_number(text, ' ', note.crashes) || !take_number(text, ' ', note.first_failed) ||
      !take_number(text, ':', size) || size < 0 || static_cast<std::size_t>(size) > text.size()) {
    return std::nullopt;
  }
  note.error = text.substr(0, static_cast<std::size_t>(size));
  note.checkpoint = text.substr(static_cast<std::size_t>(size));
  return note;
}

std::optional<Registration> parse_row(std::string_view consumer, std::string_view text) {
  Registration row;
  row.consumer = consumer;
  if (!take_number(text, ' ', row.lease_ms) || !take_number(text, ' ', row.renewed_at) ||
      !take_number(text, ' ', row.pid) || !take_number(text, ' ', row.pid_started)) {
    return std::nullopt;
  }
  const auto space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  row.version = text.substr(0, space);
  row.host = text.substr(space + 1);
  return row;
}

std::string_view name_of(Retention retention) {
  switch (retention) {
    case Retention::delete_on_ack:
      return "delete_on_ack";
    case Retention::trim_settled:
      return "trim_settled";
    case Retention::keep:
      break;
  }
  return "keep";
}

std::optional<Retention> parse_retention(std::string_view name) {
  for (const auto one : {Retention::delete_on_ack, Retention::trim_settled, Retention::keep}) {
    if (name == name_of(one)) return one;
  }
  return std::nullopt;
}

std::string refused_name(std::string_view what, std::string_view name) {
  std::string why(what);
  if (name.empty()) return why.append(" has no name");
  // A server takes these words in a name for options when it looks for the keys (redis #15478).
  static constexpr std::array<std::string_view, 6> words{"STREAMS", "GROUP", "COUNT",
                                                         "BLOCK",   "NOACK", "CLAIM"};
  const auto same = [name](std::string_view word) {
    return std::equal(word.begin(), word.end(), name.begin(), name.end(), [](char a, char b) {
      return a == static_cast<char>(std::toupper(static_cast<unsigned char>(b)));
    });
  };
  if (std::any_of(words.begin(), words.end(), same)) {
    return why.append(" cannot be called ")
        .append(name)
        .append(": the server reads it as an option");
  }
  return {};
}

}  // namespace penstock::store
