// One function per kind of event. Total and trivial: they fold what the event says into State and
// its indexes (tables.h), decide nothing, and change nothing for an id that is not there. Internal
// to cluster/; apply() is the outside's view.
#pragma once

#include "model/event.h"
#include "model/state.h"

namespace phalanx::cluster {

void apply_one(State& state, Time at, const Configured& e);
void apply_one(State& state, Time at, const NodeJoined& e);
void apply_one(State& state, Time at, const NodeChanged& e);
void apply_one(State& state, Time at, const NodeDrained& e);
void apply_one(State& state, Time at, const NodeUndrained& e);
void apply_one(State& state, Time at, const NodeBlamed& e);
void apply_one(State& state, Time at, const NodeSuspected& e);
void apply_one(State& state, Time at, const NodeLost& e);
void apply_one(State& state, Time at, const NodeReturned& e);
void apply_one(State& state, Time at, const Submitted& e);
void apply_one(State& state, Time at, const Separated& e);
void apply_one(State& state, Time at, const Updated& e);
void apply_one(State& state, Time at, const Held& e);
void apply_one(State& state, Time at, const Cancelled& e);
void apply_one(State& state, Time at, const Revived& e);
void apply_one(State& state, Time at, const Placed& e);
void apply_one(State& state, Time at, const Launched& e);
void apply_one(State& state, Time at, const StepStarted& e);
void apply_one(State& state, Time at, const StepEnded& e);
void apply_one(State& state, Time at, const Warned& e);
void apply_one(State& state, Time at, const UsageReported& e);
void apply_one(State& state, Time at, const Promised& e);
void apply_one(State& state, Time at, const Ended& e);
void apply_one(State& state, Time at, const Released& e);
void apply_one(State& state, Time at, const Archived& e);
void apply_one(State& state, Time at, const ObjectPut& e);
void apply_one(State& state, Time at, const ObjectDeleted& e);

}  // namespace phalanx::cluster
