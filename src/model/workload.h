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
#include "model/attempt.h"
#include "model/ids.h"
#include "model/spec.h"

namespace phalanx {

// --- the workload

// pending: waits. placed: devices are held, nodes prepare. running: Go is committed. ended: over,
// though devices may still be held until each node confirms (current has unreleased shares:
// "completing").
enum class Phase { pending, placed, running, ended };
BOOST_DESCRIBE_ENUM(Phase, pending, placed, running, ended)

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
  std::string stop_why;              // in words, where the cluster itself ordered it
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
                       stop_again, stop_why, steps, next_step, end, ended, first_placed, charged,
                       past))

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
  std::set<std::uint32_t> not_ok;  // indexes known to have ended otherwise than well
  std::optional<Promise> promise;  // of its first pending index
  bool operator==(const Array&) const = default;
};
BOOST_DESCRIBE_STRUCT(Array, (),
                      (id, number, spec, pending, size, first, last, stride, at_once, written,
                       submitted, limit, priority, nice, held_by_user, held_by_admin, elements,
                       busy, ended_ok, ended_not_ok, not_ok, promise))

}  // namespace phalanx
