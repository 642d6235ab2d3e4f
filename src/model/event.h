// Facts. The journal stores these and nothing else; apply() folds them into State without deciding
// anything. Every fact carries the results that it needs (chosen devices, translated specs), so
// that a newer version, which might decide otherwise, replays old facts identically. Absent members
// keep their defaults: adding one is compatible; anything else needs a new type and a lift at the
// door of store/.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/describe.h"
#include "base/time.h"
#include "model/config.h"
#include "model/event_node.h"
#include "model/ids.h"
#include "model/object.h"
#include "model/workload.h"

namespace phalanx {

struct Configured {
  PHALANX_NAMED(Configured);
  std::string cluster;  // the cluster id, made once
  ClusterConfig config;
  bool operator==(const Configured&) const = default;
};
BOOST_DESCRIBE_STRUCT(Configured, (), (cluster, config))

// --- submissions
struct Submitted {  // a workload, or (array set) an array
  PHALANX_NAMED(Submitted);
  WorkloadId id;
  JobNumber number = 0;
  std::shared_ptr<const WorkloadSpec> spec;
  Duration limit = kForever;
  std::optional<std::int64_t> priority;
  bool held = false;
  std::optional<Array> array;  // its `spec` stays empty: it is the one above
  std::string key;             // idempotency, remembered for the submitter
  std::string content;         // what the key stood for: a digest
  bool operator==(const Submitted&) const = default;
};
BOOST_DESCRIBE_STRUCT(Submitted, (), (id, number, spec, limit, priority, held, array, key, content))
struct Separated {  // an array's index becomes a workload of its own, to be placed or addressed
  PHALANX_NAMED(Separated);
  WorkloadId array;
  std::uint32_t index = 0;
  WorkloadId id;
  JobNumber number = 0;
  bool operator==(const Separated&) const = default;
};
BOOST_DESCRIBE_STRUCT(Separated, (), (array, index, id, number))
struct Updated {  // only what is set changes; an array's applies to its pending indexes
  PHALANX_NAMED(Updated);
  WorkloadId id;
  std::optional<Duration> limit;
  std::optional<std::int64_t> priority;
  std::optional<std::int64_t> nice;
  bool operator==(const Updated&) const = default;
};
BOOST_DESCRIBE_STRUCT(Updated, (), (id, limit, priority, nice))
struct Held {  // held, or (hold false) let go
  PHALANX_NAMED(Held);
  WorkloadId id;
  bool hold = true;
  bool by_admin = false;
  std::string why;
  bool operator==(const Held&) const = default;
};
BOOST_DESCRIBE_STRUCT(Held, (), (id, hold, by_admin, why))
// A stop is ordered: the user's cancel or a limit. Ended follows when it is over, at once for
// pending work.
struct Cancelled {
  PHALANX_NAMED(Cancelled);
  WorkloadId id;
  std::uint32_t by = 0xffffffff;
  EndCause cause = EndCause::cancelled;
  std::int32_t exit_code = 0;          // salloc, srun: what the allocation came to (Finish)
  std::optional<Again> again;          // requeued: it waits once more when the stop is done
  std::vector<std::uint32_t> indexes;  // of an array: these pending ones; `record` ends for them
  WorkloadId record;                   // the one ended row that stands for `indexes`
  JobNumber record_number = 0;
  std::string why;  // one sentence for people, where the cluster itself stops it
  bool operator==(const Cancelled&) const = default;
};
BOOST_DESCRIBE_STRUCT(Cancelled, (),
                      (id, by, cause, exit_code, again, indexes, record, record_number, why))

// Ended work waits once more (scontrol requeue): all of its row as it is from now on, for it may
// have left State.
struct Revived {
  PHALANX_NAMED(Revived);
  Workload row;
  bool was_ok = false;  // it had ended well
  bool operator==(const Revived&) const = default;
};
BOOST_DESCRIBE_STRUCT(Revived, (), (row, was_ok))

// --- attempts
struct Placed {
  PHALANX_NAMED(Placed);
  WorkloadId id;
  AttemptNumber attempt = 0;
  std::vector<NodeShare> shares;
  std::uint16_t port = 0;
  bool operator==(const Placed&) const = default;
};
BOOST_DESCRIBE_STRUCT(Placed, (), (id, attempt, shares, port))
struct Launched {
  PHALANX_NAMED(Launched);
  WorkloadId id;
  AttemptNumber attempt = 0;
  bool operator==(const Launched&) const = default;
};
BOOST_DESCRIBE_STRUCT(Launched, (), (id, attempt))
struct StepStarted {
  PHALANX_NAMED(StepStarted);
  WorkloadId id;
  AttemptNumber attempt = 0;
  Step step;
  bool operator==(const StepStarted&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepStarted, (), (id, attempt, step))
struct StepEnded {
  PHALANX_NAMED(StepEnded);
  WorkloadId id;
  AttemptNumber attempt = 0;
  StepNumber step = 0;
  std::int32_t exit_code = 0;
  std::int32_t exit_signal = 0;
  bool out_of_memory = false;
  std::optional<Time> until;  // as its nodes measured it, in this cluster's time; absent: now
  bool operator==(const StepEnded&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepEnded, (),
                      (id, attempt, step, exit_code, exit_signal, out_of_memory, until))
struct Warned {  // the signal of --signal is on its way
  PHALANX_NAMED(Warned);
  WorkloadId id;
  AttemptNumber attempt = 0;
  bool operator==(const Warned&) const = default;
};
BOOST_DESCRIBE_STRUCT(Warned, (), (id, attempt))
// What a live attempt has really used by now: at most every 5 minutes. The last word of a node
// comes with its Released.
struct UsageReported {
  PHALANX_NAMED(UsageReported);
  WorkloadId id;
  AttemptNumber attempt = 0;
  std::vector<NodeUsed> nodes;  // those that have news
  bool operator==(const UsageReported&) const = default;
};
BOOST_DESCRIBE_STRUCT(UsageReported, (), (id, attempt, nodes))
struct Promised {
  PHALANX_NAMED(Promised);
  WorkloadId id;
  Time start{};
  std::string cause;  // why later than before; empty: first promise, or earlier
  bool operator==(const Promised&) const = default;
};
BOOST_DESCRIBE_STRUCT(Promised, (), (id, start, cause))
// The attempt is over. With `again` the workload waits once more; else it has ended.
struct Ended {
  PHALANX_NAMED(Ended);
  WorkloadId id;
  AttemptNumber attempt = 0;  // 0: ended while pending
  End end;
  std::optional<Again> again;
  NodeId at_fault;  // the node that failed to launch it; none: nobody is to blame
  // As its first node measured them, in this cluster's time; absent: at Launched, and now.
  std::optional<Time> began, until;
  bool operator==(const Ended&) const = default;
};
BOOST_DESCRIBE_STRUCT(Ended, (), (id, attempt, end, again, at_fault, began, until))
struct Released {  // nothing of the attempt is left on the node, or the node's loss is presumed
  PHALANX_NAMED(Released);
  WorkloadId id;
  AttemptNumber attempt = 0;
  NodeId node;
  Used used;  // there, as far as it was measured
  std::vector<StepUsed> steps;
  bool operator==(const Released&) const = default;
};
BOOST_DESCRIBE_STRUCT(Released, (), (id, attempt, node, used, steps))
struct Archived {  // the archive has them: they leave State
  PHALANX_NAMED(Archived);
  std::vector<WorkloadId> ids;
  bool operator==(const Archived&) const = default;
};
BOOST_DESCRIBE_STRUCT(Archived, (), (ids))

// --- objects
struct ObjectPut {
  PHALANX_NAMED(ObjectPut);
  Object object;
  bool operator==(const ObjectPut&) const = default;
};
BOOST_DESCRIBE_STRUCT(ObjectPut, (), (object))
struct ObjectDeleted {
  PHALANX_NAMED(ObjectDeleted);
  ObjectKey key;
  bool operator==(const ObjectDeleted&) const = default;
};
BOOST_DESCRIBE_STRUCT(ObjectDeleted, (), (key))

using EventKind =
    std::variant<Configured, NodeJoined, NodeChanged, NodeDrained, NodeUndrained, NodeBlamed,
                 NodeSuspected, NodeLost, NodeReturned, Submitted, Separated, Updated, Held,
                 Cancelled, Revived, Placed, Launched, StepStarted, StepEnded, Warned,
                 UsageReported, Promised, Ended, Released, Archived, ObjectPut, ObjectDeleted>;

// A struct around the variant: as an alias, argument-dependent look-up would find std::apply.
struct Event {
  Time at{};
  EventKind what;
  bool operator==(const Event&) const = default;
};
BOOST_DESCRIBE_STRUCT(Event, (), (at, what))

}  // namespace phalanx
