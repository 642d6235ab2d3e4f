// What an attempt's processes really used: from what nodes report to what State keeps. Totals only
// grow; a node that says less, or names steps that are not there, changes nothing. Internal to
// cluster/; pure.
#pragma once

#include "cluster/draft.h"

namespace phalanx::cluster {

// What `report` says beyond what State knows of the workload's current attempt on that node.
NodeUsed news_of(const Workload& w, NodeId node, const AttemptReport& report);
bool is_empty(const NodeUsed& used);

// Says UsageReported for a running attempt, if the last one is long enough ago and there is news.
void note_usage(Draft& draft, const Workload& w);

// Folds it in; `attempt` may be over by now.
void take_usage(Workload& w, AttemptNumber attempt, const NodeUsed& used);

}  // namespace phalanx::cluster
