#include "cluster/order_make.h"

#include "base/text.h"
#include "cluster/cluster.h"

namespace phalanx::cluster {

std::string label(const Workload& w) {
  if (!w.spec->object.empty()) {
    const ObjectKey key = parse_object_key(w.spec->object);
    return format("{}/{}", key.space, w.spec->name);
  }
  return w.array ? format("{}_{}", w.array_number, w.array_index) : format("{}", w.number);
}

Fence fence_of(const State& state, WorkloadId id, AttemptNumber attempt, const NodeShare& share) {
  return {state.cluster, id, attempt, share.boot};
}

Duration node_limit(const State& state, const Workload& w) {
  const Duration over = state.config.timers.over_time_limit;
  return w.limit > kForever - over ? kForever : w.limit + over;
}

Prepare prepare_order(const State& state, const Workload& w, const NodeShare& share, bool go) {
  Prepare prepare;
  prepare.fence = fence_of(state, w.id, w.current->number, share);
  prepare.go = go;
  LaunchOrder& order = prepare.order;
  order.kind = w.spec->kind;
  order.label = label(w);
  order.owner = w.spec->owner;
  order.share = share;
  order.first_node = share.node == w.current->shares.front().node;
  order.launch = w.spec->launch;
  order.limit = node_limit(state, w);
  order.grace = state.config.timers.kill_wait;
  order.prepare_limit = state.config.timers.prepare_timeout;
  return prepare;
}

Stop stop_order(const State& state, const Workload& w, const NodeShare& share) {
  return {fence_of(state, w.id, w.current->number, share), w.stop_cause,
          state.config.timers.kill_wait};
}

}  // namespace phalanx::cluster
