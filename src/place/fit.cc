#include <algorithm>
#include <bit>
#include <numeric>

#include "base/text.h"
#include "place/place.h"
#include "place/seat.h"

namespace phalanx::place {

std::uint64_t of_type(const Node& node, const std::string& type) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < node.spec.devices.size(); ++i)
    if (type.empty() || iequals(node.spec.devices[i].type, type)) mask |= std::uint64_t{1} << i;
  return mask;
}

bool has_features(const Node& node, const std::vector<std::string>& all) {
  return std::all_of(all.begin(), all.end(), [&](const std::string& feature) {
    return std::find(node.spec.features.begin(), node.spec.features.end(), feature) !=
           node.spec.features.end();
  });
}

namespace {

std::uint64_t lowest(std::uint64_t mask, std::int64_t count) {
  std::uint64_t out = 0;
  for (; count > 0 && mask != 0; --count) {
    out |= mask & -mask;
    mask &= mask - 1;
  }
  return out;
}

// Takes devices for `wanted` × `times` out of `free`: named types first, so that "any" does not eat
// them. Nothing is taken if not all are there.
std::optional<std::uint64_t> pick_devices(const Node& node, std::uint64_t free,
                                          const std::vector<GpuRequest>& wanted,
                                          std::int64_t times) {
  std::uint64_t taken = 0;
  for (const bool named : {true, false}) {
    for (const GpuRequest& request : wanted) {
      if (request.type.empty() == named) continue;
      const std::int64_t count = request.count * times;
      const std::uint64_t some = lowest(free & ~taken & of_type(node, request.type), count);
      if (std::popcount(some) < count) return std::nullopt;
      taken |= some;
    }
  }
  return taken;
}

// One node as the gang sees it: how many tasks it can hold beside what is needed once per node.
struct Seat {
  NodeId id;
  const NodeFree* free = nullptr;
  std::int64_t tasks = 0;            // at most
  std::vector<std::int64_t> spread;  // free devices for each request of gpus_in_all
  bool required = false;
  std::ptrdiff_t order = 0;  // in the partition as configured: the order of ranks
};

bool node_part_fits(const NodeFree& free, const TaskGroup& group) {
  const Node& node = *free.node;
  if (group.exclusive && free.holders > 0) return false;
  if (group.all_memory && free.memory < node.spec.memory) return false;
  return free.cpus >= group.per_node.cpus && free.memory >= group.per_node.memory &&
         pick_devices(node, free.devices, group.per_node.gpus, 1).has_value();
}

// The most tasks that fit on a node, devices counted exactly.
std::int64_t tasks_on(const NodeFree& free, const TaskGroup& group) {
  if (!node_part_fits(free, group)) return 0;
  std::int64_t most = tasks_of(group, 1);
  if (group.tasks_per_node > 0) most = std::min(most, group.tasks_per_node);
  const Quantity cpus = free.cpus - group.per_node.cpus;
  if (group.per_task.cpus > Quantity())
    most = std::min(most, cpus.in_milli() / group.per_task.cpus.in_milli());
  if (group.per_task.memory > 0 && !group.all_memory)
    most = std::min(most, (free.memory - group.per_node.memory) / group.per_task.memory);
  if (group.per_task.gpus.empty()) return most;
  const std::uint64_t left =
      free.devices & ~*pick_devices(*free.node, free.devices, group.per_node.gpus, 1);
  std::int64_t low = 0;
  while (low < most && pick_devices(*free.node, left, group.per_task.gpus, low + 1)) ++low;
  return low;
}

std::vector<std::int64_t> spread_devices(const NodeFree& free, const TaskGroup& group) {
  std::vector<std::int64_t> counts;
  counts.reserve(group.gpus_in_all.size());
  for (const GpuRequest& request : group.gpus_in_all)
    counts.push_back(std::popcount(free.devices & of_type(*free.node, request.type)));
  return counts;
}

bool nothing_in(const std::vector<std::int64_t>& counts) {
  return std::all_of(counts.begin(), counts.end(), [](std::int64_t n) { return n == 0; });
}

// The partition's bound of memory on one node, in tasks.
std::int64_t tasks_in_memory(const Scope& scope, const TaskGroup& group, std::int64_t tasks) {
  const std::int64_t most = scope.partition ? scope.partition->max_memory_per_node : 0;
  if (most == 0 || group.all_memory) return tasks;
  const std::int64_t left = most - group.per_node.memory;
  if (left < group.per_task.memory) return 0;
  return group.per_task.memory > 0 ? std::min(tasks, left / group.per_task.memory) : tasks;
}

}  // namespace

bool in_scope(const Node& node, const Scope& scope, const TaskGroup& group) {
  const std::string& name = node.spec.name;
  const auto has = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  if (scope.partition && !has(scope.partition->nodes)) return false;
  if (scope.avoid && scope.avoid->contains(node.id)) return false;
  return !has(group.excluded_nodes);
}

