#include "cluster/cluster.h"

#include <utility>

#include "cluster/blobs.h"
#include "reconcile/reconcile.h"

namespace phalanx::cluster {
namespace {

constexpr int kRounds = 8;  // of consequences; reconcile is level-triggered, the next event goes on

// What was heard of an attempt on a node is of no use once the node is rid of it.
void unhear(Heard& heard, const EventKind& what) {
  const auto* released = std::get_if<Released>(&what);
  if (!released) return;
  const auto node = heard.nodes.find(released->node);
  if (node == heard.nodes.end()) return;
  const auto it = node->second.attempts.find({released->id, released->attempt});
  if (it != node->second.attempts.end() && it->second.report.phase == AttemptPhase::gone)
    node->second.attempts.erase(it);
}

// Decides one input and applies what came of it; what that asks for goes into `next`.
Reply one(State& state, Heard& heard, const Input& input, Batch& batch, std::vector<Input>& next,
          const std::function<void(const State&, const Event&)>& observe) {
  Outcome outcome = decide(state, heard, input);
  for (Event& event : outcome.events) {
    for (std::string& hash : blobs_let_go(state, event))
      batch.unused_blobs.push_back(std::move(hash));
    apply(state, event);
    unhear(heard, event.what);
    for (Effect& effect : react(state, event)) batch.effects.push_back(std::move(effect));
    for (InputKind& what : reconcile::consequences(state, event))
      next.push_back({event.at, system_identity(), std::move(what)});
    if (observe) observe(state, event);
    batch.events.push_back(std::move(event));
  }
  for (Effect& effect : outcome.effects) batch.effects.push_back(std::move(effect));
  return std::move(outcome.reply);
}

}  // namespace

Batch step(State& state, Heard& heard, const Input& input,
           const std::function<void(const State& after, const Event&)>& observe) {
  Batch batch;
  hear(heard, state, input);
  std::vector<Input> next;
  batch.reply = one(state, heard, input, batch, next, observe);
  if (std::holds_alternative<AgentConnected>(input.what) && !batch.reply.error)
    hear(heard, state, input);  // a new node is known only now
  for (int round = 0; round < kRounds && !next.empty(); ++round) {
    std::vector<Input> now;
    now.swap(next);
    for (const Input& consequence : now) one(state, heard, consequence, batch, next, observe);
  }
  std::erase_if(batch.unused_blobs,
                [&](const std::string& hash) { return state.blob_uses.contains(hash); });
  return batch;
}

}  // namespace phalanx::cluster
