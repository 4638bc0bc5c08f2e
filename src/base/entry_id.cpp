#include "base/entry_id.hpp"

#include <array>
#include <charconv>
#include <limits>

namespace penstock::base {

void append_to(std::string& out, EntryId id) {
  std::array<char, 48> buffer;
  char* const end = buffer.data() + buffer.size();
  char* at = std::to_chars(buffer.data(), end, id.ms).ptr;
  *at++ = '-';
  at = std::to_chars(at, end, id.seq).ptr;
  out.append(buffer.data(), at);
}

std::string to_string(EntryId id) {
  std::string out;
  append_to(out, id);
  return out;
}

std::optional<EntryId> parse_entry_id(std::string_view text) {
  EntryId id;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, id.ms);
  if (error != std::errc{} || at == text.data()) return std::nullopt;
  if (at == end) return id;
  if (*at != '-') return std::nullopt;
  ++at;
  auto [last, error2] = std::from_chars(at, end, id.seq);
  if (error2 != std::errc{} || last != end || last == at) return std::nullopt;
  return id;
}

EntryId next(EntryId id) {
  constexpr auto top = std::numeric_limits<std::uint64_t>::max();
  if (id.seq != top) return {id.ms, id.seq + 1};
  if (id.ms != top) return {id.ms + 1, 0};
  return id;
}

}  // namespace penstock::base
