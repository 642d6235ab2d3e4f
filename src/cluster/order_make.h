// The orders that agents get, made from State. Internal to cluster/.
#pragma once

#include "model/state.h"
#include "model/wire.h"

namespace phalanx::cluster {

// The limit that a node keeps to.
Duration node_limit(const State& state, const Workload& w);
Fence fence_of(const State& state, WorkloadId id, AttemptNumber attempt, const NodeShare& share);
Prepare prepare_order(const State& state, const Workload& w, const NodeShare& share, bool go);
Stop stop_order(const State& state, const Workload& w, const NodeShare& share);

}  // namespace phalanx::cluster
