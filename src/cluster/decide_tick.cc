#include "base/text.h"
#include "cluster/blame.h"
#include "cluster/deadline.h"
#include "cluster/decide.h"

namespace phalanx::cluster {
namespace {

constexpr int kDecisionsPerTick =
    512;  // the rest is due still: next_deadline is not later than now

void time_is_up(Draft& d, const Workload& w) {
  if (w.stop_since != Time{})
    return d.end(w, end_of_stop(w));  // its devices stay held until each node confirms
  const Time since = began(d.heard, w).value_or(*w.current->launched);
  if (later(limit_of(d.state.config.timers, w), since - *w.current->launched) <= d.now) {
    Cancelled how;
    how.cause = EndCause::timeout;
    stop(d, w, std::move(how));
  } else {
    d.say(Warned{w.id, w.current->number});
  }
}

void check_preparing(Draft& d, const Workload& w) {
  for (const NodeShare& share : w.current->shares) {
    if (prepare_deadline(d.state.config.timers, d.heard, w, share.node) > d.now) continue;
    const Node* node = find_node(d.state, share.node);
    if (!node) continue;
    const auto* last = last_report(d.heard, w, share.node);
    const std::string doing =
        last && !last->report.detail.empty() ? " in " + last->report.detail : "";
    fail_launch(d, w, *node,
                format("silent for {} while preparing{}",
                       to_string(d.state.config.timers.prepare_timeout), doing),
                false);
    return;
  }
}

}  // namespace

void decide_one(Draft& d, const Tick& /*input*/) {
  int left = kDecisionsPerTick;
  for (const auto& [at, id] : d.state.deadlines) {
    if (at > d.now || left == 0) break;
    const Workload* w = find_workload(d.state, id);
    if (!w || due(d.state.config.timers, d.heard, *w) > d.now) continue;
    time_is_up(d, *w);
    --left;
  }
  for (const WorkloadId id : d.state.preparing)
    if (const Workload* w = find_workload(d.state, id); w && w->current) check_preparing(d, *w);
}

void decide_one(Draft& d, const ArchiveHas& input) {
  Archived event;
  for (const WorkloadId id : input.ids)
    if (d.state.unarchived.contains(id)) event.ids.push_back(id);
  if (!event.ids.empty()) d.say(std::move(event));
}

}  // namespace phalanx::cluster
