#include "cluster/blame.h"

#include <algorithm>

#include "base/text.h"
#include "place/place.h"
#include "reconcile/reconcile.h"

namespace phalanx::cluster {
namespace {

constexpr std::size_t kNodesBeforeHold = 3;       // launch failed on so many different nodes: held
constexpr std::int32_t kLaunchFailedSignal = 53;  // Slurm shows a launch failure as 0:53
constexpr std::int32_t kKill = 9;

std::int32_t worst_step(const Workload& w) {
  std::int32_t worst = 0;
  for (const auto& [number, step] : w.steps) worst = std::max(worst, step.exit_code);
  return worst;
}

bool stopping(const Workload& w) { return w.stop_since != Time{}; }

// Fills in what every end has, and lets an asked stop override the cause.
Ended over(const Workload& w, End end, std::optional<Again> again) {
  end.worst_step = worst_step(w);
  if (stopping(w)) {
    end.cause = w.stop_cause;
    again = w.stop_again;
    if (!w.stop_why.empty()) end.detail = w.stop_why;
    if (w.stop_cause == EndCause::cancelled) end.by = w.cancelled_by;
    if (w.stop_cause == EndCause::completed || w.stop_cause == EndCause::failed) {
      end.exit_code = w.stop_exit;
      end.exit_signal = 0;
    }
  }
  return {w.id, w.current ? w.current->number : 0, std::move(end), std::move(again), {}, {}, {}};
}

std::vector<NodeId> avoided(const Workload& w) { return {w.avoid.begin(), w.avoid.end()}; }

// Whether all of it would fit on the nodes that it does not avoid, of those that may get new work.
bool somewhere_else(const State& state, const Workload& w, const std::set<NodeId>& avoid) {
  const Partition* partition = find_partition(state.config, w.spec->partition);
  if (!partition) return false;
  const place::Scope scope{partition, &avoid, partition->max_nodes};
  return place::fit(place::Board::empty(state, false), scope, w.spec->groups.front()).has_value();
}

Again after_failed_launch(const State& state, const Workload& w, const Node& node,
                          const std::string& why, bool ran, Time now) {
  std::set<NodeId> avoid = w.avoid;
  avoid.insert(node.id);
  Again again;
  again.not_before = now + reconcile::backoff(state.config.timers, w.failed_launches + 1);
  again.counts_as_restart = ran;
  if (avoid.size() >= kNodesBeforeHold) {
    std::string names;
    for (const NodeId id : avoid) {
      const Node* failed = find_node(state, id);
      if (failed) names += (names.empty() ? "" : ", ") + failed->spec.name;
    }
    again.hold =
        format("launch failed on {} different nodes ({}), last: {}", avoid.size(), names, why);
  } else if (!somewhere_else(state, w, avoid)) {
    avoid.clear();  // nowhere else to go: the same nodes again, a few times
    if (w.failed_launches + 1 >= kNodesBeforeHold)
      again.hold = format("launch failed {} times in a row, last: {}", w.failed_launches + 1, why);
  }
  again.avoid = {avoid.begin(), avoid.end()};
  return again;
}

std::string on(const Node& node, const std::string& why) {
  return format("node {}: {}", node.spec.name, why);
}

}  // namespace

Ended end_of_exit(const Workload& w, const AttemptReport& report) {
  End end;
  end.exit_code = report.exit_code;
  end.exit_signal = report.exit_signal;
  const bool well = report.exit_code == 0 && report.exit_signal == 0;
  end.cause = report.out_of_memory ? EndCause::out_of_memory
              : well               ? EndCause::completed
                                   : EndCause::failed;
  return over(w, std::move(end), std::nullopt);
}

Ended end_of_stop(const Workload& w) {
  End end;
  end.exit_signal = w.phase == Phase::running ? kKill : 0;
  return over(w, std::move(end), std::nullopt);
}

Ended end_of_user_fault(const Workload& w, const AttemptReport& report, const Node& node) {
  End end;
  end.cause = EndCause::failed;
  end.exit_signal = kLaunchFailedSignal;
  end.detail = on(node, report.detail);
  return over(w, std::move(end), std::nullopt);
}

Ended end_of_failed_launch(const State& state, const Workload& w, const Node& node,
                           const std::string& why, bool ran, Time now) {
  End end;
  end.detail = on(node, why);
  if (ran && !w.spec->requeue) {
    end.cause = EndCause::node_failed;
    return over(w, std::move(end), std::nullopt);
  }
  end.cause = EndCause::launch_failed;
  Ended ended = over(w, std::move(end), after_failed_launch(state, w, node, why, ran, now));
  if (!ran) ended.at_fault = node.id;  // what ran may itself have brought it about
  return ended;
}

Ended end_of_lost_node(const Workload& w, const Node& node, const std::string& why, Time now) {
  End end;
  end.cause = EndCause::node_failed;
  end.detail = on(node, why);
  const bool ran = w.phase == Phase::running;
  std::optional<Again> again;
  if (w.spec->requeue || !ran) again = Again{now, avoided(w), ran, ""};
  return over(w, std::move(end), std::move(again));
}

void prove(Draft& d, const Workload& w) {
  for (const NodeId id : w.avoid) {
    const Node* node = find_node(d.state, id);
    if (!node || !node->launch_failures.contains(w.id)) continue;
    d.say(NodeBlamed{id, w.id});
    if (node->drained || node->proven_failures.empty()) continue;
    d.say(NodeDrained{id,
                      format("launch failed for jobs {} and {}, which run elsewhere",
                             node->proven_failures.rbegin()->second, w.number),
                      "phalanx", false});
  }
}

}  // namespace phalanx::cluster
