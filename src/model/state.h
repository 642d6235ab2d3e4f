// Everything the cluster knows for sure: the fold of all events. Only cluster/'s apply() changes
// it. Values, no pointers between rows, ordered containers only: two States that saw the same
// events are equal, and print equal. One thread at a time; the live shell keeps two (one decides,
// one is read).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/config.h"
#include "model/object.h"
#include "model/workload.h"

namespace phalanx {

// What is taken on a node: the sum over unreleased shares of live attempts. Kept by apply();
// recomputed and compared by the invariants.
struct NodeUse {
  Quantity cpus;
  std::int64_t memory = 0;
  std::vector<WorkloadId> device_owner;  // by DeviceIndex; none: free
  std::set<WorkloadId> holders;          // workloads with an unreleased share here
  bool operator==(const NodeUse&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeUse, (), (cpus, memory, device_owner, holders))

// A finished element or workload that a dependency may still ask about, after it has left State.
struct Remembered {
  bool ok = false;
  Time started{};  // zero: never ran
  Time ended{};
  std::set<std::uint32_t> not_ok;  // of an array: its indexes that did not end well
  bool operator==(const Remembered&) const = default;
};
BOOST_DESCRIBE_STRUCT(Remembered, (), (ok, started, ended, not_ok))

struct KeyRecord {
  std::string content;
  WorkloadId id;
  JobNumber number = 0;
  Time at{};
  bool operator==(const KeyRecord&) const = default;
};
BOOST_DESCRIBE_STRUCT(KeyRecord, (), (content, id, number, at))

struct State {
  std::string cluster;  // id; empty: not configured yet
  ClusterConfig config;
  std::uint64_t sequence = 0;  // events applied; also Kubernetes' resourceVersion
  Time now{};                  // of the last event; time never goes back
  std::uint64_t next_id = 1;
  JobNumber next_number = 1;

  std::map<NodeId, Node> nodes;
  std::map<std::string, NodeId> node_by_name;
  std::map<NodeId, NodeUse> use;

  std::map<WorkloadId, Workload> workloads;
  std::map<WorkloadId, Array> arrays;
  std::map<JobNumber, WorkloadId> by_number;  // workloads and arrays
  std::map<ObjectKey, Object> objects;
  std::map<ObjectKey, std::uint64_t> object_version;  // sequence of the last event that touched it
  std::map<std::pair<std::uint32_t, std::string>, KeyRecord> keys;  // (uid, idempotency key)
  std::map<WorkloadId, Remembered> remembered;
  std::map<std::string, std::int64_t>
      blob_uses;                    // by hash; 0 is erased and may be dropped from the store
  std::set<WorkloadId> unarchived;  // ended and released, archive not yet confirmed
  // Indexes that decide and plan need often.
  std::set<WorkloadId> pending;  // workloads in Phase::pending, and arrays with pending indexes
  std::map<std::uint32_t, std::set<WorkloadId>> by_owner;  // workloads and arrays in State
  // Work that has not ended, by (owner, name): for singletons. Arrays while an index is pending.
  std::map<std::pair<std::uint32_t, std::string>, std::set<WorkloadId>> by_name;
  // Who names it as a dependency and has not ended: (the one waited for) → (those who wait).
  std::map<WorkloadId, std::set<WorkloadId>> dependents;
  std::set<WorkloadId> preparing;                   // Phase::placed
  std::set<std::pair<Time, WorkloadId>> deadlines;  // when a Tick has something to decide
  std::set<std::pair<Time, std::pair<std::uint32_t, std::string>>> key_order;  // keys, by age
  std::set<std::pair<Time, WorkloadId>> remembered_order;  // remembered, by end, until they are due
  // GPU-seconds of everything that has ended, by account then user: closed totals (phalanx ledger).
  std::map<std::string, std::map<std::string, Usage>> charged;
  // Held and charged to nobody: from Placed until work began, and from its end until Released.
  Usage reserved;
  bool operator==(const State&) const = default;
};
BOOST_DESCRIBE_STRUCT(State, (),
                      (cluster, config, sequence, now, next_id, next_number, nodes, node_by_name,
                       use, workloads, arrays, by_number, objects, object_version, keys, remembered,
                       blob_uses, unarchived, pending, by_owner, by_name, dependents, preparing,
                       deadlines, key_order, remembered_order, charged, reserved))

// Look-ups that everybody needs; null if there is none.
const Workload* find_workload(const State& s, WorkloadId id);
const Array* find_array(const State& s, WorkloadId id);
const Node* find_node(const State& s, NodeId id);
const Node* find_node(const State& s, std::string_view name);
const Partition* find_partition(const ClusterConfig& c,
                                std::string_view name);  // "" is the default one
// By Slurm's number; and array elements as (array number, index).
const Workload* find_job(const State& s, JobNumber number);
const Workload* find_element(const State& s, JobNumber array, std::uint32_t index);

}  // namespace phalanx
