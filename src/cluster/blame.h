// How an attempt's end is told: whose fault it was, whether the workload waits once more, which
// nodes it avoids, when it is held, and when a node that keeps failing is drained. A stop that was
// asked for decides the end whatever the processes made of it.
//
// A launch that failed may be the node's fault or the workload's: it was the node's if the workload
// then runs on another one, and its own if it fails wherever it goes. So nobody's bad work drains a
// node, and a bad node is found out by good work. Internal to cluster/; pure.
#pragma once

#include <optional>

#include "cluster/draft.h"

namespace phalanx::cluster {

// The batch script or command has exited, or an asked stop has been confirmed.
Ended end_of_exit(const Workload& w, const AttemptReport& report);
// A stop was ordered and everybody's patience is over, or nothing ever ran.
Ended end_of_stop(const Workload& w);
// The submission itself made the launch fail (no such directory …): it does not come back.
Ended end_of_user_fault(const Workload& w, const AttemptReport& report, const Node& node);
// The node could not launch it, or lost its supervisor. `ran`: the workload's own processes may
// have.
Ended end_of_failed_launch(const State& state, const Workload& w, const Node& node,
                           const std::string& why, bool ran, Time now);
// The node rebooted, is silent for too long or was declared dead.
Ended end_of_lost_node(const Workload& w, const Node& node, const std::string& why, Time now);

// `w` runs: says so of every node that it could not be launched on, and drains one of which two
// different workloads say this.
void prove(Draft& draft, const Workload& w);

}  // namespace phalanx::cluster
