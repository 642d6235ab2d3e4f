// What a decision is made of: State and Heard as they are, the events decided so far, and what
// these have taken that State does not show yet. Internal to cluster/.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "model/input.h"

namespace phalanx::cluster {

struct Draft {
  Draft(const State& s, const Heard& h, const Input& input);

  void say(EventKind what) { out.events.push_back({now, std::move(what)}); }
  void refuse(Error error) { out.reply.error = std::move(error); }
  // True if `status` is fine; else it is the reply.
  bool accept(const Status& status);
  void order(NodeId node, Order what) {
    out.effects.emplace_back(SendOrder{node, std::move(what)});
  }

  WorkloadId fresh_id() { return WorkloadId{next_id++}; }
  NodeId fresh_node() { return NodeId{next_id++}; }
  JobNumber fresh_number() { return next_number++; }

  // Says Released, once.
  void release(const Workload& w, NodeId node);
  // Says Ended, and Released for the nodes that were heard to be rid of it before it was over.
  void end(const Workload& w, Ended how);

  // An index of an array becomes a workload: says Separated. The last one left gets the array's
  // number.
  WorkloadId separate(const Array& array, std::uint32_t index);
  // A number for the next `count` indexes that leave the array together.
  JobNumber number_for(const Array& array, std::size_t count);

  const State& state;
  const Heard& heard;
  const Identity& who;
  Time now;
  Outcome out;

  // Taken by the events above.
  struct Taken {
    Quantity cpus;
    std::int64_t memory = 0;
    std::set<DeviceIndex> gpus;
    std::set<std::uint16_t> ports;
  };
  std::map<NodeId, Taken> taken;
  std::map<WorkloadId, std::set<std::uint32_t>> indexes;  // of arrays: pending no more
  std::map<WorkloadId, std::uint32_t> busier;             // arrays: elements placed by these events
  std::set<WorkloadId> placed;
  std::set<std::pair<WorkloadId, NodeId>> released;
  std::uint64_t next_id;
  JobNumber next_number;
};

}  // namespace phalanx::cluster
