// Facts about nodes; see event.h.
#pragma once

#include <string>

#include "base/describe.h"
#include "model/ids.h"
#include "model/node.h"

namespace phalanx {

struct NodeJoined {  // for the first time, or again under another boot id
  PHALANX_NAMED(NodeJoined);
  NodeId node;
  NodeSpec spec;  // merged: what is offered
  std::string boot;
  std::string drain_reason;  // non-empty: joins drained
  std::string note;          // joins undrained, but this is worth saying: "gpus 7/8"
  bool operator==(const NodeJoined&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeJoined, (), (node, spec, boot, drain_reason, note))
struct NodeChanged {
  PHALANX_NAMED(NodeChanged);
  NodeId node;
  NodeSpec spec;
  bool operator==(const NodeChanged&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeChanged, (), (node, spec))
struct NodeDrained {
  PHALANX_NAMED(NodeDrained);
  NodeId node;
  std::string reason, by;
  bool down = false;  // declared dead: whatever its agent says, it is not used until it is resumed
  bool operator==(const NodeDrained&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeDrained, (), (node, reason, by, down))
struct NodeUndrained {
  PHALANX_NAMED(NodeUndrained);
  NodeId node;
  bool operator==(const NodeUndrained&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeUndrained, (), (node))
struct NodeBlamed {  // a workload that failed to launch here runs elsewhere
  PHALANX_NAMED(NodeBlamed);
  NodeId node;
  WorkloadId id;
  bool operator==(const NodeBlamed&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeBlamed, (), (node, id))
struct NodeSuspected {
  PHALANX_NAMED(NodeSuspected);
  NodeId node;
  std::string why;
  bool operator==(const NodeSuspected&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeSuspected, (), (node, why))
struct NodeLost {
  PHALANX_NAMED(NodeLost);
  NodeId node;
  std::string why;
  bool operator==(const NodeLost&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeLost, (), (node, why))
struct NodeReturned {  // same boot, after suspicion or loss
  PHALANX_NAMED(NodeReturned);
  NodeId node;
  bool operator==(const NodeReturned&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeReturned, (), (node))

}  // namespace phalanx
