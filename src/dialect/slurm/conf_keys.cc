#include "dialect/slurm/conf_keys.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace phalanx::slurm {
namespace {

using enum ValueKind;
using enum KeyHandling;

constexpr ConfKey kNodeSet[] = {
    {"Feature", Text, Acted},
    {"NodeSet", Text, Acted},
    {"Nodes", Hosts, Acted},
};

constexpr ConfKey kDownNodes[] = {
    {"DownNodes", Hosts, Acted},
    {"Reason", Text, Acted},
    {"State", Text, Acted},
};

constexpr std::string_view kFrontEnds = "front-end nodes are gone; every node runs its own agent";
constexpr ConfKey kFrontend[] = {
    {"AllowGroups", List, Kept, kFrontEnds, "", "25.05"},
    {"AllowUsers", List, Kept, kFrontEnds, "", "25.05"},
    {"DenyGroups", List, Kept, kFrontEnds, "", "25.05"},
    {"DenyUsers", List, Kept, kFrontEnds, "", "25.05"},
    {"FrontendAddr", Hosts, Kept, kFrontEnds, "", "25.05"},
    {"FrontendName", Hosts, Removed, kFrontEnds, "", "25.05"},
    {"Port", Number, Kept, kFrontEnds, "", "25.05"},
    {"Reason", Text, Kept, kFrontEnds, "", "25.05"},
    {"State", Text, Kept, kFrontEnds, "", "25.05"},
};

constexpr std::string_view kNoTopology = "nodes are chosen without regard to switches";
constexpr ConfKey kSwitch[] = {
    {"LinkSpeed", Number, Kept, "Slurm does not use it either"},
    {"Nodes", Hosts, NotYet, kNoTopology},
    {"SwitchName", Text, NotYet, kNoTopology},
    {"Switches", Hosts, NotYet, kNoTopology},
};

constexpr ConfKey kBlock[] = {
    {"BlockName", Text, NotYet, kNoTopology, "23.11"},
    {"BlockSizes", List, NotYet, kNoTopology, "23.11"},
    {"Nodes", Hosts, NotYet, kNoTopology, "23.11"},
};

constexpr ConfKey kGres[] = {
    {"AutoDetect", Text, Acted},
    {"CPUs", Text, NotYet, "", "", "19.05", "Cores"},
    {"Cores", Text, NotYet},
    {"Count", Number, Acted},
    {"File", Hosts, Acted},
    {"Files", Hosts, Acted, "", "", "", "File"},
    {"Flags", List, NotYet},
    {"Link", List, NotYet, "", "", "", "Links"},
    {"Links", List, NotYet},
    {"MultipleFiles", Hosts, NotYet, "slices of a GPU are not offered yet"},
    {"Name", Text, Acted},
    {"NodeName", Hosts, Acted},
    {"Type", Text, Acted},
};

constexpr std::string_view kOneLayout = "Phalanx uses the control groups that it finds";
constexpr std::string_view kOldKmem = "kernel memory is part of memory in cgroup v2";
constexpr ConfKey kCgroup[] = {
    {"AllowedDevicesFile", Path, Removed, "devices that belong to no GPU are always allowed", "",
     "22.05"},
    {"AllowedKmemSpace", Number, Kept, kOldKmem, "", "24.05"},
    {"AllowedRAMSpace", Text, NotYet},
    {"AllowedSwapSpace", Text, NotYet},
    {"CgroupAutomount", YesNo, Kept, kOneLayout, "", "23.11"},
    {"CgroupMountpoint", Path, Kept, kOneLayout},
    {"CgroupPlugin", Text, Kept, kOneLayout},
    {"CgroupReleaseAgentDir", Path, Removed, kOneLayout, "", "17.11"},
    {"CgroupSlice", Text, Kept, kOneLayout, "25.11"},
    {"ConstrainCores", YesNo, Kept, "jobs are always fenced, where control groups can be had"},
    {"ConstrainDevices", YesNo, Kept, "jobs are always fenced, where control groups can be had"},
    {"ConstrainKmemSpace", YesNo, Kept, kOldKmem, "", "24.05"},
    {"ConstrainRAMSpace", YesNo, Kept, "jobs are always fenced, where control groups can be had"},
    {"ConstrainSwapSpace", YesNo, NotYet},
    {"EnableControllers", YesNo, Kept, kOneLayout, "23.02"},
    {"EnableExtraControllers", List, Kept, kOneLayout, "25.05"},
    {"IgnoreSystemd", YesNo, Kept, kOneLayout},
    {"IgnoreSystemdOnFailure", YesNo, Kept, kOneLayout},
    {"MaxKmemPercent", Text, Kept, kOldKmem, "", "24.05"},
    {"MaxRAMPercent", Text, NotYet},
    {"MaxSwapPercent", Text, NotYet},
    {"MemoryLimitEnforcement", YesNo, Removed, "cgroups enforce memory", "", "20.11"},
    {"MemoryLimitThreshold", Text, Removed, "cgroups enforce memory", "", "20.11"},
    {"MemorySwappiness", Number, Kept, "cgroup v2 has no swappiness of its own"},
    {"MinKmemSpace", Megabytes, Kept, kOldKmem, "", "24.05"},
    {"MinRAMSpace", Megabytes, NotYet},
    {"SignalChildrenProcesses", YesNo, NotYet, "", "24.05"},
    {"SystemdTimeout", Number, Kept, kOneLayout, "23.11"},
    {"TaskAffinity", YesNo, Removed, "tasks are bound by --cpu-bind", "", "21.08"},
};

// Values of keys that Phalanx does not act upon which ask for nothing more than what it does.
struct Nothing {
  ConfSection section;
  std::string_view key;
  std::string_view values;  // by blanks
};
constexpr Nothing kNothing[] = {
    {ConfSection::Global, "AccountingStorageEnforce", "none 0"},
    {ConfSection::Global, "AllowSpecResourcesUsage", "0 NO"},
    {ConfSection::Global, "BurstBufferType", "burst_buffer/none"},
    {ConfSection::Global, "CompleteWait", "0"},
    {ConfSection::Global, "DefCpuPerGPU", "0"},
    {ConfSection::Global, "FairShareDampeningFactor", "1"},
    {ConfSection::Global, "HealthCheckInterval", "0"},
    {ConfSection::Global, "JobContainerType", "job_container/none"},
    {ConfSection::Global, "MCSPlugin", "mcs/none"},
    {ConfSection::Global, "MaxMemPerCPU", "0 UNLIMITED"},
    {ConfSection::Global, "MpiDefault", "none"},
    {ConfSection::Global, "PreemptExemptTime", "-1 0"},
    {ConfSection::Global, "PreemptMode", "OFF"},
    {ConfSection::Global, "PreemptType", "preempt/none"},
    {ConfSection::Global, "PriorityFavorSmall", "NO 0"},
    {ConfSection::Global, "PriorityUsageResetPeriod", "NONE"},
    {ConfSection::Global, "PriorityWeightAssoc", "0"},
    {ConfSection::Global, "PriorityWeightFairshare", "0"},
    {ConfSection::Global, "PriorityWeightJobSize", "0"},
    {ConfSection::Global, "PriorityWeightQOS", "0"},
    {ConfSection::Global, "PrivateData", "none"},
    {ConfSection::Global, "PropagatePrioProcess", "0"},
    {ConfSection::Global, "PropagateResourceLimits", "ALL"},
    {ConfSection::Global, "PropagateResourceLimitsExcept", "NONE"},
    {ConfSection::Global, "ResvOverRun", "0"},
    {ConfSection::Global, "ReturnToService", "2"},
    {ConfSection::Global, "SuspendTime", "-1 INFINITE"},
    {ConfSection::Global, "TmpFS", "/tmp"},
    {ConfSection::Global, "TopologyPlugin", "topology/default topology/flat topology/none"},
    {ConfSection::Global, "TrackWCKey", "NO 0"},
    {ConfSection::Global, "UsePAM", "NO 0"},
    {ConfSection::Global, "VSizeFactor", "0"},
    {ConfSection::Node, "TmpDisk", "0"},
    {ConfSection::Partition, "AllocNodes", "ALL"},
    {ConfSection::Partition, "Alternate", "NONE"},
    {ConfSection::Partition, "ExclusiveTopo", "NO 0"},
    {ConfSection::Partition, "ExclusiveUser", "NO 0"},
    {ConfSection::Partition, "GraceTime", "0"},
    {ConfSection::Partition, "LLN", "NO 0"},
    {ConfSection::Partition, "MaxCPUsPerNode", "UNLIMITED"},
    {ConfSection::Partition, "MaxCPUsPerSocket", "UNLIMITED"},
    {ConfSection::Partition, "MaxMemPerCPU", "0 UNLIMITED"},
    {ConfSection::Partition, "OverTimeLimit", "0"},
    {ConfSection::Partition, "PowerDownOnIdle", "NO 0"},
    {ConfSection::Partition, "PreemptMode", "OFF"},
    {ConfSection::Partition, "QOS", "N/A"},
    {ConfSection::Partition, "SelectTypeParameters", "NONE"},
    {ConfSection::Partition, "SuspendTime", "-1 INFINITE"},
    {ConfSection::Gres, "Flags", "CountOnly nvidia_gpu_env"},
    {ConfSection::Cgroup, "AllowedRAMSpace", "100"},
    {ConfSection::Cgroup, "AllowedSwapSpace", "0"},
    {ConfSection::Cgroup, "ConstrainSwapSpace", "YES"},
    {ConfSection::Cgroup, "MaxRAMPercent", "100"},
    {ConfSection::Cgroup, "MaxSwapPercent", "100"},
    {ConfSection::Cgroup, "MinRAMSpace", "30"},
    {ConfSection::Cgroup, "SignalChildrenProcesses", "NO 0"},
};

struct Parameter {
  std::string_view key, option;
  KeyHandling handling;
};

// Every other option is accepted with a warning. Those kept silently tune loops, queues and
// connections that Phalanx does not have.
constexpr Parameter kParameters[] = {
    {"SchedulerParameters", "enable_hetero_steps", Kept},
    {"SchedulerParameters", "enable_job_state_cache", Kept},
    {"SchedulerParameters", "Ignore_NUMA", Kept},
    {"SchedulerParameters", "inventory_interval", Kept},
    {"SchedulerParameters", "partition_job_depth", Kept},
    {"SchedulerParameters", "reduce_completing_frag", Kept},
    {"SchedulerParameters", "no_backup_scheduling", Kept},
    {"SchedulerParameters", "no_env_cache", Kept},
    {"SchedulerParameters", "step_retry_count", Kept},
    {"SchedulerParameters", "step_retry_time", Kept},
    {"SchedulerParameters", "default_queue_depth", Kept},
    {"SchedulerParameters", "batch_sched_delay", Kept},
    {"SchedulerParameters", "build_queue_timeout", Kept},
    {"SchedulerParameters", "correspond_after_task_cnt", Kept},
    {"SchedulerParameters", "defer", Kept},
    {"SchedulerParameters", "defer_batch", Kept},
    {"SchedulerParameters", "max_depend_depth", Kept},
    {"SchedulerParameters", "max_rpc_cnt", Kept},
    {"SchedulerParameters", "max_sched_time", Kept},
    {"SchedulerParameters", "sched_interval", Kept},
    {"SchedulerParameters", "sched_max_job_start", Kept},
    {"SchedulerParameters", "sched_min_interval", Kept},
    {"SlurmctldParameters", "enable_configless", Kept},
    {"SlurmctldParameters", "enable_async_reply", Kept},
    {"SlurmctldParameters", "conmgr_max_connections", Kept},
    {"SlurmctldParameters", "conmgr_threads", Kept},
    {"SlurmctldParameters", "preserve_node_addr", Kept},
    {"SlurmctldParameters", "validate_nodeaddr_threads", Kept},
    {"SlurmctldParameters", "enable_rpc_queue", Kept},
    {"SlurmctldParameters", "rl_enable", Kept},
    {"SlurmctldParameters", "rl_bucket_size", Kept},
    {"SlurmctldParameters", "rl_refill_period", Kept},
    {"SlurmctldParameters", "rl_refill_rate", Kept},
    {"SlurmctldParameters", "rl_table_size", Kept},
    {"SlurmctldParameters", "rl_log_freq", Kept},
    {"SlurmctldParameters", "max_dbd_msg_action", Kept},
    {"SlurmctldParameters", "enable_stepmgr", Kept},
    {"SlurmdParameters", "contain_spank", Kept},
    {"SlurmdParameters", "conmgr_max_connections", Kept},
    {"SlurmdParameters", "conmgr_threads", Kept},
};

}  // namespace

