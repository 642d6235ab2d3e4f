#include "reconcile/hopeless.h"

#include "model/dependency.h"

namespace phalanx::reconcile {
namespace {

bool is_hopeless(const State& state, const WorkloadSpec& spec, WorkloadId id, Time now) {
  return spec.end_if_never && dependence(state, spec, id, now).verdict == Verdict::never;
}

void look_at(std::vector<InputKind>& inputs, const State& state, WorkloadId id, Time now) {
  const auto end = [&](WorkloadId which) {
    Cancel cancel;
    cancel.target.id = which;
    inputs.emplace_back(std::move(cancel));
  };
  if (const Workload* w = find_workload(state, id)) {
    if (w->phase == Phase::pending && is_hopeless(state, *w->spec, id, now)) end(id);
    return;
  }
  const Array* array = find_array(state, id);
  if (!array) return;
  if (!array->pending.empty() && is_hopeless(state, *array->spec, id, now)) return end(id);
  for (const WorkloadId element : array->elements) look_at(inputs, state, element, now);
}

}  // namespace

std::vector<InputKind> end_hopeless(const State& after, const Event& event) {
  std::vector<InputKind> inputs;
  if (const auto* submitted = std::get_if<Submitted>(&event.what)) {
    look_at(inputs, after, submitted->id, event.at);
    return inputs;
  }
  WorkloadId over;
  if (const auto* ended = std::get_if<Ended>(&event.what); ended && !ended->again) over = ended->id;
  if (const auto* cancelled = std::get_if<Cancelled>(&event.what);
      cancelled && !cancelled->indexes.empty())
    over = cancelled->record;
  const Workload* w = find_workload(after, over);
  if (!w) return inputs;
  for (const WorkloadId on : {w->id, w->array}) {
    const auto waiting = after.dependents.find(on);
    if (!on || waiting == after.dependents.end()) continue;
    for (const WorkloadId id : waiting->second) look_at(inputs, after, id, event.at);
  }
  return inputs;
}

}  // namespace phalanx::reconcile
