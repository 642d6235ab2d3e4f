// The swarm: scenarios made at random from a seed, played in chaos. A seed gives the text of a
// scenario, so that a failing one can be read, cut down and kept.
#pragma once

#include <cstdint>
#include <string>

namespace phalanx::sim {

// `work`: about so many workloads.
std::string random_scenario(std::uint64_t seed, int work);

}  // namespace phalanx::sim
