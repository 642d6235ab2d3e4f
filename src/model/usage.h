// The arithmetic of what work costs, for whoever charges it and whoever tells it. Pure values.
#pragma once

#include <cstddef>

#include "base/quantity.h"
#include "model/workload.h"

namespace phalanx {

// What these amounts cost when they are held for `held`; nothing for a negative time. Memory is in
// bytes and counted in MiB, rounded up; thousandths of a CPU are rounded down at the end.
Usage usage_of(Quantity cpus, std::int64_t memory, std::size_t gpus, Duration held);
template <class Share>
Usage usage_of(const Share& share, Duration held) {
  return usage_of(share.cpus, share.memory, share.gpus.size(), held);
}

Usage& operator+=(Usage& sum, const Usage& more);

}  // namespace phalanx
