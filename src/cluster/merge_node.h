// A node as it is offered: what its agent found, bounded by what is configured. Internal to
// cluster/; pure.
#pragma once

#include <string>

#include "model/node.h"

namespace phalanx::cluster {

// The smaller amount counts, and the configured name of a GPU type; `configured` may be null.
// Devices keep the agent's order.
NodeSpec merged(const NodeSpec* configured, const NodeSpec& reported);

// In words, where the agent found less than is configured: "gpus 7/8, cpus 32/64"; empty if
// nowhere.
std::string shortfall(const NodeSpec* configured, const NodeSpec& reported);

// The same boot, seen again: a device keeps its index for as long as it may be held. One that is no
// longer reported stays, failed; new ones come at the end.
std::vector<Device> same_devices(const std::vector<Device>& before,
                                 const std::vector<Device>& reported);

}  // namespace phalanx::cluster
