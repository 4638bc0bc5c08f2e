#include "simulation/trace.hpp"

#include <cstdio>
#include <string>

namespace penstock::simulation {

void Trace::mix(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  mix(h);
}

void Trace::add(base::MonoTime now, std::string_view who, std::string_view what, base::EntryId id,
                std::int64_t number, std::string_view more) {
  const auto at = now.time_since_epoch();
  mix(static_cast<std::uint64_t>(at.count()));
  mix(who);
  mix(what);
  mix(id.ms ^ (id.seq << 48));
  mix(static_cast<std::uint64_t>(number));
  mix(more);
  if (!print_) return;
  const std::string name = id == base::EntryId{} ? std::string() : base::to_string(id);
  std::printf("%10.3f  %-14.*s %-16.*s %-18s %6lld  %.*s\n",
              std::chrono::duration<double>(at).count(), static_cast<int>(who.size()), who.data(),
              static_cast<int>(what.size()), what.data(), name.c_str(),
              static_cast<long long>(number), static_cast<int>(more.size()), more.data());
}

}  // namespace penstock::simulation
