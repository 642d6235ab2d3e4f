// The unit that is queued, placed, launched and charged as a whole: attempts, steps, end. Values,
// described for the codec; only apply() in cluster/ changes them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/describe.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/spec.h"

namespace phalanx {

// --- one try to run it

// What an attempt holds on one node.
struct NodeShare {
  NodeId node;
  std::string boot;
  std::int64_t tasks = 0;
  Quantity cpus;
  std::int64_t memory = 0;
  std::vector<DeviceIndex> gpus;  // sorted
  bool operator==(const NodeShare&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeShare, (), (node, boot, tasks, cpus, memory, gpus))

struct Attempt {
  AttemptNumber number = 0;
  std::vector<NodeShare> shares;  // in rank order; the first runs the batch script
  std::uint16_t port = 0;         // MASTER_PORT: no other live attempt on these nodes has it
  Time placed{};
  std::optional<Time> launched;
  std::set<NodeId> released;  // confirmed gone there
  bool warned = false;        // the signal of --signal was sent
  bool operator==(const Attempt&) const = default;
};
BOOST_DESCRIBE_STRUCT(Attempt, (), (number, shares, port, placed, launched, released, warned))

// --- steps

struct StepShare {
  NodeId node;
  std::vector<std::int64_t> ranks;
  Quantity cpus;
  std::int64_t memory = 0;
  std::vector<DeviceIndex> gpus;
  bool operator==(const StepShare&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepShare, (), (node, ranks, cpus, memory, gpus))

struct Step {
  StepNumber number = 0;
  std::string name;
  std::string key;       // idempotency: a repeated request gets the same step
  bool overlap = false;  // holds nothing against other steps
  std::int64_t tasks = 0;
  std::vector<StepShare> shares;
  Time started{};
  std::optional<Time> ended;
  std::int32_t exit_code = 0;
  std::int32_t exit_signal = 0;
  bool out_of_memory = false;
  bool operator==(const Step&) const = default;
};
BOOST_DESCRIBE_STRUCT(Step, (),
                      (number, name, key, overlap, tasks, shares, started, ended, exit_code,
                       exit_signal, out_of_memory))

// --- the workload

// pending: waits. placed: devices are held, nodes prepare. running: Go is committed. ended: over,
// though devices may still be held until each node confirms (current has unreleased shares:
// "completing").
enum class Phase { pending, placed, running, ended };
BOOST_DESCRIBE_ENUM(Phase, pending, placed, running, ended)

enum class EndCause {
  none,
  completed,  // exit code 0
  failed,     // exit code or signal of its own
  cancelled,
  timeout,
  node_failed,
  out_of_memory,
  launch_failed,  // never ran: a node refused or was silent while preparing
  deadline,
  preempted,
};
BOOST_DESCRIBE_ENUM(EndCause, none, completed, failed, cancelled, timeout, node_failed,
                    out_of_memory, launch_failed, deadline, preempted)

struct End {
  EndCause cause = EndCause::none;
  std::int32_t exit_code = 0;
  std::int32_t exit_signal = 0;
  std::int32_t worst_step = 0;    // highest exit code of a step: DerivedExitCode
  std::uint32_t by = 0xffffffff;  // who cancelled
  std::string
      detail;  // one sentence for people: "node n2: cannot create logs/7.out: No such file…"
  bool operator==(const End&) const = default;
};
BOOST_DESCRIBE_STRUCT(End, (), (cause, exit_code, exit_signal, worst_step, by, detail))

// What an attempt cost, exact: amounts × milliseconds between placed and released, per node,
// summed.
struct Usage {
  std::int64_t gpu_ms = 0;
  std::int64_t cpu_ms = 0;        // milli-CPUs × ms / 1000, rounded down per share
  std::int64_t memory_mb_ms = 0;  // MiB × ms
  std::int64_t node_ms = 0;
  bool operator==(const Usage&) const = default;
};
BOOST_DESCRIBE_STRUCT(Usage, (), (gpu_ms, cpu_ms, memory_mb_ms, node_ms))

// How work that comes back waits.
struct Again {
  Time not_before{};
  std::vector<NodeId> avoid;      // all that it avoids from now on
  bool counts_as_restart = true;  // SLURM_RESTART_COUNT; a failed launch does not
  std::string hold;               // non-empty: held, with this reason
  bool operator==(const Again&) const = default;
};
BOOST_DESCRIBE_STRUCT(Again, (), (not_before, avoid, counts_as_restart, hold))

// One attempt that is over: for the account of requeued work, and for the archive's row of the last
// one.
struct PastAttempt {
  AttemptNumber number = 0;
  Time placed{}, launched{}, ended{};  // launched: zero if it never was
  End end;
  Usage usage;                     // grows until the last share is released
  std::vector<std::string> nodes;  // names, in the order of `shares`
  std::vector<NodeShare> shares;
  std::uint16_t port = 0;
  bool operator==(const PastAttempt&) const = default;
};
BOOST_DESCRIBE_STRUCT(PastAttempt, (),
                      (number, placed, launched, ended, end, usage, nodes, shares, port))

// The earliest start that blocked work was told. Moves later only with a recorded cause.
struct Promise {
  Time start{};
  Time made{};
  std::string cause;  // of the last move to a later date; empty: never moved
  bool operator==(const Promise&) const = default;
};
BOOST_DESCRIBE_STRUCT(Promise, (), (start, made, cause))

struct Workload {
  WorkloadId id;
  JobNumber number = 0;
  WorkloadId array;  // the Array it came from
  JobNumber array_number = 0;
  std::uint32_t array_index = 0;
  std::string
      array_rest;  // "3-9": this ended row stands for several indexes, cancelled while pending
  std::uint32_t stands_for = 1;  // so many indexes
  std::shared_ptr<const WorkloadSpec> spec;

