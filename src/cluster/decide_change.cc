#include "base/text.h"
#include "cluster/access.h"
#include "cluster/decide.h"
#include "cluster/target.h"

namespace phalanx::cluster {
namespace {

// The rows a change addresses: workloads, and pending indexes. A whole array's record takes the
// change itself; single indexes become workloads of their own first.
std::vector<WorkloadId> rows(Draft& d, const Selection& s) {
  std::vector<WorkloadId> ids;
  ids.reserve(s.workloads.size());
  for (const Workload* w : s.workloads) ids.push_back(w->id);
  if (!s.array || s.indexes.empty()) return ids;
  if (s.whole_array) {
    ids.push_back(s.array->id);
  } else {
    for (const std::uint32_t index : s.indexes) ids.push_back(d.separate(*s.array, index));
  }
  return ids;
}

bool admin_hold(const Selection& s) {
  for (const Workload* w : s.workloads)
    if (w->phase == Phase::pending && w->held_by_admin) return true;
  return s.array && !s.indexes.empty() && s.array->held_by_admin;
}

// An operator's hold on another's work is one that its owner cannot end.
bool by_admin(const Draft& d, const Selection& s, bool hold) {
  if (!is_operator(d.state.config, d.who)) return false;
  const WorkloadSpec& spec = s.array ? *s.array->spec : *s.workloads.front()->spec;
  return !hold || d.who.uid != spec.owner.uid;
}

Status hold(Draft& d, const Hold& input) {
  Selection s = TRY(select(d, input.target));
  std::erase_if(s.workloads, [](const Workload* w) { return w->phase != Phase::pending; });
  if (s.workloads.empty() && s.indexes.empty())
    return conflict("Job is no longer pending execution");
  if (!input.hold && !is_operator(d.state.config, d.who) && admin_hold(s))
    return denied(
        "Access/permission denied: an administrator holds this job; only operators may release it");
  const bool admin = by_admin(d, s, input.hold);
  for (const WorkloadId id : rows(d, s)) d.say(Held{id, input.hold, admin, ""});
  return {};
}

Status may_update(const Draft& d, const Update& input, const Workload* w) {
  if (is_operator(d.state.config, d.who)) return {};
  if (input.priority && (!w || !w->priority || *input.priority > *w->priority))
    return denied("Access/permission denied: only operators may raise a priority");
  if (input.nice && *input.nice < (w ? w->nice : 0))
    return denied("Access/permission denied: only operators may lower nice");
  if (input.limit && w && w->phase != Phase::pending && *input.limit > w->limit)
    return denied(
        "Access/permission denied: only operators may raise the time limit of a running job");
  return {};
}

bool is_held(const State& state, WorkloadId id) {
  const auto held = [](const auto& row) { return row.held_by_user || row.held_by_admin; };
  if (const Workload* w = find_workload(state, id)) return held(*w) || !w->held_why.empty();
  const Array* array = find_array(state, id);
  return array && held(*array);
}

Status update(Draft& d, const Update& input) {
  Selection s = TRY(select(d, input.target));
  std::erase_if(s.workloads, [](const Workload* w) { return w->phase == Phase::ended; });
  if (s.workloads.empty() && s.indexes.empty())
    return conflict("Job/step already completing or completed");
  if (input.limit && *input.limit <= Duration(0))
    return invalid(
        "Requested time limit is invalid (missing or exceeds some limit): it must be longer than "
        "0");
  for (const Workload* w : s.workloads) TRY(may_update(d, input, w));
  if (!s.indexes.empty()) TRY(may_update(d, input, nullptr));
  if (!input.limit && !input.priority && !input.nice) return {};
  // As in Slurm, priority 0 is a hold of what waits, and any other ends a hold.
  const bool hold = input.priority == 0;
  const bool admin = by_admin(d, s, hold);
  for (const WorkloadId id : rows(d, s)) {
    const Workload* w = find_workload(d.state, id);
    const bool waits = !w || w->phase == Phase::pending;
    if (input.priority && waits && hold != is_held(d.state, id)) d.say(Held{id, hold, admin, ""});
    if (!hold || input.limit || input.nice)
      d.say(Updated{id, input.limit, hold ? std::nullopt : input.priority, input.nice});
  }
  return {};
}

}  // namespace

void decide_one(Draft& d, const Hold& input) { d.accept(hold(d, input)); }
void decide_one(Draft& d, const Update& input) { d.accept(update(d, input)); }

}  // namespace phalanx::cluster
