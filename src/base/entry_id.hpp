#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::base {

/// A stream entry's id: `<ms>-<seq>`.
struct EntryId {
  std::uint64_t ms = 0;
  std::uint64_t seq = 0;
  auto operator<=>(const EntryId&) const = default;
};

std::string to_string(EntryId id);
/// Appends the text form to `out` (hot path: no temporary string).
void append_to(std::string& out, EntryId id);
/// Strict: digits, '-', digits, no sign, no space, no overflow; a bare `<ms>` means `<ms>-0`.
std::optional<EntryId> parse_entry_id(std::string_view text);
/// The smallest id above `id`; saturates at the largest one.
EntryId next(EntryId id);

struct EntryIdHash {
  using is_avalanching = void;
  std::size_t operator()(EntryId id) const noexcept {
    std::uint64_t h = (id.ms * 0x9E3779B97F4A7C15ULL) ^ (id.seq + 0x7F4A7C15ULL);
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93ULL;
    return static_cast<std::size_t>(h ^ (h >> 32));
  }
};

}  // namespace penstock::base
