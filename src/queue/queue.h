// Whose turn: the order in which waiting work is looked at. (May they, the quota tree, comes to
// this room later.)
//
// Slurm's priority/basic by default: submission order. With PriorityWeightAge or a priority set by
// hand, the larger number first. Partitions of a higher tier always come first. Comparisons end in
// the id. Pure values.
#pragma once

#include <compare>
#include <cstdint>

#include "model/state.h"

namespace phalanx::queue {

struct Turn {
  std::int64_t tier = 0;      // of the partition; larger first
  std::int64_t priority = 0;  // larger first
  std::int64_t nice = 0;      // smaller first: where no weight is set, all priorities are 1
  Time submitted{};           // earlier first
  WorkloadId id;              // smaller first
  bool operator==(const Turn&) const = default;
};
// True if `a` is looked at before `b`.
bool before(const Turn& a, const Turn& b);

// The number that squeue prints. Set by hand, it is that. Otherwise 1 plus the age since the work
// could have started (up to max_age, by weight_age), plus the partition's job factor as a share of
// the largest (by weight_partition), minus nice; never below 1.
std::int64_t priority(const Policy& policy, const Partition& partition, Time now,
                      Time eligible_since, const std::optional<std::int64_t>& by_hand,
                      std::int64_t nice);

}  // namespace phalanx::queue
