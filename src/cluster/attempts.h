// What the core wants of an attempt on a node, and what a report about it means. Internal to
// cluster/.
#pragma once

#include "cluster/draft.h"

namespace phalanx::cluster {

// The share of the workload's current attempt on the node, if it is not released yet; else null.
const NodeShare* held_share(const Workload& w, NodeId node);

// The workload whose unreleased current attempt this fence means; null if State does not know it
// (any more): a lower attempt, another boot or cluster, released, forgotten.
const Workload* wanted(const State& state, NodeId node, const Fence& fence);

// Every process of it is gone, or never was.
bool is_gone(const AttemptReport& report);

// Concludes what can be concluded from a report: launched, ended, released, steps ended; if the
// attempt is not wanted and `answer` is set, orders that it be released or forgotten.
void settle(Draft& draft, const Node& node, const AttemptReport& report, bool answer);

}  // namespace phalanx::cluster
