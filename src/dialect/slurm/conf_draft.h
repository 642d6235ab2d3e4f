// Inside the reader of slurm.conf: what is known while the file is being read, and the steps that
// fill it. Only conf*.cc and cluster_config.cc include this.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "dialect/slurm/conf.h"
#include "dialect/slurm/conf_keys.h"

namespace phalanx::slurm {

// A NodeName line before its CPUs are derived and its names expanded: what was not given is absent.
struct NodeDraft {
  std::string names, hostnames, addrs;
  std::optional<std::int64_t> cpus, boards, sockets, sockets_per_board, cores_per_socket,
      threads_per_core;
  NodeConf conf;
};

struct NodeSetDraft {
  std::string name, nodes, feature;
  Position at;
};

struct DownNodesDraft {
  std::string nodes;
  NodeState state = NodeState::Down;
  std::string reason;
  Position at;
};

struct ConfDraft {
  Parsed<SlurmConf> out;
  NodeDraft node_default;
  PartitionConf partition_default;
  std::vector<NodeSetDraft> node_sets;
  std::vector<DownNodesDraft> down_nodes;
  std::map<std::string, Position> node_at, partition_at;
  std::set<std::string> seen;  // global keys given so far
  // SlurmctldHost's older form comes in pieces.
  ControllerHost primary, backup;
};

// Decides what becomes of a key: emits its error or warning, and returns the entry if its value is
// to be read.
const ConfKey* accept(std::vector<Diagnostic>& to, ConfSection section, const ConfPair& pair);
// "Key=value: why", at the key.
void bad_value(std::vector<Diagnostic>& to, const ConfPair& pair, std::string_view why);
void warn(std::vector<Diagnostic>& to, Position at, std::string message);
// The last step of every reader: messages quote what the file says, which may be anything; what
// many lines have in common is told once.
void finish_messages(std::vector<Diagnostic>& diagnostics);

Result<NodeState> parse_node_state(std::string_view text);

void read_node(ConfDraft& draft, const ConfRecord& record);
void read_partition(ConfDraft& draft, const ConfRecord& record);
void read_node_set(ConfDraft& draft, const ConfRecord& record);
void read_down_nodes(ConfDraft& draft, const ConfRecord& record);
// After the last line: DownNodes, node sets, the nodes of partitions, and what must hold between
// lines.
void resolve(ConfDraft& draft);

}  // namespace phalanx::slurm
