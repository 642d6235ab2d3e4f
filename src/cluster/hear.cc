// Heard: what agents told us, beside State. Only what State may still need is kept.
#include "cluster/attempts.h"
#include "cluster/cluster.h"

namespace phalanx::cluster {
namespace {

// Counted from its job's beginning where that is known, so that both ends are of one clock.
void hear_steps(Heard::OfNode::OfAttempt& attempt, const AttemptReport& report, Time now) {
  for (const StepExit& step : report.steps) {
    if (!step.ended_ago) continue;
    const bool counted = attempt.began && report.began_ago;
    const Time ended =
        counted ? *attempt.began + (*report.began_ago - *step.ended_ago) : now - *step.ended_ago;
    const auto [it, fresh] = attempt.step_ends.try_emplace(step.step, ended);
    if (!fresh) it->second = std::min(it->second, ended);
  }
}

void hear_attempt(Heard::OfNode& of_node, const State& state, NodeId node,
                  const AttemptReport& report, Time now) {
  if (report.fence.cluster != state.cluster) return;
  const std::pair key(report.fence.workload, report.fence.attempt);
  if (is_gone(report) && !wanted(state, node, report.fence)) {
    of_node.attempts.erase(key);
    return;
  }
  std::optional<Time> began;
  if (report.began_ago) began = now - *report.began_ago;
  const auto [it, fresh] =
      of_node.attempts.try_emplace(key, Heard::OfNode::OfAttempt{report, now, began});
  if (fresh) return hear_steps(it->second, report, now);
  // A word that was long on its way makes it seem later.
  if (began && (!it->second.began || *began < *it->second.began)) it->second.began = began;
  const bool changed =
      it->second.report.phase != report.phase || it->second.report.detail != report.detail;
  if (changed) it->second.changed = now;
  it->second.report = report;
  hear_steps(it->second, report, now);
}

void hear_one(Heard& heard, const State& state, Time now, const AgentConnected& input) {
  const Node* node = find_node(state, input.report.name);
  if (!node) return;  // heard again once it has joined
  Heard::OfNode& of_node = heard.nodes[node->id];
  of_node.connected = true;
  of_node.connected_at = of_node.last = now;
  of_node.warnings = input.report.warnings;
  of_node.attempts.clear();  // the report is complete
  for (const AttemptReport& report : input.report.attempts)
    hear_attempt(of_node, state, node->id, report, now);
}

void hear_one(Heard& heard, const State& state, Time now, const AgentReported& input) {
  const Node* node = find_node(state, input.node);
  if (!node || input.report.fence.boot != node->boot) return;
  Heard::OfNode& of_node = heard.nodes[node->id];
  if (!of_node.connected) of_node.connected_at = now;
  of_node.connected = true;
  of_node.last = now;
  hear_attempt(of_node, state, node->id, input.report, now);
}

void hear_one(Heard& heard, const State& state, Time now, const DevicesReported& input) {
  if (const Node* node = find_node(state, input.node)) heard.nodes[node->id].last = now;
}

void hear_one(Heard& heard, const State& state, Time /*now*/, const AgentSilent& input) {
  if (const Node* node = find_node(state, input.node)) heard.nodes[node->id].connected = false;
}

template <class Other>
void hear_one(Heard& /*heard*/, const State& /*state*/, Time /*now*/, const Other& /*input*/) {}

}  // namespace

void hear(Heard& heard, const State& state, const Input& input) {
  if (input.who.kind != IdentityKind::system && input.who.kind != IdentityKind::certificate) return;
  const Time now = std::max(state.now, input.now);
  std::visit([&](const auto& what) { hear_one(heard, state, now, what); }, input.what);
}

}  // namespace phalanx::cluster
