#include "cluster/feasible.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "plan/plan.h"

namespace phalanx::cluster {
namespace {

bool devices_suffice(const NodeSpec& node, const TaskGroup& group) {
  std::map<std::string, std::int64_t> wanted;  // by type in lower case; "" is all of them together
  const auto add = [&](const std::vector<GpuRequest>& list, std::int64_t times) {
    for (const GpuRequest& request : list) {
      wanted[""] += request.count * times;
      if (!request.type.empty()) wanted[to_lower(request.type)] += request.count * times;
    }
  };
  add(group.per_task.gpus, tasks_of(group, 1));
  add(group.per_node.gpus, 1);
  add(group.gpus_in_all, 1);
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    const auto& [type, count] = entry;
    return std::count_if(node.devices.begin(), node.devices.end(), [&](const Device& device) {
             return type.empty() || iequals(device.type, type);
           }) >= count;
  });
}

bool holds_all(const NodeSpec& node, const TaskGroup& group) {
  const std::int64_t tasks = tasks_of(group, 1);
  return group.per_task.cpus * tasks + group.per_node.cpus <= Quantity::of(node.cpus) &&
         group.per_task.memory * tasks + group.per_node.memory <= node.memory &&
         devices_suffice(node, group);
}

// The common case, answered without a look at every node: plain work that the first node or so of
// its partition could hold alone. False says nothing.
bool plainly_fits(const State& state, const WorkloadSpec& spec) {
  const TaskGroup& group = spec.groups.front();
  const bool plain = group.nodes_min == 1 && !group.all_memory && group.constraint.any_of.empty() &&
                     group.required_nodes.empty() && group.excluded_nodes.empty() &&
                     (group.tasks_per_node == 0 || group.tasks_per_node >= group.tasks);
  const Partition* partition = find_partition(state.config, spec.partition);
  if (!plain || !partition || partition->min_nodes > 1 || partition->max_memory_per_node > 0)
    return false;
  return std::any_of(partition->nodes.begin(), partition->nodes.end(),
                     [&](const std::string& name) {
                       const Node* node = find_node(state, name);
                       return node && holds_all(node->spec, group);
                     });
}

}  // namespace

Status feasible(const State& state, const WorkloadSpec& spec) {
  if (plainly_fits(state, spec)) return {};
  return plan::could_ever_run(state, spec);
}

Result<Time> would_start(const State& state, const WorkloadSpec& spec, Time now) {
  return TRY(plan::would_start(state, now, spec)).start;
}

}  // namespace phalanx::cluster
