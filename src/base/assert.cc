#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace phalanx {

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: this cannot be: %s\n", file, line, expression);
  std::abort();
}

}  // namespace phalanx
