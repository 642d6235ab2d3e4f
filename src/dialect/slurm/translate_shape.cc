#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/translate.h"

namespace phalanx::slurm {
namespace {

constexpr std::int64_t kMebi = 1024 * 1024;
constexpr std::size_t kMaxAlternatives = 64;

std::int64_t count_of(const std::vector<GpuRequest>& gpus) {
  std::int64_t count = 0;
  for (const GpuRequest& g : gpus) count += g.count;
  return count;
}

void add_gpu(std::vector<GpuRequest>& list, const std::string& type, std::uint64_t count) {
  const auto same = std::find_if(list.begin(), list.end(),
                                 [&](const GpuRequest& g) { return iequals(g.type, type); });
  if (same != list.end())
    same->count += static_cast<std::int64_t>(count);
  else
    list.push_back({type, static_cast<std::int64_t>(count)});
}

void tidy(std::vector<GpuRequest>& list) {
  std::erase_if(list, [](const GpuRequest& g) { return g.count == 0; });
  std::sort(list.begin(), list.end(),
            [](const GpuRequest& a, const GpuRequest& b) { return a.type < b.type; });
}

// --- constraints
// ---------------------------------------------------------------------------------------------

using Sets = std::vector<std::vector<std::string>>;

Result<Sets> alternatives(const slurm::Constraint& c, bool& same_everywhere) {
  if (c.count > 0)
    return invalid(
        "Invalid feature specification: counts of nodes ('*N') are not supported; submit the parts "
        "as separate jobs");
  if (c.kind == ConstraintKind::Feature) return Sets{{c.feature}};
  if (c.kind == ConstraintKind::OneOf) same_everywhere = true;
  Sets out;
  if (c.kind == ConstraintKind::And) out.emplace_back();
  for (const slurm::Constraint& part : c.parts) {
    const Sets sets = TRY(alternatives(part, same_everywhere));
    if (c.kind != ConstraintKind::And) {
      out.insert(out.end(), sets.begin(), sets.end());
      continue;
    }
    Sets product;
    for (const auto& left : out)
      for (const auto& right : sets) {
        product.push_back(left);
        product.back().insert(product.back().end(), right.begin(), right.end());
      }
    out = std::move(product);
    if (out.size() > kMaxAlternatives)
      return invalid("Invalid feature specification: too many alternatives; write a shorter one");
  }
  for (auto& set : out) {
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
  }
  return out;
}

Result<phalanx::Constraint> constraint_of(const std::string& text) {
  phalanx::Constraint out;
  if (text.empty()) return out;
  const slurm::Constraint parsed = TRY(parse_constraint(text));
  out.any_of = TRY(alternatives(parsed, out.same_everywhere));
  return out;
}

// --- tasks and nodes
// -----------------------------------------------------------------------------------------

Result<std::vector<std::string>> hosts_of(const std::string& list) {
  if (list.find('/') != std::string::npos)
    return invalid(format("'{}' names a file, which the client should have read", list));
  auto names = TRY(expand_hosts(list));
  std::vector<std::string> unique;
  for (std::string& name : names)
    if (std::find(unique.begin(), unique.end(), name) == unique.end())
      unique.push_back(std::move(name));
  return unique;
}

std::int64_t up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

Status nodes_and_tasks(const Partition* partition, const JobOptions& o, Shape& shape) {
  TaskGroup& g = shape.group;
  const auto required = static_cast<std::int64_t>(g.required_nodes.size());
  const std::int64_t per_node = o.ntasks_per_node.value_or(0);
  g.tasks_per_node = per_node;
  if (o.nodes) {
    g.nodes_min = o.nodes->min;
    g.nodes_max = o.nodes->max;
    if (g.nodes_max > 0 && required > g.nodes_max)
      return invalid(
          format("Required nodelist includes more nodes than permitted by --nodes ({} > {}): raise "
                 "--nodes "
                 "or shorten --nodelist",
                 required, g.nodes_max));
  } else if (partition && !o.ntasks) {
    g.nodes_min = partition->min_nodes;  // with --ntasks the planner spreads them
  }
  g.nodes_min = std::max({g.nodes_min, required, std::int64_t{1}});
  shape.tasks_given = o.ntasks.has_value() || per_node > 0;
  if (!o.ntasks) {
    g.tasks = g.nodes_min * std::max<std::int64_t>(per_node, 1);
    return {};
  }
  g.tasks = *o.ntasks;
  if (per_node > 0) g.nodes_min = std::max(g.nodes_min, up(g.tasks, per_node));
  if (g.nodes_max > 0) g.nodes_max = std::max(g.nodes_max, g.nodes_min);
  if (g.tasks < required)
    return invalid(format("--nodelist names {} nodes for {} tasks: ask for at least {} tasks",
                          required, g.tasks, required));
  if (g.tasks < g.nodes_min) {
    shape.warnings.push_back(format("can't run {} processes on {} nodes, setting nnodes to {}",
                                    g.tasks, g.nodes_min, g.tasks));
    g.nodes_min = g.tasks;
    if (g.nodes_max > 0) g.nodes_max = std::min(g.nodes_max, g.tasks);
  }
  return {};
}

// --- GPUs
// ---------------------------------------------------------------------------------------------

// --gpus beside a count for each node or task says how many of them there are.
Status total_with_parts(const JobOptions& o, const std::vector<GpuRequest>& total, Shape& shape) {
  TaskGroup& g = shape.group;
  const std::int64_t all = count_of(total);
  if (const std::int64_t each = count_of(g.per_task.gpus); each > 0) {
    if (all % each != 0 || (o.ntasks && *o.ntasks * each != all))
      return invalid(format("--gpus={} does not go with --gpus-per-task={}: leave one of them out",
                            all, each));
    if (!o.ntasks) g.tasks = all / each;
    shape.tasks_given = true;
    return {};
  }
  const std::int64_t each = count_of(g.per_node.gpus);
  if (all % each != 0)
    return invalid(format("--gpus={} does not go with {} GPUs on each node: leave one of them out",
                          all, each));
  const std::int64_t nodes = all / each;
  if (o.nodes && (nodes < g.nodes_min || (g.nodes_max > 0 && nodes > g.nodes_max)))
    return invalid(
        format("--gpus={} with {} on each node needs {} nodes, but --nodes says otherwise", all,
               each, nodes));
  g.nodes_min = g.nodes_max = nodes;
  if (!o.ntasks) g.tasks = nodes * std::max<std::int64_t>(g.tasks_per_node, 1);
  return {};
}

// So many for each task mean nothing while nobody says how many tasks there are.
Status tasks_are_known(const JobOptions& o, const TaskGroup& g) {
  const bool known = o.gpus || o.ntasks || o.ntasks_per_node || !g.per_node.gpus.empty();
  if (known || g.per_task.gpus.empty()) return {};
  return invalid("--gpus-per-task used without either --gpus or -n/--ntasks is not allowed");
}

Status gpus_of(const JobOptions& o, Shape& shape) {
  TaskGroup& g = shape.group;
  g.per_node.gpus = TRY(translate_gres(o.gres));
  if (o.gpus_per_node) {
    const auto per_node = TRY(translate_gpus(*o.gpus_per_node));
    if (!g.per_node.gpus.empty() && per_node != g.per_node.gpus)
      shape.warnings.push_back("--gpus-per-node replaces the GPUs of --gres");
    g.per_node.gpus = per_node;
  }
  if (o.gpus_per_task) g.per_task.gpus = TRY(translate_gpus(*o.gpus_per_task));
  TRY(tasks_are_known(o, g));
  if (!g.per_task.gpus.empty() && !g.per_node.gpus.empty()) {
    const std::int64_t node = count_of(g.per_node.gpus), task = count_of(g.per_task.gpus);
    if (node % task != 0)
      return invalid(format("{} GPUs on each node do not go with --gpus-per-task={}", node, task));
    if (g.tasks_per_node == 0) g.tasks_per_node = node / task;
    if (!o.ntasks && !o.ntasks_per_node) g.tasks = g.nodes_min * g.tasks_per_node;
    g.per_node.gpus.clear();
  }
  if (!o.gpus) return {};
  auto total = TRY(translate_gpus(*o.gpus));
  if (total.empty()) return {};
  if (!g.per_node.gpus.empty() || !g.per_task.gpus.empty())
    return total_with_parts(o, total, shape);
  g.gpus_in_all = std::move(total);
  // As many nodes as they need, and on each of these one task or as many as were asked for.
  if (!o.ntasks && g.nodes_min != g.nodes_max) g.tasks = 0;
  return {};
}

// --- memory
// ---------------------------------------------------------------------------------------------

Status memory_per_gpu(std::int64_t each, TaskGroup& g, std::vector<std::string>& warnings) {
  if (!g.per_task.gpus.empty()) {
    g.per_task.memory = each * count_of(g.per_task.gpus);
  } else if (!g.per_node.gpus.empty()) {
    g.per_node.memory = each * count_of(g.per_node.gpus);
  } else if (const std::int64_t all = count_of(g.gpus_in_all);
             all > 0 && g.nodes_min == g.nodes_max && all % g.nodes_min == 0) {
    g.per_node.memory = each * (all / g.nodes_min);
  } else if (all > 0) {
    // Where they will be is not known before it is placed: one node may have all but one for each
    // of the others.
    const std::int64_t most = std::max<std::int64_t>(all - g.nodes_min + 1, 1);
    g.per_node.memory = each * most;
    if (most > 1)
      warnings.push_back(
          format("--mem-per-gpu with --gpus={} asks each node for the memory of {} GPUs; with "
                 "--gpus-per-node it is exact",
                 all, most));
  } else {
    return invalid(
        "--mem-per-gpu needs to know how many GPUs each node gives: use --gpus-per-node, "
        "--gpus-per-task or --gres");
  }
  return {};
}

Status memory_of(const ClusterConfig& config, const Partition* partition, const JobOptions& o,
                 Shape& shape) {
  TaskGroup& g = shape.group;
  const std::int64_t cpus = g.per_task.cpus.ceil();
  if (o.mem) {
    g.per_node.memory = *o.mem * kMebi;
    g.all_memory = *o.mem == 0;
  } else if (o.mem_per_cpu) {
    g.per_task.memory = *o.mem_per_cpu * kMebi * cpus;
    g.all_memory = *o.mem_per_cpu == 0;
  } else if (o.mem_per_gpu) {
    return memory_per_gpu(*o.mem_per_gpu * kMebi, g, shape.warnings);
  } else if (partition && partition->default_memory_per_cpu > 0) {
    g.per_task.memory = partition->default_memory_per_cpu * cpus;
  } else if (partition && partition->default_memory_per_node > 0) {
    g.per_node.memory = partition->default_memory_per_node;
  } else if (partition && partition->default_memory_per_gpu > 0 && gpus_asked(g) > 0) {
    std::vector<std::string> unasked;  // nobody asked for an amount that could be exact
    TRY(memory_per_gpu(partition->default_memory_per_gpu, g, unasked));
  } else {
    g.all_memory = config.count_memory;
  }
  return {};
}

}  // namespace

Result<std::vector<GpuRequest>> translate_gres(const std::vector<GresRequest>& list) {
  std::vector<GpuRequest> out;
  for (const GresRequest& request : list) {
    if (!iequals(request.name, "gpu"))
      return invalid(
          format("Invalid generic resource (gres) specification: there is no gres '{}' on this "
                 "cluster; GPUs are 'gpu'",
                 request.name));
    add_gpu(out, request.type, request.count);
  }
  tidy(out);
  return out;
}

Result<std::vector<GpuRequest>> translate_gpus(const std::vector<GresRequest>& list) {
  std::vector<GpuRequest> out;
  for (const GresRequest& request : list) add_gpu(out, request.type, request.count);
  tidy(out);
  return out;
}

Result<Shape> translate_shape(const ClusterConfig& config, const Partition* partition,
                              const JobOptions& options) {
  Shape shape;
  TaskGroup& g = shape.group;
  g.required_nodes = TRY(hosts_of(options.nodelist));
  g.excluded_nodes = TRY(hosts_of(options.exclude));
  g.constraint = TRY(constraint_of(options.constraint));
  TRY(nodes_and_tasks(partition, options, shape));
  g.per_task.cpus = Quantity::of(options.cpus_per_task.value_or(1));
  TRY(gpus_of(options, shape));
  TRY(memory_of(config, partition, options, shape));
  g.exclusive = options.exclusive != Exclusive::No || (partition && partition->exclusive);
  if (options.exclusive != Exclusive::No && options.exclusive != Exclusive::Node)
    shape.warnings.push_back(
        "--exclusive=… keeps all other jobs off the nodes here, as --exclusive");
  return shape;
}

}  // namespace phalanx::slurm
