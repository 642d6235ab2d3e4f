// One function per kind of input: each adds events, a reply and rarely effects to the draft.
// Internal to cluster/; decide() is the outside's view.
#pragma once

#include "cluster/draft.h"

namespace phalanx::cluster {

void decide_one(Draft& draft, const Configure& input);       // decide_nodes.cc
void decide_one(Draft& draft, const AgentConnected& input);  // decide_agents.cc
void decide_one(Draft& draft, const AgentReported& input);
void decide_one(Draft& draft, const DevicesReported& input);
void decide_one(Draft& draft, const AgentSilent& input);
void decide_one(Draft& draft, const Submit& input);  // decide_submit.cc
void decide_one(Draft& draft, const Cancel& input);  // decide_stop.cc
void decide_one(Draft& draft, const Finish& input);
void decide_one(Draft& draft, const ClientGone& input);
void decide_one(Draft& draft, const Hold& input);         // decide_change.cc
void decide_one(Draft& draft, const Requeue& input);      // decide_requeue.cc
void decide_one(Draft& draft, const Update& input);       // decide_change.cc
void decide_one(Draft& draft, const Drain& input);        // decide_nodes.cc
void decide_one(Draft& draft, const StepRequest& input);  // decide_steps.cc
void decide_one(Draft& draft, const StepOver& input);
void decide_one(Draft& draft, const PutObject& input);  // decide_objects.cc
void decide_one(Draft& draft, const DeleteObject& input);
void decide_one(Draft& draft, const Propose& input);  // decide_place.cc
void decide_one(Draft& draft, const Tick& input);     // decide_tick.cc
void decide_one(Draft& draft, const ArchiveHas& input);

// Shared between them.
// A stop is on its way already, and another would change nothing: not even that it comes back.
bool already_stopping(const Workload& w);
// A live workload is told to stop; what never ran, or waits, is over at once.
void stop(Draft& draft, const Workload& w, Cancelled how);
// Everything placed or running on the node ends, and, if its death is presumed, is released.
void lose_work(Draft& draft, const Node& node, const std::string& why, bool presume_gone);
// The launch failed on this node: the attempt is over; the node is drained if it keeps failing.
void fail_launch(Draft& draft, const Workload& w, const Node& node, const std::string& why,
                 bool ran);

}  // namespace phalanx::cluster
