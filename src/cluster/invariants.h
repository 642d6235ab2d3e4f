// What must hold after every apply(), in tests and in the simulator: each violation as a sentence.
//   no device has two owners, and its owner holds an unreleased share of it; NodeUse is the sum of
//   live shares; a gang is all or nothing: a placed or running attempt has exactly the tasks of its
//   spec; attempt numbers only grow; a pending workload is in `pending`, an ended one is not; array
//   indexes are pending, a live element, or gone: never two of these; indexes and numbers are
//   unique; blob_uses counts exactly the live references; every index map agrees with the rows.
#pragma once

#include <string>
#include <vector>

#include "model/state.h"

namespace phalanx::cluster {

std::vector<std::string> violations(const State& state);

}  // namespace phalanx::cluster
