// One-line literals for tests of place/ and plan/: cluster("n1:8 n2:4") is two nodes with 8 and 4
// free GPUs.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "model/state.h"

namespace phalanx::testing {

// "name:gpus[:cpus[:type]]" each; 64 CPUs and 512 GiB unless said otherwise; one default partition
// "main" of all.
inline State cluster(std::string_view text) {
  State state;
  state.cluster = "test";
  Partition partition;
  partition.name = "main";
  partition.is_default = true;
  for (const std::string_view word : split_blanks(text)) {
    const auto part = split(word, ':');
    Node node;
    node.id = NodeId{state.next_id++};
    node.spec.name = std::string(part[0]);
    node.spec.cpus = part.size() > 2 ? parse_int(part[2]).value_or(0) : 64;
    node.spec.memory = std::int64_t{512} << 30;
    node.boot = "boot-" + node.spec.name;
    node.health = NodeHealth::up;
    for (std::int64_t i = 0; part.size() > 1 && i < parse_int(part[1]).value_or(0); ++i) {
      Device device;
      device.type = part.size() > 3 ? std::string(part[3]) : "gpu";
      node.spec.devices.push_back(device);
    }
    NodeUse use;
    use.device_owner.resize(node.spec.devices.size());
    partition.nodes.push_back(node.spec.name);
    state.config.nodes.push_back(node.spec);
    state.node_by_name[node.spec.name] = node.id;
    state.use[node.id] = use;
    state.nodes[node.id] = node;
  }
  state.config.partitions.push_back(partition);
  return state;
}

// "2x8": two tasks of eight GPUs and one CPU each.
inline TaskGroup gang(std::string_view text) {
  const auto part = split(text, 'x');
  TaskGroup group;
  group.tasks = parse_int(part[0]).value_or(1);
  group.per_task.cpus = Quantity::of(1);
  if (part.size() > 1) group.per_task.gpus = {{"", parse_int(part[1]).value_or(0)}};
  return group;
}

// "n1:0,1*1 n2:0*2": node, devices, tasks.
inline std::string to_text(const State& state, const std::vector<NodeShare>& shares) {
  std::string out;
  for (const NodeShare& share : shares) {
    if (!out.empty()) out += ' ';
    out += state.nodes.at(share.node).spec.name + ":";
    for (std::size_t i = 0; i < share.gpus.size(); ++i)
      out += fmt::format("{}{}", i ? "," : "", share.gpus[i]);
    out += fmt::format("*{}", share.tasks);
  }
  return out;
}

}  // namespace phalanx::testing
