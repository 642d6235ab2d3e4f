// Machines, their devices and the named sets they belong to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/describe.h"
#include "base/time.h"
#include "model/ids.h"

namespace phalanx {

// usable: offered. dirty: its last owner's processes are gone but something remains on it.
// busy_outside: a process that is not ours uses it. failed: the driver or an operator says so.
enum class DeviceHealth { usable, dirty, busy_outside, failed };
BOOST_DESCRIBE_ENUM(DeviceHealth, usable, dirty, busy_outside, failed)

struct Device {      // a GPU
  std::string type;  // as requests name it: "rtxpro6000"
  std::string product;
  std::string uuid;
  std::int32_t minor = -1;  // /dev/nvidia<minor>; -1: none (emulated without a device file)
  std::int64_t memory = 0;  // bytes; 0: unknown
  bool emulated = false;
  DeviceHealth health = DeviceHealth::usable;
  std::string health_reason;
  bool operator==(const Device&) const = default;
};
BOOST_DESCRIBE_STRUCT(Device, (),
                      (type, product, uuid, minor, memory, emulated, health, health_reason))

// What a machine has: configured, reported by its agent, or both (cluster/ merges: the smaller
// amount counts).
struct NodeSpec {
  std::string name;
  std::string address;    // host name or IP that other nodes reach it by
  std::string agent_url;  // where srun reaches its agent: "10.77.0.11:6818" or "unix:/run/…"
  std::int64_t cpus = 1;
  std::int64_t sockets = 1;
  std::int64_t cores_per_socket = 1;
  std::int64_t threads_per_core = 1;
  std::int64_t memory = 0;  // bytes
  std::vector<std::string> features;
  std::vector<Device> devices;
  std::int64_t weight = 1;
  bool emulated = false;  // CPUs and memory are figures, not fences
  std::string os, arch;
  bool operator==(const NodeSpec&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeSpec, (),
                      (name, address, agent_url, cpus, sockets, cores_per_socket, threads_per_core,
                       memory, features, devices, weight, emulated, os, arch))

// absent: configured, its agent never came. up. suspected: silent, nothing new is placed there.
// lost: silent for SlurmdTimeout or declared dead; what ran there may run elsewhere.
enum class NodeHealth { absent, up, suspected, lost };
BOOST_DESCRIBE_ENUM(NodeHealth, absent, up, suspected, lost)

struct Node {
  NodeId id;
  NodeSpec spec;
  std::string boot;  // boot id of the last hello; orders to another boot are void
  NodeHealth health = NodeHealth::absent;
  bool drained =
      false;          // by an operator or by the cluster: running work goes on, nothing new starts
  bool down = false;  // drained, and declared dead by an operator: lost until it is resumed
  std::string reason;
  std::string reason_by;
  Time reason_at{};
  Time since{};  // when `health` last changed
  Time joined{};
  // Workloads that failed to launch here since something last succeeded, and their numbers. Whose
  // fault it was is not known before they run elsewhere: then it was the node's.
  std::map<WorkloadId, JobNumber> launch_failures;
  std::map<WorkloadId, JobNumber> proven_failures;  // two different ones drain it
  bool operator==(const Node&) const = default;
};
BOOST_DESCRIBE_STRUCT(Node, (),
                      (id, spec, boot, health, drained, down, reason, reason_by, reason_at, since,
                       joined, launch_failures, proven_failures))

enum class PartitionState { up, down, drain, inactive };
BOOST_DESCRIBE_ENUM(PartitionState, up, down, drain, inactive)

struct Partition {
  std::string name;
  std::vector<std::string> nodes;  // names, in configured order
  bool is_default = false;
  PartitionState state = PartitionState::up;
  Duration max_time = kForever;
  Duration default_time = kForever;  // kForever: max_time counts
  std::int64_t max_nodes = 0;        // 0: no bound
  std::int64_t min_nodes = 0;
  std::int64_t priority_tier = 1;
  std::int64_t priority_job_factor = 1;
  std::int64_t default_memory_per_cpu = 0;   // bytes; 0: see the next
  std::int64_t default_memory_per_node = 0;  // bytes; 0: all of the node's, as in Slurm
  std::int64_t default_memory_per_gpu = 0;   // at most one of the three is set
  std::int64_t max_memory_per_node = 0;
  bool hidden = false;
  bool root_only = false;
  bool allow_root_jobs = true;
  bool exclusive = false;                   // OverSubscribe=EXCLUSIVE
  std::vector<std::string> allow_accounts;  // empty: all
  std::vector<std::string> deny_accounts;
  std::vector<std::string> allow_groups;
  std::vector<std::uint32_t> allow_gids;  // of allow_groups, as the controller's machine knows them
  std::vector<std::string> allow_qos;
  std::vector<std::string> deny_qos;
  bool operator==(const Partition&) const = default;
};
BOOST_DESCRIBE_STRUCT(Partition, (),
                      (name, nodes, is_default, state, max_time, default_time, max_nodes, min_nodes,
                       priority_tier, priority_job_factor, default_memory_per_cpu,
                       default_memory_per_node, default_memory_per_gpu, max_memory_per_node, hidden,
                       root_only, allow_root_jobs, exclusive, allow_accounts, deny_accounts,
                       allow_groups, allow_gids, allow_qos, deny_qos))

}  // namespace phalanx