std::span<const ConfKey> conf_keys(ConfSection section) {
  switch (section) {
    case ConfSection::Global:
      return global_keys();
    case ConfSection::Node:
      return node_keys();
    case ConfSection::Partition:
      return partition_keys();
    case ConfSection::NodeSet:
      return kNodeSet;
    case ConfSection::DownNodes:
      return kDownNodes;
    case ConfSection::Frontend:
      return kFrontend;
    case ConfSection::Switch:
      return kSwitch;
    case ConfSection::Block:
      return kBlock;
    case ConfSection::Gres:
      return kGres;
    case ConfSection::Cgroup:
      return kCgroup;
  }
  return {};
}

std::string_view section_title(ConfSection section) {
  switch (section) {
    case ConfSection::Global:
      return "slurm.conf";
    case ConfSection::Node:
      return "a NodeName line";
    case ConfSection::Partition:
      return "a PartitionName line";
    case ConfSection::NodeSet:
      return "a NodeSet line";
    case ConfSection::DownNodes:
      return "a DownNodes line";
    case ConfSection::Frontend:
      return "a FrontendName line";
    case ConfSection::Switch:
      return "a SwitchName line";
    case ConfSection::Block:
      return "a BlockName line";
    case ConfSection::Gres:
      return "gres.conf";
    case ConfSection::Cgroup:
      return "cgroup.conf";
  }
  return "";
}

