#include "model/dependency.h"

#include <algorithm>
#include <optional>

namespace phalanx {
namespace {

// What a dependency may ask about its other side, whether that is a workload, an array, or a
// memory.
struct Fate {
  bool ended = false;
  bool ok = false;              // ended, all of it well
  bool any_not_ok = false;      // some of it has ended otherwise, even if the rest goes on
  std::optional<Time> started;  // all of it has; or it ended without
};

Fate fate_of(const Workload& w) {
  Fate fate;
  fate.ended = w.phase == Phase::ended;
  fate.ok = fate.ended && w.end.cause == EndCause::completed;
  fate.any_not_ok = fate.ended && !fate.ok;
  if (w.current && w.current->launched) fate.started = w.current->launched;
  for (const PastAttempt& attempt : w.past)
    if (attempt.launched != Time{})
      fate.started = std::min(fate.started.value_or(kNever), attempt.launched);
  if (fate.ended && !fate.started) fate.started = w.ended;
  return fate;
}

Fate fate_of(const State& state, const Array& a) {
  Fate fate;
  fate.ended = a.pending.empty();
  fate.any_not_ok = a.ended_not_ok > 0;
  if (a.pending.empty()) fate.started = a.submitted;
  for (const WorkloadId id : a.elements) {
    const Workload* w = find_workload(state, id);
    if (!w) continue;
    const Fate element = fate_of(*w);
    fate.ended = fate.ended && element.ended;
    fate.any_not_ok = fate.any_not_ok || element.any_not_ok;
    if (!fate.started || !element.started)
      fate.started.reset();
    else
      fate.started = std::max(*fate.started, *element.started);
  }
  fate.ok = fate.ended && !fate.any_not_ok;
  return fate;
}

std::optional<Fate> fate_of_whole(const State& state, WorkloadId id) {
  if (const Workload* w = find_workload(state, id)) return fate_of(*w);
  if (const Array* a = find_array(state, id)) return fate_of(state, *a);
  const auto it = state.remembered.find(id);
  if (it == state.remembered.end()) return std::nullopt;
  const Remembered& past = it->second;
  return Fate{true, past.ok, !past.ok, past.started == Time{} ? past.ended : past.started};
}

// One index of an array: pending, an element, or gone.
Fate fate_of(const State& state, const Array& a, std::uint32_t index) {
  if (a.pending.contains(index)) return {};
  for (const WorkloadId id : a.elements) {
    const Workload* w = find_workload(state, id);
    if (w && w->array_rest.empty() && w->array_index == index) return fate_of(*w);
  }
  const bool ok = !a.not_ok.contains(index);
  return {true, ok, !ok, a.submitted};
}

std::optional<Fate> fate_of(const State& state, WorkloadId id, std::optional<std::uint32_t> index) {
  if (!index) return fate_of_whole(state, id);
  if (const Array* a = find_array(state, id)) return fate_of(state, *a, *index);
  const auto it = state.remembered.find(id);
  if (it == state.remembered.end()) return std::nullopt;
  const bool ok = !it->second.not_ok.contains(*index);
  return Fate{true, ok, !ok, it->second.started};
}

Dependence singleton(const State& state, const WorkloadSpec& spec, WorkloadId self) {
  const auto it = state.by_name.find({spec.owner.uid, spec.name});
  if (it == state.by_name.end()) return {};
  const Workload* me = find_workload(state, self);
  for (const WorkloadId id : it->second) {
    if (id >= self) break;
    const Workload* other = find_workload(state, id);
    const bool of_my_array =
        me && me->array && (id == me->array || (other && other->array == me->array));
    if (!of_my_array) return {Verdict::waiting, id, kNever};
  }
  return {};
}

// Which element of the other array: the one named, or the one that matches `self`.
std::optional<std::uint32_t> index_of(const State& state, const Dependency& d, WorkloadId self) {
  if (d.kind != DependencyKind::aftercorr) return d.index;
  const Workload* me = find_workload(state, self);
  return me && me->array_number != 0 ? std::optional(me->array_index) : std::nullopt;
}

Dependence one(const State& state, const Dependency& d, WorkloadId self, Time now) {
  const std::optional<Fate> fate = fate_of(state, d.on, index_of(state, d, self));
  const Dependence satisfied;
  const Dependence waiting{Verdict::waiting, d.on, kNever};
  const Dependence never{Verdict::never, d.on, kNever};
  if (!fate) return never;  // not known: submission refuses this, so it has been forgotten since
  switch (d.kind) {
    case DependencyKind::after:
      if (!fate->started) return waiting;
      if (later(*fate->started, d.delay) > now)
        return {Verdict::waiting, d.on, later(*fate->started, d.delay)};
      return satisfied;
    case DependencyKind::afterok:
    case DependencyKind::aftercorr:
      if (fate->any_not_ok) return never;
      return fate->ended ? satisfied : waiting;
    case DependencyKind::afternotok:
      if (!fate->ended) return waiting;
      return fate->any_not_ok ? satisfied : never;
    case DependencyKind::afterany:
      return fate->ended ? satisfied : waiting;
    case DependencyKind::singleton:
      break;
  }
  return satisfied;
}

// The better of two alternatives: satisfied, else waiting, else never.
Dependence either(const Dependence& a, const Dependence& b) {
  if (a.verdict == b.verdict && a.verdict == Verdict::waiting)
    return {a.verdict, a.on, std::min(a.at, b.at)};
  return b.verdict < a.verdict ? b : a;
}

// Both are needed: never, else waiting, else satisfied.
Dependence both(const Dependence& a, const Dependence& b) {
  if (a.verdict == b.verdict && a.verdict == Verdict::waiting)
    return {a.verdict, a.on, a.at == kNever || b.at == kNever ? kNever : std::max(a.at, b.at)};
  return b.verdict > a.verdict ? b : a;
}

}  // namespace

Dependence dependence_on(const State& state, const Dependency& dependency, const WorkloadSpec& spec,
                         WorkloadId self, Time now) {
  return dependency.kind == DependencyKind::singleton ? singleton(state, spec, self)
                                                      : one(state, dependency, self, now);
}

Dependence dependence(const State& state, const WorkloadSpec& spec, WorkloadId self, Time now) {
  Dependence all;
  for (std::size_t i = 0; i < spec.dependencies.size(); ++i) {
    const auto of = [&](const Dependency& d) { return dependence_on(state, d, spec, self, now); };
    Dependence group = of(spec.dependencies[i]);
    while (spec.dependencies[i].any && i + 1 < spec.dependencies.size())
      group = either(group, of(spec.dependencies[++i]));
    all = both(all, group);
  }
  return all;
}

}  // namespace phalanx
