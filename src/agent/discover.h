// What this node announces: the machine's own CPUs, memory and GPUs, or an emulated node's figures.
// Never fails: what cannot be found out is left out and told as a warning.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/device.h"
#include "model/node.h"

namespace phalanx::agent {

struct AgentOptions;

struct Discovery {
  NodeSpec spec;
  std::string boot;
  std::vector<std::string> warnings;
};

Discovery discover(const AgentOptions& options);

// The machine's GPUs as devices of a node. `ours`: processes that do not make a GPU busy, sorted.
std::vector<Device> find_devices(const std::vector<int>& ours, std::vector<std::string>& notes);
// Also tells what attempts have left from what others do; see Leftovers::mark.
std::vector<Device> find_devices(const std::vector<int>& ours,
                                 const std::map<std::string, std::string>& holders,
                                 Leftovers& leftovers, std::vector<std::string>& notes);
// GPUs in name only.
std::vector<Device> name_devices(std::int64_t count, const std::string& type);
// A node of this machine's size, without devices.
NodeSpec machine_spec();

}  // namespace phalanx::agent
