#include "dialect/slurm/cluster_config.h"

#include <algorithm>

#include "base/text.h"

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

NodeSpec node_of(const NodeConf& conf, const std::vector<NodeInventory>& inventories) {
  NodeSpec spec;
  spec.name = conf.name;
  spec.address = conf.addr;
  spec.cpus = conf.cpus;
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
  const auto& most = own.max_per_node_mb ? own.max_per_node_mb : cluster.max_per_node_mb;
  partition.max_memory_per_node = most.value_or(0) * kMebi;
}

Partition partition_of(const PartitionConf& conf, const SlurmConf& all) {
  Partition partition;
  partition.name = conf.name;
  partition.nodes = conf.nodes;
  partition.is_default = conf.is_default;
  partition.state = state_of(conf.state);
  partition.max_time = conf.max_time;
  partition.default_time = conf.default_time.value_or(kForever);
  partition.max_nodes = conf.max_nodes.value_or(0);
  partition.min_nodes = conf.min_nodes;
  partition.max_cpus_per_node = conf.max_cpus_per_node.value_or(0);
  partition.priority_tier = conf.priority_tier;
  partition.priority_job_factor = conf.priority_job_factor;
  set_memory(partition, conf.memory, all.memory);
  partition.hidden = conf.hidden;
  partition.root_only = conf.root_only;
  partition.exclusive = conf.exclusive == PartitionExclusive::Node || all.whole_nodes;
  partition.allow_accounts = conf.allow_accounts;
  partition.deny_accounts = conf.deny_accounts;
  partition.allow_groups = conf.allow_groups;
  partition.allow_qos = conf.allow_qos;
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
  return timers;
}

}  // namespace

Parsed<ClusterConfig> cluster_config(const SlurmConf& conf,
                                     const std::vector<NodeInventory>& inventories) {
  Parsed<ClusterConfig> out;
  ClusterConfig& config = out.value;
  if (!conf.cluster_name.empty()) config.name = conf.cluster_name;
  config.open = false;
  for (const NodeConf& node : conf.nodes) {
    config.nodes.push_back(node_of(node, inventories));
    if (node.state == NodeState::Down || node.state == NodeState::Drain)
      out.warning(node.at,
                  format("node {} is put into service; `scontrol update NodeName={} State=DRAIN "
                         "Reason=…` takes it out",
                         node.name, node.name));
  }
  for (const PartitionConf& partition : conf.partitions)
    config.partitions.push_back(partition_of(partition, conf));
  if (conf.partitions.size() == 1) config.partitions.front().is_default = true;
  config.policy.backfill = conf.backfill;
  if (conf.priority.multifactor) config.policy.weight_age = conf.priority.age;
  config.policy.max_age = conf.priority.max_age;
  config.timers = timers_of(conf.timers);
  config.max_array_size = conf.max_array_size;
  config.max_jobs = conf.max_job_count;
  config.first_job = static_cast<JobNumber>(conf.first_job_id);
  config.requeue_by_default = conf.job_requeue;
  config.append_output = conf.job_file_append;
  config.allow_root_jobs = !conf.disable_root_jobs;
  for (const ConfPair& pair : conf.raw) config.shown.emplace_back(pair.key, pair.value);
  for (const NodeInventory& inventory : inventories)
    if (!inventory.fault.empty())
      out.error({}, format("node {}: {}", inventory.node, inventory.fault));
  return out;
}

}  // namespace phalanx::slurm