std::int64_t room_on(const NodeFree& free, const Scope& scope, const TaskGroup& group) {
  return tasks_in_memory(scope, group, tasks_on(free, group));
}

namespace {

std::vector<Seat> seats(const Board& board, const Scope& scope, const TaskGroup& group,
                        const std::vector<std::string>* alternative) {
  std::vector<Seat> out;
  for (const auto& [id, free] : board.nodes()) {
    const Node& node = *free.node;
    if (!in_scope(node, scope, group)) continue;
    if (alternative
            ? !has_features(node, *alternative)
            : !group.constraint.any_of.empty() &&
                  std::none_of(group.constraint.any_of.begin(), group.constraint.any_of.end(),
                               [&](const auto& all) { return has_features(node, all); }))
      continue;
    Seat seat{id, &free, room_on(free, scope, group), {}, false, 0};
    if (seat.tasks < (group.tasks > 0 ? 1 : tasks_of(group, 1))) continue;
    seat.spread = spread_devices(free, group);
    if (!group.gpus_in_all.empty() && nothing_in(seat.spread)) continue;
    seat.required = std::find(group.required_nodes.begin(), group.required_nodes.end(),
                              node.spec.name) != group.required_nodes.end();
    if (scope.partition) {
      const std::vector<std::string>& names = scope.partition->nodes;
      seat.order = std::find(names.begin(), names.end(), node.spec.name) - names.begin();
    }
    out.push_back(seat);
  }
  return out;
}

// The order in which nodes are tried: the required ones; light before heavy; then the node with the
// fewest free devices and CPUs that will do, so that whole nodes stay whole; then as the partition
// lists them, so that it does not matter which agent joined first.
bool before(const Seat& a, const Seat& b) {
  const auto key = [](const Seat& s) {
    return std::tuple(!s.required, s.free->node->spec.weight, std::popcount(s.free->devices),
                      s.free->cpus, s.order, s.id);
  };
  return key(a) < key(b);
}

struct Wanted {
  std::int64_t tasks = 0;
  std::vector<std::int64_t> devices;  // for each request of gpus_in_all
};

// Sums of the largest i values of a list.
std::vector<std::int64_t> best_sums(std::vector<std::int64_t> values) {
  std::sort(values.rbegin(), values.rend());
  std::vector<std::int64_t> sums{0};
  for (const std::int64_t v : values) sums.push_back(sums.back() + v);
  return sums;
}

// Picks `count` seats in order so that together they hold what is wanted; each step leaves enough
// for the rest.
std::optional<std::vector<Seat>> pick_seats(const std::vector<Seat>& ordered, std::int64_t count,
                                            Wanted wanted) {
  std::vector<Seat> picked;
  std::vector<Seat> rest = ordered;
  while (static_cast<std::int64_t>(picked.size()) < count) {
    const auto still = static_cast<std::size_t>(count) - picked.size() - 1;
    std::vector<std::int64_t> tasks;
    std::vector<std::vector<std::int64_t>> devices(wanted.devices.size());
    for (const Seat& s : rest) {
      tasks.push_back(s.tasks);
      for (std::size_t i = 0; i < devices.size(); ++i) devices[i].push_back(s.spread[i]);
    }
    const auto task_sums = best_sums(tasks);
    for (auto& list : devices) list = best_sums(std::move(list));
    // Without this seat's own value among the best, the bound is a little generous; the next steps
    // correct it.
    const auto it = std::find_if(rest.begin(), rest.end(), [&](const Seat& s) {
      const std::size_t others = std::min(still, rest.size() - 1);
      bool enough = s.tasks + task_sums[others] >= wanted.tasks;
      for (std::size_t i = 0; i < devices.size(); ++i)
        enough = enough && s.spread[i] + devices[i][others] >= wanted.devices[i];
      return s.required || enough;
    });
    if (it == rest.end()) return std::nullopt;
    wanted.tasks -= it->tasks;
    for (std::size_t i = 0; i < devices.size(); ++i) wanted.devices[i] -= it->spread[i];
    picked.push_back(*it);
    rest.erase(it);
  }
  const bool short_of_some = std::any_of(wanted.devices.begin(), wanted.devices.end(),
                                         [](std::int64_t left) { return left > 0; });
  if (wanted.tasks > 0 || short_of_some) return std::nullopt;
  return picked;
}

// A node's part of gpus_in_all: as much as it has of what is `left` and `free`, but at least one
// device stays for each of the nodes `after` it. Named types first.
std::uint64_t take_spread(const Node& node, std::uint64_t free, const TaskGroup& group,
                          std::vector<std::int64_t>& left, std::int64_t after) {
  std::int64_t most = std::accumulate(left.begin(), left.end(), -after);
  std::uint64_t taken = 0;
  for (const bool named : {true, false}) {
    for (std::size_t i = 0; i < left.size(); ++i) {
      const std::string& type = group.gpus_in_all[i].type;
      if (type.empty() == named) continue;
      const std::uint64_t some =
          lowest(free & ~taken & of_type(node, type), std::min(left[i], most));
      taken |= some;
      left[i] -= std::popcount(some);
      most -= std::popcount(some);
    }
  }
  return taken;
}

std::vector<std::int64_t> counts_of(const std::vector<GpuRequest>& list) {
  std::vector<std::int64_t> counts;
  counts.reserve(list.size());
  for (const GpuRequest& request : list) counts.push_back(request.count);
  return counts;
}

// Fills the first nodes and leaves at least one task (and one device) for each that follows.
// Nothing if the types of gpus_in_all do not come out so.
std::optional<std::vector<NodeShare>> share_out(std::vector<Seat> picked, const Scope& scope,
                                                const TaskGroup& group) {
  const std::int64_t bound = scope.partition ? scope.partition->max_memory_per_node : 0;
  std::sort(picked.begin(), picked.end(), [](const Seat& a, const Seat& b) {
    return std::pair(a.order, a.id) < std::pair(b.order, b.id);
  });
  std::int64_t tasks = tasks_of(group, static_cast<std::int64_t>(picked.size()));
  std::vector<std::int64_t> left = counts_of(group.gpus_in_all);
  std::vector<NodeShare> shares;
  for (std::size_t i = 0; i < picked.size(); ++i) {
    const Seat& seat = picked[i];
    const Node& node = *seat.free->node;
    const auto after = static_cast<std::int64_t>(picked.size() - i - 1);
    NodeShare share{seat.id, node.boot, std::min(seat.tasks, tasks - after), {}, 0, {}};
    tasks -= share.tasks;
    share.cpus = group.exclusive ? Quantity::of(node.spec.cpus)
                                 : group.per_node.cpus + group.per_task.cpus * share.tasks;
    share.memory = group.all_memory ? node.spec.memory
                                    : group.per_node.memory + group.per_task.memory * share.tasks;
    if (bound > 0) share.memory = std::min(share.memory, bound);
    std::uint64_t mask = group.exclusive
                             ? seat.free->devices
                             : *pick_devices(node, seat.free->devices, group.per_node.gpus, 1);
    if (!group.exclusive) {
      mask |= *pick_devices(node, seat.free->devices & ~mask, group.per_task.gpus, share.tasks);
      const std::uint64_t some = take_spread(node, seat.free->devices & ~mask, group, left, after);
      if (!left.empty() && some == 0) return std::nullopt;
      mask |= some;
    }
    for (std::uint32_t d = 0; d < kMaxDevices; ++d)
      if (mask >> d & 1) share.gpus.push_back(d);
    shares.push_back(std::move(share));
  }
  if (!group.exclusive && !nothing_in(left)) return std::nullopt;
  return shares;
}

std::optional<std::vector<NodeShare>> fit_alternative(const Board& board, const Scope& scope,
                                                      const TaskGroup& group,
                                                      const std::vector<std::string>* alternative) {
  std::vector<Seat> all = seats(board, scope, group, alternative);
  std::sort(all.begin(), all.end(), before);
  const auto required = static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const Seat& s) { return s.required; }));
  if (required < group.required_nodes.size()) return std::nullopt;
  Wanted wanted{group.tasks, counts_of(group.gpus_in_all)};
  std::int64_t least =
      std::max<std::int64_t>({group.nodes_min, static_cast<std::int64_t>(required), 1,
                              scope.partition ? scope.partition->min_nodes : 0});
  auto most = static_cast<std::int64_t>(all.size());
  if (group.tasks > 0) most = std::min(most, group.tasks);
  if (!wanted.devices.empty())
    most = std::min(most,
                    std::accumulate(wanted.devices.begin(), wanted.devices.end(), std::int64_t{0}));
  if (group.nodes_max > 0) most = std::min(most, group.nodes_max);
  if (scope.nodes_most > 0) most = std::min(most, scope.nodes_most);
  for (std::int64_t count = least; count <= most; ++count) {
    wanted.tasks = tasks_of(group, count);
    if (auto picked = pick_seats(all, count, wanted))
      if (auto shares = share_out(std::move(*picked), scope, group)) return shares;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<NodeShare>> fit(const Board& board, const Scope& scope,
                                          const TaskGroup& group) {
  if (!group.constraint.same_everywhere) return fit_alternative(board, scope, group, nullptr);
  for (const std::vector<std::string>& alternative : group.constraint.any_of)
    if (auto shares = fit_alternative(board, scope, group, &alternative)) return shares;
  return std::nullopt;
}

}  // namespace phalanx::place
