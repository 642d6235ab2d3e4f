// What comes in, what goes out. An Input is the only way to make the core decide; an Outcome is all
// that it says.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "model/reason.h"
#include "model/state.h"
#include "model/wire.h"

namespace phalanx {

// --- inputs

struct Configure {
  std::string cluster;  // an id for a new cluster; ignored once there is one
  ClusterConfig config;
};
struct AgentConnected {
  NodeReport report;
};  // also decides what to do with what it still runs
struct AgentReported {
  std::string node;
  AttemptReport report;
};
struct DevicesReported {
  std::string node;
  std::vector<Device> devices;
};
struct AgentSilent {  // the connection is gone, or heartbeats stopped; told again each time the
                      // clock passes a limit
  std::string node;
  Duration silent{};
};
struct Submit {
  std::shared_ptr<const WorkloadSpec> spec;
  std::optional<Array> array;  // indexes and %limit only
  bool hold = false;
  std::optional<std::int64_t> priority;
  std::string key, content;
  bool test_only = false;  // says when it would start, changes nothing
};

// Which work a command means: "4711" (an array: all of it), "4711_3", "4711_[1-3]".
struct Target {
  JobNumber number = 0;
  std::vector<std::uint32_t> indexes;  // non-empty: these elements of the array
  std::optional<StepNumber> step;
  WorkloadId id;  // instead of a number: a workload that has none for Slurm
};
struct Cancel {
  Target target;
  std::int32_t signal = 0;  // 0: end it; else only send this
  SignalTarget to = SignalTarget::steps;
};
struct Finish {
  Target target;
  std::int32_t exit_code = 0;
};  // salloc, srun: the allocation has served
struct ClientGone {  // salloc or srun has not been connected for `gone`: it holds it no more
  WorkloadId id;
  Duration gone{};
};
struct Hold {
  Target target;
  bool hold = true;
};
struct Requeue {
  Target target;
  bool hold = false;
  std::shared_ptr<const Workload> gone;  // as the archive has it, if it has left State
};
struct Update {
  Target target;
  std::optional<Duration> limit;
  std::optional<std::int64_t> priority, nice;
};
struct Drain {
  std::string node;
  bool drain = true;  // false: resume
  std::string reason;
  bool down = false;  // declares a node dead: what ran there may run elsewhere
};
struct StepRequest {
  Target target;
  std::string name, key;
  TaskGroup shape;  // tasks, nodes, per-task request; zero amounts: all that the job has
  std::vector<std::string> nodes;  // -w
  bool overlap = false;
  bool exact = false;
  bool cyclic = false;  // one rank after the other goes to the next node, not to the same
  std::int64_t relative = 0;
};
struct StepOver {  // srun says so, or is gone; agents report the same
  Target target;
  std::int32_t exit_code = 0, exit_signal = 0;
  bool out_of_memory = false;
};
struct PutObject {
  Object object;  // as translated; uid, created and generation are filled in by decide
  std::optional<std::uint64_t> expected_version;  // optimistic locking; 0: must not exist yet
};
struct DeleteObject {
  ObjectKey key;
  std::string uid;
};

// One change the planner proposes; decide re-checks it and drops what no longer holds.
struct PlaceProposal {
  WorkloadId id;                       // a workload or an array
  std::optional<std::uint32_t> index;  // of the array
  std::vector<NodeShare> shares;
};
struct PromiseProposal {
  WorkloadId id;
  Time start{};
  std::string cause;
};
using Proposal = std::variant<PlaceProposal, PromiseProposal>;
struct Propose {
  std::vector<Proposal> proposals;
};
struct Tick {};  // time has passed: deadlines
struct ArchiveHas {
  std::vector<WorkloadId> ids;
};

using InputKind =
    std::variant<Configure, AgentConnected, AgentReported, DevicesReported, AgentSilent, Submit,
                 Cancel, Finish, ClientGone, Hold, Requeue, Update, Drain, StepRequest, StepOver,
                 PutObject, DeleteObject, Propose, Tick, ArchiveHas>;
struct Input {
  Time now{};
  Identity who;
  InputKind what;
};

// --- outcomes

struct Reply {
  std::optional<Error> error;
  WorkloadId id;
  JobNumber number = 0;
  std::vector<std::string> warnings;
  std::optional<Step> step;         // StepRequest: granted
  std::string waiting;              // StepRequest: not yet, and what holds its resources
  std::optional<Object> object;     // PutObject, DeleteObject
  std::optional<Time> would_start;  // test_only
};

// --- effects

struct SendOrder {
  NodeId node;
  Order order;
};
struct ArchiveRow {
  WorkloadId id;
};  // ended and released: write it, then say ArchiveHas
using Effect = std::variant<SendOrder, ArchiveRow>;

struct Outcome {
  std::vector<Event> events;
  Reply reply;
  // Orders that follow from no event, for nothing became a fact: signals, and what a late report of
  // an attempt that is over calls for. All others come from react.
  std::vector<Effect> effects;
};

// --- heard

// What agents told us and could tell us again: beside State, memory only, empty after a restart.
// The shell records every report here before it gives the Input to decide (cluster::hear).
struct Heard {
  struct OfNode {
    bool connected = false;
    Time connected_at{};  // since when; silence is counted from here at the earliest
    Time last{};          // when anything came
    std::vector<std::string> warnings;
    // By (workload, attempt): the last report and when its phase or detail last changed.
    struct OfAttempt {
      AttemptReport report;
      Time changed{};
      std::optional<Time> began;  // as it says, in our time; the earliest of all its words
      std::map<StepNumber, Time> step_ends = {};  // likewise
    };
    std::map<std::pair<WorkloadId, AttemptNumber>, OfAttempt> attempts;
  };
  std::map<NodeId, OfNode> nodes;
};

}  // namespace phalanx
