// Desired state → what to do about it: objects that keep workloads going until enough have
// succeeded, work that waits for what can never come, and how failed launches wait. Reads State,
// changes nothing: it answers Inputs that the core decides like anybody's.
//
// Everything here is level-triggered: it looks at how things are, never at how they came about, so
// that a repeated question has the same answer and a lost one is made up for by the next.
// Threads: none. No errors.
#pragma once

#include <vector>

#include "model/input.h"

namespace phalanx::reconcile {

// How long work waits after its `failures`th failed launch in a row: 1, 2, 4 … seconds, up to a
// most.
Duration backoff(const Timers& timers, std::uint32_t failures);

// What an object asks for after this event: more workloads, fewer, or its own end; and the end of
// work whose dependencies can never come true, if it asked for that. Each Input is to be decided as
// the cluster's own (system_identity). Asking twice is harmless: workloads that it
// makes carry a key, (object uid, how many were made before).
std::vector<InputKind> consequences(const State& after, const Event& event);

}  // namespace phalanx::reconcile
