#include "dialect/slurm/cluster_config.h"

#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/conf_draft.h"

namespace phalanx::slurm {
namespace {

constexpr std::int64_t kMebi = std::int64_t{1} << 20;
constexpr Duration kPracticallyNever = hours(24 * 3650);

// "/dev/nvidia3": 3.
std::int32_t minor_of(const Words& files) {
  if (files.size() != 1) return -1;
  const std::string_view file = files.front();
  const std::size_t digits = file.find_last_not_of("0123456789");
  const auto number = parse_int(file.substr(digits == file.npos ? 0 : digits + 1));
  return number ? static_cast<std::int32_t>(*number) : -1;
}

std::vector<Device> devices_of(const NodeInventory& inventory) {
  std::vector<Device> devices;
  for (const ConfiguredDevice& configured : inventory.devices) {
    if (!iequals(configured.name, "gpu")) continue;
    Device device;
    device.type = configured.type;
    device.minor = configured.count == 1 ? minor_of(configured.files) : -1;
    devices.insert(devices.end(), configured.count, device);
  }
  return devices;
}

// What slurm.conf alone says: for nodes that gres.conf leaves to the agent.
std::vector<Device> devices_of(const std::vector<NodeGres>& gres) {
  std::vector<Device> devices;
  for (const NodeGres& entry : gres) {
    if (!iequals(entry.name, "gpu")) continue;
    Device device;
    device.type = entry.type;
    devices.insert(devices.end(), entry.count, device);
  }
  return devices;
}

std::int64_t cpus_of_core(const NodeConf& conf) {
  return std::max<std::int64_t>(1, conf.cpus / (conf.sockets * conf.cores_per_socket));
}

NodeSpec node_of(const NodeConf& conf, const std::vector<NodeInventory>& inventories) {
  NodeSpec spec;
  spec.name = conf.name;
  spec.address = conf.addr;
  spec.cpus = conf.cpus - conf.core_spec_count * cpus_of_core(conf);
  spec.sockets = conf.sockets;
  spec.cores_per_socket = conf.cores_per_socket;
  spec.threads_per_core = conf.threads_per_core;
  // One megabyte is Slurm's "not given": then the node's own counts.
  if (conf.real_memory_mb > 1) spec.memory = (conf.real_memory_mb - conf.mem_spec_limit_mb) * kMebi;
  spec.features = conf.features;
  spec.weight = conf.weight;
  for (const NodeInventory& inventory : inventories)
    if (inventory.node == conf.name) spec.devices = devices_of(inventory);
  if (spec.devices.empty()) spec.devices = devices_of(conf.gres);
  return spec;
}

phalanx::PartitionState state_of(PartitionState state) {
  switch (state) {
    case PartitionState::Up:
      return phalanx::PartitionState::up;
    case PartitionState::Down:
      return phalanx::PartitionState::down;
    case PartitionState::Drain:
      return phalanx::PartitionState::drain;
    case PartitionState::Inactive:
      return phalanx::PartitionState::inactive;
  }
  return phalanx::PartitionState::up;
}

// A partition's own default takes the place of the cluster's, whichever of the two kinds it is.
void set_memory(Partition& partition, const MemoryLimits& own, const MemoryLimits& cluster) {
  const bool has_own = own.def_per_cpu_mb || own.def_per_node_mb || own.def_per_gpu_mb;
  const MemoryLimits& source = has_own ? own : cluster;
  partition.default_memory_per_cpu = source.def_per_cpu_mb.value_or(0) * kMebi;
  partition.default_memory_per_node = source.def_per_node_mb.value_or(0) * kMebi;
  partition.default_memory_per_gpu = source.def_per_gpu_mb.value_or(0) * kMebi;
  const auto& most = own.max_per_node_mb ? own.max_per_node_mb : cluster.max_per_node_mb;
  partition.max_memory_per_node = most.value_or(0) * kMebi;
}

Partition partition_of(const PartitionConf& conf, const SlurmConf& all) {
  Partition partition;
  partition.name = conf.name;
  partition.nodes = conf.nodes;
  partition.is_default = conf.is_default;
  // Only jobs with a reservation, and there are none.
  partition.state =
      conf.require_reservation ? phalanx::PartitionState::inactive : state_of(conf.state);
  partition.max_time = conf.max_time;
  partition.default_time = conf.default_time.value_or(kForever);
  partition.max_nodes = conf.max_nodes.value_or(0);
  partition.min_nodes = conf.min_nodes;
  partition.priority_tier = conf.priority_tier;
  partition.priority_job_factor = conf.priority_job_factor;
  set_memory(partition, conf.memory, all.memory);
  partition.hidden = conf.hidden;
  partition.root_only = conf.root_only;
  partition.allow_root_jobs = !conf.disable_root_jobs.value_or(all.disable_root_jobs);
  partition.exclusive = conf.exclusive == PartitionExclusive::Node || all.whole_nodes;
  partition.allow_accounts = conf.allow_accounts;
  if (conf.allow_accounts.empty()) partition.deny_accounts = conf.deny_accounts;
  partition.allow_groups = conf.allow_groups;
  partition.allow_qos = conf.allow_qos;
  if (conf.allow_qos.empty()) partition.deny_qos = conf.deny_qos;
  return partition;
}

phalanx::Timers timers_of(const Timers& conf) {
  phalanx::Timers timers;
  timers.kill_wait = conf.kill_wait;
  timers.min_job_age = conf.min_job_age == Duration::zero() ? kPracticallyNever : conf.min_job_age;
  timers.node_timeout =
      conf.slurmd_timeout == Duration::zero() ? kPracticallyNever : conf.slurmd_timeout;
  timers.suspect_after = std::min(timers.suspect_after, timers.node_timeout);
  timers.over_time_limit = conf.over_time_limit;
  timers.client_timeout = conf.inactive_limit == kForever ? Duration::zero() : conf.inactive_limit;
  return timers;
}

Policy policy_of(const SlurmConf& conf) {
  Policy policy;
  policy.backfill = conf.backfill;
  policy.max_age = conf.priority.max_age;
  if (!conf.priority.multifactor) return policy;
  policy.weight_age = conf.priority.age;
  policy.weight_partition = conf.priority.partition;
  for (const PartitionConf& partition : conf.partitions)
    policy.largest_job_factor = std::max(policy.largest_job_factor, partition.priority_job_factor);
  return policy;
}

std::string_view word_of(NodeState state) {
  switch (state) {
    case NodeState::Unknown:
      return "UNKNOWN";
    case NodeState::Down:
      return "DOWN";
    case NodeState::Drain:
      return "DRAIN";
    case NodeState::Fail:
      return "FAIL";
    case NodeState::Failing:
      return "FAILING";
    case NodeState::Future:
      return "FUTURE";
    case NodeState::Cloud:
      return "CLOUD";
  }
  return "";
}

// A node that the files keep back, or that they contradict each other about.
std::optional<NodeStanding> standing_of(const NodeConf& node, const std::string& fault) {
  if (node.state == NodeState::Future || node.state == NodeState::Cloud)
    return NodeStanding{node.name, Standing::future, ""};
  if (node.state != NodeState::Unknown)
    return NodeStanding{
        node.name, Standing::drain,
        node.reason.empty() ? format("State={} in slurm.conf", word_of(node.state)) : node.reason};
  if (!fault.empty()) return NodeStanding{node.name, Standing::drain, fault};
  return std::nullopt;
}

// --- what the files ask for and this version does not do

void warn_of_node(std::vector<Diagnostic>& to, const NodeConf& node, const SlurmConf& conf) {
  for (const NodeGres& gres : node.gres)
    if (!iequals(gres.name, "gpu"))
      warn(to, node.at, format("Gres={}: only GPUs are offered", gres.name));
  if (node.state == NodeState::Cloud)
    warn(to, node.at, "State=CLOUD: no program starts nodes here; they are used when they join");
  if (node.hostname != node.name && node.addr != node.hostname)
    warn(to, node.at,
         "NodeHostname has no effect beside NodeAddr; start the agent there with --name=NodeName");
  if (conf.select.unit == SelectUnit::Core && node.cpus > node.sockets * node.cores_per_socket)
    warn(to, node.at,
         "CR_Core: CPUs are given one by one, not whole cores; CPUs=<number of cores> gives cores");
  const bool used = std::ranges::any_of(conf.partitions, [&](const PartitionConf& partition) {
    return std::ranges::find(partition.nodes, node.name) != partition.nodes.end();
  });
  if (!used)
    warn(to, node.at, format("no partition has node {}: no work can start there", node.name));
}

void warn_of_partition(std::vector<Diagnostic>& to, const PartitionConf& partition) {
  const auto say = [&](std::string_view text) {
    warn(to, partition.at, format("partition {}: {}", partition.name, text));
  };
  if (partition.oversubscribe != OverSubscribe::No)
    say("CPUs and GPUs are never shared; OverSubscribe=NO is what happens");
  if (partition.exclusive == PartitionExclusive::User ||
      partition.exclusive == PartitionExclusive::Topo)
    say("Phalanx does not act upon Exclusive=USER or TOPO; NODE keeps all other jobs off");
  if (partition.require_reservation)
    say("ReqResv=YES, and there are no reservations yet: it is INACTIVE");
}

void warn_of_selection(std::vector<Diagnostic>& to, const SlurmConf& conf) {
  std::vector<std::string> ignored;
  if (conf.select.unit == SelectUnit::Socket) ignored.emplace_back("CR_Socket");
  if (conf.select.unit == SelectUnit::Board) ignored.emplace_back("CR_Board");
  if (conf.select.one_task_per_core) ignored.emplace_back("CR_ONE_TASK_PER_CORE");
  if (conf.select.block_distribution) ignored.emplace_back("CR_CORE_DEFAULT_DIST_BLOCK");
  if (conf.select.least_loaded_nodes) ignored.emplace_back("CR_LLN");
  if (conf.select.pack_nodes) ignored.emplace_back("CR_Pack_Nodes");
  for (const ConfPair& pair : conf.raw)
    if (pair.key == "SelectTypeParameters" && !ignored.empty())
      warn(to, pair.at,
           format("SelectTypeParameters: Phalanx does not act upon {}", join(ignored, ", ")));
}

// --- one configuration after another

template <class T>
const T* named(const std::vector<T>& list, const std::string& name) {
  const auto it = std::ranges::find(list, name, &T::name);
  return it == list.end() ? nullptr : &*it;
}

std::vector<std::string> device_types(const NodeSpec& node) {
  std::vector<std::string> types;
  types.reserve(node.devices.size());
  for (const Device& device : node.devices) types.push_back(device.type);
  return types;
}

}  // namespace

Result<std::vector<std::string>> change_notes(const ClusterConfig& before,
                                              const ClusterConfig& after) {
  if (before.name != after.name)
    return invalid(format("ClusterName cannot change while the cluster runs: it is {}, not {}",
                          before.name, after.name));
  std::vector<std::string> notes;
  for (const NodeSpec& node : before.nodes) {
    const NodeSpec* now = named(after.nodes, node.name);
    if (!now)
      notes.push_back(
          format("node {} is not configured any more: what runs there goes on, and "
                 "nothing new starts",
                 node.name));
    else if (device_types(*now) != device_types(node))
      notes.push_back(
          format("node {}: GPUs that are known already keep the type they have until the node "
                 "boots",
                 node.name));
  }
  for (const NodeSpec& node : after.nodes)
    if (!named(before.nodes, node.name))
      notes.push_back(format("node {} is new: it is used when its agent joins", node.name));
  for (const Partition& partition : before.partitions)
    if (!named(after.partitions, partition.name))
      notes.push_back(
          format("partition {} is not configured any more: jobs that wait for it wait until it is "
                 "back or they are cancelled",
                 partition.name));
  return notes;
}

Parsed<ClusterConfig> cluster_config(const SlurmConf& conf,
                                     const std::vector<NodeInventory>& inventories) {
  Parsed<ClusterConfig> out;
  ClusterConfig& config = out.value;
  if (!conf.cluster_name.empty()) config.name = conf.cluster_name;
  config.open = false;
  for (const NodeConf& node : conf.nodes) {
    config.nodes.push_back(node_of(node, inventories));
    std::string fault;
    for (const NodeInventory& inventory : inventories)
      if (inventory.node == node.name) fault = inventory.fault;
    if (auto standing = standing_of(node, fault)) config.standings.push_back(std::move(*standing));
    warn_of_node(out.diagnostics, node, conf);
  }
  for (const PartitionConf& partition : conf.partitions) {
    config.partitions.push_back(partition_of(partition, conf));
    warn_of_partition(out.diagnostics, partition);
  }
  if (conf.partitions.size() == 1) config.partitions.front().is_default = true;
  warn_of_selection(out.diagnostics, conf);
  config.policy = policy_of(conf);
  config.timers = timers_of(conf.timers);
  config.max_array_size = conf.max_array_size;
  config.max_jobs = conf.max_job_count;
  config.first_job = static_cast<JobNumber>(conf.first_job_id);
  config.requeue_by_default = conf.job_requeue;
  config.count_memory = conf.select.memory;
  config.enforce_limits = conf.enforce_part_limits != EnforceLimits::No;
  config.kill_on_bad_exit = conf.kill_on_bad_exit;
  if (conf.timers.wait_time != kForever) config.wait_time = conf.timers.wait_time;
  config.append_output = conf.job_file_append;
  for (const ConfPair& pair : conf.raw) config.shown.emplace_back(pair.key, pair.value);
  finish_messages(out.diagnostics);
  return out;
}

}  // namespace phalanx::slurm
