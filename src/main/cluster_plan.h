// What `phalanx up` is going to start: the cluster's configuration and the agents of this machine.
// Reads slurm.conf and the machine; starts nothing. Errors say what to change on the command line
// or in the file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/config.h"

namespace phalanx {

struct UpOptions {
  std::string state_dir, run_dir;
  std::string config_dir;  // of slurm.conf; empty: one partition with everything
  std::int64_t nodes = 1;
  std::optional<std::int64_t> gpus_per_node, cpus_per_node, memory_per_node;  // emulated; MiB
  std::string gpu_type = "emulated";
  bool emulate = false;
  bool ephemeral = false;
  bool shared_network = false;  // emulated nodes are only names
  bool no_restart = false;      // of a daemon that ends
  bool slurm_path = false;
  std::optional<std::int64_t> port, low_disk;  // handed to the controller
};

struct PlannedNode {
  std::string name;
  std::vector<std::string> figures;  // arguments of `phalanx agent`
};

struct ClusterPlan {
  ClusterConfig config;
  std::vector<PlannedNode> nodes;
  std::string found;  // for people: "2 emulated nodes with 4 emulated GPUs each"
  std::vector<std::string> warnings;
};

// slurm.conf, and beside it gres.conf, cgroup.conf and topology.conf if they are there. The error
// is the first one, with file and line; warnings are for people.
struct FileConfig {
  ClusterConfig config;
  std::vector<std::string> warnings;
};
Result<FileConfig> read_configuration(const std::string& directory);

Result<ClusterPlan> plan_cluster(const UpOptions& options);

}  // namespace phalanx
