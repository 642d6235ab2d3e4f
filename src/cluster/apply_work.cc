// Events of a workload's life outside its attempts: submission, changes, its end in the archive.
#include <algorithm>

#include "cluster/apply.h"
#include "cluster/index_text.h"
#include "cluster/tables.h"

namespace phalanx::cluster {
namespace {

void number_is(State& state, JobNumber number, WorkloadId id) {
  if (number == 0) return;
  state.by_number[number] = id;
  state.next_number = std::max(state.next_number, number + 1);
}

void remember_key(State& state, Time at, const Submitted& e) {
  if (e.key.empty()) return;
  const std::pair key(e.spec->owner.uid, e.key);
  if (const auto it = state.keys.find(key); it != state.keys.end())
    state.key_order.erase({it->second.at, key});
  state.keys[key] = {e.content, e.id, e.number, at};
  state.key_order.insert({at, key});
}

void join_object(State& state, Time at, const WorkloadSpec& spec, WorkloadId id) {
  if (spec.object.empty()) return;
  const auto it = state.objects.find(parse_object_key(spec.object));
  if (it == state.objects.end()) return;
  it->second.workloads.push_back(id);
  ++it->second.made;
  if (!it->second.started) it->second.started = at;
  touch_object(state, spec);
}

// The array has no pending index left: it waits no more, and its number is its last element's.
void use_up(State& state, const Array& array) {
  if (!array.pending.empty()) return;
  state.pending.erase(array.id);
  drop_name(state, *array.spec, array.id);
}

Workload element_of(const Array& array, WorkloadId id, JobNumber number, std::uint32_t index) {
  Workload w;
  w.id = id;
  w.number = number;
  w.array = array.id;
  w.array_number = array.number;
  w.array_index = index;
  w.spec = array.spec;
  w.submitted = array.submitted;
  w.limit = array.limit;
  w.priority = array.priority;
  w.nice = array.nice;
  w.held_by_user = array.held_by_user;
  w.held_by_admin = array.held_by_admin;
  return w;
}

// Some pending indexes of an array are cancelled: one ended row stands for them.
void cancel_indexes(State& state, Time at, const Cancelled& e) {
  const auto it = state.arrays.find(e.id);
  if (it == state.arrays.end()) return;
  Array& array = it->second;
  for (const std::uint32_t index : e.indexes) array.pending.erase(index);
  array.not_ok.insert(e.indexes.begin(), e.indexes.end());
  Workload w = element_of(array, e.record, e.record_number, e.indexes.front());
  w.array_rest = index_text(e.indexes);
  w.stands_for = static_cast<std::uint32_t>(e.indexes.size());
  w.phase = Phase::ended;
  w.cancel_asked = true;
  w.cancelled_by = e.by;
  w.end.cause = e.cause;
  w.end.by = e.by;
  w.ended = at;
  array.elements.insert(e.record);
  state.next_id = std::max(state.next_id, e.record.value + 1);
  number_is(state, e.record_number, e.record);
  enter(state, *w.spec, e.record);
  state.unarchived.insert(e.record);
  state.workloads.emplace(e.record, std::move(w));
  use_up(state, array);
}

void count_for_object(State& state, const Workload& w) {
  if (w.spec->object.empty()) return;
  const auto it = state.objects.find(parse_object_key(w.spec->object));
  if (it == state.objects.end()) return;
  Object& object = it->second;
  if (std::erase(object.workloads, w.id) == 0) return;  // an earlier object of the same name
  if (w.end.cause == EndCause::completed) ++object.succeeded;
  if (w.end.cause != EndCause::completed && w.end.cause != EndCause::cancelled) ++object.failed;
  touch_object(state, *w.spec);
}

Time first_start(const Workload& w) {
  for (const PastAttempt& attempt : w.past)
    if (attempt.launched != Time{}) return attempt.launched;
  return Time{};
}

// An array without pending indexes and elements is over.
void close_array(State& state, Array& array, Time at) {
  if (!array.pending.empty() || !array.elements.empty()) return;
  const WorkloadId id = array.id;
  const auto spec = array.spec;
  if (const auto it = state.by_number.find(array.number);
      it != state.by_number.end() && it->second == id)
    state.by_number.erase(it);
  remember(state, id, {array.ended_not_ok == 0, array.submitted, at, array.not_ok});
  leave(state, *spec, id);
  drop_dependent(state, *spec, id);
  state.arrays.erase(id);
}

void archive(State& state, Time at, WorkloadId id) {
  const auto it = state.workloads.find(id);
  if (it == state.workloads.end() || !finished(it->second)) return;
  const Workload& w = it->second;
  const bool ok = w.end.cause == EndCause::completed;
  const auto array = state.arrays.find(w.array);
  if (const auto n = state.by_number.find(w.number);
      n != state.by_number.end() && n->second == id) {
    if (array != state.arrays.end() && w.number == w.array_number)
      n->second = array->first;  // other elements are still found by the array's number
    else
      state.by_number.erase(n);
  }
  remember(state, id, {ok, first_start(w), w.ended, {}});
  count_for_object(state, w);
  leave(state, *w.spec, id);
  state.unarchived.erase(id);
  if (array != state.arrays.end()) {
    array->second.elements.erase(id);
    if (!ok && w.array_rest.empty()) array->second.not_ok.insert(w.array_index);
    (ok ? array->second.ended_ok : array->second.ended_not_ok) += w.stands_for;
    close_array(state, array->second, at);
  }
  state.workloads.erase(it);
}

// A row comes back that had left State: the reverse of archive().
void come_back(State& state, const Workload& w, bool was_ok) {
  number_is(state, w.number, w.id);
  enter(state, *w.spec, w.id);
  forget(state, w.id);
  const auto it = state.arrays.find(w.array);
  if (it == state.arrays.end()) return;
  Array& array = it->second;
  array.elements.insert(w.id);
  array.not_ok.erase(w.array_index);
  (was_ok ? array.ended_ok : array.ended_not_ok) -= w.stands_for;
}

}  // namespace

void apply_one(State& state, Time at, const Submitted& e) {
  state.next_id = std::max(state.next_id, e.id.value + 1);
  number_is(state, e.number, e.id);
  if (e.array) {
    Array array = *e.array;
    array.id = e.id;
    array.number = e.number;
    array.spec = e.spec;
    array.submitted = at;
    array.limit = e.limit;
    array.priority = e.priority;
    array.nice = e.spec->nice;
    array.held_by_user = e.held;
    state.arrays.emplace(e.id, std::move(array));
  } else {
    Workload w;
    w.id = e.id;
    w.number = e.number;
    w.spec = e.spec;
    w.submitted = at;
    w.limit = e.limit;
    w.priority = e.priority;
    w.nice = e.spec->nice;
    w.held_by_user = e.held;
    state.workloads.emplace(e.id, std::move(w));
  }
  state.pending.insert(e.id);
  enter(state, *e.spec, e.id);
  add_name(state, *e.spec, e.id);
  add_dependent(state, *e.spec, e.id);
  remember_key(state, at, e);
  join_object(state, at, *e.spec, e.id);
}

void apply_one(State& state, Time /*at*/, const Separated& e) {
  const auto it = state.arrays.find(e.array);
  if (it == state.arrays.end()) return;
  Array& array = it->second;
  Workload w = element_of(array, e.id, e.number, e.index);
  if (!array.pending.empty() && *array.pending.begin() == e.index) {
    w.promise = array.promise;
    array.promise.reset();
  }
  array.pending.erase(e.index);
  array.elements.insert(e.id);
  state.next_id = std::max(state.next_id, e.id.value + 1);
  number_is(state, e.number, e.id);
  state.pending.insert(e.id);
  enter(state, *w.spec, e.id);
  add_name(state, *w.spec, e.id);
  state.workloads.emplace(e.id, std::move(w));
  use_up(state, array);
}

void apply_one(State& state, Time /*at*/, const Updated& e) {
  const auto change = [&](auto& row) {
    if (e.limit) row.limit = *e.limit;
    if (e.priority) row.priority = e.priority;
    if (e.nice) row.nice = *e.nice;
  };
  if (const auto it = state.arrays.find(e.id); it != state.arrays.end()) change(it->second);
  edit(state, e.id, change);
}

void apply_one(State& state, Time /*at*/, const Held& e) {
  const auto change = [&](auto& row) {
    if (e.hold) {
      (e.by_admin ? row.held_by_admin : row.held_by_user) = true;
    } else {
      row.held_by_user = false;
      if (e.by_admin) row.held_by_admin = false;
    }
  };
  if (const auto it = state.arrays.find(e.id); it != state.arrays.end()) change(it->second);
  edit(state, e.id, [&](Workload& w) {
    change(w);
    if (e.hold || w.held_why.empty()) return;
    w.held_why.clear();  // let go after failed launches: a fresh start
    w.avoid.clear();
    w.failed_launches = 0;
  });
}

void apply_one(State& state, Time at, const Cancelled& e) {
  if (!e.indexes.empty()) {
    cancel_indexes(state, at, e);
    return;
  }
  edit(state, e.id, [&](Workload& w) {
    w.cancel_asked = w.cancel_asked || e.cause == EndCause::cancelled;
    w.cancelled_by = e.by;
    if (w.stop_since == Time{}) w.stop_since = at;
    w.stop_cause = e.cause;
    w.stop_exit = e.exit_code;
    w.stop_again = e.again;
    w.stop_why = e.why;
  });
}

void apply_one(State& state, Time /*at*/, const Revived& e) {
  const Workload& w = e.row;
  if (!state.workloads.contains(w.id)) come_back(state, w, e.was_ok);
  state.unarchived.erase(w.id);
  state.pending.insert(w.id);
  add_name(state, *w.spec, w.id);
  state.workloads.insert_or_assign(w.id, w);
}

void apply_one(State& state, Time at, const Promised& e) {
  const Promise promise{e.start, at, e.cause};
  if (const auto it = state.arrays.find(e.id); it != state.arrays.end())
    it->second.promise = promise;
  edit(state, e.id, [&](Workload& w) { w.promise = promise; });
}

void apply_one(State& state, Time at, const Archived& e) {
  for (const WorkloadId id : e.ids) archive(state, at, id);
}

}  // namespace phalanx::cluster
