#pragma once

#include <cstdint>
#include <string>

namespace penstock::bench {

/// The loop that people write by hand: one connection, XREADGROUP COUNT n, handle, XACK of all.
struct BareLoop {
  std::string socket;
  std::string stream;
  std::string group;
  int count = 100;
};

/// Drains until `messages` entries are handled. Returns how many were; throws std::runtime_error.
std::uint64_t run_bare_loop(const BareLoop& loop, std::uint64_t messages);

/// XADDs `messages` entries with one field `body` of `bytes` bytes, pipelined.
void fill(const std::string& socket, const std::string& stream, std::uint64_t messages,
          std::size_t bytes);

/// One command, its reply dropped; throws where the server answers an error.
void command(const std::string& socket, const std::string& line);

}  // namespace penstock::bench
