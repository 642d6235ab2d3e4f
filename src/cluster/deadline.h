// When time alone makes the core decide something: limits, warnings, stops that take too long,
// launches that are never answered. Internal to cluster/; next_deadline() is the outside's view.
#pragma once

#include <optional>

#include "model/input.h"

namespace phalanx::cluster {

// Of one workload, from State alone: the earliest of its limit, its warning and the end of its
// patience with a stop; kNever if it is not running. `State::deadlines` holds these.
Time deadline_of(const Timers& timers, const Workload& w);

// The three that make it up.
Time limit_of(const Timers& timers, const Workload& w);  // over its time limit
Time warning_of(const Workload& w);                      // --signal is due; kNever once sent
Time stop_deadline(const Timers& timers,
                   const Workload& w);  // a stop was ordered and not confirmed

// The same as far as it is certain: what may have begun later than State thinks, or may be over, is
// not decided before its node has told. kNever: it has not told since it connected, or is silent.
// What is being stopped waits for a silent node no longer than for others.
Time due(const Timers& timers, const Heard& heard, const Workload& w);

// When the workload's script or command (of an allocation: its first node's part) began, as far as
// that is known; nothing while its node has not told.
std::optional<Time> began(const Heard& heard, const Workload& w);

// When a step was over on all its nodes, as they measured it; nothing while one has not said so.
std::optional<Time> measured_end(const Heard& heard, const Workload& w, const Step& step);

// When preparing on this node of a placed attempt has been silent for too long; kNever while the
// node is not connected (its silence is the node's then) and once it is prepared.
Time prepare_deadline(const Timers& timers, const Heard& heard, const Workload& w, NodeId node);

// The last report of the workload's current attempt on a node; null if there is none.
const Heard::OfNode::OfAttempt* last_report(const Heard& heard, const Workload& w, NodeId node);

}  // namespace phalanx::cluster
