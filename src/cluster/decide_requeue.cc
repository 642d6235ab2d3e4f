// scontrol requeue: what runs is stopped and waits once more; what has ended waits once more, also
// where its row has left State.
#include "base/text.h"
#include "cluster/access.h"
#include "cluster/decide.h"
#include "cluster/tables.h"
#include "cluster/target.h"

namespace phalanx::cluster {
namespace {

Status may_run_again(const WorkloadSpec& spec) {
  if (spec.kind != WorkloadKind::batch)
    return conflict("Only batch jobs are accepted or processed: only these can run again");
  if (!spec.requeue)
    return conflict(
        "Requested operation is presently disabled: the job was submitted with --no-requeue");
  return {};
}

bool held_by_admin(const Draft& d, const Workload& w) { return d.who.uid != w.spec->owner.uid; }

// As it will wait: like one that was stopped to run again. What it once waited for has been
// settled.
Workload waits_again(const Draft& d, const Workload& ended, bool hold) {
  Workload row = ended;
  WorkloadSpec spec = *ended.spec;
  spec.dependencies.clear();
  row.spec = std::make_shared<const WorkloadSpec>(std::move(spec));
  row.phase = Phase::pending;
  row.not_before = d.now;
  ++row.restarts;
  row.failed_launches = 0;
  row.avoid.clear();
  row.held_why.clear();
  row.held_by_user = hold && !held_by_admin(d, ended);
  row.held_by_admin = hold && held_by_admin(d, ended);
  row.promise.reset();
  row.cancel_asked = false;
  row.cancelled_by = End().by;
  stop_is_over(row);
  row.end = End{};
  row.ended = Time{};
  return row;
}

Status revive(Draft& d, const Workload& ended, bool hold) {
  if (!ended.array_rest.empty())
    return conflict("these elements were cancelled before they began: submit them again");
  TRY(may_run_again(*ended.spec));
  d.say(Revived{waits_again(d, ended, hold), ended.end.cause == EndCause::completed});
  return {};
}

// The archive has its row; Slurm forgets it after MinJobAge.
Status revive_gone(Draft& d, const Requeue& input, Error unknown) {
  const Workload* gone = input.gone.get();
  if (!gone || d.state.workloads.contains(gone->id)) return unknown;
  TRY(may_change(d.state.config, d.who, *gone->spec));
  if (later(gone->ended, d.state.config.timers.min_job_age) <= d.now) return unknown;
  return revive(d, *gone, input.hold);
}

Status requeue_one(Draft& d, const Workload& w, bool hold) {
  if (w.phase == Phase::pending)
    return conflict("the job is pending already: it waits for its turn");
  if (w.phase == Phase::ended) return revive(d, w, hold);
  TRY(may_run_again(*w.spec));
  if (already_stopping(w)) return conflict("Job/step already completing or completed");
  Cancelled how;
  how.by = d.who.uid;
  how.cause = EndCause::none;
  how.again = Again{d.now, {w.avoid.begin(), w.avoid.end()}, true, ""};
  if (hold) d.say(Held{w.id, true, held_by_admin(d, w), ""});
  stop(d, w, std::move(how));
  return {};
}

Status requeue(Draft& d, const Requeue& input) {
  const auto s = select(d, input.target);
  if (!s.ok() && s.error().code == Error::Code::NotFound) return revive_gone(d, input, s.error());
  if (!s.ok()) return s.error();
  Status status = conflict("the job is pending already: it waits for its turn");
  bool any = false;
  for (const Workload* w : s->workloads) {
    Status one = requeue_one(d, *w, input.hold);
    any = any || one.ok();
    status = std::move(one);
  }
  if (any) return {};
  return status;
}

}  // namespace

void decide_one(Draft& d, const Requeue& input) { d.accept(requeue(d, input)); }

}  // namespace phalanx::cluster
