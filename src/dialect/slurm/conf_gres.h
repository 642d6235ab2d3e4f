// gres.conf as typed values, and its union with the Gres= of slurm.conf: what devices each node
// should have.
//
// Plain values; pure and total. Counts are single devices, or shares for mps and shard. Which
// devices a node really has is the agent's finding; a fault here is a contradiction between the two
// files that takes the node out of use, with the reason that Slurm gives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "dialect/slurm/conf.h"
#include "dialect/slurm/grammar.h"

namespace phalanx::slurm {

enum class AutoDetect { Unset, Off, Nvml, Nvidia, Rsmi, OneApi, Nrt, Full };

struct GresLine {
  Words nodes;  // empty: every node
  std::string name, type;
  std::uint64_t count = 1;
  Words files;                  // expanded; empty where the line names none
  bool multiple_files = false;  // MultipleFiles: all files are one device, as for a MIG slice
  std::vector<IndexRange> cores;
  std::vector<std::int64_t> links;  // number of links to each device of the node; -1: itself
  Words flags;
  Position at;
};

struct GresConf {
  struct NodeAutoDetect {
    Words nodes;
    AutoDetect how = AutoDetect::Unset;
  };
  AutoDetect autodetect = AutoDetect::Unset;    // for nodes that no line names
  std::vector<NodeAutoDetect> node_autodetect;  // in the order of the file; the last holds
  std::vector<GresLine> lines;
};

Parsed<GresConf> read_gres_conf(const ConfSource& source, const ReadFile& read = {});

// A device, or a pool of devices without files: then count may be more than one.
struct ConfiguredDevice {
  std::string name, type;
  std::uint64_t count = 1;
  Words files;
  std::vector<IndexRange> cores;
  std::vector<std::int64_t> links;
  Words flags;
};

struct NodeInventory {
  std::string node;
  AutoDetect autodetect = AutoDetect::Unset;
  std::vector<ConfiguredDevice> devices;
  std::string fault;  // why the node must not be used; empty: none
};

// One inventory a node, in the order of conf.nodes. A gres.conf without any line contradicts
// nothing: then the agent finds the devices.
Parsed<std::vector<NodeInventory>> merge(const SlurmConf& conf, const GresConf& gres);

}  // namespace phalanx::slurm
