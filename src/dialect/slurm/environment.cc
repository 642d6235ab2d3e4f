#include "dialect/slurm/environment.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/translate.h"

namespace phalanx::slurm {
namespace {

constexpr std::int64_t kMebi = 1024 * 1024;
constexpr std::array<const char*, 4> kVisible{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                              "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"};
constexpr std::array<const char*, 3> kMeetingPoint{"MASTER_ADDR", "MASTER_PORT", "RDZV_ENDPOINT"};

std::string name_of(const State& state, NodeId id) {
  const Node* node = find_node(state, id);
  return node ? node->spec.name : format("node{}", id.value);
}

template <class Shares>
std::vector<std::string> names_of(const State& state, const Shares& shares) {
  std::vector<std::string> out;
  out.reserve(shares.size());
  for (const auto& share : shares) out.push_back(name_of(state, share.node));
  return out;
}

std::string runs(const std::vector<std::int64_t>& numbers) {
  std::vector<std::uint32_t> small(numbers.begin(), numbers.end());
  return print_runs(small);
}

std::string comma_list(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (const std::int64_t n : numbers) out += format("{}{}", out.empty() ? "" : ",", n);
  return out;
}

const NodeShare* share_on(const Workload& w, NodeId node) {
  const auto& shares = w.current->shares;
  const auto it = std::find_if(shares.begin(), shares.end(),
                               [&](const NodeShare& s) { return s.node == node; });
  return it == shares.end() ? nullptr : &*it;
}

// As the machine numbers them: the device file's number, or the place in the node's list.
std::string machine_numbers(const State& state, NodeId id, const std::vector<DeviceIndex>& gpus) {
  const Node* node = find_node(state, id);
  std::vector<std::int64_t> out;
  for (const DeviceIndex i : gpus) {
    const bool filed = node && i < node->spec.devices.size() && node->spec.devices[i].minor >= 0;
    out.push_back(filed ? node->spec.devices[i].minor : static_cast<std::int64_t>(i));
  }
  return comma_list(out);
}

// Places of `some` among the job's devices on that node.
std::string places(const std::vector<DeviceIndex>& all, const std::vector<DeviceIndex>& some) {
  std::vector<std::int64_t> out;
  out.reserve(some.size());
  for (const DeviceIndex i : some)
    out.push_back(std::find(all.begin(), all.end(), i) - all.begin());
  return comma_list(out);
}

void show_devices(Variables& v, const std::string& numbers) {
  for (const char* name : kVisible) v[name] = numbers;
}

std::string asked(const Workload& w, const char* option) {
  const auto it = w.spec->asked.find(option);
  return it == w.spec->asked.end() ? "" : it->second;
}

std::vector<std::string> lines(const Variables& v) {
  std::vector<std::string> out;
  out.reserve(v.size());
  for (const auto& [name, value] : v) out.push_back(name + "=" + value);
  return out;
}

std::string_view variable_name(std::string_view entry) { return entry.substr(0, entry.find('=')); }

// --- pieces of the job's block
// -------------------------------------------------------------------------------

void identity_variables(const State& state, const Workload& w, Variables& v) {
  const WorkloadSpec& spec = *w.spec;
  v["SLURM_JOB_ID"] = v["SLURM_JOBID"] = format("{}", w.number);
  v["SLURM_JOB_NAME"] = spec.name;
  v["SLURM_JOB_PARTITION"] = spec.partition;
  if (!spec.account.empty()) v["SLURM_JOB_ACCOUNT"] = spec.account;
  v["SLURM_JOB_QOS"] = spec.qos.empty() ? "normal" : spec.qos;
  if (!spec.comment.empty()) v["SLURM_JOB_COMMENT"] = spec.comment;
  v["SLURM_JOB_UID"] = format("{}", spec.owner.uid);
  v["SLURM_JOB_USER"] = spec.owner.user;
  v["SLURM_JOB_GID"] = format("{}", spec.owner.gid);
  if (!spec.owner.group.empty()) v["SLURM_JOB_GROUP"] = spec.owner.group;
  v["SLURM_CLUSTER_NAME"] = state.config.name;
  const std::string from = asked(w, "submit-dir");
  v["SLURM_SUBMIT_DIR"] = from.empty() ? spec.launch.work_dir : from;
  if (!spec.submit_host.empty()) v["SLURM_SUBMIT_HOST"] = spec.submit_host;
  if (const std::string on = asked(w, "dependency"); !on.empty()) v["SLURM_JOB_DEPENDENCY"] = on;
  if (const std::string hint = asked(w, "hint"); !hint.empty()) v["SLURM_HINT"] = hint;
  if (const std::string spread = asked(w, "distribution"); !spread.empty())
    v["SLURM_DISTRIBUTION"] = spread;
  if (w.restarts > 0) v["SLURM_RESTART_COUNT"] = format("{}", w.restarts);
  v["PHALANX_ATTEMPT"] = format("{}", w.current->number);
}

void time_variables(const Workload& w, Variables& v) {
  const Time start = w.current->launched.value_or(w.current->placed);
  v["SLURM_JOB_START_TIME"] = format("{}", unix_seconds(start));
  if (w.limit < kNoLimit)
    v["SLURM_JOB_END_TIME"] = format("{}", unix_seconds(later(start, w.limit)));
}

void array_variables(const State& state, const Workload& w, Variables& v) {
  if (w.array_number == 0) return;
  v["SLURM_ARRAY_JOB_ID"] = format("{}", w.array_number);
  v["SLURM_ARRAY_TASK_ID"] = format("{}", w.array_index);
  const Array* array = find_array(state, w.array);
  if (!array) return;
  v["SLURM_ARRAY_TASK_COUNT"] = format("{}", array->size);
  v["SLURM_ARRAY_TASK_MIN"] = format("{}", array->first);
  v["SLURM_ARRAY_TASK_MAX"] = format("{}", array->last);
  v["SLURM_ARRAY_TASK_STEP"] = format("{}", array->stride);
}

// The same number of tasks on each node, if it is so.
std::optional<std::int64_t> even_tasks(const Workload& w) {
  const auto& shares = w.current->shares;
  for (const NodeShare& share : shares)
    if (share.tasks != shares.front().tasks) return std::nullopt;
  return shares.front().tasks;
}

void layout_variables(const State& state, const Workload& w, Variables& v) {
  std::vector<std::int64_t> tasks, cpus;
  std::int64_t in_all = 0;
  for (const NodeShare& share : w.current->shares) {
    tasks.push_back(share.tasks);
    cpus.push_back(share.cpus.ceil());
    in_all += share.tasks;
  }
  const auto names = names_of(state, w.current->shares);
  v["SLURM_JOB_NODELIST"] = v["SLURM_NODELIST"] = fold_hosts(names);
  v["SLURM_JOB_NUM_NODES"] = v["SLURM_NNODES"] = format("{}", names.size());
  v["SLURM_JOB_CPUS_PER_NODE"] = runs(cpus);
  // Where nobody asked for tasks Slurm tells how many would have a CPU each.
  for (std::size_t i = 0; !w.spec->tasks_given && i < tasks.size(); ++i)
    tasks[i] =
        std::max<std::int64_t>(cpus[i] / std::max<std::int64_t>(w.spec->cpus_per_task, 1), 1);
  v["SLURM_TASKS_PER_NODE"] = runs(tasks);
  // Slurm sets the next two only if they were asked for; frameworks stumble over the second one if
  // it is missing where it could be known, and over the first one where nobody asked for tasks.
  if (w.spec->tasks_given) {
    v["SLURM_NTASKS"] = v["SLURM_NPROCS"] = format("{}", in_all);
    if (const auto each = even_tasks(w)) v["SLURM_NTASKS_PER_NODE"] = format("{}", *each);
  }
  if (w.spec->cpus_per_task > 0) v["SLURM_CPUS_PER_TASK"] = format("{}", w.spec->cpus_per_task);
}

void amount_variables(const Workload& w, Variables& v) {
  const TaskGroup& group = w.spec->groups.front();
  const std::int64_t cpus = std::max<std::int64_t>(group.per_task.cpus.ceil(), 1);
  if (!asked(w, "mem-per-gpu").empty()) {
    v["SLURM_MEM_PER_GPU"] = format("{}", parse_mbytes(asked(w, "mem-per-gpu")).value());
  } else if (group.per_node.memory > 0) {
    v["SLURM_MEM_PER_NODE"] = format("{}", group.per_node.memory / kMebi);
  } else if (group.per_task.memory > 0) {
    v["SLURM_MEM_PER_CPU"] = format("{}", group.per_task.memory / cpus / kMebi);
  } else if (group.all_memory) {
    v["SLURM_MEM_PER_NODE"] = format("{}", w.current->shares.front().memory / kMebi);
  }
  const std::array<std::pair<const char*, const char*>, 3> gpus{
      {{"gpus", "SLURM_GPUS"},
       {"gpus-per-node", "SLURM_GPUS_PER_NODE"},
       {"gpus-per-task", "SLURM_GPUS_PER_TASK"}}};
  for (const auto& [option, name] : gpus)
    if (const std::string value = asked(w, option); !value.empty()) v[name] = value;
}

void meeting_point(const State& state, const Workload& w, Variables& v) {
  if (w.current->port == 0) return;
  const std::string first = name_of(state, w.current->shares.front().node);
  v["MASTER_ADDR"] = first;
  v["MASTER_PORT"] = format("{}", w.current->port);
  v["RDZV_ENDPOINT"] = format("{}:{}", first, w.current->port);
}

// What Slurm tells about one node of the job.
void node_variables(const State& state, const Workload& w, const NodeShare& share, Variables& v) {
  const std::string name = name_of(state, share.node);
  v["SLURMD_NODENAME"] = name;
  v["SLURM_TOPOLOGY_ADDR"] = name;
  v["SLURM_TOPOLOGY_ADDR_PATTERN"] = "node";
  const auto& shares = w.current->shares;
  const auto place = std::find_if(shares.begin(), shares.end(),
                                  [&](const NodeShare& s) { return s.node == share.node; });
  v["SLURM_NODEID"] = format("{}", place - shares.begin());
  v["SLURM_CPUS_ON_NODE"] = format("{}", share.cpus.ceil());
  if (share.gpus.empty()) return;
  v["SLURM_JOB_GPUS"] = machine_numbers(state, share.node, share.gpus);
  v["SLURM_GPUS_ON_NODE"] = format("{}", share.gpus.size());
}

// As Slurm names it: one task a node is cyclic too.
const char* distribution(const Step& step) {
  const bool in_blocks =
      std::all_of(step.shares.begin(), step.shares.end(), [](const StepShare& s) {
        return s.ranks.empty() ||
               s.ranks.back() - s.ranks.front() + 1 == static_cast<std::int64_t>(s.ranks.size());
      });
  const bool several = step.tasks > static_cast<std::int64_t>(step.shares.size());
  return in_blocks && several ? "block" : "cyclic";
}

PatternValues pattern_values(const State& state, const Workload& w) {
  PatternValues values;
  values.job_name = w.spec->name;
  values.user = w.spec->owner.user;
  values.job_id = w.number;
  values.array_job_id = w.array_number;
  if (w.array_number != 0) values.array_index = w.array_index;
  values.restarts = w.restarts;
  if (w.current) values.node_name = name_of(state, w.current->shares.front().node);
  return values;
}

}  // namespace

Variables job_variables(const State& state, const Workload& w) {
  Variables v;
  identity_variables(state, w, v);
  time_variables(w, v);
  array_variables(state, w, v);
  layout_variables(state, w, v);
  amount_variables(w, v);
  meeting_point(state, w, v);
  return v;
}

std::vector<std::string> batch_environment(const State& state, const Workload& w,
                                           const std::vector<std::string>& submitted) {
  const NodeShare& share = w.current->shares.front();
  Variables v = job_variables(state, w);
  node_variables(state, w, share, v);
  v["ENVIRONMENT"] = "BATCH";
  v["SLURM_PROCID"] = v["SLURM_LOCALID"] = v["SLURM_GTIDS"] = "0";
  v["SLURM_PRIO_PROCESS"] = "0";
  if (!share.gpus.empty()) show_devices(v, places(share.gpus, share.gpus));
  std::vector<std::string> out;
  for (const std::string& entry : submitted) {
    const std::string name(variable_name(entry));
    const bool own_meeting_point =
        std::find(kMeetingPoint.begin(), kMeetingPoint.end(), name) != kMeetingPoint.end();
    if (own_meeting_point) v.erase(name);  // given with --export: it counts
    if (!v.contains(name)) out.push_back(entry);
  }
  for (std::string& line : lines(v)) out.push_back(std::move(line));
  return out;
}

std::vector<std::string> step_environment(const State& state, const Workload& w, const Step& step,
                                          const StepShare& share) {
  Variables v = job_variables(state, w);
  const NodeShare* job_share = share_on(w, share.node);
  if (job_share) node_variables(state, w, *job_share, v);
  std::vector<std::int64_t> tasks;
  tasks.reserve(step.shares.size());
  for (const StepShare& s : step.shares) tasks.push_back(static_cast<std::int64_t>(s.ranks.size()));
  const auto place = std::find_if(step.shares.begin(), step.shares.end(),
                                  [&](const StepShare& s) { return s.node == share.node; });
  v["SLURM_STEP_ID"] = v["SLURM_STEPID"] = format("{}", step.number);
  v["SLURM_STEP_NODELIST"] = fold_hosts(names_of(state, step.shares));
  v["SLURM_NNODES"] = v["SLURM_STEP_NUM_NODES"] = format("{}", step.shares.size());
  v["SLURM_NTASKS"] = v["SLURM_NPROCS"] = v["SLURM_STEP_NUM_TASKS"] = format("{}", step.tasks);
  v["SLURM_TASKS_PER_NODE"] = v["SLURM_STEP_TASKS_PER_NODE"] = runs(tasks);
  const bool even =
      std::all_of(tasks.begin(), tasks.end(), [&](std::int64_t n) { return n == tasks.front(); });
  if (even) v["SLURM_NTASKS_PER_NODE"] = format("{}", tasks.front());
  v["SLURM_NODEID"] = format("{}", place - step.shares.begin());
  v["SLURM_CPUS_ON_NODE"] = format("{}", share.cpus.ceil());
  v["SLURM_GTIDS"] = comma_list(share.ranks);
  v["SLURM_DISTRIBUTION"] = distribution(step);
  v["SLURM_CPU_BIND_VERBOSE"] = "quiet";  // tasks may run on any CPU of their step
  v["SLURM_CPU_BIND_TYPE"] = "none";
  v["SLURM_CPU_BIND_LIST"] = "";
  v["SLURM_CPU_BIND"] = "quiet,none";
  v["SLURM_PRIO_PROCESS"] = "0";
  if (!share.gpus.empty()) {
    v["SLURM_STEP_GPUS"] = machine_numbers(state, share.node, share.gpus);
    v["SLURM_GPUS_ON_NODE"] = format("{}", share.gpus.size());
    if (job_share) show_devices(v, places(job_share->gpus, share.gpus));
  }
  std::vector<std::string> out = lines(v);
  out.emplace_back("ENVIRONMENT");
  if (!even) out.emplace_back("SLURM_NTASKS_PER_NODE");
  if (share.gpus.empty()) {
    for (const char* name : kVisible) out.emplace_back(name);
    out.emplace_back("SLURM_STEP_GPUS");
    out.emplace_back("SLURM_GPUS_ON_NODE");
  }
  return out;
}

std::vector<std::vector<std::string>> task_environments(const Workload& w, const StepShare& share,
                                                        const State& state,
                                                        std::int64_t gpus_per_task) {
  const NodeShare* job_share = share_on(w, share.node);
  std::vector<std::vector<std::string>> out;
  for (std::size_t local = 0; local < share.ranks.size(); ++local) {
    Variables v;
    v["SLURM_PROCID"] = format("{}", share.ranks[local]);
    v["SLURM_LOCALID"] = format("{}", local);
    const auto each = static_cast<std::size_t>(std::max<std::int64_t>(gpus_per_task, 0));
    if (each > 0 && job_share && (local + 1) * each <= share.gpus.size()) {
      const auto first = share.gpus.begin() + static_cast<std::ptrdiff_t>(local * each);
      const std::vector<DeviceIndex> own(first, first + static_cast<std::ptrdiff_t>(each));
      show_devices(v, places(job_share->gpus, own));
      v["SLURM_STEP_GPUS"] = machine_numbers(state, share.node, own);
    }
    out.push_back(lines(v));
  }
  return out;
}

std::string named_path(const State& state, const Workload& w, const std::string& pattern) {
  if (pattern.empty()) return {};
  std::string path = expand_pattern(pattern, pattern_values(state, w));
  if (path.empty() || path.front() == '/') return path;
  const std::string& base = w.spec->launch.work_dir;
  return base.ends_with('/') ? base + path : base + "/" + path;
}

std::string output_path(const State& state, const Workload& w, const std::string& pattern) {
  const char* common = w.array_number != 0 ? "slurm-%A_%a.out" : "slurm-%j.out";
  return named_path(state, w, pattern.empty() ? common : pattern);
}

}  // namespace phalanx::slurm
