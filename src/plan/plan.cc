#include "plan/plan.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "plan/explain.h"
#include "plan/pass.h"

namespace phalanx::plan {

struct Planner::Memory {
  bool dirty = true;
  std::optional<Pass> pass;
  std::shared_ptr<const Outlook> outlook = std::make_shared<Outlook>();
  Time wakeup = kNever;
};

Planner::Planner() : memory_(std::make_unique<Memory>()) {}
Planner::~Planner() = default;
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status nodes_are_known(const State& state, const TaskGroup& group) {
  for (const auto* list : {&group.required_nodes, &group.excluded_nodes})
    for (const std::string& name : *list) {
      const auto& partitions = state.config.partitions;
      if (find_node(state, name) ||
          std::any_of(partitions.begin(), partitions.end(),
                      [&](const Partition& p) { return contains(p.nodes, name); }))
        continue;
      return invalid(format("Invalid node name specified: this cluster has no node '{}'", name));
    }
  return {};
}

// Nobody knows yet which features a node has that never joined.
Status features_are_known(const State& state, const Partition* partition, const TaskGroup& group) {
  if (group.constraint.any_of.empty()) return {};
  if (partition && some_never_joined(state, *partition)) return {};
  std::set<std::string> known;
  for (const auto& [id, node] : state.nodes)
    known.insert(node.spec.features.begin(), node.spec.features.end());
  for (const auto& set : group.constraint.any_of)
    for (const std::string& feature : set)
      if (!known.contains(feature))
        return invalid(format("Invalid feature specification: no node has '{}'; there are: {}",
                              feature,
                              join(std::vector<std::string>(known.begin(), known.end()), ", ")));
  return {};
}

Duration limit_in_force(const Partition* partition, const WorkloadSpec& spec) {
  if (spec.limit != kForever || !partition) return spec.limit;
  return partition->default_time != kForever ? partition->default_time : partition->max_time;
}

// What is queued may wait for the partition to change; it has no start that could be told.
Status never_beyond_limits(const State& state, const WorkloadSpec& spec) {
  const Partition* partition = find_partition(state.config, spec.partition);
  const auto reason =
      partition ? beyond_limits(*partition, spec.groups.front(), limit_in_force(partition, spec))
                : std::nullopt;
  if (!reason) return {};
  return invalid(format("{}: {} by partition {}",
                        reason->code == ReasonCode::partition_time
                            ? "Requested time limit is invalid (missing or exceeds some limit)"
                            : "Requested node configuration is not available",
                        reason->detail, partition->name));
}

}  // namespace

Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

void Planner::observe(const State&, const Event& event) {
  const bool no_news = std::holds_alternative<Promised>(event.what) ||
                       std::holds_alternative<UsageReported>(event.what);
  memory_->dirty = memory_->dirty || !no_news;
  // A pass keeps pointers to nodes and partitions; when these change it starts afresh.
  const bool stale = std::holds_alternative<Configured>(event.what) ||
                     std::holds_alternative<NodeJoined>(event.what) ||
                     std::holds_alternative<NodeChanged>(event.what) ||
                     std::holds_alternative<NodeDrained>(event.what) ||
                     std::holds_alternative<NodeUndrained>(event.what) ||
                     std::holds_alternative<NodeLost>(event.what) ||
                     std::holds_alternative<NodeSuspected>(event.what) ||
                     std::holds_alternative<NodeReturned>(event.what);
  if (stale) memory_->pass.reset();
}

bool Planner::wants_step(const State&, Time now) const {
  return memory_->dirty || memory_->pass.has_value() || now >= memory_->wakeup;
}

Steps Planner::step(const State& state, Time now, std::int64_t budget) {
  Steps steps;
  if (!memory_->pass) {
    memory_->dirty = false;
    memory_->pass.emplace(state, now);
  }
  steps.pass_complete = memory_->pass->go_on(budget, steps.proposals);
  if (steps.pass_complete) {
    memory_->outlook = memory_->pass->finish();
    memory_->wakeup = memory_->pass->wakeup();
    memory_->pass.reset();
  }
  return steps;
}

std::shared_ptr<const Outlook> Planner::outlook() const { return memory_->outlook; }

Time Planner::next_wakeup(const State&, Time now) const {
  return memory_->dirty || memory_->pass ? now : memory_->wakeup;
}

