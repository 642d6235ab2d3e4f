// Which rows a command's target means. Internal to cluster/.
#pragma once

#include <vector>

#include "cluster/draft.h"

namespace phalanx::cluster {

struct Selection {
  std::vector<const Workload*> workloads;  // in order of id; ended ones too
  const Array* array = nullptr;            // set if some of what is meant is still an index of it
  std::vector<std::uint32_t> indexes;      // those indexes, sorted
  bool whole_array = false;                // all of the array was meant: later indexes too
};

// NotFound if nothing is meant; Denied if the asker may not change what is meant.
Result<Selection> select(const Draft& draft, const Target& target);
// For commands that act on one workload.
Result<const Workload*> select_one(const Draft& draft, const Target& target);

}  // namespace phalanx::cluster
