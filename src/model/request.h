// What work asks for: amounts per task, per node and for the whole group; shape; where it may run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/describe.h"
#include "base/quantity.h"

namespace phalanx {

// Whole GPUs. An empty type is any type.
struct GpuRequest {
  std::string type;
  std::int64_t count = 0;
  bool operator==(const GpuRequest&) const = default;
};
BOOST_DESCRIBE_STRUCT(GpuRequest, (), (type, count))

struct Request {
  Quantity cpus;
  std::int64_t memory = 0;       // bytes
  std::vector<GpuRequest> gpus;  // sorted by type, no type twice
  bool operator==(const Request&) const = default;
};
BOOST_DESCRIBE_STRUCT(Request, (), (cpus, memory, gpus))

// Features a node must have, in disjunctive form: any_of[i] is a set that must be present whole.
// Empty: any node. `same_everywhere` (Slurm's [a|b]): all nodes of the group must satisfy the same
// alternative.
struct Constraint {
  std::vector<std::vector<std::string>> any_of;
  bool same_everywhere = false;
  bool operator==(const Constraint&) const = default;
};
BOOST_DESCRIBE_STRUCT(Constraint, (), (any_of, same_everywhere))

// Identical tasks that start together or not at all.
struct TaskGroup {
  std::string name = "main";
  std::int64_t tasks = 1;  // 0: tasks_per_node (or 1) on each of as few nodes as gpus_in_all need
  std::int64_t nodes_min = 1;
  std::int64_t nodes_max = 0;       // 0: no bound
  std::int64_t tasks_per_node = 0;  // at most so many on one node; 0: no bound
  Request per_task;
  Request per_node;  // once on every node that holds a task, beside its tasks' share
  std::vector<GpuRequest>
      gpus_in_all;  // spread over the group's nodes, at least one device on each
  bool exclusive =
      false;  // whole nodes: all CPUs and all devices of them, but only the memory asked for
  bool all_memory = false;  // --mem=0: all memory of each node
  Constraint constraint;
  std::vector<std::string> required_nodes;  // each of them must hold at least one task
  std::vector<std::string> excluded_nodes;
  bool operator==(const TaskGroup&) const = default;
};
BOOST_DESCRIBE_STRUCT(TaskGroup, (),
                      (name, tasks, nodes_min, nodes_max, tasks_per_node, per_task, per_node,
                       gpus_in_all, exclusive, all_memory, constraint, required_nodes,
                       excluded_nodes))

// All tasks of the group on so many nodes: where `tasks` is 0, these decide.
std::int64_t tasks_of(const TaskGroup& group, std::int64_t nodes);
// All GPUs that the group asks for, whatever the spelling; for printing and for quick checks.
std::int64_t gpus_asked(const TaskGroup& group);

}  // namespace phalanx
