// cgroup.conf and topology.conf as typed values. Plain values; pure and total.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/quantity.h"
#include "dialect/slurm/conf.h"

namespace phalanx::slurm {

// The defaults are Slurm's: nothing is constrained until it is asked for.
struct CgroupConf {
  bool constrain_cores = false;
  bool constrain_devices = false;
  bool constrain_ram = false;
  bool constrain_swap = false;
  bool signal_children = false;
  Quantity allowed_ram_percent = Quantity::of(100);  // of the allocated memory
  Quantity allowed_swap_percent;                     // of the allocated memory
  Quantity max_ram_percent = Quantity::of(100);      // of the node's memory
  Quantity max_swap_percent = Quantity::of(100);
  std::int64_t min_ram_mb = 30;
};
Parsed<CgroupConf> read_cgroup_conf(const ConfSource& source, const ReadFile& read = {});

// A switch has nodes (a leaf) or switches below it. Trees need not be connected: jobs do not span
// them.
struct SwitchConf {
  std::string name;
  Words nodes, switches;
  Position at;
};
struct BlockConf {
  std::string name;
  Words nodes;
  Position at;
};
struct TopologyConf {
  std::vector<SwitchConf> switches;
  std::vector<BlockConf> blocks;
  std::vector<std::int64_t> block_sizes;
};
Parsed<TopologyConf> read_topology_conf(const ConfSource& source, const ReadFile& read = {});

}  // namespace phalanx::slurm
