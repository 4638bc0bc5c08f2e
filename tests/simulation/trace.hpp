#pragma once

#include <cstdint>
#include <string_view>

#include "base/entry_id.hpp"
#include "base/time.hpp"

namespace penstock::simulation {

/// Everything that happens, as one number: two runs of a seed must agree on it. Prints on demand.
class Trace {
 public:
  explicit Trace(bool print) : print_(print) {}

  void mix(std::uint64_t value) {
    hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15ULL;
    hash_ ^= hash_ >> 29;
  }
  void add(base::MonoTime now, std::string_view who, std::string_view what, base::EntryId id = {},
           std::int64_t number = 0, std::string_view more = {});
  std::uint64_t hash() const { return hash_; }

 private:
  void mix(std::string_view text);

  const bool print_;
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

}  // namespace penstock::simulation
