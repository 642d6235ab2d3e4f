// A pending workload or the pending part of an array, seen alike.
#pragma once

#include <optional>

#include "model/reason.h"
#include "model/state.h"
#include "place/place.h"
#include "queue/queue.h"

namespace phalanx::plan {

struct Candidate {
  WorkloadId id;
  const WorkloadSpec* spec = nullptr;
  const Workload* workload = nullptr;  // one of these two is set
  const Array* array = nullptr;
  Duration limit = kForever;
  const std::optional<Promise>* promise = nullptr;

  [[nodiscard]] const TaskGroup& group() const { return spec->groups.front(); }
  // The array itself, or the one that the workload came from; its %limit counts for both. May be
  // null.
  [[nodiscard]] const Array* of_array(const State& state) const;
  [[nodiscard]] place::Scope scope(const State& state) const;
};

// Nothing if `id` is no longer pending.
std::optional<Candidate> candidate(const State& state, WorkloadId id);

// Why it may not start, whatever is free: holds, times, dependencies, its partition, its own last
// attempt.
std::optional<Reason> not_eligible(const State& state, Time now, const Candidate& c);

// Why the partition's own limits (nodes, time) keep it from ever starting there.
std::optional<Reason> beyond_limits(const Partition& partition, const TaskGroup& group,
                                    Duration limit);

queue::Turn turn(const State& state, Time now, const Candidate& c);

// When not_eligible may change its mind with no event in between; kNever if only an event can.
Time eligible_again(const State& state, Time now, const Candidate& c);

}  // namespace phalanx::plan
