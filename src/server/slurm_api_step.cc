// srun inside a job: the core grants the step, and the client gets a signed token for each node's
// agent. The streams of its tasks never come this way.
#include "base/text.h"
#include "dialect/slurm/slurm.h"
#include "server/slurm_api.h"

namespace phalanx::server {
namespace {

constexpr Duration kTokenLife = hours(24 * 365);  // of a step without a limit

Time token_end(const Workload& w, Time now) {
  const Duration life = w.limit == kForever ? kTokenLife : w.limit + hours(24);
  return later(now, life);
}

// The grant and, as in every token, `exp`.
std::string claims_of(const StepGrant& grant) {
  return format("{{\"exp\":{},{}", unix_seconds(grant.expires), codec::encode(grant).substr(1));
}

slurm::StepNode node_of_step(const State& state, const Workload& w, const Step& step,
                             const StepShare& share, const slurm::StepPlan& plan, Time now,
                             const net::TokenKey& key) {
  const Node* node = find_node(state, share.node);
  StepGrant grant;
  grant.fence = {state.cluster, w.id, w.current->number, node ? node->boot : ""};
  grant.step = step.number;
  grant.label = format("{}.{}", w.number, step.number);
  grant.owner = w.spec->owner;
  grant.share = share;
  grant.overlap = step.overlap;
  grant.environment = slurm::step_environment(state, w, step, share);
  if (const std::int64_t cpus = plan.request.shape.per_task.cpus.ceil(); cpus > 0)
    grant.environment.push_back(format("SLURM_CPUS_PER_TASK={}", cpus));  // not the job's
  grant.per_task = slurm::task_environments(w, share, state, plan.gpus_per_task);
  grant.expires = token_end(w, now);
  slurm::StepNode out;
  out.name = node ? node->spec.name : "";
  out.agent_url = node ? node->spec.agent_url : "";
  out.token = net::sign_token(claims_of(grant), key);
  for (const std::int64_t rank : share.ranks) out.ranks.push_back(static_cast<std::uint32_t>(rank));
  return out;
}

Result<slurm::StepReply> granted(Door& door, const Reply& reply, const slurm::StepPlan& plan) {
  slurm::StepReply out;
  out.warnings = plan.warnings;
  out.notes = plan.notes;
  out.waiting = reply.waiting;
  out.job = reply.number;
  if (!reply.step) return out;
  const State& state = door.core.state();
  const Workload* w = find_workload(state, reply.id);
  if (!w || !w->current) return conflict("Job/step already completing or completed");
  const net::TokenKey key = TRY(step_key(door.key));
  out.job = w->number;
  out.step = reply.step->number;
  out.array_job = w->array_number;
  if (w->array_number != 0) out.array_index = w->array_index;
  out.tasks = static_cast<std::uint32_t>(reply.step->tasks);
  out.restarts = w->restarts;
  out.kill_on_bad_exit = state.config.kill_on_bad_exit;
  out.wait_seconds =
      static_cast<std::uint32_t>(std::chrono::floor<seconds>(state.config.wait_time).count());
  out.kill_wait_seconds = static_cast<std::uint32_t>(
      std::chrono::floor<seconds>(state.config.timers.kill_wait).count());
  out.job_name = w->spec->name;
  out.user = w->spec->owner.user;
  for (const StepShare& share : reply.step->shares)
    out.nodes.push_back(node_of_step(state, *w, *reply.step, share, plan, door.core.now(), key));
  return out;
}

Result<slurm::StepPlan> plan_of(const Door& door, const slurm::StepAsk& ask) {
  const Target target = TRY(parse_target(ask.job));
  const Workload* w = find_target(door.core.state(), target);
  if (!w) return not_found("Invalid job id specified");
  if (w->phase == Phase::ended) return conflict("Job/step already completing or completed");
  if (w->phase == Phase::pending) return conflict("Job is pending execution");
  slurm::ParseContext context;
  context.now = w->submitted;
  context.zone = ask.zone;
  auto options = slurm::parse_tokens(slurm::Tool::Srun, ask.tokens, context);
  if (const Diagnostic* error = options.first_error()) return invalid(error->message);
  if (ask.own_job) options.value.origins.erase("exclusive");  // the step has all of its CPUs
  slurm::StepPlan plan = TRY(slurm::translate_step(*w, options.value, ask.program));
  for (const Diagnostic& said : options.diagnostics) plan.notes.push_back(said.message);
  plan.request.target = target;
  plan.request.key = ask.key;
  return plan;
}

void step(Door& door, const Identity& who, const net::Request& request, const Answer& answer) {
  const auto ask = read_body<slurm::StepAsk>(request, answer);
  if (!ask) return;
  auto plan = plan_of(door, *ask);
  if (!plan.ok()) return refuse(answer, plan.error());
  door.core.put(who, plan->request,
                [&door, answer, plan = *plan](const Reply& reply, std::uint64_t sequence) {
                  if (reply.error) return refuse(answer, *reply.error);
                  auto out = granted(door, reply, plan);
                  if (!out.ok()) return refuse(answer, out.error());
                  reply_with(answer, *out, sequence);
                });
}

template <class Input>
void over(Door& door, const Identity& who, const net::Request& request, const Answer& answer) {
  const auto body = read_body<slurm::OverRequest>(request, answer);
  if (!body) return;
  auto target = parse_target(body->job);
  if (!target.ok()) return refuse(answer, target.error());
  Input input;
  input.target = *target;
  input.exit_code = body->exit_code;
  if constexpr (std::is_same_v<Input, StepOver>) {
    input.target.step = body->step;
    input.exit_signal = body->exit_signal;
    input.out_of_memory = body->out_of_memory;
  }
  door.core.put(who, input, [answer](const Reply& reply, std::uint64_t sequence) {
    if (reply.error) return refuse(answer, *reply.error);
    answer->reply(200, "application/json", "{}\n",
                  {{"Phalanx-Sequence", std::to_string(sequence)}});
  });
}

}  // namespace

void slurm_step_routes(Router& router, Door& door) {
  router.add("/slurm/v1/step", [&door](const Identity& who, const net::Request& request,
                                       const Answer& answer) { step(door, who, request, answer); });
  router.add("/slurm/v1/step_over",
             [&door](const Identity& who, const net::Request& request, const Answer& answer) {
               over<StepOver>(door, who, request, answer);
             });
  router.add("/slurm/v1/finish",
             [&door](const Identity& who, const net::Request& request, const Answer& answer) {
               over<Finish>(door, who, request, answer);
             });
}

}  // namespace phalanx::server
