// This machine as a node announces it: CPUs, memory, names. Plain values; units are in the names.
// Errors: none: what cannot be read stays at its default, 1 CPU in 1 socket at least.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace phalanx::agent {

struct NumaNode {
  int id = 0;
  std::string cpus;  // "0-15,32-47"
  std::int64_t memory_mib = 0;
};

struct MachineInfo {
  std::string hostname;      // without the domain
  std::string boot_id;       // another one after each boot
  std::string kernel;        // release: "6.1.0-18-amd64"
  std::string architecture;  // "x86_64"
  int cpus = 1;              // online, hardware threads
  int sockets = 1;
  int cores_per_socket = 1;
  int threads_per_core = 1;
  std::int64_t memory_mib = 0;  // Slurm's RealMemory
  std::vector<NumaNode> numa;   // nodes with CPUs or memory, by id
};

// `root` is put before /sys and /proc.
MachineInfo discover_machine(const std::string& root = "");

}  // namespace phalanx::agent
