#include <algorithm>

#include "reconcile/reconcile.h"

namespace phalanx::reconcile {

Duration backoff(const Timers& timers, std::uint32_t failures) {
  Duration wait = timers.backoff_first;
  for (std::uint32_t i = 1; i < failures && wait < timers.backoff_most; ++i) wait *= 2;
  return std::min(wait, timers.backoff_most);
}

}  // namespace phalanx::reconcile
