#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace penstock::base {

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "penstock: internal fault: %s does not hold (%s:%d)\n", expression, file,
               line);
  std::abort();
}

}  // namespace penstock::base
