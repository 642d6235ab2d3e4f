#include "agent/discover.h"

#include "agent/agent.h"
#include "agent/device.h"
#include "agent/machine.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

Device device_of(const GpuInfo& gpu) {
  Device device;
  device.type = gpu.type;
  device.product = gpu.product;
  device.uuid = gpu.uuid;
  device.minor = gpu.minor;
  device.memory = gpu.memory_bytes;
  device.emulated = gpu.emulated;
  if (!gpu.failure.empty() || gpu.mig) {
    device.health = DeviceHealth::failed;
    device.health_reason =
        gpu.failure.empty() ? "it is partitioned (MIG): only whole GPUs are used" : gpu.failure;
  } else if (gpu.left_pid != 0) {
    device.health = DeviceHealth::dirty;
    device.health_reason = format("process {} of job {} is left on it", gpu.left_pid, gpu.left_by);
  } else if (!gpu.foreign_pids.empty()) {
    device.health = DeviceHealth::busy_outside;
    device.health_reason = format("process {} uses it", gpu.foreign_pids.front());
  }
  return device;
}

}  // namespace

std::vector<Device> find_devices(const std::vector<int>& ours,
                                 const std::map<std::string, std::string>& holders,
                                 Leftovers& leftovers, std::vector<std::string>& notes) {
  GpuInventory inventory = discover_gpus();
  keep_foreign(inventory.gpus, ours);
  leftovers.mark(inventory.gpus, holders);
  notes.insert(notes.end(), inventory.notes.begin(), inventory.notes.end());
  std::vector<Device> devices;
  devices.reserve(inventory.gpus.size());
  for (const GpuInfo& gpu : inventory.gpus) devices.push_back(device_of(gpu));
  return devices;
}

std::vector<Device> find_devices(const std::vector<int>& ours, std::vector<std::string>& notes) {
  Leftovers none;
  return find_devices(ours, {}, none, notes);
}

std::vector<Device> name_devices(std::int64_t count, const std::string& type) {
  std::vector<Device> devices;
  for (const GpuInfo& gpu : emulated_devices(static_cast<int>(count), type)) {
    devices.push_back(device_of(gpu));
    devices.back().type = type;
  }
  return devices;
}

NodeSpec machine_spec() {
  constexpr std::int64_t kMib = std::int64_t{1} << 20;
  const MachineInfo machine = discover_machine();
  NodeSpec spec;
  spec.name = machine.hostname;
  spec.cpus = machine.cpus;
  spec.sockets = machine.sockets;
  spec.cores_per_socket = machine.cores_per_socket;
  spec.threads_per_core = machine.threads_per_core;
  spec.memory = machine.memory_mib * kMib;
  spec.os = "Linux " + machine.kernel;
  spec.arch = machine.architecture;
  return spec;
}

Discovery discover(const AgentOptions& options) {
  Discovery found;
  found.boot = discover_machine().boot_id;
  if (options.emulated) {
    found.spec = *options.emulated;
    found.spec.emulated = true;
  } else {
    found.spec = machine_spec();
    found.spec.devices = find_devices({}, found.warnings);
  }
  if (!options.name.empty()) found.spec.name = options.name;
  found.spec.address = options.address.empty() ? found.spec.name : options.address;
  found.spec.agent_url = "unix:" + options.run_dir + "/agent.sock";
  return found;
}

}  // namespace phalanx::agent
