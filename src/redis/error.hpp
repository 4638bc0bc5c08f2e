#pragma once

#include <string_view>

#include <penstock/error.hpp>

namespace penstock::redis {

/// The class of a server's error reply, by its first word (REDIS-FACTS 6.4) and, for NOPERM inside
/// scripts, by its text. Unknown words are errc::rejected (retryable with a cap).
errc classify(std::string_view error_text);

}  // namespace penstock::redis
