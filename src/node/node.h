// The node's side as a state machine: orders, results of the operating system and time come in;
// reports and actions come out. The agent (agent/) and the simulator (sim/) are its two shells: the
// agent carries the actions out on a real machine, the simulator pretends to, with lossy links and
// lying inventories. Pure; one caller at a time.
//
// For each attempt: preparing → prepared → running → exited → gone, or refused → gone. It keeps
// everything it was not told to forget, and says all of it when it connects. Orders are idempotent:
// a repeated Prepare of a known attempt is answered with its report, never with a second start. It
// refuses an order for another boot, a lower attempt than one it has seen of that workload, or an
// attempt that it was told to release.
//
// `now` is its own clock, which only measures how long something lasts: it keeps the time limit of
// what runs, also while the controller is away, and says how long work has run. It also ends what
// takes too long to prepare or to start, for only here is it certain that nothing has begun.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/wire.h"

namespace phalanx::node {

// A unit is what one supervisor runs: the batch script or command, or one step's tasks on this
// node.
struct UnitKey {
  Fence fence;
  StepNumber step = 0;
  auto operator<=>(const UnitKey&) const = default;
};

// --- what the shell is told to do
struct MakeRoom {
  Fence fence;
  LaunchOrder order;
};  // folders, cgroup with limits and device fence, prolog
struct StartBatch {
  Fence fence;
  LaunchOrder order;
};  // writes the intent first; unit (fence, kBatchStep)
struct SendSignal {
  UnitKey unit;
  int signal = 0;
  bool shell_only = false;
};
struct KillAll {
  Fence fence;
};  // everything in its cgroup and units, by force
struct CleanUp {
  Fence fence;
};  // epilog, remove cgroup and folders; then RoomGone
struct Tell {
  Report report;
};  // to the controller; may be lost, the state is told again
struct Expired {
  Fence fence;
};  // it is being stopped at its limit
using Action = std::variant<MakeRoom, StartBatch, SendSignal, KillAll, CleanUp, Tell, Expired>;

// --- what the shell found
struct RoomMade {
  Fence fence;
  std::string error;
};  // empty: done
struct BatchStarted {
  Fence fence;
  std::string error;
  bool user_fault = false;
  std::optional<Time> at = std::nullopt;  // when, on the Node's clock; absent: now
};
struct StepBegan {
  UnitKey unit;
};  // srun's step was launched here
struct UnitExited {  // all its tasks have exited
  UnitKey unit;
  int exit_code = 0;
  int exit_signal = 0;
  bool out_of_memory = false;
  bool supervisor_lost = false;
  Used used;
  std::optional<Time> at = std::nullopt;  // likewise
};
struct Measured {  // of what lives: everything in its room, and unit by unit
  Fence fence;
  Used all;
  std::vector<StepUsed> units;
};
struct RoomEmpty {
  Fence fence;
};  // no process is left in it
struct RoomGone {
  Fence fence;
  Used used;  // by all of it
};
using OsResult =
    std::variant<RoomMade, BatchStarted, StepBegan, UnitExited, Measured, RoomEmpty, RoomGone>;

class Node {
 public:
  // `boot`: of this machine. `cluster`: the one it belongs to; orders from another are refused.
  // Empty: the first wins.
  Node(std::string boot, std::string cluster);
  ~Node();
  Node(Node&&) noexcept;
  Node& operator=(Node&&) noexcept;

  std::vector<Action> order(Time now, const Order& order);
  std::vector<Action> os(Time now, const OsResult& result);
  std::vector<Action> tick(Time now);  // limits, grace periods, kills that have not worked yet
  [[nodiscard]] Time next_deadline() const;
  [[nodiscard]] const std::string& cluster() const;

  // Everything it knows, for the first frame after connecting (name, spec and warnings are the
  // shell's to fill).
  [[nodiscard]] std::vector<AttemptReport> reports(Time now) const;
  // May srun start this step here now? Empty, or why not (unknown attempt, stale fence, not
  // running, stopping).
  [[nodiscard]] std::string refuse_step(const StepGrant& grant) const;
  // The order by which a live attempt runs; null if it is unknown.
  [[nodiscard]] const LaunchOrder* launch_order(const Fence& fence) const;

  // After a restart of the agent: what was found in its run directory. Attempts that were preparing
  // start afresh.
  struct Found {
    Fence fence;
    LaunchOrder order;
    bool went = false;  // Go had been received
    std::vector<StepNumber> live_units;
    // When Go came, on the Node's clock. When a script began is told anew by BatchStarted.
    std::optional<Time> went_at = std::nullopt;
  };
  std::vector<Action> restore(Time now, const std::vector<Found>& found);

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace phalanx::node
