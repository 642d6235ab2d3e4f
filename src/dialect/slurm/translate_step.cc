#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/translate.h"

namespace phalanx::slurm {
namespace {

constexpr std::int64_t kMebi = 1024 * 1024;

// On the command line of this srun, not inherited from the job.
bool asked(const JobOptions& o, const char* name) {
  const auto it = o.origins.find(name);
  return it != o.origins.end() && it->second == Origin::CommandLine;
}

std::string base_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// How many tasks on how many nodes. What the job's variables say is the job's shape and counts only
// where this srun does not speak of nodes or tasks itself.
Status nodes_and_tasks(const Workload& w, const JobOptions& o, StepPlan& plan) {
  TaskGroup& g = plan.request.shape;
  const auto job_nodes = static_cast<std::int64_t>(w.current->shares.size());
  std::int64_t job_tasks = 0;
  for (const NodeShare& share : w.current->shares) job_tasks += share.tasks;
  const bool nodes = asked(o, "nodes"), tasks = asked(o, "ntasks");
  const bool per_node = asked(o, "ntasks-per-node");
  const std::int64_t each = per_node ? *o.ntasks_per_node : w.spec->tasks_per_node;
  // On some of the job's nodes: what the job has there, about.
  const auto tasks_on = [&](std::int64_t n) {
    return each > 0 ? n * each : std::max(n, job_tasks * n / job_nodes);
  };
  const auto named = static_cast<std::int64_t>(plan.request.nodes.size());
  if (per_node) g.tasks_per_node = each;
  if (nodes) {
    g.nodes_min = std::max<std::int64_t>(o.nodes->min, 1);
    g.nodes_max = o.nodes->max;
    if (g.nodes_min > job_nodes)
      return invalid(format("Only allocated {} nodes asked for {}", job_nodes, g.nodes_min));
  }
  if (tasks) {
    g.tasks = *o.ntasks;
    if (nodes && g.tasks < g.nodes_min) {
      plan.warnings.push_back(format("can't run {} processes on {} nodes, setting nnodes to {}",
                                     g.tasks, g.nodes_min, g.tasks));
      g.nodes_min = g.nodes_max = g.tasks;
    }
  } else if (nodes) {
    g.tasks = tasks_on(g.nodes_min);
  } else if (named > 0) {
    g.tasks = tasks_on(named);
    g.nodes_min = named;
  } else if (per_node) {
    g.tasks = tasks_on(job_nodes);
    g.nodes_min = job_nodes;
  } else {
    g.tasks = job_tasks;
    g.nodes_min = std::min(job_nodes, job_tasks);
  }
  if (named > 0 && g.nodes_max == 0) g.nodes_max = std::max(named, g.nodes_min);
  return {};
}

Status gpus(const JobOptions& o, StepPlan& plan) {
  TaskGroup& g = plan.request.shape;
  const bool own = asked(o, "gres") || asked(o, "gpus") || asked(o, "gpus-per-node") ||
                   asked(o, "gpus-per-task");
  if (asked(o, "gres")) g.per_node.gpus = TRY(translate_gres(o.gres));
  if (asked(o, "gpus-per-node") && o.gpus_per_node)
    g.per_node.gpus = TRY(translate_gpus(*o.gpus_per_node));
  if (asked(o, "gpus") && o.gpus) g.gpus_in_all = TRY(translate_gpus(*o.gpus));
  if (o.gpus_per_task && (!own || asked(o, "gpus-per-task"))) {
    const auto each = TRY(translate_gpus(*o.gpus_per_task));
    for (const GpuRequest& request : each) plan.gpus_per_task += request.count;
    if (g.per_node.gpus.empty() && g.gpus_in_all.empty()) g.per_task.gpus = each;
  }
  const bool none = g.per_node.gpus.empty() && g.per_task.gpus.empty() && g.gpus_in_all.empty();
  if (own && none) g.per_node.gpus.push_back({"", 0});  // --gres=none: not all of the job's
  return {};
}

void memory(const JobOptions& o, TaskGroup& g) {
  if (asked(o, "mem") && o.mem) g.per_node.memory = *o.mem * kMebi;
  if (asked(o, "mem-per-cpu") && o.mem_per_cpu)
    g.per_task.memory = *o.mem_per_cpu * kMebi * std::max<std::int64_t>(g.per_task.cpus.ceil(), 1);
}

}  // namespace

Result<StepPlan> translate_step(const Workload& w, const JobOptions& options,
                                const std::string& program) {
  if (!w.current) return unavailable(format("job {} is not running; try again later", w.number));
  StepPlan plan;
  StepRequest& r = plan.request;
  r.name = asked(options, "job-name") ? options.job_name : base_name(program);
  if (asked(options, "nodelist")) r.nodes = TRY(expand_hosts(options.nodelist));
  if (asked(options, "exclude")) r.shape.excluded_nodes = TRY(expand_hosts(options.exclude));
  TRY(nodes_and_tasks(w, options, plan));
  if (options.cpus_per_task) r.shape.per_task.cpus = Quantity::of(*options.cpus_per_task);
  TRY(gpus(options, plan));
  memory(options, r.shape);
  r.overlap = options.step.overlap;
  r.exact = options.step.exact || asked(options, "exclusive");
  r.cyclic = options.step.distribution == "cyclic";
  r.relative = options.step.relative.value_or(0);
  return plan;
}

}  // namespace phalanx::slurm
