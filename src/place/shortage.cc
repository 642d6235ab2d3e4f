#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <set>

#include "base/text.h"
#include "place/place.h"
#include "place/seat.h"

namespace phalanx::place {
namespace {

// Of the GPUs in a list, those of a type; an empty type is all of them.
std::int64_t count(const std::vector<GpuRequest>& list, const std::string& type) {
  std::int64_t n = 0;
  for (const GpuRequest& request : list)
    if (type.empty() || iequals(request.type, type)) n += request.count;
  return n;
}

// That the group may be on, whatever the cluster has: every node gets a task, and a device of
// gpus_in_all.
std::int64_t most_nodes(const TaskGroup& group) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (group.tasks > 0) most = group.tasks;
  if (!group.gpus_in_all.empty()) most = std::min(most, count(group.gpus_in_all, ""));
  if (group.nodes_max > 0) most = std::min(most, group.nodes_max);
  return std::max<std::int64_t>(most, 1);
}

bool is_required(const Node& node, const TaskGroup& group) {
  const auto& names = group.required_nodes;
  return std::find(names.begin(), names.end(), node.spec.name) != names.end();
}

// By its name and features alone.
bool may_serve(const Node& node, const TaskGroup& group) {
  const auto& any_of = group.constraint.any_of;
  const bool all_named =
      static_cast<std::int64_t>(group.required_nodes.size()) >= most_nodes(group);
  if (all_named && !is_required(node, group)) return false;
  return any_of.empty() || std::any_of(any_of.begin(), any_of.end(),
                                       [&](const auto& all) { return has_features(node, all); });
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// each × times + more, or the largest number.
std::int64_t amount(std::int64_t each, std::int64_t times, std::int64_t more) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(each, times, &out) || __builtin_add_overflow(out, more, &out))
    return std::numeric_limits<std::int64_t>::max();
  return out;
}

// Of so many tasks, and of the nodes that they are on.
Quantity cpus_of(const TaskGroup& group, std::int64_t tasks, std::int64_t nodes = 1) {
  return Quantity::milli(amount(group.per_task.cpus.in_milli(), tasks,
                                amount(group.per_node.cpus.in_milli(), nodes, 0)));
}

std::int64_t memory_of(const TaskGroup& group, std::int64_t tasks, std::int64_t nodes = 1) {
  return amount(group.per_task.memory, tasks, amount(group.per_node.memory, nodes, 0));
}

// The nodes that may serve the group, and on how many it must or may be.
struct Pool {
  std::vector<const NodeFree*> nodes;
  std::int64_t least = 1;     // nodes
  std::int64_t most = 1;      // nodes
  std::int64_t together = 1;  // tasks: on `most` nodes, so many at least must share one
};

Pool pool_of(const Board& board, const Scope& scope, const TaskGroup& group) {
  Pool pool;
  for (const auto& [id, free] : board.nodes())
    if (in_scope(*free.node, scope, group) && may_serve(*free.node, group) &&
        (!group.exclusive || free.holders == 0))
      pool.nodes.push_back(&free);
  pool.least = std::max<std::int64_t>(
      {group.nodes_min, static_cast<std::int64_t>(group.required_nodes.size()), 1});
  if (group.tasks > 0 && group.tasks_per_node > 0)
    pool.least = std::max(pool.least, ceil_div(group.tasks, group.tasks_per_node));
  pool.most = most_nodes(group);
  if (scope.nodes_most > 0) pool.most = std::min(pool.most, scope.nodes_most);
  pool.together = group.tasks > 0 ? ceil_div(group.tasks, pool.most) : tasks_of(group, 1);
  return pool;
}

std::int64_t gpus_of(const TaskGroup& group, const std::string& type, std::int64_t tasks,
                     std::int64_t nodes = 1) {
  return amount(count(group.per_task.gpus, type), tasks,
                amount(count(group.per_node.gpus, type), nodes, 0));
}

