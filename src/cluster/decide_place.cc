#include <algorithm>

#include "cluster/decide.h"
#include "model/dependency.h"

namespace phalanx::cluster {
namespace {

constexpr std::uint16_t kFirstPort = 20000, kLastPort = 29999;

// What a proposal is for: a workload, or an array of which one index shall start.
struct Subject {
  WorkloadId id;
  const WorkloadSpec* spec = nullptr;
  const Workload* workload = nullptr;
  const Array* array = nullptr;  // the record itself, or the array that the workload came from
  Duration limit{};
  bool held = false;
};

std::optional<Subject> subject(const Draft& d, const PlaceProposal& p) {
  if (const Workload* w = find_workload(d.state, p.id)) {
    if (w->phase != Phase::pending || d.placed.contains(w->id)) return std::nullopt;
    const bool held = w->held_by_user || w->held_by_admin || !w->held_why.empty();
    return Subject{w->id, w->spec.get(), w, find_array(d.state, w->array), w->limit, held};
  }
  const Array* a = find_array(d.state, p.id);
  if (!a || !p.index || !a->pending.contains(*p.index)) return std::nullopt;
  const auto gone = d.indexes.find(a->id);
  if (gone != d.indexes.end() && gone->second.contains(*p.index)) return std::nullopt;
  return Subject{a->id, a->spec.get(), nullptr, a, a->limit, a->held_by_user || a->held_by_admin};
}

bool array_full(const Draft& d, const Subject& s) {
  if (!s.array || s.array->at_once == 0) return false;
  const auto more = d.busier.find(s.array->id);
  return s.array->busy + (more == d.busier.end() ? 0 : more->second) >= s.array->at_once;
}

bool may_start(const Draft& d, const Subject& s) {
  if (s.held || s.spec->begin > d.now || array_full(d, s)) return false;
  if (s.workload && (s.workload->not_before > d.now || s.workload->current)) return false;
  return dependence(d.state, *s.spec, s.id, d.now).verdict == Verdict::satisfied;
}

bool partition_allows(const Partition& p, const Subject& s, std::size_t nodes) {
  if (p.state == PartitionState::down || p.state == PartitionState::inactive) return false;
  if (p.max_time != kForever && (s.limit == kForever || s.limit > p.max_time)) return false;
  return p.max_nodes == 0 || static_cast<std::int64_t>(nodes) <= p.max_nodes;
}

// The shares are a whole gang: every task, no node twice.
bool is_whole(const WorkloadSpec& spec, const std::vector<NodeShare>& shares) {
  const TaskGroup& group = spec.groups.front();
  const auto nodes = static_cast<std::int64_t>(shares.size());
  if (nodes < group.nodes_min || (group.nodes_max > 0 && nodes > group.nodes_max)) return false;
  std::set<NodeId> distinct;
  std::int64_t tasks = 0, gpus = 0;
  for (const NodeShare& share : shares) {
    if (share.tasks < 1) return false;
    distinct.insert(share.node);
    tasks += share.tasks;
    gpus += static_cast<std::int64_t>(share.gpus.size());
  }
  return distinct.size() == shares.size() &&
         tasks == tasks_of(group, static_cast<std::int64_t>(shares.size())) &&
         gpus >= gpus_asked(group);
}

bool devices_free(const Draft& d, const Node& node, const NodeUse& use, const NodeShare& share) {
  const auto taken = d.taken.find(node.id);
  std::set<DeviceIndex> distinct;
  for (const DeviceIndex g : share.gpus) {
    if (g >= node.spec.devices.size() || !distinct.insert(g).second) return false;
    if (node.spec.devices[g].health != DeviceHealth::usable) return false;
    if (g < use.device_owner.size() && use.device_owner[g]) return false;
    if (taken != d.taken.end() && taken->second.gpus.contains(g)) return false;
  }
  return true;
}

bool node_has(const Draft& d, const Partition& p, const Subject& s, const NodeShare& share) {
  const Node* node = find_node(d.state, share.node);
  if (!node || node->health != NodeHealth::up || node->drained || node->boot != share.boot)
    return false;
  if (std::find(p.nodes.begin(), p.nodes.end(), node->spec.name) == p.nodes.end()) return false;
  if (s.workload && s.workload->avoid.contains(node->id)) return false;
  const NodeUse& use = d.state.use.at(node->id);
  Quantity cpus = Quantity::of(node->spec.cpus) - use.cpus;
  std::int64_t memory = node->spec.memory - use.memory;
  if (const auto taken = d.taken.find(node->id); taken != d.taken.end()) {
    cpus -= taken->second.cpus;
    memory -= taken->second.memory;
  }
  if (p.max_memory_per_node > 0) memory = std::min(memory, p.max_memory_per_node);
  if (share.cpus < Quantity() || share.cpus > cpus || share.memory < 0 || share.memory > memory)
    return false;
  return devices_free(d, *node, use, share);
}

// The smallest port that no live attempt on any of these nodes has.
std::uint16_t free_port(const Draft& d, const std::vector<NodeShare>& shares) {
  std::set<std::uint16_t> used;
  for (const NodeShare& share : shares) {
    for (const WorkloadId id : d.state.use.at(share.node).holders)
      if (const Workload* w = find_workload(d.state, id); w && w->current)
        used.insert(w->current->port);
    if (const auto taken = d.taken.find(share.node); taken != d.taken.end())
      used.insert(taken->second.ports.begin(), taken->second.ports.end());
  }
  std::uint16_t port = kFirstPort;
  while (port < kLastPort && used.contains(port)) ++port;
  return port;
}

void take(Draft& d, const Placed& event) {
  for (const NodeShare& share : event.shares) {
    Draft::Taken& taken = d.taken[share.node];
    taken.cpus += share.cpus;
    taken.memory += share.memory;
    taken.gpus.insert(share.gpus.begin(), share.gpus.end());
    taken.ports.insert(event.port);
  }
}

void place(Draft& d, const PlaceProposal& p) {
  const std::optional<Subject> s = subject(d, p);
  if (!s || p.shares.empty() || !may_start(d, *s)) return;
  const Partition* partition = find_partition(d.state.config, s->spec->partition);
  if (!partition || !partition_allows(*partition, *s, p.shares.size()) ||
      !is_whole(*s->spec, p.shares))
    return;
  for (const NodeShare& share : p.shares)
    if (!node_has(d, *partition, *s, share)) return;
  Placed event;
  event.id = s->workload ? s->id : d.separate(*s->array, *p.index);
  event.attempt = s->workload ? s->workload->attempts + 1 : 1;
  event.shares = p.shares;
  for (NodeShare& share : event.shares) std::sort(share.gpus.begin(), share.gpus.end());
  event.port = free_port(d, p.shares);
  take(d, event);
  d.placed.insert(event.id);
  if (s->array) ++d.busier[s->array->id];
  const Launched launched{event.id, event.attempt};
  const bool one_node = event.shares.size() == 1;
  d.say(std::move(event));
  if (one_node) d.say(launched);  // one order does it all; gangs wait until every node is prepared
}

void promise(Draft& d, const PromiseProposal& p) {
  const Workload* w = find_workload(d.state, p.id);
  const Array* a = find_array(d.state, p.id);
  const bool waits =
      w ? w->phase == Phase::pending && !d.placed.contains(w->id) : a && !a->pending.empty();
  if (!waits) return;
  const std::optional<Promise>& before = w ? w->promise : a->promise;
  if (before && before->start == p.start) return;
  d.say(Promised{p.id, p.start, p.cause});
}

}  // namespace

void decide_one(Draft& d, const Propose& input) {
  for (const Proposal& proposal : input.proposals) {
    if (const auto* p = std::get_if<PlaceProposal>(&proposal)) place(d, *p);
    if (const auto* p = std::get_if<PromiseProposal>(&proposal)) promise(d, *p);
  }
}

}  // namespace phalanx::cluster
