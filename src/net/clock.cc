#include "net/clock.h"

#include <time.h>

namespace phalanx::net {
namespace {

Duration read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::chrono::floor<Duration>(seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace

Time wall_now() { return Time(read_clock(CLOCK_REALTIME)); }

Duration boottime_now() { return read_clock(CLOCK_BOOTTIME); }

}  // namespace phalanx::net
