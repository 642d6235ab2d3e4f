// Which blobs an event may leave without anybody who uses them. Internal to cluster/; step() asks
// before it applies the event and looks afterwards which of them State still counts.
#pragma once

#include <string>
#include <vector>

#include "model/event.h"
#include "model/state.h"

namespace phalanx::cluster {

// By hash; some may be used still, and some may be named twice.
std::vector<std::string> blobs_let_go(const State& before, const Event& event);

}  // namespace phalanx::cluster