Result<WouldStart> would_start(const State& state, Time now, const WorkloadSpec& spec) {
  TRY(could_ever_run(state, spec));
  TRY(never_beyond_limits(state, spec));
  place::Timeline timeline(state, now);
  for (const WorkloadId id : state.pending) {  // promises in order of their dates stand before it
    const auto c = candidate(state, id);
    if (!c || !c->promise->has_value()) continue;
    if (auto opening = timeline.earliest(c->scope(state), c->group(), c->limit, now))
      timeline.promise(id, std::move(opening->shares), opening->start,
                       later(opening->start, c->limit));
  }
  const Partition* partition = find_partition(state.config, spec.partition);
  const place::Scope scope{partition, nullptr, partition ? partition->max_nodes : 0};
  auto opening = timeline.earliest(scope, spec.groups.front(), limit_in_force(partition, spec),
                                   std::max(now, spec.begin));
  if (!opening)
    return unavailable(
        "no start can be foreseen: work without a time limit holds what it needs, or nodes are "
        "unavailable");
  return WouldStart{opening->start, std::move(opening->shares)};
}

Status within_limits(const State& state, const WorkloadSpec& spec, Duration limit) {
  const Partition* partition = find_partition(state.config, spec.partition);
  const auto reason =
      partition ? beyond_limits(*partition, spec.groups.front(), limit) : std::nullopt;
  if (!reason) return {};
  const bool time = reason->code == ReasonCode::partition_time;
  return invalid(format("{}: {} by partition {}",
                        time ? "Requested time limit is invalid (missing or exceeds some limit)"
                             : "Node count specification invalid",
                        reason->detail, partition->name));
}

namespace {

// What is asked for rules itself out.
Status agrees_with_itself(const TaskGroup& group) {
  for (const std::string& name : group.required_nodes)
    if (contains(group.excluded_nodes, name))
      return invalid(
          format("Requested node configuration is not available: node {} is asked for and excluded",
                 name));
  if (group.tasks == 0 || group.tasks_per_node == 0 || group.nodes_max == 0 ||
      (group.tasks - 1) / group.tasks_per_node < group.nodes_max)
    return {};
  return invalid(
      format("Requested node configuration is not available: {} tasks are more than {} on each of "
             "{} node{}",
             group.tasks, group.tasks_per_node, group.nodes_max, group.nodes_max == 1 ? "" : "s"));
}

// No node, or not enough of them, has what is asked for: names what lacks.
Status too_small(const place::Board& board, const place::Scope& scope, const TaskGroup& group) {
  const std::string name = scope.partition ? scope.partition->name : "?";
  const bool some = !group.required_nodes.empty() || !group.excluded_nodes.empty() ||
                    !group.constraint.any_of.empty();
  if (const auto one = place::on_one_node(board, scope, group))
    return invalid(
        format("Requested node configuration is not available: needs {}, but the largest of "
               "partition {}{} has {}",
               one->needed, name, some ? " that may serve it" : "", one->free));
  const place::Shortage shortage = place::shortage(board, scope, group);
  return invalid(format(
      "Requested node configuration is not available: needs {}, but {} {}{}", shortage.needed,
      some ? format("those of partition {} that may serve it have", name)
           : format("partition {} has", name),
      shortage.free == "0" ? "none" : shortage.free,
      shortage.types.empty() ? "" : "; there are: " + join(shortage.types, ", ")));
}

}  // namespace

Status could_ever_run(const State& state, const WorkloadSpec& spec) {
  const Partition* partition = find_partition(state.config, spec.partition);
  const TaskGroup& group = spec.groups.front();
  TRY(place::amounts_are_possible(group));
  TRY(nodes_are_known(state, group));
  TRY(agrees_with_itself(group));
  TRY(features_are_known(state, partition, group));
  if (partition && partition->max_memory_per_node > 0 &&
      group.per_node.memory + group.per_task.memory > partition->max_memory_per_node)
    return invalid(
        format("Memory required by task is not available: partition {} allows {} MiB on each node "
               "(MaxMemPerNode)",
               partition->name, partition->max_memory_per_node >> 20));
  // More nodes than the partition has, or allows, is a matter of the partition: it waits with that
  // reason.
  if (partition && group.nodes_min > static_cast<std::int64_t>(partition->nodes.size())) return {};
  if (partition && partition->max_nodes > 0 && group.nodes_min > partition->max_nodes) return {};
  // Nobody knows yet what a node has that never joined: the work may wait for it.
  if (partition && some_never_joined(state, *partition)) return {};
  const place::Board board = place::Board::empty(state, true);
  const place::Scope scope{partition, nullptr, 0};
  if (place::fit(board, scope, group)) return {};
  if (partition && !group.excluded_nodes.empty() &&
      std::all_of(partition->nodes.begin(), partition->nodes.end(),
                  [&](const std::string& name) { return contains(group.excluded_nodes, name); }))
    return invalid(format(
        "Requested node configuration is not available: every node of partition {} is excluded",
        partition->name));
  return too_small(board, scope, group);
}

}  // namespace phalanx::plan
