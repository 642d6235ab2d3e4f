#include "cluster/draft.h"

#include <algorithm>

#include "cluster/deadline.h"
#include "cluster/usage.h"

namespace phalanx::cluster {
namespace {

// When it began, and once its script or command (of an allocation: all that its nodes ran) is over,
// when that was: as measured there, so that an absent controller or agent makes nothing longer.
void add_measured(const Draft& d, const Workload& w, Ended& how) {
  if (!w.current || !w.current->launched) return;
  const Time launched = *w.current->launched;
  const bool all = w.spec->kind == WorkloadKind::allocation;
  std::optional<Time> until;
  for (const NodeShare& share : w.current->shares) {
    const auto* last = last_report(d.heard, w, share.node);
    const bool told = last && last->began && last->report.fence.boot == share.boot;
    if (!told) return;
    const Time began = std::clamp(*last->began, launched, d.now);
    if (!how.began) how.began = began;
    if (!last->report.ran) return;
    const Time over = std::min(later(began, *last->report.ran), d.now);
    until = std::max(until.value_or(over), over);
    if (!all) break;
  }
  how.until = until;
}

}  // namespace

Draft::Draft(const State& s, const Heard& h, const Input& input)
    : state(s),
      heard(h),
      who(input.who),
      now(std::max(s.now, input.now)),
      next_id(s.next_id),
      next_number(s.next_number) {}

bool Draft::accept(const Status& status) {
  if (!status.ok()) refuse(status.error());
  return status.ok();
}

void Draft::release(const Workload& w, NodeId node) {
  if (!released.emplace(w.id, node).second) return;
  Released event{w.id, w.current->number, node, {}, {}};
  if (const auto* last = last_report(heard, w, node)) {
    NodeUsed used = news_of(w, node, last->report);
    event.used = used.all;
    event.steps = std::move(used.steps);
  }
  say(std::move(event));
}

void Draft::end(const Workload& w, Ended how) {
  add_measured(*this, w, how);
  say(std::move(how));
  if (!w.current) return;
  for (const NodeShare& share : w.current->shares) {
    const auto* last = last_report(heard, w, share.node);
    const bool gone = last && last->report.phase == AttemptPhase::gone;
    if (gone && !w.current->released.contains(share.node)) release(w, share.node);
  }
}

JobNumber Draft::number_for(const Array& array, std::size_t count) {
  const bool last = array.pending.size() == indexes[array.id].size() + count;
  return last ? array.number : fresh_number();
}

WorkloadId Draft::separate(const Array& array, std::uint32_t index) {
  const JobNumber number = number_for(array, 1);
  indexes[array.id].insert(index);
  const WorkloadId id = fresh_id();
  say(Separated{array.id, index, id, number});
  return id;
}

}  // namespace phalanx::cluster
