#include <algorithm>

#include "base/text.h"
#include "cluster/deadline.h"
#include "cluster/decide.h"
#include "cluster/target.h"
#include "place/place.h"

namespace phalanx::cluster {
namespace {

Status grant(Draft& d, const StepRequest& input) {
  const Workload& w = *TRY(select_one(d, input.target));
  if (w.phase == Phase::ended || w.stop_since != Time{})
    return conflict("Job/step already completing or completed");
  if (w.phase != Phase::running)
    return unavailable(format("job {} is not running yet; try again later", w.number));
  for (const auto& [number, step] : w.steps) {
    if (input.key.empty() || step.key != input.key) continue;
    d.out.reply.step = step;  // asked again, the answer was lost
    return {};
  }
  place::StepFit fit = TRY(place::fit_step(w, d.state.nodes, input));
  d.out.reply.id = w.id;
  d.out.reply.number = w.number;
  if (fit.shares.empty()) {
    d.out.reply.waiting = std::move(fit.waiting);
    return {};
  }
  Step step;
  step.number = w.next_step;
  step.name = input.name;
  step.key = input.key;
  step.overlap = input.overlap;
  step.tasks = input.shape.tasks;
  step.shares = std::move(fit.shares);
  step.started = d.now;
  d.out.reply.step = step;
  d.say(StepStarted{w.id, w.current->number, std::move(step)});
  return {};
}

Status step_over(Draft& d, const StepOver& input) {
  if (!input.target.step) return invalid("this names no step");
  Target target = input.target;
  target.step.reset();
  const Workload& w = *TRY(select_one(d, target));
  const auto it = w.steps.find(*input.target.step);
  if (it == w.steps.end())
    return not_found(
        format("Invalid job id specified: no step {}.{}", w.number, *input.target.step));
  if (it->second.ended || !w.current) return {};  // its agents said so first
  d.say(StepEnded{w.id, w.current->number, it->first, input.exit_code, input.exit_signal,
                  input.out_of_memory, measured_end(d.heard, w, it->second)});
  return {};
}

}  // namespace

void decide_one(Draft& d, const StepRequest& input) { d.accept(grant(d, input)); }
void decide_one(Draft& d, const StepOver& input) { d.accept(step_over(d, input)); }

}  // namespace phalanx::cluster
