#include "plan/candidate.h"

#include <algorithm>

#include "base/text.h"
#include "model/dependency.h"

namespace phalanx::plan {
namespace {

Reason because(ReasonCode code) {
  Reason reason;
  reason.code = code;
  return reason;
}

std::optional<Reason> held(const Candidate& c) {
  if (c.workload && !c.workload->held_why.empty()) {
    Reason reason = because(ReasonCode::held_by_cluster);
    reason.detail = c.workload->held_why;
    return reason;
  }
  const bool by_admin = c.workload ? c.workload->held_by_admin : c.array->held_by_admin;
  const bool by_user = c.workload ? c.workload->held_by_user : c.array->held_by_user;
  if (by_admin) return because(ReasonCode::held_by_admin);
  if (by_user) return because(ReasonCode::held_by_user);
  return std::nullopt;
}

// Its last attempt must be gone everywhere before it may run again.
std::optional<Reason> last_attempt(const State& state, const Candidate& c) {
  if (!c.workload || !c.workload->current) return std::nullopt;
  Reason reason = because(ReasonCode::cleaning);
  for (const NodeShare& share : c.workload->current->shares) {
    if (c.workload->current->released.contains(share.node)) continue;
    const Node* node = find_node(state, share.node);
    if (!node) continue;
    reason.nodes.push_back(node->spec.name);
    if (node->health == NodeHealth::lost) reason.code = ReasonCode::unconfirmed;
  }
  return reason;
}

std::optional<Reason> depends(const State& state, Time now, const Candidate& c) {
  const Dependence d = dependence(state, *c.spec, c.id, now);
  if (d.verdict == Verdict::satisfied) return std::nullopt;
  Reason reason =
      because(d.verdict == Verdict::never ? ReasonCode::dependency_never : ReasonCode::dependency);
  reason.other = d.on;
  return reason;
}

std::optional<Reason> too_many_nodes(const Partition& partition, const TaskGroup& group) {
  const auto nodes = static_cast<std::int64_t>(partition.nodes.size());
  const std::int64_t most = partition.max_nodes > 0 ? std::min(partition.max_nodes, nodes) : nodes;
  Reason reason = because(ReasonCode::partition_nodes);
  if (group.nodes_min > most) {
    reason.detail = format("{} asked, {} allowed", group.nodes_min, most);
    return reason;
  }
  // MinNodes: the work must be able to spread over so many.
  const std::int64_t parts = group.tasks > 0 ? group.tasks : gpus_asked(group);
  const std::int64_t spread =
      std::min(parts, group.nodes_max > 0 ? std::min(group.nodes_max, most) : most);
  if (spread >= partition.min_nodes) return std::nullopt;
  reason.detail = format("{} asked, at least {} allowed", spread, partition.min_nodes);
  return reason;
}

std::optional<Reason> partition_refuses(const Partition* partition, const Candidate& c) {
  if (!partition) {
    Reason reason = because(ReasonCode::partition_down);
    reason.detail = format("{} is no longer configured", c.spec->partition);
    return reason;
  }
  if (partition->state == PartitionState::down || partition->state == PartitionState::inactive) {
    Reason reason = because(ReasonCode::partition_down);
    reason.detail = partition->state == PartitionState::down ? "DOWN" : "INACTIVE";
    return reason;
  }
  return beyond_limits(*partition, c.group(), c.limit);
}

}  // namespace

std::optional<Reason> beyond_limits(const Partition& partition, const TaskGroup& group,
                                    Duration limit) {
  if (auto reason = too_many_nodes(partition, group)) return reason;
  if (partition.max_time == kForever || (limit != kForever && limit <= partition.max_time))
    return std::nullopt;
  Reason reason = because(ReasonCode::partition_time);
  reason.detail = format("{} asked, {} allowed", to_string(limit), to_string(partition.max_time));
  return reason;
}

place::Scope Candidate::scope(const State& state) const {
  const Partition* partition = find_partition(state.config, spec->partition);
  return {partition, workload ? &workload->avoid : nullptr, partition ? partition->max_nodes : 0};
}

const Array* Candidate::of_array(const State& state) const {
  return array ? array : find_array(state, workload->array);
}

std::optional<Candidate> candidate(const State& state, WorkloadId id) {
  if (const Workload* w = find_workload(state, id))
    return w->phase == Phase::pending
               ? std::optional(Candidate{id, w->spec.get(), w, nullptr, w->limit, &w->promise})
               : std::nullopt;
  if (const Array* a = find_array(state, id))
    return a->pending.empty()
               ? std::nullopt
               : std::optional(Candidate{id, a->spec.get(), nullptr, a, a->limit, &a->promise});
  return std::nullopt;
}

std::optional<Reason> not_eligible(const State& state, Time now, const Candidate& c) {
  if (auto reason = held(c)) return reason;
  if (auto reason = depends(state, now, c)) return reason;
  if (c.spec->begin > now) {
    Reason reason = because(ReasonCode::begin_time);
    reason.earliest = c.spec->begin;
    return reason;
  }
  if (auto reason = last_attempt(state, c)) return reason;
  if (c.workload && c.workload->not_before > now) {
    Reason reason = because(ReasonCode::backoff);
    reason.earliest = c.workload->not_before;
    reason.detail = c.workload->failed_launches > 0 ? "its last launch failed" : "it was requeued";
    return reason;
  }
  if (auto reason = partition_refuses(find_partition(state.config, c.spec->partition), c))
    return reason;
  const Array* array = c.of_array(state);
  if (array && array->at_once > 0 && array->busy >= array->at_once)
    return because(ReasonCode::array_limit);
  return std::nullopt;
}

queue::Turn turn(const State& state, Time now, const Candidate& c) {
  const Partition* partition = find_partition(state.config, c.spec->partition);
  static const Partition kNone;
  const Time submitted = c.workload ? c.workload->submitted : c.array->submitted;
  const auto& by_hand = c.workload ? c.workload->priority : c.array->priority;
  const std::int64_t nice = c.workload ? c.workload->nice : c.array->nice;
  const Partition& p = partition ? *partition : kNone;
  return {p.priority_tier,
          queue::priority(state.config.policy, p, now, std::max(submitted, c.spec->begin), by_hand,
                          nice),
          by_hand ? 0 : nice, submitted, c.id};
}

Time eligible_again(const State& state, Time now, const Candidate& c) {
  Time next = kNever;
  if (c.spec->begin > now) next = std::min(next, c.spec->begin);
  if (c.workload && c.workload->not_before > now) next = std::min(next, c.workload->not_before);
  const Dependence d = dependence(state, *c.spec, c.id, now);
  if (d.verdict == Verdict::waiting && d.at > now) next = std::min(next, d.at);
  return next;
}

}  // namespace phalanx::plan
