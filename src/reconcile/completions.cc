#include <algorithm>

#include "base/text.h"
#include "reconcile/hopeless.h"
#include "reconcile/reconcile.h"

namespace phalanx::reconcile {
namespace {

// How a failing pod's successor waits: 10 s, doubling to 6 minutes, as users of batch/v1 know it.
constexpr Duration kPodBackoffFirst = seconds(10);
constexpr Duration kPodBackoffMost = minutes(6);

struct Tally {
  std::int64_t succeeded = 0, failed = 0;
  std::vector<WorkloadId> live;  // not ended
};

// Pods that were cancelled count neither way: they are replaced.
Tally tally(const State& state, const Object& object) {
  Tally t{object.succeeded, object.failed, {}};
  for (const WorkloadId id : object.workloads) {
    const Workload* w = find_workload(state, id);
    if (!w) continue;
    if (w->phase != Phase::ended)
      t.live.push_back(id);
    else if (w->end.cause == EndCause::completed)
      ++t.succeeded;
    else if (w->end.cause != EndCause::cancelled)
      ++t.failed;
  }
  return t;
}

InputKind cancel(WorkloadId id) {
  Cancel input;
  input.target.id = id;
  return input;
}

InputKind make_pod(const Object& object, const Completions& job, std::int64_t index, Time begin) {
  auto spec = std::make_shared<WorkloadSpec>(*job.pod);
  spec->name = format("{}-{}", object.key.name, index);
  spec->object = to_string(object.key);
  spec->begin = std::max(spec->begin, begin);
  Submit input;
  input.spec = std::move(spec);
  input.key = format("{}/{}", object.uid, index);
  input.content = input.key;
  return input;
}

std::vector<InputKind> stop_all(const State& state, const Tally& t) {
  std::vector<InputKind> inputs;
  for (const WorkloadId id : t.live)
    if (find_workload(state, id)->stop_since == Time{}) inputs.push_back(cancel(id));
  return inputs;
}

// When the next pod may begin: at once unless pods have failed.
Time next_begin(const Tally& t, Time now) {
  if (t.failed == 0) return Time{};
  Timers pods;
  pods.backoff_first = kPodBackoffFirst;
  pods.backoff_most = kPodBackoffMost;
  return now + backoff(pods, static_cast<std::uint32_t>(std::min<std::int64_t>(t.failed, 64)));
}

std::vector<InputKind> keep_going(const State& state, const Object& object, const Completions& job,
                                  Time now) {
  const Tally t = tally(state, object);
  const bool over = t.succeeded >= job.completions || t.failed > job.backoff_limit;
  if (over || object.completed) {
    std::vector<InputKind> inputs = stop_all(state, t);
    if (!object.completed) {
      PutObject done{object, std::nullopt};
      done.object.completed = now;
      inputs.emplace_back(std::move(done));
    }
    return inputs;
  }
  if (job.suspended) return stop_all(state, t);
  const auto live = static_cast<std::int64_t>(t.live.size());
  const std::int64_t wanted = std::min(job.parallelism, job.completions - t.succeeded) - live;
  std::vector<InputKind> inputs;
  inputs.reserve(static_cast<std::size_t>(std::max<std::int64_t>(wanted, 0)));
  for (std::int64_t i = 0; i < wanted; ++i)
    inputs.push_back(make_pod(object, job, object.made + i, next_begin(t, now)));
  return inputs;
}

bool all_finished(const State& state, const Object& object) {
  return std::all_of(object.workloads.begin(), object.workloads.end(), [&](WorkloadId id) {
    const Workload* w = find_workload(state, id);
    return !w || finished(*w);
  });
}

// The object an event may have changed something for.
std::optional<ObjectKey> concerned(const State& after, const EventKind& what) {
  if (const auto* put = std::get_if<ObjectPut>(&what)) return put->object.key;
  WorkloadId id;
  if (const auto* ended = std::get_if<Ended>(&what)) id = ended->id;
  if (const auto* released = std::get_if<Released>(&what)) id = released->id;
  const Workload* w = find_workload(after, id);
  if (!w || w->spec->object.empty() || w->phase != Phase::ended) return std::nullopt;
  return parse_object_key(w->spec->object);
}

std::vector<InputKind> for_object(const State& after, const Event& event) {
  const std::optional<ObjectKey> key = concerned(after, event.what);
  if (!key) return {};
  const auto it = after.objects.find(*key);
  if (it == after.objects.end()) return {};
  const Object& object = it->second;
  if (object.deleting) {
    if (!all_finished(after, object)) return {};
    return {DeleteObject{object.key, object.uid}};
  }
  if (const auto* job = std::get_if<Completions>(&object.meaning))
    return keep_going(after, object, *job, event.at);
  return {};
}

}  // namespace

std::vector<InputKind> consequences(const State& after, const Event& event) {
  std::vector<InputKind> inputs = for_object(after, event);
  for (InputKind& input : end_hopeless(after, event)) inputs.push_back(std::move(input));
  return inputs;
}

}  // namespace phalanx::reconcile
