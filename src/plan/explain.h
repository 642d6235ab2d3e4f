// Why blocked work waits, in the words of the actual constraint.
#pragma once

#include "plan/candidate.h"

namespace phalanx::plan {

// Boards on which nothing runs, made once per pass and only if somebody needs them.
class EmptyBoards {
 public:
  explicit EmptyBoards(const State& state) : state_(state) {}
  const place::Board& usable();      // nodes that may get work now
  const place::Board& configured();  // all of them
 private:
  const State& state_;
  std::optional<place::Board> usable_, configured_;
};

// Nodes of the partition that the cluster has never seen, whatever the configuration says of them:
// nobody knows what they can hold.
bool some_never_joined(const State& state, const Partition& partition);

// Not even the empty cluster could hold it: `constraints` if no configured node ever can,
// `nodes_unavailable` with the nodes that would be needed; nothing if it is only a matter of
// waiting.
std::optional<Reason> cannot_run(const State& state, const Candidate& c, EmptyBoards& empty);

// Why a promise moves to a later date, found in State alone so that a fresh planner says the same.
std::string why_later(const State& state, Time now, const Promise& before, WorkloadId id);

}  // namespace phalanx::plan
