// Why work waits: a closed set, one per pending workload, the same in squeue, kubectl describe, the
// web page and `phalanx why`. Each dialect maps the code to its own word; sentence() is for people.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/describe.h"
#include "base/time.h"
#include "model/ids.h"

namespace phalanx {

enum class ReasonCode {
  not_yet_considered,  // the planner has not looked since it was submitted or changed
  held_by_user,
  held_by_admin,
  held_by_cluster,   // launch failed on three different nodes: `detail`
  begin_time,        // `earliest`
  backoff,           // tries again at `earliest` after a failed launch or a requeue
  dependency,        // waits for `other`
  dependency_never,  // `other` ended in a way that can never satisfy it
  array_limit,       // %limit reached
  partition_down,
  partition_nodes,    // asks for more nodes than the partition allows or has
  partition_time,     // longer than the partition allows
  constraints,        // no configured node has what it asks for
  nodes_unavailable,  // would fit, but `nodes` are down, drained or absent
  resources,          // first in line: waits for `needed` of `free`
  priority,           // would fit now or later, but `other` comes first
  would_delay,        // fits now, but would delay the start promised to `other`
  cleaning,           // its last attempt is not yet gone from `nodes`
  unconfirmed,        // its last attempt may still run on unreachable `nodes`
};
BOOST_DESCRIBE_ENUM(ReasonCode, not_yet_considered, held_by_user, held_by_admin, held_by_cluster,
                    begin_time, backoff, dependency, dependency_never, array_limit, partition_down,
                    partition_nodes, partition_time, constraints, nodes_unavailable, resources,
                    priority, would_delay, cleaning, unconfirmed)

struct Reason {
  ReasonCode code = ReasonCode::not_yet_considered;
  std::optional<Time> earliest;  // the start that is promised or expected
  WorkloadId other;
  std::string needed, free;  // "16 gpus", "8": in words
  std::vector<std::string> nodes;
  std::string detail;
  bool operator==(const Reason&) const = default;
};
BOOST_DESCRIBE_STRUCT(Reason, (), (code, earliest, other, needed, free, nodes, detail))

// One sentence without a full stop: "needs 16 gpus, 8 free; starts at 2026-…". `name` prints
// another workload.
std::string sentence(const Reason& reason, const std::string& other_name);

// What the planner says of those who wait, published whole after each pass and never changed
// afterwards.
struct Outlook {
  std::uint64_t sequence = 0;  // of the State it saw
  Time at{};
  struct Wait {
    Reason reason;
    std::uint32_t position = 0;  // in the queue of its partition, from 1
    std::int64_t priority = 0;
    bool operator==(const Wait&) const = default;
  };
  std::map<WorkloadId, Wait> waits;
};
// The reason of a pending workload or array; NotYetConsidered where the outlook has none.
Reason reason_of(const Outlook& outlook, WorkloadId id);

}  // namespace phalanx
