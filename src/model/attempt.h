// One try to run a workload: what it holds and where, its steps, how it ended, what it cost and
// what its processes really used. Values, described for the codec.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/describe.h"
#include "base/quantity.h"
#include "base/time.h"
#include "model/ids.h"

namespace phalanx {

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

// What processes really used since they began, as their node measured it: user and system CPU time,
// and the most memory at one time in bytes. Absent: nobody measured it.
struct Used {
  std::optional<std::int64_t> user_ms, system_ms, memory_peak;
  bool operator==(const Used&) const = default;
};
BOOST_DESCRIBE_STRUCT(Used, (), (user_ms, system_ms, memory_peak))

struct StepUsed {
  StepNumber step = 0;  // kBatchStep: the script
  Used used;
  bool operator==(const StepUsed&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepUsed, (), (step, used))

// All that one node measured of an attempt: everything together, and step by step.
struct NodeUsed {
  NodeId node;
  Used all;
  std::vector<StepUsed> steps;
  bool operator==(const NodeUsed&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeUsed, (), (node, all, steps))

struct Attempt {
  AttemptNumber number = 0;
  std::vector<NodeShare> shares;  // in rank order; the first runs the batch script
  std::uint16_t port = 0;         // MASTER_PORT: no other live attempt on these nodes has it
  Time placed{};
  std::optional<Time> launched;
  std::set<NodeId> released;    // confirmed gone there
  bool warned = false;          // the signal of --signal was sent
  std::map<NodeId, Used> used;  // by all of it, as far as it was reported
  Used script_used;
  Time used_at{};  // when it was last reported; zero: never
  bool operator==(const Attempt&) const = default;
};
BOOST_DESCRIBE_STRUCT(Attempt, (),
                      (number, shares, port, placed, launched, released, warned, used, script_used,
                       used_at))

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
  bool measured = false;  // `ended` is its nodes' word
  std::int32_t exit_code = 0;
  std::int32_t exit_signal = 0;
  bool out_of_memory = false;
  std::map<NodeId, Used> used;  // as far as it was reported
  bool operator==(const Step&) const = default;
};
BOOST_DESCRIBE_STRUCT(Step, (),
                      (number, name, key, overlap, tasks, shares, started, ended, measured,
                       exit_code, exit_signal, out_of_memory, used))

// --- how it ended

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

// What an attempt cost, exact: amounts × the milliseconds that it ran, per node, summed.
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
  // launched: zero if it never was. Once it is over, both are what its first node measured.
  Time placed{}, launched{}, ended{};
  End end;
  Usage usage;                     // grows until the last share is released
  std::vector<std::string> nodes;  // names, in the order of `shares`
  std::vector<NodeShare> shares;
  std::uint16_t port = 0;
  std::map<NodeId, Used> used;
  Used script_used;
  bool operator==(const PastAttempt&) const = default;
};
BOOST_DESCRIBE_STRUCT(PastAttempt, (),
                      (number, placed, launched, ended, end, usage, nodes, shares, port, used,
                       script_used))

}  // namespace phalanx
