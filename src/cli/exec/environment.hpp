#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::cli::exec {

/// What a command is told of its message.
struct MessageFacts {
  std::string stream, group, id, token;
  std::int64_t attempt = 0, delivery = 0;
  std::vector<std::pair<std::string_view, std::string_view>> fields;  ///< all, in order
};

struct Environment {
  std::vector<std::string> entries;   ///< NAME=VALUE
  std::vector<std::string> left_out;  ///< names of headers that hold a NUL byte
};

/// `x-trace.id` becomes PENSTOCK_HEADER_X_TRACE_ID.
std::string header_variable(std::string_view name);

/// `inherited` (NULL-terminated, as environ) without variables that speak of a message, then the
/// message's own. Of two headers with one variable the first wins. The body is no header.
Environment environment_of(const MessageFacts& message, const char* const* inherited);

}  // namespace penstock::cli::exec
