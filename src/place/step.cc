#include "place/step.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace phalanx::place {
namespace {

// One of the job's nodes as the step sees it.
struct Room {
  const NodeShare* share = nullptr;
  const Node* node = nullptr;
  Quantity cpus;
  std::int64_t memory = 0;
  std::vector<DeviceIndex> gpus;
  bool untouched = true;  // no other step holds anything here
};

enum class Others { counted, ignored };

bool wants_all_cpus(const StepRequest& r) {
  return !r.exact && !r.overlap && r.shape.per_task.cpus == Quantity() &&
         r.shape.per_node.cpus == Quantity();
}

bool wants_all_gpus(const TaskGroup& shape) {
  return shape.per_task.gpus.empty() && shape.per_node.gpus.empty() && shape.gpus_in_all.empty();
}

void subtract(Room& room, const StepShare& held) {
  room.untouched = false;
  room.cpus -= held.cpus;
  room.memory -= held.memory;
  std::erase_if(room.gpus, [&](DeviceIndex d) {
    return std::find(held.gpus.begin(), held.gpus.end(), d) != held.gpus.end();
  });
}

std::vector<Room> rooms(const Workload& w, const std::map<NodeId, Node>& nodes, Others others) {
  std::vector<Room> out;
  for (const NodeShare& share : w.current->shares) {
    const auto node = nodes.find(share.node);
    if (node == nodes.end()) continue;
    Room room{&share, &node->second, share.cpus, share.memory, share.gpus, true};
    if (others == Others::counted)
      for (const auto& [number, step] : w.steps)
        for (const StepShare& held : step.shares)
          if (!step.ended && !step.overlap && held.node == share.node) subtract(room, held);
    out.push_back(std::move(room));
  }
  return out;
}

// Devices for these requests, lowest first and named types before any; nothing if they are not
// there.
std::optional<std::vector<DeviceIndex>> pick(const Room& room,
                                             const std::vector<GpuRequest>& wanted,
                                             std::int64_t times) {
  std::vector<DeviceIndex> left = room.gpus, taken;
  for (const bool named : {true, false}) {
    for (const GpuRequest& request : wanted) {
      if (request.type.empty() == named) continue;
      for (std::int64_t i = 0; i < request.count * times; ++i) {
        const auto it = std::find_if(left.begin(), left.end(), [&](DeviceIndex d) {
          const auto& devices = room.node->spec.devices;
          return !named || (d < devices.size() && iequals(devices[d].type, request.type));
        });
        if (it == left.end()) return std::nullopt;
        taken.push_back(*it);
        left.erase(it);
      }
    }
  }
  return taken;
}

std::vector<GpuRequest> joined(std::vector<GpuRequest> a, const std::vector<GpuRequest>& b,
                               std::int64_t times) {
  for (GpuRequest request : b) {
    request.count *= times;
    a.push_back(std::move(request));
  }
  return a;
}

bool gpus_fit(const Room& room, const TaskGroup& shape, std::int64_t tasks) {
  return pick(room, joined(shape.per_node.gpus, shape.per_task.gpus, tasks), 1).has_value();
}

// A job without an amount of its own is not held to one: its steps may ask for what the node has.
std::int64_t capacity_by_memory(const Room& room, const TaskGroup& shape) {
  const bool unbound = room.share->memory == 0;
  if (unbound && shape.per_node.memory == 0 && shape.per_task.memory == 0) return shape.tasks;
  const std::int64_t left =
      room.memory + (unbound ? room.node->spec.memory : 0) - shape.per_node.memory;
  if (left < 0) return 0;
  return shape.per_task.memory > 0 ? left / shape.per_task.memory : shape.tasks;
}

// How many of the step's tasks this node can take.
std::int64_t capacity(const Room& room, const StepRequest& r) {
  const TaskGroup& shape = r.shape;
  std::int64_t most = shape.tasks;
  if (shape.tasks_per_node > 0) most = std::min(most, shape.tasks_per_node);
  if (wants_all_cpus(r) && room.cpus < room.share->cpus) return 0;
  if (wants_all_gpus(shape) && !r.overlap && room.gpus.size() < room.share->gpus.size()) return 0;
  const Quantity each = shape.per_task.cpus > Quantity() ? shape.per_task.cpus : Quantity::of(1);
  const Quantity cpus = room.cpus - shape.per_node.cpus;
  if (cpus < Quantity()) return 0;
  std::int64_t by_cpus = cpus.in_milli() / each.in_milli();
  // Without CPUs per task, as many as the job itself has tasks here: it may have said --overcommit.
  if (shape.per_task.cpus == Quantity() && room.untouched)
    by_cpus = std::max(by_cpus, room.share->tasks);
  most = std::min(most, by_cpus);
  most = std::min(most, capacity_by_memory(room, shape));
  while (most > 0 && !gpus_fit(room, shape, most)) --most;
  return std::max<std::int64_t>(most, 0);
}

bool named(const Room& room, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), room.node->spec.name) != names.end();
}

