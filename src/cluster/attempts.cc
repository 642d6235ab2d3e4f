#include "cluster/attempts.h"

#include <algorithm>

#include "cluster/blame.h"
#include "cluster/deadline.h"
#include "cluster/decide.h"

namespace phalanx::cluster {
namespace {

bool is_live(const Workload& w) { return w.phase == Phase::placed || w.phase == Phase::running; }
bool stopping(const Workload& w) { return w.stop_since != Time{}; }
bool runs_by_itself(const Workload& w) { return w.spec->kind != WorkloadKind::allocation; }
bool is_first(const Workload& w, NodeId node) { return w.current->shares.front().node == node; }

// What a node has said last, `report` included.
const AttemptReport* said(const Draft& d, const Workload& w, NodeId node, NodeId reporting,
                          const AttemptReport& report) {
  if (node == reporting) return &report;
  const auto* last = last_report(d.heard, w, node);
  return last ? &last->report : nullptr;
}

bool all_prepared(const Draft& d, const Workload& w, NodeId reporting,
                  const AttemptReport& report) {
  return std::all_of(
      w.current->shares.begin(), w.current->shares.end(), [&](const NodeShare& share) {
        const AttemptReport* last = said(d, w, share.node, reporting, report);
        return last &&
               (last->phase == AttemptPhase::prepared || last->phase == AttemptPhase::running);
      });
}

// A step is over when each of its nodes says so; its exit code is the highest.
void settle_steps(Draft& d, const Workload& w, NodeId node, const AttemptReport& report) {
  for (const auto& [number, step] : w.steps) {
    if (step.ended) continue;
    StepEnded event{w.id, w.current->number, number, 0, 0, false, std::nullopt};
    bool all = true;
    for (const StepShare& share : step.shares) {
      const AttemptReport* last = said(d, w, share.node, node, report);
      const auto* exits = last ? &last->steps : nullptr;
      const auto it = exits ? std::find_if(exits->begin(), exits->end(),
                                           [&](const StepExit& x) { return x.step == number; })
                            : std::vector<StepExit>::const_iterator();
      if (!exits || it == exits->end()) {
        all = false;
        break;
      }
      event.exit_code = std::max(event.exit_code, it->exit_code);
      event.exit_signal = std::max(event.exit_signal, it->exit_signal);
      event.out_of_memory = event.out_of_memory || it->out_of_memory;
    }
    if (!all) continue;
    event.until = measured_end(d.heard, w, step);
    d.say(event);
  }
}

// Nothing of the workload runs on the node, whether or not it is cleaned up.
bool is_quiet(const AttemptReport& report) {
  return is_gone(report) || (report.phase == AttemptPhase::exited && report.running_steps.empty());
}

// A stop was asked for and this node is done with it. The others keep their time: it is over when
// the batch script or command is, or, where nothing runs by itself, when all nodes are.
bool settle_stop(Draft& d, const Workload& w, const Node& node, const AttemptReport& report) {
  if (runs_by_itself(w)) {
    if (!is_first(w, node.id)) return false;
    d.end(w, end_of_exit(w, report));
    return true;
  }
  for (const NodeShare& share : w.current->shares) {
    const AttemptReport* last = said(d, w, share.node, node.id, report);
    if (!last || !is_quiet(*last)) return false;
  }
  d.end(w, end_of_exit(w, AttemptReport{}));
  return true;
}

// The node has stopped it at its limit: it is stopped everywhere, or over by now.
bool settle_limit(Draft& d, const Workload& w, const Node& node, const AttemptReport& report) {
  Cancelled how;
  how.cause = EndCause::timeout;
  if (!runs_by_itself(w) || !is_first(w, node.id) || report.phase == AttemptPhase::running) {
    stop(d, w, std::move(how));
    return false;
  }
  Workload stopped = w;  // as the event will leave it
  stopped.stop_since = d.now;
  stopped.stop_cause = how.cause;
  how.id = w.id;
  d.say(std::move(how));
  d.end(w, end_of_exit(stopped, report));
  return true;
}

// Whether this report ends a live attempt, and how. Returns true if it did.
bool settle_end(Draft& d, const Workload& w, const Node& node, const AttemptReport& report) {
  const bool ran = w.phase == Phase::running;
  if (report.phase == AttemptPhase::refused) {
    if (report.user_fault)
      d.end(w, end_of_user_fault(w, report, node));
    else
      fail_launch(d, w, node, report.detail, ran && !is_first(w, node.id));
    return true;
  }
  const bool quiet = is_quiet(report) || report.phase == AttemptPhase::exited;
  const bool first = runs_by_itself(w) && is_first(w, node.id);
  if (stopping(w) && w.stop_cause == EndCause::timeout && quiet && first && report.by_itself) {
    Workload in_time = w;  // it was over before the stop for its limit reached it
    in_time.stop_since = Time{};
    d.end(w, end_of_exit(in_time, report));
    return true;
  }
  if (report.timed_out && ran && !stopping(w)) return settle_limit(d, w, node, report);
  if (stopping(w)) return quiet && settle_stop(d, w, node, report);
  if (report.supervisor_lost) {
    fail_launch(d, w, node, report.detail.empty() ? "its supervisor is lost" : report.detail, ran);
    return true;
  }
  if (quiet && ran && first) {
    d.end(w, end_of_exit(w, report));
    return true;
  }
  if (!is_gone(report)) return false;  // exited, where nothing runs by itself
  fail_launch(
      d, w, node,
      ran ? "the attempt is gone from the node" : "the attempt is gone before it was launched",
      ran);
  return true;
}

// The workload could be launched, and goes on by itself or has come to its own end.
bool runs_well(const Workload& w, const Node& node, const AttemptReport& report) {
  const bool started =
      report.phase == AttemptPhase::running || report.phase == AttemptPhase::exited;
  return w.phase == Phase::running && !stopping(w) && started && !report.supervisor_lost &&
         is_first(w, node.id);
}

}  // namespace

const NodeShare* held_share(const Workload& w, NodeId node) {
  if (!w.current || w.current->released.contains(node)) return nullptr;
  for (const NodeShare& share : w.current->shares)
    if (share.node == node) return &share;
  return nullptr;
}

const Workload* wanted(const State& state, NodeId node, const Fence& fence) {
  const Workload* w = find_workload(state, fence.workload);
  if (!w || fence.cluster != state.cluster) return nullptr;
  const NodeShare* share = held_share(*w, node);
  const bool mine = share && w->current->number == fence.attempt && share->boot == fence.boot;
  return mine ? w : nullptr;
}

bool is_gone(const AttemptReport& report) { return report.phase == AttemptPhase::gone; }

void settle(Draft& d, const Node& node, const AttemptReport& report, bool answer) {
  const Workload* w = wanted(d.state, node.id, report.fence);
  if (!w) {
    if (!answer || report.fence.cluster != d.state.cluster) return;
    if (is_gone(report))
      d.order(node.id, Forget{report.fence});
    else
      d.order(node.id, Release{report.fence});
    return;
  }
  settle_steps(d, *w, node.id, report);
  if (runs_well(*w, node, report)) prove(d, *w);
  bool over = !is_live(*w);
  if (!over) over = settle_end(d, *w, node, report);
  if (!over && w->phase == Phase::placed && all_prepared(d, *w, node.id, report))
    d.say(Launched{w->id, w->current->number});
  if (over && is_gone(report)) d.release(*w, node.id);
}

void fail_launch(Draft& d, const Workload& w, const Node& node, const std::string& why, bool ran) {
  d.end(w, end_of_failed_launch(d.state, w, node, why, ran, d.now));
}

void lose_work(Draft& d, const Node& node, const std::string& why, bool presume_gone) {
  const auto use = d.state.use.find(node.id);
  if (use == d.state.use.end()) return;
  for (const WorkloadId id : use->second.holders) {
    const Workload* w = find_workload(d.state, id);
    if (!w || !held_share(*w, node.id)) continue;
    if (is_live(*w)) d.end(*w, end_of_lost_node(*w, node, why, d.now));
    if (presume_gone) d.release(*w, node.id);
  }
}

}  // namespace phalanx::cluster
