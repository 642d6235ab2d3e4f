// Dependencies between workloads: whether what work waits for has come to pass. Decided on how the
// other stands, never on events of its life, so that asking again gives the same answer: work that
// was cancelled while pending counts as ended and not ok.
// Threads: none. No errors.
#pragma once

#include "model/state.h"

namespace phalanx {

// satisfied: may start. waiting: not yet. never: the other ended in a way that cannot satisfy it.
enum class Verdict { satisfied, waiting, never };

struct Dependence {
  Verdict verdict = Verdict::satisfied;
  WorkloadId on;     // the one that blocks; none if satisfied
  Time at = kNever;  // when waiting may end by time alone (after:ID+minutes)
};

// Whether one of `spec`'s dependencies lets `self` (a workload or an array with this spec) start. A
// singleton waits for earlier work of the same owner and name.
Dependence dependence_on(const State& state, const Dependency& dependency, const WorkloadSpec& spec,
                         WorkloadId self, Time now);

// Whether all of them together do.
Dependence dependence(const State& state, const WorkloadSpec& spec, WorkloadId self, Time now);

}  // namespace phalanx