// One task after the other to the next node that has room.
std::vector<std::int64_t> around(const std::vector<Room>& picked, const StepRequest& r) {
  std::vector<std::int64_t> most, tasks(picked.size());
  for (const Room& room : picked) most.push_back(capacity(room, r));
  std::int64_t left = r.shape.tasks;
  for (bool any = true; any && left > 0;) {
    any = false;
    for (std::size_t i = 0; i < picked.size() && left > 0; ++i) {
      if (tasks[i] >= most[i]) continue;
      ++tasks[i];
      --left;
      any = true;
    }
  }
  return left == 0 ? tasks : std::vector<std::int64_t>();
}

// Tasks per picked node: the job's own layout if the step is the whole job's; else as it asks.
std::vector<std::int64_t> spread(const std::vector<Room>& picked, const StepRequest& r) {
  std::vector<std::int64_t> own, block;
  std::int64_t of_job = 0, left = r.shape.tasks;
  for (std::size_t i = 0; i < picked.size(); ++i) {
    const auto after = static_cast<std::int64_t>(picked.size() - i - 1);
    own.push_back(picked[i].share->tasks);
    of_job += own.back();
    block.push_back(std::max<std::int64_t>(std::min(capacity(picked[i], r), left - after), 0));
    left -= block.back();
  }
  const auto own_fit = [&] {
    for (std::size_t i = 0; i < picked.size(); ++i)
      if (own[i] < 1 || own[i] > capacity(picked[i], r)) return false;
    return true;
  };
  if (of_job == r.shape.tasks && own_fit()) return own;
  if (r.cyclic) return around(picked, r);
  return left == 0 ? block : std::vector<std::int64_t>();
}

// The nodes the step uses: those it names, and if that is fewer than it wants, or none, others in
// order, as many as its tasks can fill.
std::vector<Room> pick_rooms(const std::vector<Room>& all, const StepRequest& r) {
  const TaskGroup& shape = r.shape;
  const auto asked = static_cast<std::int64_t>(r.nodes.size());
  const bool only_named = asked > 0 && shape.nodes_min <= asked;
  std::vector<Room> usable, others;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (static_cast<std::int64_t>(i) < r.relative) continue;
    if (named(all[i], shape.excluded_nodes) || capacity(all[i], r) == 0) continue;
    if (asked == 0 || named(all[i], r.nodes))
      usable.push_back(all[i]);
    else if (!only_named)
      others.push_back(all[i]);
  }
  if (static_cast<std::int64_t>(usable.size()) < asked) return {};
  usable.insert(usable.end(), others.begin(), others.end());
  const auto have = static_cast<std::int64_t>(usable.size());
  std::int64_t most = shape.nodes_max > 0 ? std::min(shape.nodes_max, have) : have;
  most = std::min(most, shape.tasks);
  const auto least =
      std::max<std::int64_t>({shape.nodes_min, static_cast<std::int64_t>(r.nodes.size()), 1});
  if (most < least) return {};
  usable.resize(static_cast<std::size_t>(most));
  std::sort(usable.begin(), usable.end(),  // ranks follow the job's order of nodes
            [](const Room& a, const Room& b) { return a.share < b.share; });
  return usable;
}

StepShare make_share(const Room& room, const StepRequest& r, std::int64_t tasks,
                     std::int64_t first_rank) {
  const TaskGroup& shape = r.shape;
  StepShare share;
  share.node = room.share->node;
  for (std::int64_t i = 0; i < tasks; ++i) share.ranks.push_back(first_rank + i);
  const bool counted = !wants_all_cpus(r) && (shape.per_task.cpus > Quantity() || r.exact);
  const Quantity each = shape.per_task.cpus > Quantity() ? shape.per_task.cpus : Quantity::of(1);
  share.cpus = counted ? std::min(room.cpus, shape.per_node.cpus + each * tasks) : room.share->cpus;
  share.memory = shape.per_node.memory + shape.per_task.memory * tasks;
  if (wants_all_gpus(shape))
    share.gpus = room.share->gpus;
  else if (const auto gpus = pick(room, joined(shape.per_node.gpus, shape.per_task.gpus, tasks), 1))
    share.gpus = *gpus;
  std::sort(share.gpus.begin(), share.gpus.end());
  return share;
}

// --gpus of a step: so many in all, spread over its nodes in order, at least one on each.
bool add_gpus_in_all(std::vector<StepShare>& shares, const std::vector<Room>& picked,
                     const TaskGroup& shape) {
  for (const GpuRequest& request : shape.gpus_in_all) {
    std::int64_t left = request.count;
    for (std::size_t i = 0; i < shares.size() && left > 0; ++i) {
      Room room = picked[i];
      StepShare taken;
      taken.gpus = shares[i].gpus;
      subtract(room, taken);
      const auto after = static_cast<std::int64_t>(shares.size() - i - 1);
      for (std::int64_t n = std::max<std::int64_t>(left - after, 1); n > 0; --n) {
        const auto gpus = pick(room, {{request.type, n}}, 1);
        if (!gpus) continue;
        shares[i].gpus.insert(shares[i].gpus.end(), gpus->begin(), gpus->end());
        std::sort(shares[i].gpus.begin(), shares[i].gpus.end());
        left -= n;
        break;
      }
    }
    if (left > 0) return false;
  }
  return true;
}