  Phase phase = Phase::pending;
  Time submitted{};
  Time not_before{};                     // backoff after a failed launch or a requeue
  Duration limit = kForever;             // in force: spec's, or the partition's, or as updated
  std::optional<std::int64_t> priority;  // set by hand
  std::int64_t nice = 0;
  bool held_by_user = false;
  bool held_by_admin = false;
  std::string held_why;        // by the cluster: "launch failed on three nodes"
  AttemptNumber attempts = 0;  // the number of the last one
  std::uint32_t restarts = 0;
  std::uint32_t failed_launches = 0;  // in a row
  std::set<NodeId> avoid;             // nodes that failed to launch it
  std::optional<Attempt> current;     // placed, running, or ended with unreleased shares
  std::optional<Promise> promise;
  bool cancel_asked = false;
  std::uint32_t cancelled_by = 0xffffffff;
  Time stop_since{};  // when a stop was ordered (cancel, limit); zero: none
  EndCause stop_cause = EndCause::none;
  std::int32_t stop_exit = 0;        // the exit code that ends an allocation (Finish)
  std::optional<Again> stop_again;   // it waits once more when the stop is done
  std::map<StepNumber, Step> steps;  // of the current attempt
  StepNumber next_step = 0;
  End end;       // once ended
  Time ended{};  // once ended
  Time first_placed{};
  Usage charged;                  // of all attempts, closed shares only
  std::vector<PastAttempt> past;  // the last one too, once it is over
  bool operator==(const Workload&) const = default;
};
BOOST_DESCRIBE_STRUCT(Workload, (),
                      (id, number, array, array_number, array_index, array_rest, stands_for, spec,
                       phase, submitted, not_before, limit, priority, nice, held_by_user,
                       held_by_admin, held_why, attempts, restarts, failed_launches, avoid, current,
                       promise, cancel_asked, cancelled_by, stop_since, stop_cause, stop_exit,
                       stop_again, steps, next_step, end, ended, first_placed, charged, past))

// Ended and every share released: nothing of it is left on any node.
bool finished(const Workload& w);
// Ended, but a node has yet to confirm.
bool completing(const Workload& w);

// A pending set of like workloads, one record whatever its size. It stays until its last element
// has left State; used up (no index pending), it gives its number to its last element.
struct Array {
  WorkloadId id;
  JobNumber number = 0;
  std::shared_ptr<const WorkloadSpec> spec;
  std::set<std::uint32_t> pending;  // indexes that are not yet workloads of their own
  std::uint32_t size = 0, first = 0, last = 0, stride = 1;  // of the array as submitted
  std::uint32_t at_once = 0;                                // %limit; 0: none
  std::string written;                                      // the specification, canonical: "1-9%2"
  Time submitted{};
  Duration limit = kForever;
  std::optional<std::int64_t> priority;
  std::int64_t nice = 0;
  bool held_by_user = false;
  bool held_by_admin = false;
  std::set<WorkloadId> elements;  // workloads in State that came from it
  std::uint32_t busy = 0;         // of these, so many hold devices: what %limit bounds
  // The sum over elements that have left State: how dependencies on the whole array are decided.
  std::uint32_t ended_ok = 0, ended_not_ok = 0;
  std::optional<Promise> promise;  // of its first pending index
  bool operator==(const Array&) const = default;
};
BOOST_DESCRIBE_STRUCT(Array, (),
                      (id, number, spec, pending, size, first, last, stride, at_once, written,
                       submitted, limit, priority, nice, held_by_user, held_by_admin, elements,
                       busy, ended_ok, ended_not_ok, promise))

}  // namespace phalanx
