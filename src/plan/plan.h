// The planner: joins whose turn (queue/), may they (queue/), where and when (place/) into proposals
// for the core and an Outlook for everybody who waits.
//
// It has a memory that nothing depends on: order, classes of identical requests, indexes, the
// timeline, a cursor. observe() keeps it current; a fresh Planner and a warm one propose the same,
// and dropping it moves no promise (promises are facts in State). step() may be cut short by its
// budget and go on in the next call, with other inputs in between; decide drops stale proposals.
// The budget counts units of work, never time, so that the same inputs give the same journal.
//
// EASY backfill (Lifka, 1995) with the first `policy.promises` blocked workloads promised a dated
// start on a timeline of devices: who starts out of turn must not move one. Threads: none. The
// Outlook is immutable and shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/input.h"

namespace phalanx::plan {

struct Steps {
  std::vector<Proposal> proposals;
  bool pass_complete = false;  // the whole queue was looked at: outlook() is new
};

class Planner {
 public:
  Planner();
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  // Tells it that `event` has just been applied, giving `after`. Cheap.
  void observe(const State& after, const Event& event);
  // True if something has changed since the last complete pass, or time may have made someone
  // eligible.
  [[nodiscard]] bool wants_step(const State& state, Time now) const;
  // Works for about `budget` units (one unit: one workload or class looked at on one node class).
  Steps step(const State& state, Time now, std::int64_t budget);
  [[nodiscard]] std::shared_ptr<const Outlook> outlook() const;
  // The next time at which a pass would see something new with no event in between (begin times,
  // backoffs, ends by limit).
  [[nodiscard]] Time next_wakeup(const State& state, Time now) const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

// sbatch --test-only: when `spec` would start if it were submitted now, and where; an error if
// never.
struct WouldStart {
  Time start{};
  std::vector<NodeShare> shares;
};
Result<WouldStart> would_start(const State& state, Time now, const WorkloadSpec& spec);

// Whether its partition's limits allow it; `limit` is the time limit in force. For clusters that
// refuse at submission what would only wait (EnforcePartLimits).
Status within_limits(const State& state, const WorkloadSpec& spec, Duration limit);

// Whether some subset of the configured nodes could ever hold it, were they all free; an error says
// why not, in the terms of the request. For refusals at submission.
Status could_ever_run(const State& state, const WorkloadSpec& spec);

}  // namespace phalanx::plan
