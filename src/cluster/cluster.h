// The cluster as a state machine: four functions and what belongs to them. Everything here is pure;
// server/ and sim/ are the two shells that call it.
//
//   decide   what an input means, given State and Heard: events and a reply. May change between
//   versions. apply    folds one event into State. Total and trivial: no decisions. react    what
//   the outside must be told because of an event: orders(…) restricted to it. touched  which
//   objects a watcher must hear about.
//
// A shell runs step() for each input in order of arrival, appends the events to the journal, and
// lets replies and effects out only when their batch is on disk. After a restart it replays events
// through apply(), and orders() tells each agent that connects what it should still do or stop:
// effects are never stored.
//
// Invariants: see invariants.h. Threads: none; one caller at a time per State.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/invariants.h"  // IWYU pragma: export
#include "model/input.h"

namespace phalanx::cluster {

Outcome decide(const State& state, const Heard& heard, const Input& input);
void apply(State& state, const Event& event);
std::vector<Effect> react(const State& after, const Event& event);

// Records what an input tells about agents; the shell (or step) calls it before decide.
void hear(Heard& heard, const State& state, const Input& input);

// What the node's agent should do or stop, given what it says it has. Complete and idempotent:
// react's orders that were lost on the way are among these.
std::vector<Order> orders(const State& state, NodeId node, const NodeReport& report);

using Key = std::variant<WorkloadId, NodeId, ObjectKey>;
std::vector<Key> touched(const State& after, const Event& event);

// The next time at which a Tick can decide something, if nothing else happens; kNever if there is
// none.
Time next_deadline(const State& state, const Heard& heard);

// One input and all its consequences (reconcile/, at most 8 rounds), applied to `state`. `observe`
// sees each event right after it was applied (the planner listens there).
struct Batch {
  std::vector<Event> events;
  std::vector<Effect> effects;
  Reply reply;
  // By hash: State used them before and does not now. To be dropped in the commit of the events.
  std::vector<std::string> unused_blobs;
};
Batch step(State& state, Heard& heard, const Input& input,
           const std::function<void(const State& after, const Event&)>& observe);

// What people call a workload: "4711", "4711_3", "default/train-0".
std::string label(const Workload& w);

// A fixed projection of State, as text: owners, order and ledger. Recorded journals are compared by
// its hash.
std::string projection(const State& state);

}  // namespace phalanx::cluster
