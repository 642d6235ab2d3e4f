// The columns of sinfo. Internal to dialect/slurm.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dialect/slurm/node_row.h"
#include "dialect/slurm/query.h"

namespace phalanx::slurm {

// A line of sinfo: like nodes of one partition, or (partition null) of the whole cluster.
struct NodeGroup {
  const View* view = nullptr;
  const Partition* partition = nullptr;
  std::vector<NodeRow> nodes;  // none: no node of the partition passes the filters
};

struct InfoField {
  enum class About { partition, node, count };  // nodes are like each other where all of `node` are
  char letter;
  std::string_view names;  // -O, in plain form, separated by blanks
  std::string_view header;
  About about;
  std::string (*text)(const NodeGroup& group, const Moments& moments);
};
const InfoField* info_field(const Column& column);
std::span<const InfoField> info_fields();

std::string time_or_infinite(Duration limit);

}  // namespace phalanx::slurm
