#include <algorithm>

#include "base/text.h"
#include "cluster/access.h"
#include "cluster/blame.h"
#include "cluster/decide.h"
#include "cluster/target.h"

namespace phalanx::cluster {
namespace {

// Signals are not facts: they go out at once, as effects.
Status send_signal(Draft& d, const Workload& w, const Cancel& input, std::int32_t signal) {
  if (w.phase != Phase::running || !w.current)
    return conflict("the job is not running: there is nobody to signal");
  for (const NodeShare& share : w.current->shares) {
    if (w.current->released.contains(share.node)) continue;
    const Fence fence{d.state.cluster, w.id, w.current->number, share.boot};
    d.order(share.node, SignalOrder{fence, signal, input.to, input.target.step});
  }
  return {};
}

Status signal_all(Draft& d, const Cancel& input, std::int32_t signal) {
  const Selection s = TRY(select(d, input.target));
  Status status = conflict("the job is not running: there is nobody to signal");
  for (const Workload* w : s.workloads) {
    const Status one = send_signal(d, *w, input, signal);
    if (one.ok()) status = Status();
  }
  return status;
}

// Nobody, where the cluster itself ends work.
std::uint32_t who_ends_it(const Draft& d) {
  return d.who.kind == IdentityKind::system ? End().by : d.who.uid;
}

Status cancel(Draft& d, const Cancel& input) {
  constexpr std::int32_t kKill = 9;
  if (input.signal != 0) return signal_all(d, input, input.signal);
  if (input.target.step) return signal_all(d, input, kKill);
  const Selection s = TRY(select(d, input.target));
  bool any = false;
  for (const Workload* w : s.workloads) {
    if (w->phase == Phase::ended) continue;
    any = true;
    Cancelled how;
    how.by = who_ends_it(d);
    if (!already_stopping(*w)) stop(d, *w, std::move(how));
  }
  if (!s.indexes.empty()) {
    Cancelled event;
    event.id = s.array->id;
    event.by = who_ends_it(d);
    event.indexes = s.indexes;
    event.record_number = d.number_for(*s.array, s.indexes.size());
    event.record = d.fresh_id();
    d.indexes[s.array->id].insert(s.indexes.begin(), s.indexes.end());
    d.say(std::move(event));
    any = true;
  }
  if (!any) return conflict("Job/step already completing or completed");
  return {};
}

Status finish(Draft& d, const Finish& input) {
  const Workload& w = *TRY(select_one(d, input.target));
  if (w.phase == Phase::ended) return {};  // said twice
  if (w.spec->kind != WorkloadKind::allocation)
    return invalid(
        "only an allocation (salloc, srun) is finished by its user; a batch job ends with its "
        "script");
  Cancelled how;
  how.by = d.who.uid;
  how.exit_code = input.exit_code;
  if (w.phase == Phase::pending)
    how.cause = EndCause::cancelled;  // given up while it waited
  else
    how.cause = input.exit_code == 0 ? EndCause::completed : EndCause::failed;
  if (w.stop_since == Time{}) stop(d, w, std::move(how));
  return {};
}

// Whoever held it is gone for good: as if he had given it back.
Status client_gone(Draft& d, const ClientGone& input) {
  const Workload* w = find_workload(d.state, input.id);
  if (!w || w->phase == Phase::ended || w->stop_since != Time{}) return {};
  if (!w->spec->client_stays) return invalid("nobody said that he would stay with this work");
  Cancelled how;
  how.by = w->spec->owner.uid;
  how.why = format("its client on {} was away for {} and is given up",
                   w->spec->submit_host.empty() ? "an unknown host" : w->spec->submit_host,
                   to_string(input.gone));
  stop(d, *w, std::move(how));
  return {};
}

}  // namespace

bool already_stopping(const Workload& w) { return w.stop_since != Time{} && !w.stop_again; }

void stop(Draft& d, const Workload& w, Cancelled how) {
  how.id = w.id;
  Workload after = w;  // as Cancelled will leave it: how it ends depends on it
  after.stop_since = d.now;
  after.stop_cause = how.cause;
  after.stop_exit = how.exit_code;
  after.stop_again = how.again;
  after.cancelled_by = how.by;
  after.stop_why = how.why;
  const bool at_once = w.phase != Phase::running;
  d.say(std::move(how));
  if (!at_once) return;
  Ended over = end_of_stop(after);
  if (w.phase == Phase::pending)
    over.attempt = 0;  // `current` is what is left of an earlier attempt
  d.end(w, std::move(over));
}

void decide_one(Draft& d, const Cancel& input) { d.accept(cancel(d, input)); }
void decide_one(Draft& d, const Finish& input) { d.accept(finish(d, input)); }
void decide_one(Draft& d, const ClientGone& input) { d.accept(client_gone(d, input)); }

}  // namespace phalanx::cluster