const ConfKey* find_key(ConfSection section, std::string_view name) {
  const std::span<const ConfKey> keys = conf_keys(section);
  const auto it =
      std::ranges::find_if(keys, [&](const ConfKey& k) { return iequals(k.name, name); });
  return it == keys.end() ? nullptr : &*it;
}

std::string_view canonical(const ConfKey& key) {
  return key.same_as.empty() ? key.name : key.same_as;
}

// The keys that open a line of their own.
constexpr std::string_view kOpeners[] = {"NodeName", "PartitionName", "NodeSet", "DownNodes",
                                         "FrontendName"};

std::optional<ConfSection> section_opened_by(std::string_view name) {
  constexpr ConfSection sections[] = {ConfSection::Node, ConfSection::Partition,
                                      ConfSection::NodeSet, ConfSection::DownNodes,
                                      ConfSection::Frontend};
  for (std::size_t i = 0; i < std::size(kOpeners); ++i)
    if (iequals(kOpeners[i], name)) return sections[i];
  return std::nullopt;
}

std::string unknown_key_message(ConfSection section, std::string_view name) {
  constexpr ConfSection of_slurm_conf[] = {ConfSection::Global, ConfSection::Node,
                                           ConfSection::Partition, ConfSection::Gres,
                                           ConfSection::Cgroup};
  for (ConfSection other : of_slurm_conf)
    if (other != section && find_key(other, name) != nullptr)
      return format("{} is not a key of {}; it belongs to {}", name, section_title(section),
                    section_title(other));
  std::vector<std::string_view> names;
  for (const ConfKey& k : conf_keys(section)) names.push_back(k.name);
  if (section == ConfSection::Global)
    names.insert(names.end(), std::begin(kOpeners), std::end(kOpeners));
  std::string message = format("{} is not a key of {}", name, section_title(section));
  if (const auto near = nearest(name, names)) return message + format("; did you mean {}?", *near);
  return message + "; remove it or put # before it";
}

bool asks_for_nothing(ConfSection section, std::string_view key, std::string_view value) {
  return std::ranges::any_of(kNothing, [&](const Nothing& row) {
    return row.section == section && row.key == key &&
           std::ranges::any_of(split_blanks(row.values),
                               [&](std::string_view v) { return iequals(v, value); });
  });
}

KeyHandling parameter_handling(std::string_view key, std::string_view option) {
  for (const Parameter& p : kParameters)
    if (p.key == key && iequals(p.option, option)) return p.handling;
  // The backfill scheduler's knobs bound how long and how deep it looks; the planner has its own
  // budget.
  if (key == "SchedulerParameters" && istarts_with(option, "bf_")) return KeyHandling::Kept;
  return KeyHandling::NotYet;
}

}  // namespace phalanx::slurm
