#include "cluster/deadline.h"

#include <algorithm>

#include "cluster/cluster.h"

namespace phalanx::cluster {
namespace {

bool runs(const Workload& w) {
  return w.phase == Phase::running && w.current && w.current->launched.has_value();
}

bool is_prepared(AttemptPhase phase) {
  return phase == AttemptPhase::prepared || phase == AttemptPhase::running ||
         phase == AttemptPhase::exited;
}

}  // namespace

Time limit_of(const Timers& timers, const Workload& w) {
  if (!runs(w)) return kNever;
  return later(later(*w.current->launched, w.limit), timers.over_time_limit);
}

Time warning_of(const Workload& w) {
  const WarnSignal& warn = w.spec->launch.warn;
  if (!runs(w) || warn.signal == 0 || w.current->warned || w.limit == kForever) return kNever;
  return later(*w.current->launched, std::max(w.limit - warn.before, Duration(0)));
}

Time stop_deadline(const Timers& timers, const Workload& w) {
  if (!runs(w) || w.stop_since == Time{}) return kNever;
  return later(w.stop_since, 2 * timers.kill_wait + seconds(10));
}

Time deadline_of(const Timers& timers, const Workload& w) {
  if (!runs(w)) return kNever;
  if (w.stop_since != Time{}) return stop_deadline(timers, w);
  return std::min(limit_of(timers, w), warning_of(w));
}

const Heard::OfNode::OfAttempt* last_report(const Heard& heard, const Workload& w, NodeId node) {
  const auto of_node = heard.nodes.find(node);
  if (of_node == heard.nodes.end() || !w.current) return nullptr;
  const auto it = of_node->second.attempts.find({w.id, w.current->number});
  return it == of_node->second.attempts.end() ? nullptr : &it->second;
}

std::optional<Time> measured_end(const Heard& heard, const Workload& w, const Step& step) {
  std::optional<Time> end;
  for (const StepShare& share : step.shares) {
    const auto* last = last_report(heard, w, share.node);
    if (!last) return std::nullopt;
    const auto it = last->step_ends.find(step.number);
    if (it == last->step_ends.end()) return std::nullopt;
    end = std::max(end.value_or(it->second), it->second);
  }
  return end;
}

std::optional<Time> began(const Heard& heard, const Workload& w) {
  if (!runs(w)) return std::nullopt;
  const auto of_node = heard.nodes.find(w.current->shares.front().node);
  if (of_node == heard.nodes.end() || !of_node->second.connected) return std::nullopt;
  const Time launched = *w.current->launched;
  if (const auto* last = last_report(heard, w, of_node->first)) {
    if (last->began) return std::max(*last->began, launched);
    return std::nullopt;
  }
  // It had not been launched when the node told all that it had: it is on its way.
  if (of_node->second.connected_at <= launched) return launched;
  return std::nullopt;
}

Time due(const Timers& timers, const Heard& heard, const Workload& w) {
  if (!runs(w)) return kNever;
  if (w.stop_since != Time{}) {
    const bool told = heard.nodes.contains(w.current->shares.front().node);
    return told ? stop_deadline(timers, w) : kNever;
  }
  const auto since = began(heard, w);
  if (!since) return kNever;
  return later(deadline_of(timers, w), *since - *w.current->launched);
}

Time prepare_deadline(const Timers& timers, const Heard& heard, const Workload& w, NodeId node) {
  const auto of_node = heard.nodes.find(node);
  if (w.phase != Phase::placed || !w.current || of_node == heard.nodes.end() ||
      !of_node->second.connected)
    return kNever;
  Time silent_since = std::max(w.current->placed, of_node->second.connected_at);
  if (const auto* last = last_report(heard, w, node)) {
    if (is_prepared(last->report.phase)) return kNever;
    silent_since = std::max(silent_since, last->changed);
  }
  return later(silent_since, timers.prepare_timeout);
}

Time next_deadline(const State& state, const Heard& heard) {
  Time next = kNever;
  for (const auto& [at, id] : state.deadlines) {
    if (at >= next) break;
    if (const Workload* w = find_workload(state, id))
      next = std::min(next, due(state.config.timers, heard, *w));
  }
  for (const WorkloadId id : state.preparing) {
    const Workload* w = find_workload(state, id);
    if (!w || !w->current) continue;
    for (const NodeShare& share : w->current->shares)
      next = std::min(next, prepare_deadline(state.config.timers, heard, *w, share.node));
  }
  return next;
}

}  // namespace phalanx::cluster
