// Where and when: gangs on nodes and devices, now and on a timeline of what will be free. All of it
// edits a Board, a picture of free capacity that the planner may change as it likes; State is never
// touched.
//
// A gang is placed whole or not at all, exactly: on concrete devices, not on sums. Nodes are chosen
// as few as possible (where nobody said how many tasks and nodes there are, that decides both),
// then the lightest, then those it fills best (so that whole nodes stay whole), then in the order
// of the partition's list: the result depends on nothing else.
//
// The timeline is exact for promises: running work only ever gives back, at its limit; promised
// work takes at its start and gives back at its end. Threads: none. Memory: values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/reason.h"
#include "model/state.h"
#include "place/step.h"

namespace phalanx::place {

inline constexpr std::size_t kMaxDevices = 64;  // on one node: a Board keeps them as one word

// What one node has left.
struct NodeFree {
  const Node* node = nullptr;  // of the State that the Board was made from, which must outlive it
  Quantity cpus;
  std::int64_t memory = 0;
  std::uint64_t devices = 0;  // bit i: device i is free and usable
  std::int64_t holders = 0;   // attempts that hold something here: 0 means that the node is empty
};

class Board {
 public:
  // Free capacity as it is now, on nodes that may get new work (up, not drained).
  static Board now(const State& state);
  // The same nodes with nothing running; with `all`, every configured node as if it were up and
  // healthy.
  static Board empty(const State& state, bool all);

  [[nodiscard]] const std::map<NodeId, NodeFree>& nodes() const { return nodes_; }
  // Shares on nodes that are not on the board are ignored.
  void take(std::span<const NodeShare> shares);
  void give(std::span<const NodeShare> shares);
  // Keeps only what is free on both: what is free for as long as the two moments stand for.
  void intersect(const Board& other);

 private:
  std::map<NodeId, NodeFree> nodes_;
};

// Which nodes of the cluster a workload may use at all: its partition's, less those it excludes or
// avoids.
struct Scope {
  const Partition* partition = nullptr;     // must outlive it
  const std::set<NodeId>* avoid = nullptr;  // failed to launch it; may be null
  std::int64_t nodes_most = 0;              // the partition's bound for this workload; 0: none
};

// Shares for the whole group in rank order, or nothing.
std::optional<std::vector<NodeShare>> fit(const Board& board, const Scope& scope,
                                          const TaskGroup& group);

// Amounts that no cluster has are refused before anybody multiplies them.
Status amounts_are_possible(const TaskGroup& group);

// In words, for a Reason: what the group asks for and how much of that is free: {"16 gpus", "8"}.
struct Shortage {
  std::string needed, free;
  std::vector<std::string> types;  // of the GPUs that there are, where the type asked for is not
};
Shortage shortage(const Board& board, const Scope& scope, const TaskGroup& group);
// What must be on one node and is on none: {"4 cpus on one node", "2"}, the most that a node has.
std::optional<Shortage> on_one_node(const Board& board, const Scope& scope, const TaskGroup& group);

class Timeline {
 public:
  // Everything live in `state`, ending at its limit. Work past its limit is expected to end `grace`
  // after now; work without a limit never ends.
  Timeline(const State& state, Time now);

  // Something starts now and holds `shares` until `end`.
  void start(WorkloadId id, std::vector<NodeShare> shares, Time end);
  // `shares` are promised to `id` from `start` to `end`.
  void promise(WorkloadId id, std::vector<NodeShare> shares, Time start, Time end);

  // Fits now for `length` without touching any promise.
  [[nodiscard]] std::optional<std::vector<NodeShare>> fit_now(const Scope& scope,
                                                              const TaskGroup& group,
                                                              Duration length) const;
  // Fits now if promises are ignored (then, if fit_now does not, the first promise that is in the
  // way).
  [[nodiscard]] std::optional<WorkloadId> in_the_way(const Scope& scope, const TaskGroup& group,
                                                     Duration length) const;

  struct Opening {
    Time start{};
    std::vector<NodeShare> shares;
  };
  // The earliest start, `not_before` or later, that delays no promise; nothing if there is none
  // (work without a limit is in the way, or it can never fit).
  [[nodiscard]] std::optional<Opening> earliest(const Scope& scope, const TaskGroup& group,
                                                Duration length, Time not_before) const;

  [[nodiscard]] const Board& now_board() const { return board_; }

 private:
  struct Hold {
    WorkloadId id;
    std::vector<NodeShare> shares;
    Time start{}, end{};
  };
  [[nodiscard]] Board at(Time t) const;  // at this moment, promises kept
  [[nodiscard]] Board over(Time t,
                           Duration length) const;  // free for the whole of it, promises kept
  Time now_{};
  Board board_;                 // now, after the starts of this pass
  std::vector<Hold> running_;   // sorted by (end, id); only what ends
  std::vector<Hold> promised_;  // in order of promise
};

}  // namespace phalanx::place
