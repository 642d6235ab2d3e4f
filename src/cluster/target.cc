#include "cluster/target.h"

#include <algorithm>

#include "base/text.h"
#include "cluster/access.h"

namespace phalanx::cluster {
namespace {

Error unknown(const Target& target) {
  return not_found(target.number == 0
                       ? format("no workload {} is known here", target.id.value)
                       : format("Invalid job id specified: {} is not known here", target.number));
}

const Array* array_of(const State& state, const Target& target) {
  WorkloadId id = target.id;
  if (target.number != 0) {
    const auto it = state.by_number.find(target.number);
    if (it == state.by_number.end()) return nullptr;
    id = it->second;
  }
  if (const Array* array = find_array(state, id)) return array;
  const Workload* w = find_workload(state, id);  // the last element, which took the array's number
  return w && target.number != 0 && w->array_number == target.number ? find_array(state, w->array)
                                                                     : nullptr;
}

Selection whole(const State& state, const Array& array) {
  Selection s;
  s.array = &array;
  s.whole_array = true;
  s.indexes.assign(array.pending.begin(), array.pending.end());
  for (const WorkloadId id : array.elements)
    if (const Workload* w = find_workload(state, id)) s.workloads.push_back(w);
  return s;
}

Selection some(const State& state, const Array& array, const std::vector<std::uint32_t>& wanted) {
  Selection s;
  const std::set<std::uint32_t> indexes(wanted.begin(), wanted.end());
  for (const std::uint32_t index : indexes)
    if (array.pending.contains(index)) s.indexes.push_back(index);
  if (!s.indexes.empty()) s.array = &array;
  for (const WorkloadId id : array.elements) {
    const Workload* w = find_workload(state, id);
    if (w && w->array_rest.empty() && indexes.contains(w->array_index)) s.workloads.push_back(w);
  }
  return s;
}

Result<Selection> meant(const State& state, const Target& target) {
  if (const Array* array = array_of(state, target)) {
    Selection s =
        target.indexes.empty() ? whole(state, *array) : some(state, *array, target.indexes);
    if (s.workloads.empty() && s.indexes.empty()) return unknown(target);
    return s;
  }
  const Workload* w =
      target.number != 0 ? find_job(state, target.number) : find_workload(state, target.id);
  if (!w) return unknown(target);
  const auto has = std::find(target.indexes.begin(), target.indexes.end(), w->array_index);
  if (!target.indexes.empty() && (w->array_number != target.number || has == target.indexes.end()))
    return unknown(target);
  Selection s;
  s.workloads.push_back(w);
  return s;
}

}  // namespace

Result<Selection> select(const Draft& draft, const Target& target) {
  Selection s = TRY(meant(draft.state, target));
  const WorkloadSpec& spec = s.array ? *s.array->spec : *s.workloads.front()->spec;
  TRY(may_change(draft.state.config, draft.who, spec));
  return s;
}

// An array's last element bears the array's number, and as one job only it can be meant by it: its
// own srun knows no other name.
Result<const Workload*> select_one(const Draft& draft, const Target& target) {
  if (const Workload* w = target.indexes.empty() ? find_job(draft.state, target.number) : nullptr) {
    TRY(may_change(draft.state.config, draft.who, *w->spec));
    return w;
  }
  const Selection s = TRY(select(draft, target));
  if (s.workloads.size() == 1 && s.indexes.empty()) return s.workloads.front();
  if (s.workloads.empty()) return conflict("the job has not started");
  return invalid("this names several array elements: say which one, as in 4711_3");
}

}  // namespace phalanx::cluster
