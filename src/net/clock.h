// The clocks of the edge. The core has none: whoever calls it reads one here and hands the number
// in. Milliseconds; thread-safe; cannot fail.
#pragma once

#include "base/time.h"

namespace phalanx::net {

// The civil clock. It can jump; only the server's shell may decide what a jump means.
Time wall_now();
// Since boot, counting time in suspend: for durations that are reported. Never jumps, lost by a
// reboot.
Duration boottime_now();

}  // namespace phalanx::net
