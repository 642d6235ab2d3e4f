// How apply() changes State's rows so that every index beside them stays right: each index has one
// place where it is kept, here. Total: an id that is not there changes nothing. Internal to
// cluster/.
#pragma once

#include "cluster/deadline.h"
#include "model/event.h"
#include "model/state.h"

namespace phalanx::cluster {

// Changes a workload and keeps `deadlines` in step; nothing if there is no such workload.
template <class Change>
void edit(State& state, WorkloadId id, const Change& change) {
  const auto it = state.workloads.find(id);
  if (it == state.workloads.end()) return;
  const Time before = deadline_of(state.config.timers, it->second);
  change(it->second);
  const Time after = deadline_of(state.config.timers, it->second);
  if (before == after) return;
  state.deadlines.erase({before, id});
  if (after != kNever) state.deadlines.insert({after, id});
}

// A row begins or ceases to exist: owner's list, blobs, names and dependencies.
void enter(State& state, const WorkloadSpec& spec, WorkloadId id);
void leave(State& state, const WorkloadSpec& spec, WorkloadId id);
// It has not ended yet / it has ended: its name, for singletons.
void add_name(State& state, const WorkloadSpec& spec, WorkloadId id);
void drop_name(State& state, const WorkloadSpec& spec, WorkloadId id);
// What it waits for must be remembered / need no longer be.
void add_dependent(State& state, const WorkloadSpec& spec, WorkloadId id);
void drop_dependent(State& state, const WorkloadSpec& spec, WorkloadId id);

// No stop is ordered any more.
void stop_is_over(Workload& w);

void use_blobs(State& state, const WorkloadSpec& spec, std::int64_t by);

void take_share(State& state, WorkloadId id, const NodeShare& share);
void give_share(State& state, WorkloadId id, const NodeShare& share);

void remember(State& state, WorkloadId id, const Remembered& past);
void forget(State& state, WorkloadId id);  // it is in State again
// Drops keys and memories that are past their time.
void expire(State& state);

// The object that work was made for has changed in what it shows.
void touch_object(State& state, const WorkloadSpec& spec);

}  // namespace phalanx::cluster