// The same numbers of ranks, dealt out in turn.
void deal_ranks(std::vector<StepShare>& shares) {
  std::vector<std::size_t> counts;
  counts.reserve(shares.size());
  std::int64_t rank = 0;
  for (StepShare& share : shares) counts.push_back(std::exchange(share.ranks, {}).size());
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i].ranks.size() == counts[i]) continue;
      shares[i].ranks.push_back(rank++);
      any = true;
    }
  }
}

std::vector<StepShare> try_fit(const Workload& w, const std::map<NodeId, Node>& nodes,
                               const StepRequest& r, Others others) {
  const std::vector<Room> picked = pick_rooms(rooms(w, nodes, others), r);
  const std::vector<std::int64_t> tasks = spread(picked, r);
  if (picked.empty() || tasks.empty()) return {};
  std::vector<StepShare> shares;
  std::int64_t rank = 0;
  for (std::size_t i = 0; i < picked.size(); ++i) {
    shares.push_back(make_share(picked[i], r, tasks[i], rank));
    rank += tasks[i];
  }
  if (r.cyclic) deal_ranks(shares);
  if (!add_gpus_in_all(shares, picked, r.shape)) return {};
  return shares;
}

// "step 4711.0 (train) holds 8 cpus and 2 gpus on n1"
std::string holders(const Workload& w, const std::map<NodeId, Node>& nodes) {
  std::string text;
  for (const auto& [number, step] : w.steps) {
    if (step.ended || step.overlap) continue;
    for (const StepShare& share : step.shares) {
      const auto node = nodes.find(share.node);
      if (node == nodes.end()) continue;
      if (!text.empty()) text += "; ";
      text += format("step {}.{} holds {} cpus and {} gpus on {}", w.number, number,
                     to_string(share.cpus), share.gpus.size(), node->second.spec.name);
    }
  }
  return text.empty() ? "its resources are not free" : text;
}

// The job's nodes, by name: "n1, n2".
std::string names(const std::vector<Room>& rooms) {
  std::string text;
  for (const Room& room : rooms) text += (text.empty() ? "" : ", ") + room.node->spec.name;
  return text;
}

Error never(const Workload& w, const std::map<NodeId, Node>& nodes, const StepRequest& r) {
  const std::vector<Room> all = rooms(w, nodes, Others::ignored);
  for (const std::string& name : r.nodes)
    if (std::none_of(all.begin(), all.end(), [&](const Room& x) { return named(x, {name}); }))
      return invalid(
          format("Requested node configuration is not available: node {} is not one of the job's: "
                 "{}",
                 name, names(all)));
  const auto have = static_cast<std::int64_t>(all.size());
  if (std::max<std::int64_t>(r.shape.nodes_min, static_cast<std::int64_t>(r.nodes.size())) >
      have - r.relative)
    return invalid(
        format("the step asks for {} nodes, but the job has {}", r.shape.nodes_min, have));
  const auto has_gpus = [](const Room& room) { return !room.share->gpus.empty(); };
  if (!wants_all_gpus(r.shape) && std::none_of(all.begin(), all.end(), has_gpus))
    return invalid(
        "Step requested GRES but job doesn't have GRES: ask for GPUs when you submit the job");
  const std::int64_t memory = r.shape.per_node.memory + r.shape.per_task.memory;
  const auto memory_of = [](const Room& room) {
    return room.share->memory != 0 ? room.share->memory : room.node->spec.memory;
  };
  if (!all.empty() &&
      std::none_of(all.begin(), all.end(), [&](const Room& x) { return memory_of(x) >= memory; }))
    return invalid(
        format("Memory required by task is not available: the step asks for {} MiB on a node, the "
               "job has {} there",
               memory >> 20, memory_of(all.front()) >> 20));
  return invalid(
      format("More processors requested than permitted: {} tasks with what each needs do not fit "
             "into the job's {} node{}",
             r.shape.tasks, have, have == 1 ? "" : "s"));
}

}  // namespace

Result<StepFit> fit_step(const Workload& w, const std::map<NodeId, Node>& nodes,
                         const StepRequest& request) {
  if (!w.current) return conflict("the job holds no nodes");
  if (request.shape.tasks < 1) return invalid("a step has at least one task");
  StepFit fit;
  fit.shares = try_fit(w, nodes, request, request.overlap ? Others::ignored : Others::counted);
  if (!fit.shares.empty()) return fit;
  if (request.overlap || try_fit(w, nodes, request, Others::ignored).empty())
    return never(w, nodes, request);
  fit.waiting = holders(w, nodes) + "; use --overlap to share, or ask for less";
  return fit;
}

}  // namespace phalanx::place
