#pragma once

namespace penstock::base {
/// Prints what failed and where, and aborts. Never returns.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}  // namespace penstock::base

/// On in every build: an invariant of ours that does not hold must not go on silently.
#define PENSTOCK_ASSERT(expression)    \
  ((expression) ? static_cast<void>(0) \
                : ::penstock::base::assertion_failed(#expression, __FILE__, __LINE__))
