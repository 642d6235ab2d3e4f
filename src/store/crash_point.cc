#include "store/crash_point.h"

#ifdef PHALANX_TEST_SEAMS

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/text.h"

namespace phalanx::store {

// Read anew at each pass: a test sets the variable in a forked child, after its own passes.
void crash_point(std::string_view name) {
  static std::atomic<std::uint64_t> passes{0};
  const char* wanted = std::getenv("PHALANX_CRASH_AT");
  if (wanted == nullptr) return;
  const auto parts = split(wanted, ':');
  if (parts[0] != name) return;
  const auto pass = parts.size() > 1 ? parse_uint(parts[1]) : std::nullopt;
  if (++passes == pass.value_or(1)) std::raise(SIGKILL);
}

}  // namespace phalanx::store

#endif
