// What it cost: amounts that were held, times the time that the work ran, in whole numbers. A share
// is charged once, when it is closed (Released): from the work's start to its end as its first node
// measured them, whether its processes used it or not. Held before and after (preparing, cleaning
// up, an end that nobody could be told of), it is reserved and charged to nobody. Units:
// milliseconds; CPUs in thousandths until the last step; memory in MiB, rounded up. Pure values; no
// errors.
#pragma once

#include "base/time.h"
#include "model/workload.h"

namespace phalanx::ledger {

// What `share` costs when it is held for `held`; nothing for a negative time.
Usage usage_of(const NodeShare& share, Duration held);

}  // namespace phalanx::ledger
