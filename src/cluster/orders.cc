// All that an agent should do or stop, from what State holds on its node and what it says it has.
#include <map>

#include "cluster/attempts.h"
#include "cluster/cluster.h"
#include "cluster/order_make.h"

namespace phalanx::cluster {
namespace {

// For an attempt that State holds there.
void order_wanted(std::vector<Order>& out, const State& state, const Workload& w,
                  const NodeShare& share, const AttemptReport* report) {
  const bool live = w.phase == Phase::placed || w.phase == Phase::running;
  const bool running = w.phase == Phase::running;
  if (!live) {
    out.emplace_back(Release{fence_of(state, w.id, w.current->number, share)});
    return;
  }
  if (w.stop_since != Time{}) {
    out.emplace_back(stop_order(state, w, share));
    return;
  }
  if (!report) {
    out.emplace_back(prepare_order(state, w, share, running));
    return;
  }
  const bool waits_for_go =
      report->phase == AttemptPhase::preparing || report->phase == AttemptPhase::prepared;
  if (running && waits_for_go) out.emplace_back(prepare_order(state, w, share, true));
  if (report->limit != node_limit(state, w))
    out.emplace_back(
        SetLimit{fence_of(state, w.id, w.current->number, share), node_limit(state, w)});
}

}  // namespace

std::vector<Order> orders(const State& state, NodeId node, const NodeReport& report) {
  std::vector<Order> out;
  std::map<std::pair<WorkloadId, AttemptNumber>, const AttemptReport*> told;
  for (const AttemptReport& attempt : report.attempts) {
    if (wanted(state, node, attempt.fence)) {
      told[{attempt.fence.workload, attempt.fence.attempt}] = &attempt;
    } else if (attempt.fence.cluster == state.cluster) {
      out.emplace_back(is_gone(attempt) ? Order(Forget{attempt.fence})
                                        : Order(Release{attempt.fence}));
    }
  }
  const auto use = state.use.find(node);
  if (use == state.use.end()) return out;
  for (const WorkloadId id : use->second.holders) {
    const Workload* w = find_workload(state, id);
    const NodeShare* share = w ? held_share(*w, node) : nullptr;
    if (!share || share->boot != report.boot) continue;
    const auto it = told.find({id, w->current->number});
    order_wanted(out, state, *w, *share, it == told.end() ? nullptr : it->second);
  }
  return out;
}

}  // namespace phalanx::cluster
