#include "cluster/apply.h"

#include <algorithm>

#include "cluster/cluster.h"
#include "cluster/tables.h"

namespace phalanx::cluster {
namespace {

Node* node_of(State& state, NodeId id) {
  const auto it = state.nodes.find(id);
  return it == state.nodes.end() ? nullptr : &it->second;
}

void set_health(Node& node, NodeHealth health, Time at) {
  node.health = health;
  node.since = at;
}

void set_reason(Node& node, const std::string& reason, const std::string& by, Time at) {
  node.reason = reason;
  node.reason_by = by;
  node.reason_at = at;
}

void add_node(State& state, NodeId id, const NodeSpec& spec) {
  state.next_id = std::max(state.next_id, id.value + 1);
  Node& node = state.nodes[id];
  node.id = id;
  node.spec = spec;
  state.node_by_name[spec.name] = id;
  NodeUse& use = state.use[id];
  use.device_owner.resize(std::max(use.device_owner.size(), spec.devices.size()));
}

const NodeStanding* find_standing(const ClusterConfig& config, const std::string& node) {
  for (const NodeStanding& standing : config.standings)
    if (standing.node == node) return &standing;
  return nullptr;
}

// Nodes that the configuration begins to hold back. What it said before is not said again: a node
// that was resumed since stays in use.
void hold_back(State& state, const ClusterConfig& before, Time at) {
  for (const NodeStanding& now : state.config.standings) {
    const auto id = state.node_by_name.find(now.node);
    const NodeStanding* old = find_standing(before, now.node);
    if (now.standing != Standing::drain || id == state.node_by_name.end() || (old && *old == now))
      continue;
    Node& node = state.nodes[id->second];
    node.drained = true;
    set_reason(node, now.reason, "phalanx", at);
  }
}

}  // namespace

void apply(State& state, const Event& event) {
  ++state.sequence;
  state.now = std::max(state.now, event.at);
  std::visit([&](const auto& what) { apply_one(state, event.at, what); }, event.what);
  expire(state);
}

void apply_one(State& state, Time at, const Configured& e) {
  const ClusterConfig before = std::move(state.config);
  if (state.cluster.empty()) state.cluster = e.cluster;
  state.config = e.config;
  state.next_number = std::max(state.next_number, e.config.first_job);
  for (const NodeSpec& spec : e.config.nodes) {
    const Node* known = find_node(state, spec.name);
    const NodeStanding* standing = find_standing(e.config, spec.name);
    if (!known && !(standing && standing->standing == Standing::future))
      add_node(state, NodeId{state.next_id}, spec);
    else if (known && known->health == NodeHealth::absent)  // it is what the file says
      add_node(state, known->id, spec);
  }
  hold_back(state, before, at);
  state.deadlines.clear();  // the timers may differ
  for (const auto& [id, w] : state.workloads)
    if (const Time t = deadline_of(state.config.timers, w); t != kNever)
      state.deadlines.insert({t, id});
}

void apply_one(State& state, Time at, const NodeJoined& e) {
  add_node(state, e.node, e.spec);
  Node& node = state.nodes[e.node];
  NodeUse& use = state.use[e.node];
  if (use.holders.empty()) use.device_owner.assign(e.spec.devices.size(), WorkloadId{});
  node.boot = e.boot;
  node.joined = at;
  node.launch_failures.clear();
  node.proven_failures.clear();
  set_health(node, node.down ? NodeHealth::lost : NodeHealth::up, at);
  if (!e.drain_reason.empty()) {
    node.drained = true;
    set_reason(node, e.drain_reason, "phalanx", at);
  } else if (!node.drained) {
    set_reason(node, e.note, e.note.empty() ? "" : "phalanx", at);
  }
}

void apply_one(State& state, Time /*at*/, const NodeChanged& e) {
  if (node_of(state, e.node)) add_node(state, e.node, e.spec);
}

void apply_one(State& state, Time at, const NodeDrained& e) {
  Node* node = node_of(state, e.node);
  if (!node) return;
  node->drained = true;
  node->down = e.down;
  set_reason(*node, e.reason, e.by, at);
}

void apply_one(State& state, Time at, const NodeUndrained& e) {
  Node* node = node_of(state, e.node);
  if (!node) return;
  node->drained = node->down = false;
  node->launch_failures.clear();
  node->proven_failures.clear();
  set_reason(*node, "", "", at);
}

void apply_one(State& state, Time /*at*/, const NodeBlamed& e) {
  Node* node = node_of(state, e.node);
  const auto it = node ? node->launch_failures.find(e.id) : decltype(node->launch_failures.end())();
  if (!node || it == node->launch_failures.end()) return;
  node->proven_failures.insert(*it);
  node->launch_failures.erase(it);
}

void apply_one(State& state, Time at, const NodeSuspected& e) {
  Node* node = node_of(state, e.node);
  if (!node) return;
  set_health(*node, NodeHealth::suspected, at);
  if (!node->drained) set_reason(*node, e.why, "phalanx", at);
}

void apply_one(State& state, Time at, const NodeLost& e) {
  Node* node = node_of(state, e.node);
  if (!node) return;
  set_health(*node, NodeHealth::lost, at);
  if (!node->drained) set_reason(*node, e.why, "phalanx", at);
}

void apply_one(State& state, Time at, const NodeReturned& e) {
  Node* node = node_of(state, e.node);
  if (!node) return;
  set_health(*node, NodeHealth::up, at);
  if (!node->drained) set_reason(*node, "", "", at);
}

void apply_one(State& state, Time /*at*/, const ObjectPut& e) {
  const auto pod = [](const Object& object) -> const WorkloadSpec* {
    const auto* job = std::get_if<Completions>(&object.meaning);
    return job ? job->pod.get() : nullptr;
  };
  if (const WorkloadSpec* spec = pod(e.object)) use_blobs(state, *spec, 1);
  const auto before = state.objects.find(e.object.key);
  if (before != state.objects.end())
    if (const WorkloadSpec* spec = pod(before->second)) use_blobs(state, *spec, -1);
  state.objects[e.object.key] = e.object;
  state.object_version[e.object.key] = state.sequence;
}

void apply_one(State& state, Time /*at*/, const ObjectDeleted& e) {
  const auto it = state.objects.find(e.key);
  if (it == state.objects.end()) return;
  if (const auto* job = std::get_if<Completions>(&it->second.meaning); job && job->pod)
    use_blobs(state, *job->pod, -1);
  state.objects.erase(it);
  state.object_version.erase(e.key);
}

}  // namespace phalanx::cluster
