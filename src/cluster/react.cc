// What the outside must be told because of one event. Complete together with orders(): whatever of
// this is lost on the way, orders() says again when the agent connects.
#include "cluster/attempts.h"
#include "cluster/cluster.h"
#include "cluster/order_make.h"

namespace phalanx::cluster {
namespace {

using Effects = std::vector<Effect>;

template <class Make>
void to_held_shares(Effects& out, const Workload& w, const Make& make) {
  for (const NodeShare& share : w.current->shares)
    if (!w.current->released.contains(share.node))
      out.emplace_back(SendOrder{share.node, make(share)});
}

void archive_if_finished(Effects& out, const Workload& w) {
  if (finished(w)) out.emplace_back(ArchiveRow{w.id});
}

// Work on one node needs no round of preparing: its only order goes out with Launched.
void react_to(Effects& out, const State& s, const Placed& e) {
  const Workload* w = find_workload(s, e.id);
  if (!w || !w->current || e.shares.size() == 1) return;
  to_held_shares(out, *w,
                 [&](const NodeShare& share) { return prepare_order(s, *w, share, false); });
}

void react_to(Effects& out, const State& s, const Launched& e) {
  const Workload* w = find_workload(s, e.id);
  if (!w || !w->current) return;
  const bool one_node = w->current->shares.size() == 1;
  to_held_shares(out, *w, [&](const NodeShare& share) -> Order {
    if (one_node) return prepare_order(s, *w, share, true);
    return Go{fence_of(s, w->id, e.attempt, share)};
  });
}

void react_to(Effects& out, const State& s, const Updated& e) {
  const Workload* w = find_workload(s, e.id);
  if (!e.limit || !w || !w->current || w->phase == Phase::ended) return;
  to_held_shares(out, *w, [&](const NodeShare& share) -> Order {
    return SetLimit{fence_of(s, w->id, w->current->number, share), node_limit(s, *w)};
  });
}

void react_to(Effects& out, const State& s, const Warned& e) {
  const Workload* w = find_workload(s, e.id);
  if (!w || !w->current) return;
  const WarnSignal& warn = w->spec->launch.warn;
  const SignalTarget target = warn.shell_only ? SignalTarget::shell : SignalTarget::steps;
  to_held_shares(out, *w, [&](const NodeShare& share) -> Order {
    return SignalOrder{fence_of(s, w->id, e.attempt, share), warn.signal, target, std::nullopt};
  });
}

void react_to(Effects& out, const State& s, const Cancelled& e) {
  if (!e.indexes.empty()) {
    out.emplace_back(ArchiveRow{e.record});
    return;
  }
  const Workload* w = find_workload(s, e.id);
  if (!w || !w->current || w->phase != Phase::running) return;  // else Ended comes with it
  to_held_shares(out, *w,
                 [&](const NodeShare& share) -> Order { return stop_order(s, *w, share); });
}

void react_to(Effects& out, const State& s, const Ended& e) {
  const Workload* w = find_workload(s, e.id);
  if (!w) return;
  if (w->current)
    to_held_shares(out, *w, [&](const NodeShare& share) -> Order {
      return Release{fence_of(s, w->id, w->current->number, share)};
    });
  archive_if_finished(out, *w);
}

void react_to(Effects& out, const State& s, const Released& e) {
  const Workload* w = find_workload(s, e.id);
  if (!w) return;
  const std::vector<NodeShare>* shares = w->current ? &w->current->shares : nullptr;
  if (!shares && !w->past.empty()) shares = &w->past.back().shares;
  const Node* node = find_node(s, e.node);
  // A lost node's work is presumed gone, not known to be: its agent must end it, not forget it.
  const bool presumed = !node || node->health == NodeHealth::lost;
  for (std::size_t i = 0; shares && i < shares->size(); ++i) {
    const NodeShare& share = (*shares)[i];
    if (share.node != e.node) continue;
    const Fence fence = fence_of(s, e.id, e.attempt, share);
    out.emplace_back(SendOrder{e.node, presumed ? Order(Release{fence}) : Order(Forget{fence})});
  }
  archive_if_finished(out, *w);
}

template <class Other>
void react_to(Effects& /*out*/, const State& /*s*/, const Other& /*e*/) {}

}  // namespace

std::vector<Effect> react(const State& after, const Event& event) {
  std::vector<Effect> effects;
  std::visit([&](const auto& what) { react_to(effects, after, what); }, event.what);
  return effects;
}

}  // namespace phalanx::cluster
