// Who may do what: here and nowhere else. Each question is answered with an error for people, or
// nothing. Identities come from the door and are trusted. Pure.
#pragma once

#include "base/result.h"
#include "model/input.h"

namespace phalanx::cluster {

// May do what root may do to other people's work.
bool is_operator(const ClusterConfig& config, const Identity& who);
// The cluster speaks itself: ticks, the planner, the doors of agents.
Status may_speak_for_cluster(const Identity& who);
Status may_administer(const ClusterConfig& config, const Identity& who, std::string_view what);
// Change, stop, hold, or start steps in work that `spec` describes.
Status may_change(const ClusterConfig& config, const Identity& who, const WorkloadSpec& spec);
Status may_change(const ClusterConfig& config, const Identity& who, const Object& object);
// `spec` names its owner and partition.
Status may_submit(const ClusterConfig& config, const Identity& who, const WorkloadSpec& spec,
                  const Partition& partition);

}  // namespace phalanx::cluster