std::string counted(std::int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string cpus_text(Quantity cpus) {
  return fmt::format("{} cpu{}", to_string(cpus), cpus == Quantity::of(1) ? "" : "s");
}

std::string gpus_text(std::int64_t n, const std::string& type) {
  return counted(n, "gpu") + (type.empty() ? "" : " of type " + type);
}

constexpr std::int64_t kMebi = std::int64_t{1} << 20;

std::string memory_text(std::int64_t bytes) {
  return fmt::format("{} MiB of memory", ceil_div(bytes, kMebi));
}

// The types asked for by name, then "" for all GPUs together.
std::vector<std::string> types_asked(const TaskGroup& group) {
  std::vector<std::string> types;
  for (const auto* list : {&group.per_task.gpus, &group.per_node.gpus, &group.gpus_in_all})
    for (const GpuRequest& request : *list)
      if (!request.type.empty() &&
          std::none_of(types.begin(), types.end(),
                       [&](const std::string& known) { return iequals(known, request.type); }))
        types.push_back(request.type);
  types.emplace_back();
  return types;
}

std::vector<std::string> types_there(const Pool& pool) {
  std::set<std::string> types;
  for (const NodeFree* free : pool.nodes)
    for (const Device& device : free->node->spec.devices)
      if (!device.type.empty()) types.insert(device.type);
  return {types.begin(), types.end()};
}

std::int64_t free_gpus(const NodeFree& free, const std::string& type) {
  return std::popcount(free.devices & of_type(*free.node, type));
}

std::optional<Shortage> too_few_gpus(const Pool& pool, const TaskGroup& group) {
  const std::int64_t tasks = tasks_of(group, group.nodes_min);
  for (const std::string& type : types_asked(group)) {
    const std::int64_t needed =
        std::max(count(group.gpus_in_all, type), gpus_of(group, type, tasks, group.nodes_min));
    std::int64_t free = 0;
    for (const NodeFree* node : pool.nodes) free += free_gpus(*node, type);
    if (free >= needed) continue;
    Shortage shortage{gpus_text(needed, type), fmt::format("{}", free), {}};
    if (free == 0 && !type.empty()) shortage.types = types_there(pool);
    return shortage;
  }
  return std::nullopt;
}

// What all nodes together lack.
std::optional<Shortage> too_little(const Pool& pool, const TaskGroup& group) {
  if (auto shortage = too_few_gpus(pool, group)) return shortage;
  const std::int64_t tasks = tasks_of(group, group.nodes_min);
  Quantity free_cpus;
  std::int64_t free_memory = 0;
  for (const NodeFree* free : pool.nodes) {
    free_cpus += free->cpus;
    free_memory += free->memory;
  }
  const Quantity cpus = cpus_of(group, tasks, group.nodes_min);
  if (free_cpus < cpus) return Shortage{cpus_text(cpus), to_string(free_cpus), {}};
  const std::int64_t memory = memory_of(group, tasks, group.nodes_min);
  if (free_memory < memory && !group.all_memory)
    return Shortage{memory_text(memory), fmt::format("{} MiB", free_memory / kMebi), {}};
  return std::nullopt;
}

// A node that has none at all is no matter of one node.
std::optional<Shortage> gpus_on_one(const Pool& pool, const TaskGroup& group) {
  for (const std::string& type : types_asked(group)) {
    const std::int64_t needed = std::max(ceil_div(count(group.gpus_in_all, type), pool.most),
                                         gpus_of(group, type, pool.together));
    std::int64_t most = 0;
    for (const NodeFree* free : pool.nodes) most = std::max(most, free_gpus(*free, type));
    if (most < needed && most > 0)
      return Shortage{gpus_text(needed, type) + " on one node", fmt::format("{}", most), {}};
  }
  return std::nullopt;
}

std::optional<Shortage> too_little_on_one(const Pool& pool, const Scope& scope,
                                          const TaskGroup& group) {
  if (static_cast<std::int64_t>(pool.nodes.size()) < pool.least) return std::nullopt;
  Quantity most_cpus;
  std::int64_t most_memory = 0;
  for (const NodeFree* free : pool.nodes) {
    most_cpus = std::max(most_cpus, free->cpus);
    most_memory = std::max(most_memory, free->memory);
  }
  const Quantity cpus = cpus_of(group, pool.together);
  if (most_cpus < cpus) return Shortage{cpus_text(cpus) + " on one node", to_string(most_cpus), {}};
  if (auto shortage = gpus_on_one(pool, group)) return shortage;
  if (group.all_memory) return std::nullopt;
  const std::int64_t bound = scope.partition ? scope.partition->max_memory_per_node : 0;
  const bool bounded = bound > 0 && bound < most_memory;
  if (bounded) most_memory = bound;
  const std::int64_t memory = memory_of(group, pool.together);
  if (most_memory >= memory) return std::nullopt;
  return Shortage{memory_text(memory) + " on one node",
                  fmt::format("{} MiB{}", most_memory / kMebi, bounded ? " (MaxMemPerNode)" : ""),
                  {}};
}

// What so many tasks and the node's own part come to: "2 cpus, 4 gpus and 512 MiB of memory".
std::string part_of_node(const TaskGroup& group, std::int64_t tasks) {
  std::vector<std::string> parts;
  const Quantity cpus = cpus_of(group, tasks);
  if (cpus > Quantity()) parts.push_back(cpus_text(cpus));
  std::int64_t named = 0;
  for (const std::string& type : types_asked(group)) {
    std::int64_t n = gpus_of(group, type, tasks);
    if (type.empty()) n = std::max<std::int64_t>(n - named, group.gpus_in_all.empty() ? 0 : 1);
    if (n > 0) parts.push_back(gpus_text(n, type));
    named += n;
  }
  const std::int64_t memory = memory_of(group, tasks);
  if (group.all_memory)
    parts.emplace_back("all of its memory");
  else if (memory > 0)
    parts.push_back(memory_text(memory));
  if (parts.empty()) return counted(tasks, "task");
  const std::string last = parts.back();
  parts.pop_back();
  return parts.empty() ? last : join(parts, ", ") + " and " + last;
}

// Enough of everything, but not in one place.
Shortage scattered(const Pool& pool, const Scope& scope, const TaskGroup& group) {
  const std::int64_t least = group.tasks > 0 ? 1 : tasks_of(group, 1);
  std::vector<std::int64_t> room;
  for (const NodeFree* free : pool.nodes) {
    const bool gpus = group.gpus_in_all.empty() ||
                      std::any_of(group.gpus_in_all.begin(), group.gpus_in_all.end(),
                                  [&](const auto& r) { return free_gpus(*free, r.type) > 0; });
    const std::int64_t tasks = gpus ? room_on(*free, scope, group) : 0;
    if (tasks < least && is_required(*free->node, group))
      return {part_of_node(group, least) + " on node " + free->node->spec.name, "0", {}};
    if (tasks >= least) room.push_back(tasks);
  }
  const auto able = static_cast<std::int64_t>(room.size());
  if (able < pool.least && pool.least > 1)
    return {
        fmt::format("{} with {} on each", counted(pool.least, "node"), part_of_node(group, least)),
        fmt::format("{}", able),
        {}};
  std::sort(room.rbegin(), room.rend());
  if (room.empty() || room.front() < pool.together)
    return {"1 node with " + part_of_node(group, pool.together), "0", {}};
  room.resize(static_cast<std::size_t>(std::min(able, pool.most)));
  const std::int64_t most = std::accumulate(room.begin(), room.end(), std::int64_t{0});
  if (most < group.tasks)
    return {fmt::format("room for {} with {} each", counted(group.tasks, "task"),
                        part_of_node(group, 1)),
            fmt::format("room for {}", most),
            {}};
  return {fmt::format("{} on at least {}", counted(tasks_of(group, pool.least), "task"),
                      counted(pool.least, "node")),
          "too little in this shape",
          {}};
}

}  // namespace

