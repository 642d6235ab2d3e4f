// What controller and agents say to each other, as JSON text frames on one WebSocket per agent.
// Every order and report carries the fence: an agent refuses another boot, a lower attempt, an
// attempt it was told to release. Orders are idempotent by their fence: they may be repeated after
// any doubt.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/describe.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/node.h"
#include "model/workload.h"

namespace phalanx {

inline constexpr int kWireVersion = 1;

struct Fence {
  std::string cluster;
  WorkloadId workload;
  AttemptNumber attempt = 0;
  std::string boot;
  auto operator<=>(const Fence&) const = default;
};
BOOST_DESCRIBE_STRUCT(Fence, (), (cluster, workload, attempt, boot))

// --- controller to agent

// What one node needs to run its part. The core names blobs; target/ fills in their contents on the
// way out.
struct LaunchOrder {
  static constexpr std::array<std::string_view, 1> kRetired{"deadline"};
  WorkloadKind kind = WorkloadKind::batch;
  std::string label;  // "4711", "4711_3", "default/train-0": for folders, logs and people
  Identity owner;
  NodeShare share;
  bool first_node = false;  // runs the batch script or the command
  LaunchSpec launch;
  std::string script_text;  // filled in by target/
  std::vector<std::string>
      environment;  // NAME=value, complete; filled in by target/ from the blob and the dialect
  std::string std_in, std_out, std_err;  // expanded; empty: /dev/null
  // Counted by the node from its own start there: it stops the work then, for the controller may be
  // away.
  Duration limit = kForever;
  Duration grace = seconds(30);  // between TERM and KILL of that stop
  // So long may preparing take, and so long starting; then it is given up there.
  Duration prepare_limit = kForever;
  bool operator==(const LaunchOrder&) const = default;
};
BOOST_DESCRIBE_STRUCT(LaunchOrder, (),
                      (kind, label, owner, share, first_node, launch, script_text, environment,
                       std_in, std_out, std_err, limit, grace, prepare_limit))

struct Prepare {  // cgroup, folders, prolog; report prepared or refused
  PHALANX_NAMED(Prepare);
  Fence fence;
  LaunchOrder order;
  bool go = false;  // one-node work: run at once when prepared
  bool operator==(const Prepare&) const = default;
};
BOOST_DESCRIBE_STRUCT(Prepare, (), (fence, order, go))
struct Go {  // all nodes are prepared and Launched is committed
  PHALANX_NAMED(Go);
  Fence fence;
  bool operator==(const Go&) const = default;
};
BOOST_DESCRIBE_STRUCT(Go, (), (fence))
enum class SignalTarget { steps, shell, all };
BOOST_DESCRIBE_ENUM(SignalTarget, steps, shell, all)
struct SignalOrder {  // once; not repeated after a reconnect
  PHALANX_NAMED(Signal);
  Fence fence;
  std::int32_t signal = 0;
  SignalTarget target = SignalTarget::steps;
  std::optional<StepNumber> step;  // only this one
  bool operator==(const SignalOrder&) const = default;
};
BOOST_DESCRIBE_STRUCT(SignalOrder, (), (fence, signal, target, step))
struct Stop {  // CONT and TERM to all, after `grace` KILL, until nothing is left; then report gone
  PHALANX_NAMED(Stop);
  Fence fence;
  EndCause cause = EndCause::cancelled;
  Duration grace = seconds(30);
  bool operator==(const Stop&) const = default;
};
BOOST_DESCRIBE_STRUCT(Stop, (), (fence, cause, grace))
struct SetLimit {  // the time limit was changed
  PHALANX_NAMED(SetLimit);
  Fence fence;
  Duration limit = kForever;
  bool operator==(const SetLimit&) const = default;
};
BOOST_DESCRIBE_STRUCT(SetLimit, (), (fence, limit))
struct Release {  // over everywhere: kill what is left at once, clean up, report gone; forget it
                  // after that
  PHALANX_NAMED(Release);
  Fence fence;
  bool operator==(const Release&) const = default;
};
BOOST_DESCRIBE_STRUCT(Release, (), (fence))
struct Forget {  // Released is committed: drop the memory of it
  PHALANX_NAMED(Forget);
  Fence fence;
  bool operator==(const Forget&) const = default;
};
BOOST_DESCRIBE_STRUCT(Forget, (), (fence))
using Order = std::variant<Prepare, Go, SignalOrder, Stop, SetLimit, Release, Forget>;

// --- agent to controller

// preparing → prepared → running → exited (the batch script or command is over, or nothing ever
// runs by itself) → gone (no process, no cgroup: devices may be given away). refused: preparing or
// launching failed, nothing runs.
enum class AttemptPhase { preparing, prepared, running, exited, refused, gone };
BOOST_DESCRIBE_ENUM(AttemptPhase, preparing, prepared, running, exited, refused, gone)

struct StepExit {
  StepNumber step = 0;
  std::int32_t exit_code = 0;
  std::int32_t exit_signal = 0;
  bool out_of_memory = false;
  std::optional<Duration> ended_ago;  // measured as `began_ago` below
  bool operator==(const StepExit&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepExit, (), (step, exit_code, exit_signal, out_of_memory, ended_ago))

// The whole truth about one attempt on one node: any report supersedes all earlier ones of its
// fence.
struct AttemptReport {
  PHALANX_NAMED(Attempt);
  Fence fence;
  AttemptPhase phase = AttemptPhase::preparing;
  std::string detail;  // the phase in words: "prolog", or why it refused
  bool user_fault =
      false;  // refused because of the submission (no such directory), not of the node
  std::int32_t exit_code = 0;  // once exited, of the batch script or command
  std::int32_t exit_signal = 0;
  bool out_of_memory = false;
  bool supervisor_lost = false;
  bool by_itself = false;  // it exited before anybody stopped it
  bool timed_out = false;  // the node stopped it at its limit
  // Measured on the node's own clock: how long before this report it began to run, and for how long
  // it ran. Absent: it did not, it still does, or nobody knows.
  std::optional<Duration> began_ago, ran;
  Duration limit = kForever;    // that the node keeps to
  std::vector<StepExit> steps;  // ended here since Go, by number
  std::vector<StepNumber> running_steps;
  Used used;                         // by all of it here so far
  std::vector<StepUsed> steps_used;  // by number; the script too
  bool operator==(const AttemptReport&) const = default;
};
BOOST_DESCRIBE_STRUCT(AttemptReport, (),
                      (fence, phase, detail, user_fault, exit_code, exit_signal, out_of_memory,
                       supervisor_lost, by_itself, timed_out, began_ago, ran, limit, steps,
                       running_steps, used, steps_used))

struct NodeReport {  // the first frame after connecting
  PHALANX_NAMED(Node);
  int wire = kWireVersion;
  std::string cluster;  // the cluster it last served; empty: new
  std::string name;
  std::string boot;
  NodeSpec spec;
  std::vector<AttemptReport> attempts;  // everything it knows and was not told to forget
  std::vector<std::string>
      warnings;  // what it cannot do here: "no cpuset controller: CPUs are not fenced"
  bool operator==(const NodeReport&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeReport, (), (wire, cluster, name, boot, spec, attempts, warnings))
struct DevicesReport {  // health changed
  PHALANX_NAMED(Devices);
  std::vector<Device> devices;
  bool operator==(const DevicesReport&) const = default;
};
BOOST_DESCRIBE_STRUCT(DevicesReport, (), (devices))
struct Heartbeat {
  PHALANX_NAMED(Heartbeat);
  std::int64_t load_milli = 0;
  std::int64_t free_memory = 0;
  bool operator==(const Heartbeat&) const = default;
};
BOOST_DESCRIBE_STRUCT(Heartbeat, (), (load_milli, free_memory))
using Report = std::variant<NodeReport, AttemptReport, DevicesReport, Heartbeat>;

// --- srun to agents

// What the core granted to a step on one node: the claims of the token that srun shows to that
// node's agent. The agent believes these and nothing else that srun says about devices, ranks or
// identity.
struct StepGrant {
  Fence fence;
  StepNumber step = 0;
  std::string label;  // "4711.0"
  Identity owner;
  StepShare share;
  bool overlap = false;
  std::vector<std::string> environment;            // SLURM_* of the step on this node, complete
  std::vector<std::vector<std::string>> per_task;  // beside it, one list per rank of `share`
  Time expires{};
  bool operator==(const StepGrant&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepGrant, (),
                      (fence, step, label, owner, share, overlap, environment, per_task, expires))

}  // namespace phalanx
