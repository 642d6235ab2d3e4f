// Events of an attempt: from Placed, when devices are held, to the Released that frees the last
// one.
#include <algorithm>

#include "cluster/apply.h"
#include "cluster/tables.h"
#include "cluster/usage.h"
#include "ledger/ledger.h"
#include "model/usage.h"

namespace phalanx::cluster {
namespace {

void count_busy(State& state, const Workload& w, bool more) {
  const auto it = state.arrays.find(w.array);
  if (it == state.arrays.end()) return;
  if (more)
    ++it->second.busy;
  else
    --it->second.busy;
}

constexpr std::int32_t kKill = 9;

PastAttempt past_attempt(const State& state, const Workload& w, Time at, const Ended& e) {
  PastAttempt past;
  past.number = w.current->number;
  past.placed = w.current->placed;
  past.launched = e.began.value_or(w.current->launched.value_or(Time{}));
  past.ended = at;
  past.end = e.end;
  past.shares = w.current->shares;
  past.port = w.current->port;
  past.used = w.current->used;
  past.script_used = w.current->script_used;
  for (const NodeShare& share : past.shares) {
    const Node* node = find_node(state, share.node);
    past.nodes.push_back(node ? node->spec.name : "");
  }
  return past;
}

// It waits once more.
void come_back(State& state, Workload& w, const Ended& e) {
  w.phase = Phase::pending;
  w.not_before = e.again->not_before;
  w.avoid = {e.again->avoid.begin(), e.again->avoid.end()};
  w.held_why = e.again->hold;
  w.restarts += e.again->counts_as_restart ? 1 : 0;
  w.failed_launches = e.end.cause == EndCause::launch_failed ? w.failed_launches + 1 : 0;
  w.promise.reset();
  w.cancel_asked = false;
  stop_is_over(w);
  state.pending.insert(w.id);
}

void end_for_good(State& state, Workload& w, const Ended& e, Time at) {
  w.phase = Phase::ended;
  w.end = e.end;
  w.ended = at;
  w.promise.reset();
  state.pending.erase(w.id);
  drop_name(state, *w.spec, w.id);
  if (!w.array) drop_dependent(state, *w.spec, w.id);
  if (!w.current) state.unarchived.insert(w.id);
}

// Before `w` changes. A node may be to blame while the workload goes on avoiding it: work that is
// over, or was held because it failed in too many places, proves nothing any more.
void blame_nodes(State& state, const Workload& w, const Ended& e) {
  std::set<NodeId> open;
  if (e.again && e.again->hold.empty()) open = {e.again->avoid.begin(), e.again->avoid.end()};
  for (const NodeId id : w.avoid)
    if (const auto it = state.nodes.find(id); it != state.nodes.end() && !open.contains(id))
      it->second.launch_failures.erase(w.id);
  if (const auto it = state.nodes.find(e.at_fault);
      it != state.nodes.end() && open.contains(it->first))
    it->second.launch_failures[w.id] = w.number;
  if (e.end.cause != EndCause::completed || !w.current) return;
  for (const NodeShare& share : w.current->shares) {
    const auto it = state.nodes.find(share.node);
    if (it == state.nodes.end()) continue;
    it->second.launch_failures.clear();
    it->second.proven_failures.clear();
  }
}

// Closes a share: what ran is charged to the workload, as long as its node measured; the rest of
// the time that it was held, to nobody.
void charge(State& state, Workload& w, const NodeShare& share, Time at) {
  const bool over = !w.past.empty() && w.past.back().number == w.current->number;
  const Time placed = w.current->placed;
  Duration ran{};
  if (over && w.past.back().launched != Time{}) {
    const Usage usage = ledger::usage_of(share, ran = w.past.back().ended - w.past.back().launched);
    w.charged += usage;
    state.charged[w.spec->account][w.spec->owner.user] += usage;
    w.past.back().usage += usage;
  }
  state.reserved += ledger::usage_of(share, at - placed - ran);
}

}  // namespace

void apply_one(State& state, Time at, const Placed& e) {
  edit(state, e.id, [&](Workload& w) {
    w.phase = Phase::placed;
    w.attempts = e.attempt;
    w.current.emplace();
    w.current->number = e.attempt;
    w.current->shares = e.shares;
    w.current->port = e.port;
    w.current->placed = at;
    if (w.first_placed == Time{}) w.first_placed = at;
    w.steps.clear();
    w.next_step = 0;
    w.promise.reset();
    stop_is_over(w);
    count_busy(state, w, true);
  });
  state.pending.erase(e.id);
  state.preparing.insert(e.id);
  for (const NodeShare& share : e.shares) take_share(state, e.id, share);
}

void apply_one(State& state, Time at, const Launched& e) {
  state.preparing.erase(e.id);
  edit(state, e.id, [&](Workload& w) {
    if (!w.current || w.current->number != e.attempt) return;
    w.phase = Phase::running;
    w.current->launched = at;
    touch_object(state, *w.spec);
  });
}

void apply_one(State& state, Time /*at*/, const StepStarted& e) {
  edit(state, e.id, [&](Workload& w) {
    w.steps[e.step.number] = e.step;
    w.next_step = std::max(w.next_step, e.step.number + 1);
  });
}

void apply_one(State& state, Time at, const StepEnded& e) {
  edit(state, e.id, [&](Workload& w) {
    const auto it = w.steps.find(e.step);
    if (it == w.steps.end()) return;
    it->second.ended = std::max(it->second.started, e.until.value_or(at));
    it->second.measured = e.until.has_value();
    it->second.exit_code = e.exit_code;
    it->second.exit_signal = e.exit_signal;
    it->second.out_of_memory = e.out_of_memory;
  });
}

void apply_one(State& state, Time /*at*/, const Warned& e) {
  edit(state, e.id, [&](Workload& w) {
    if (w.current && w.current->number == e.attempt) w.current->warned = true;
  });
}

void apply_one(State& state, Time at, const UsageReported& e) {
  edit(state, e.id, [&](Workload& w) {
    if (!w.current || w.current->number != e.attempt) return;
    w.current->used_at = at;
    for (const NodeUsed& used : e.nodes) take_usage(w, e.attempt, used);
  });
}

void apply_one(State& state, Time at, const Ended& e) {
  state.preparing.erase(e.id);
  const Time until = e.until.value_or(at);
  edit(state, e.id, [&](Workload& w) {
    blame_nodes(state, w, e);
    for (auto& [number, step] : w.steps) {
      if (!step.ended) step.exit_signal = kKill;  // what is left of a job is killed with it
      if (step.measured) continue;
      step.ended = std::max(step.started, std::min(step.ended.value_or(until), until));
    }
    if (e.attempt != 0 && w.current) w.past.push_back(past_attempt(state, w, until, e));
    if (e.again)
      come_back(state, w, e);
    else
      end_for_good(state, w, e, until);
    touch_object(state, *w.spec);
  });
}

void apply_one(State& state, Time at, const Released& e) {
  edit(state, e.id, [&](Workload& w) {
    if (!w.current || w.current->number != e.attempt || w.current->released.contains(e.node))
      return;
    take_usage(w, e.attempt, {e.node, e.used, e.steps});
    Attempt& attempt = *w.current;
    for (const NodeShare& share : attempt.shares) {
      if (share.node != e.node) continue;
      charge(state, w, share, at);
      give_share(state, w.id, share);
      attempt.released.insert(e.node);
    }
    if (attempt.released.size() < attempt.shares.size()) return;
    count_busy(state, w, false);
    w.current.reset();
    if (w.phase == Phase::ended) state.unarchived.insert(w.id);
  });
}

}  // namespace phalanx::cluster