Status amounts_are_possible(const TaskGroup& group) {
  constexpr std::int64_t kMostTasks = std::int64_t{1} << 24, kMostCpus = 1'000'000,
                         kMostGpus = std::int64_t{1} << 20, kMostMemory = std::int64_t{1} << 50;
  const auto refused = [](const char* what, std::int64_t most) {
    return invalid(
        format("Requested node configuration is not available: more than {} {}", most, what));
  };
  if (std::max({group.tasks, group.nodes_min, group.nodes_max, group.tasks_per_node}) > kMostTasks)
    return refused("tasks or nodes", kMostTasks);
  const Quantity cpus = Quantity::of(kMostCpus);
  if (group.per_task.cpus > cpus || group.per_node.cpus > cpus)
    return refused("CPUs on one node", kMostCpus);
  if (std::max(group.per_task.memory, group.per_node.memory) > kMostMemory)
    return refused("bytes of memory on one node", kMostMemory);
  for (const auto* list : {&group.per_task.gpus, &group.per_node.gpus, &group.gpus_in_all})
    for (const GpuRequest& request : *list)
      if (request.count < 0 || request.count > kMostGpus) return refused("GPUs", kMostGpus);
  return {};
}

Shortage shortage(const Board& board, const Scope& scope, const TaskGroup& group) {
  const Pool pool = pool_of(board, scope, group);
  const auto nodes = static_cast<std::int64_t>(pool.nodes.size());
  if (nodes < pool.least)
    return {
        counted(pool.least, group.exclusive ? "whole node" : "node"), fmt::format("{}", nodes), {}};
  if (auto in_all = too_little(pool, group)) return *in_all;
  if (auto on_one = too_little_on_one(pool, scope, group)) return *on_one;
  return scattered(pool, scope, group);
}

std::optional<Shortage> on_one_node(const Board& board, const Scope& scope,
                                    const TaskGroup& group) {
  return too_little_on_one(pool_of(board, scope, group), scope, group);
}

}  // namespace phalanx::place
