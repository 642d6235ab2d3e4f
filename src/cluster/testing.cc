#include "cluster/testing.h"

namespace phalanx::cluster {

std::vector<NodeShare> World::first_fit(const WorkloadSpec& spec,
                                        const std::set<NodeId>& avoid) const {
  const TaskGroup& group = spec.groups.front();
  std::vector<NodeShare> shares;
  std::int64_t left = group.tasks;
  for (const auto& [id, node] : state.nodes) {
    if (left == 0 || node.health != NodeHealth::up || node.drained || avoid.contains(id)) continue;
    const NodeUse& use = state.use.at(id);
    NodeShare share{id, node.boot, 0, {}, 0, {}};
    const std::int64_t per_task = gpus_asked(group) / group.tasks;
    std::vector<DeviceIndex> free;
    for (DeviceIndex d = 0; d < node.spec.devices.size(); ++d)
      if (!use.device_owner[d] && node.spec.devices[d].health == DeviceHealth::usable)
        free.push_back(d);
    const Quantity cpus = Quantity::of(node.spec.cpus) - use.cpus;
    while (left > 0 && (group.tasks_per_node == 0 || share.tasks < group.tasks_per_node)) {
      const auto next = static_cast<std::size_t>((share.tasks + 1) * per_task);
      if (next > free.size() || group.per_task.cpus * (share.tasks + 1) > cpus) break;
      ++share.tasks;
      --left;
    }
    if (share.tasks == 0) continue;
    share.cpus = group.per_task.cpus * share.tasks;
    share.memory = group.per_task.memory * share.tasks;
    share.gpus.assign(free.begin(), free.begin() + share.tasks * per_task);
    shares.push_back(std::move(share));
  }
  return left == 0 ? shares : std::vector<NodeShare>();
}

}  // namespace phalanx::cluster
