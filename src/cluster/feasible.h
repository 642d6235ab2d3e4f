// The questions that submission asks the planner. Internal to cluster/.
#pragma once

#include "model/input.h"

namespace phalanx::cluster {

// An error if no configured node, were they all free, could ever hold it.
Status feasible(const State& state, const WorkloadSpec& spec);
// sbatch --test-only: when it would start if it were submitted now.
Result<Time> would_start(const State& state, const WorkloadSpec& spec, Time now);

}  // namespace phalanx::cluster
