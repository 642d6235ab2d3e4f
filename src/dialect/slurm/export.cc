// Which of the submitter's variables go along.
#include <algorithm>
#include <array>

#include "dialect/slurm/environment.h"

namespace phalanx::slurm {
namespace {

// Kept whatever --export says: a shell without them finds neither its files nor its programs.
constexpr std::array<std::string_view, 7> kAlways{"HOME", "USER", "LOGNAME", "SHELL",
                                                  "PATH", "TERM", "LANG"};
constexpr std::string_view kPlainPath = "PATH=/usr/local/bin:/usr/bin:/bin";

// Variables with which a job or step tells what it is; those of an outer one are untrue in an inner
// one.
constexpr std::array<std::string_view, 40> kOutputs{"SLURM_NODELIST",
                                                    "SLURM_NNODES",
                                                    "SLURM_TASKS_PER_NODE",
                                                    "SLURM_NTASKS",
                                                    "SLURM_NPROCS",
                                                    "SLURM_NTASKS_PER_NODE",
                                                    "SLURM_CPUS_ON_NODE",
                                                    "SLURM_CPUS_PER_TASK",
                                                    "SLURM_MEM_PER_NODE",
                                                    "SLURM_MEM_PER_CPU",
                                                    "SLURM_MEM_PER_GPU",
                                                    "SLURM_GPUS",
                                                    "SLURM_GPUS_PER_NODE",
                                                    "SLURM_GPUS_PER_TASK",
                                                    "SLURM_GPUS_ON_NODE",
                                                    "SLURM_PROCID",
                                                    "SLURM_LOCALID",
                                                    "SLURM_NODEID",
                                                    "SLURM_GTIDS",
                                                    "SLURM_TASK_PID",
                                                    "SLURM_PRIO_PROCESS",
                                                    "SLURM_SUBMIT_DIR",
                                                    "SLURM_SUBMIT_HOST",
                                                    "SLURM_CLUSTER_NAME",
                                                    "SLURM_RESTART_COUNT",
                                                    "SLURM_DISTRIBUTION",
                                                    "SLURM_TOPOLOGY_ADDR",
                                                    "SLURM_JOBID",
                                                    "SLURM_TOPOLOGY_ADDR_PATTERN",
                                                    "SLURMD_NODENAME",
                                                    "ENVIRONMENT",
                                                    "PHALANX_ATTEMPT",
                                                    "PHALANX_UNIT",
                                                    "CUDA_VISIBLE_DEVICES",
                                                    "ROCR_VISIBLE_DEVICES",
                                                    "GPU_DEVICE_ORDINAL",
                                                    "ZE_AFFINITY_MASK",
                                                    "MASTER_ADDR",
                                                    "MASTER_PORT",
                                                    "RDZV_ENDPOINT"};
constexpr std::array<std::string_view, 3> kOutputPrefixes{"SLURM_JOB_", "SLURM_STEP",
                                                          "SLURM_ARRAY_"};

template <class List>
bool holds(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool told_by_a_job(std::string_view name) {
  return holds(kOutputs, name) ||
         std::any_of(kOutputPrefixes.begin(), kOutputPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

// Entries of `all` that `keep` says yes to, then the values that the specification sets.
template <class Keep>
std::vector<std::string> pick(const std::vector<std::string>& all, const ExportSpec& spec,
                              Keep keep) {
  std::vector<std::string> out;
  for (const std::string& entry : all) {
    const std::string name(name_of(entry));
    if (!spec.values.contains(name) && keep(name)) out.push_back(entry);
  }
  for (const auto& [name, value] : spec.values) out.push_back(name + "=" + value);
  return out;
}

void add_path(std::vector<std::string>& environment) {
  const bool there = std::any_of(environment.begin(), environment.end(),
                                 [](const std::string& e) { return e.starts_with("PATH="); });
  if (!there) environment.emplace_back(kPlainPath);
}

}  // namespace

std::vector<std::string> submitted_environment(const std::vector<std::string>& all,
                                               const ExportSpec& spec) {
  auto out = pick(all, spec, [&](const std::string& name) {
    if (holds(spec.names, name)) return true;
    if (told_by_a_job(name)) return false;
    return spec.base == ExportBase::All || holds(kAlways, name);
  });
  add_path(out);
  return out;
}

std::vector<std::string> step_base_environment(const std::vector<std::string>& all,
                                               const std::optional<ExportSpec>& spec) {
  if (!spec) return all;
  auto out = pick(all, *spec, [&](const std::string& name) {
    return spec->base == ExportBase::All || holds(spec->names, name) || holds(kAlways, name) ||
           told_by_a_job(name) || name.starts_with("PHALANX_");
  });
  add_path(out);
  return out;
}

}  // namespace phalanx::slurm
