#include "sim/checks.h"

#include <algorithm>

#include "base/text.h"
#include "place/place.h"

namespace phalanx::sim {
namespace {

constexpr Duration kRounding = seconds(1);  // promises are told in whole seconds

}  // namespace

void Checks::committed(const State&, const Event& event) {
  if (const auto* e = std::get_if<Promised>(&event.what)) {
    const auto before = promises_.find(e->id);
    if (before != promises_.end() && e->start > before->second && e->cause.empty())
      world_.problem(format("the start of workload {} is promised later, and no cause is recorded",
                            e->id.value));
    promises_[e->id] = e->start;
  } else if (const auto* placed = std::get_if<Placed>(&event.what)) {
    const auto promise = promises_.find(placed->id);
    if (promise == promises_.end()) return;
    if (event.at > later(promise->second, kRounding))
      world_.problem(format("workload {} starts {} after its promised time", placed->id.value,
                            to_string(event.at - promise->second)));
    ++kept_;
    promises_.erase(promise);
  } else if (const auto* separated = std::get_if<Separated>(&event.what)) {
    promises_.erase(separated->array);  // the promise was for this index
  } else if (const auto* ended = std::get_if<Ended>(&event.what)) {
    promises_.erase(ended->id);
  }
}

// While the controller is away nothing starts: what it promised for that time is due now.
void Checks::restarted() {
  for (auto& [id, start] : promises_) start = std::max(start, world_.now());
}

void Checks::settled() {
  if (!world_.controller_up()) return;
  const State& s = world_.state();
  const auto outlook = world_.outlook();
  for (const WorkloadId id : s.pending) {
    const auto wait = outlook->waits.find(id);
    if (wait == outlook->waits.end())
      world_.problem(format("workload {} waits, and no reason is known", id.value));
    else
      check_wait(s, id, wait->second);
  }
}

void Checks::check_wait(const State& s, WorkloadId id, const Outlook::Wait& wait) {
  const ReasonCode code = wait.reason.code;
  if (code != ReasonCode::priority && code != ReasonCode::resources) return;
  if (!s.config.policy.backfill) return;
  const Workload* w = find_workload(s, id);
  const Array* a = find_array(s, id);
  if (!w && !a) return;
  const WorkloadSpec& spec = w ? *w->spec : *a->spec;
  const Partition* partition = find_partition(s.config, spec.partition);
  const place::Scope scope{partition, w ? &w->avoid : nullptr,
                           partition ? partition->max_nodes : 0};
  if (place::fit(place::Board::now(s), scope, spec.groups.front()))
    world_.problem(format("workload {} fits now, harms no promise and is told: {}", id.value,
                          sentence(wait.reason, "other work")));
}

void Checks::all_over() {
  const State& s = world_.state();
  for (const auto& [id, w] : s.workloads)
    world_.problem(format("workload {} is still in State ({})", id.value,
                          w.phase == Phase::ended ? "ended" : "not ended"));
  for (const auto& [id, a] : s.arrays) world_.problem(format("array {} is still there", id.value));
  for (const auto& [id, use] : s.use)
    if (!use.holders.empty()) world_.problem(format("node {} still has holders", id.value));
  for (const std::string& left : world_.witness().leftovers()) world_.problem(left);
}

}  // namespace phalanx::sim
