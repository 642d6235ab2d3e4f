#include "plan/explain.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace phalanx::plan {

const place::Board& EmptyBoards::usable() {
  if (!usable_) usable_ = place::Board::empty(state_, false);
  return *usable_;
}

const place::Board& EmptyBoards::configured() {
  if (!configured_) configured_ = place::Board::empty(state_, true);
  return *configured_;
}

namespace {

bool never_joined(const Node* node) { return !node || node->health == NodeHealth::absent; }

std::string why_unusable(const Node* node) {
  if (never_joined(node)) return "never joined";
  if (node->down) return "down";
  if (node->health != NodeHealth::up) return "not answering";
  return "drained";
}

// Names them in the order of the partition, and why: once if it is the same for all.
void name_unusable(const State& state, const place::Scope& scope, const place::Board& usable,
                   Reason& reason) {
  if (!scope.partition) return;
  std::vector<std::string> each;
  std::set<std::string> causes;
  for (const std::string& name : scope.partition->nodes) {
    const Node* node = find_node(state, name);
    if (node && usable.nodes().contains(node->id)) continue;
    const std::string why = why_unusable(node);
    reason.nodes.push_back(name);
    each.push_back(format("{} {}", name, why));
    causes.insert(why);
  }
  if (!causes.empty()) reason.detail = causes.size() == 1 ? *causes.begin() : join(each, ", ");
}

}  // namespace

bool some_never_joined(const State& state, const Partition& partition) {
  return std::any_of(partition.nodes.begin(), partition.nodes.end(),
                     [&](const std::string& name) { return never_joined(find_node(state, name)); });
}

std::optional<Reason> cannot_run(const State& state, const Candidate& c, EmptyBoards& empty) {
  const place::Scope scope = c.scope(state);
  if (place::fit(empty.usable(), scope, c.group())) return std::nullopt;
  Reason reason;
  const bool known = !scope.partition || !some_never_joined(state, *scope.partition);
  if (known && !place::fit(empty.configured(), scope, c.group())) {
    const place::Shortage shortage = place::shortage(empty.configured(), scope, c.group());
    reason.code = ReasonCode::constraints;
    reason.detail = format("needs {}, {} there at most", shortage.needed, shortage.free);
    return reason;
  }
  reason.code = ReasonCode::nodes_unavailable;
  name_unusable(state, scope, empty.usable(), reason);
  if (reason.nodes.empty()) reason.detail = "some gpus cannot be used now: they have failed";
  return reason;
}

std::string why_later(const State& state, Time now, const Promise& before, WorkloadId id) {
  for (const auto& [node_id, node] : state.nodes) {
    const Time changed = std::max(node.since, node.reason_at);
    if ((node.health != NodeHealth::up || node.drained) && changed >= before.made)
      return format("{} cannot be used since {}", node.spec.name, to_rfc3339(changed));
  }
  for (const auto& [other_id, w] : state.workloads) {
    if (!w.current || other_id == id) continue;
    const Time start = w.current->launched.value_or(w.current->placed);
    if (w.phase == Phase::ended || w.stop_since != Time{})
      return format("job {} is over but not yet gone from its nodes", w.number);
    if (w.limit != kForever && later(start, w.limit) <= now)
      return format("job {} runs past its limit", w.number);
    if (w.limit == kForever) return format("job {} runs without a limit", w.number);
    if (later(start, w.limit) > before.start && w.current->placed <= before.made)
      return format("the limit of job {} was raised", w.number);
    if (w.current->placed > before.made && later(start, w.limit) > before.start)
      return format("job {} came first", w.number);
  }
  return "other work came first";
}

}  // namespace phalanx::plan
