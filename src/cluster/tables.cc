#include "cluster/tables.h"

namespace phalanx::cluster {
namespace {

template <class Map, class Key, class Value>
void drop(Map& map, const Key& key, const Value& value) {
  const auto it = map.find(key);
  if (it == map.end()) return;
  it->second.erase(value);
  if (it->second.empty()) map.erase(it);
}

bool due(const State& state, Time since) {
  return later(since, state.config.timers.idempotency) <= state.now;
}

void count_blob(State& state, const std::string& hash, std::int64_t by) {
  if (hash.empty()) return;
  const auto it = state.blob_uses.try_emplace(hash, 0).first;
  it->second += by;
  if (it->second <= 0) state.blob_uses.erase(it);
}

}  // namespace

void stop_is_over(Workload& w) {
  w.stop_since = Time{};
  w.stop_cause = EndCause::none;
  w.stop_exit = 0;
  w.stop_again.reset();
  w.stop_why.clear();
}

void use_blobs(State& state, const WorkloadSpec& spec, std::int64_t by) {
  count_blob(state, spec.launch.script, by);
  count_blob(state, spec.launch.environment, by);
}

void enter(State& state, const WorkloadSpec& spec, WorkloadId id) {
  state.by_owner[spec.owner.uid].insert(id);
  use_blobs(state, spec, 1);
}

void leave(State& state, const WorkloadSpec& spec, WorkloadId id) {
  drop(state.by_owner, spec.owner.uid, id);
  use_blobs(state, spec, -1);
}

void add_name(State& state, const WorkloadSpec& spec, WorkloadId id) {
  state.by_name[{spec.owner.uid, spec.name}].insert(id);
}

void drop_name(State& state, const WorkloadSpec& spec, WorkloadId id) {
  drop(state.by_name, std::pair(spec.owner.uid, spec.name), id);
}

void add_dependent(State& state, const WorkloadSpec& spec, WorkloadId id) {
  for (const Dependency& d : spec.dependencies)
    if (d.on) state.dependents[d.on].insert(id);
}

void drop_dependent(State& state, const WorkloadSpec& spec, WorkloadId id) {
  for (const Dependency& d : spec.dependencies) {
    if (!d.on) continue;
    drop(state.dependents, d.on, id);
    const auto past = state.remembered.find(d.on);
    if (past == state.remembered.end() || state.dependents.contains(d.on)) continue;
    if (due(state, past->second.ended)) {
      state.remembered_order.erase({past->second.ended, d.on});
      state.remembered.erase(past);
    }
  }
}

void take_share(State& state, WorkloadId id, const NodeShare& share) {
  NodeUse& use = state.use[share.node];
  use.cpus += share.cpus;
  use.memory += share.memory;
  use.holders.insert(id);
  for (const DeviceIndex d : share.gpus) {
    if (d >= use.device_owner.size()) use.device_owner.resize(std::size_t{d} + 1);
    use.device_owner[d] = id;
  }
}

void give_share(State& state, WorkloadId id, const NodeShare& share) {
  NodeUse& use = state.use[share.node];
  use.cpus -= share.cpus;
  use.memory -= share.memory;
  use.holders.erase(id);
  for (const DeviceIndex d : share.gpus)
    if (d < use.device_owner.size() && use.device_owner[d] == id) use.device_owner[d] = {};
}

void remember(State& state, WorkloadId id, const Remembered& past) {
  state.remembered[id] = past;
  state.remembered_order.insert({past.ended, id});
}

void forget(State& state, WorkloadId id) {
  const auto it = state.remembered.find(id);
  if (it == state.remembered.end()) return;
  state.remembered_order.erase({it->second.ended, id});
  state.remembered.erase(it);
}

void expire(State& state) {
  while (!state.key_order.empty() && due(state, state.key_order.begin()->first)) {
    state.keys.erase(state.key_order.begin()->second);
    state.key_order.erase(state.key_order.begin());
  }
  while (!state.remembered_order.empty() && due(state, state.remembered_order.begin()->first)) {
    const WorkloadId id = state.remembered_order.begin()->second;
    state.remembered_order.erase(state.remembered_order.begin());
    if (!state.dependents.contains(id)) state.remembered.erase(id);
  }
}

void touch_object(State& state, const WorkloadSpec& spec) {
  if (spec.object.empty()) return;
  const ObjectKey key = parse_object_key(spec.object);
  if (state.objects.contains(key)) state.object_version[key] = state.sequence;
}

}  // namespace phalanx::cluster
