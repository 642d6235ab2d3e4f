// The ids of the domain. One counter in State gives them all; none is ever reused.
#pragma once

#include "base/id.h"

namespace phalanx {

using WorkloadId = Id<struct WorkloadTag>;  // a Workload or an Array: they share one numbering
using NodeId = Id<struct NodeTag>;
using StepNumber = std::uint32_t;
using JobNumber = std::uint32_t;      // the number that a Slurm user sees; a counter of its own
using AttemptNumber = std::uint32_t;  // from 1; the fence: a higher one makes all lower ones void
using DeviceIndex =
    std::uint32_t;  // index in Node::devices; on one node, for the life of its configuration

// The batch script's step, as Slurm numbers it; ordinary steps count from 0.
inline constexpr StepNumber kBatchStep = 0xfffffffb;

}  // namespace phalanx
