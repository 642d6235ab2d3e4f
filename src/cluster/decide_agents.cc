#include <algorithm>
#include <map>

#include "base/text.h"
#include "cluster/attempts.h"
#include "cluster/blame.h"
#include "cluster/decide.h"
#include "cluster/merge_node.h"
#include "cluster/usage.h"

namespace phalanx::cluster {
namespace {

const NodeSpec* configured(const ClusterConfig& config, const std::string& name) {
  for (const NodeSpec& spec : config.nodes)
    if (spec.name == name) return &spec;
  return nullptr;
}

constexpr const char* kNoPartition = "no partition has this node: no work can start here";

bool in_a_partition(const ClusterConfig& config, const std::string& name) {
  return std::any_of(config.partitions.begin(), config.partitions.end(), [&](const Partition& p) {
    return std::find(p.nodes.begin(), p.nodes.end(), name) != p.nodes.end();
  });
}

Status may_join(const State& state, const NodeReport& report) {
  if (report.wire != kWireVersion)
    return invalid(format(
        "the agent of {} speaks version {} of the protocol, this controller {}: upgrade the older",
        report.name, report.wire, kWireVersion));
  if (report.name.empty() || report.boot.empty())
    return invalid("the agent gives no name or no boot id");
  if (state.cluster.empty())
    return unavailable("the cluster is not configured yet; try again later");
  if (!report.cluster.empty() && report.cluster != state.cluster && !report.attempts.empty())
    return conflict(
        format("{} has work of another cluster ({}): end it there first; if that "
               "cluster is gone, stop the agent and its phalanx-spawn and remove its "
               "run folder",
               report.name, report.cluster));
  // A node that was taken out of the configuration may finish what it has.
  const Node* known = find_node(state, report.name);
  const auto use = known ? state.use.find(known->id) : state.use.end();
  const bool serves = use != state.use.end() && !use->second.holders.empty();
  if (!state.config.open && !configured(state.config, report.name) && !serves)
    return denied(format("node {} is not configured, and unknown nodes may not join", report.name));
  return {};
}

// Work that State does not want is still alive there: the node's devices are not what State thinks.
bool has_strays(const State& state, NodeId node, const std::vector<AttemptReport>& attempts) {
  return std::any_of(attempts.begin(), attempts.end(), [&](const AttemptReport& report) {
    return !is_gone(report) && !wanted(state, node, report.fence);
  });
}

std::vector<AttemptReport> reports_of(const Heard::OfNode& heard) {
  std::vector<AttemptReport> reports;
  reports.reserve(heard.attempts.size());
  for (const auto& [key, of_attempt] : heard.attempts) reports.push_back(of_attempt.report);
  return reports;
}

// It returns by its agent's word; not if an operator has declared it dead.
bool unsure(const Node& node) {
  return !node.down && (node.health == NodeHealth::suspected || node.health == NodeHealth::lost);
}

void join(Draft& d, const Node* known, NodeSpec spec, const NodeReport& report) {
  NodeJoined event;
  event.node = known ? known->id : d.fresh_node();
  event.spec = std::move(spec);
  event.boot = report.boot;
  event.note = shortfall(configured(d.state.config, report.name), report.spec);
  if (!in_a_partition(d.state.config, report.name))
    event.note += event.note.empty() ? kNoPartition : format("; {}", kNoPartition);
  if (event.spec.cpus < 1) event.drain_reason = "the agent reports no CPU that may be used";
  const NodeId id = event.node;
  d.say(std::move(event));
  // orders() tells it to end that work; it returns, without anybody's help, when that is gone.
  if (has_strays(d.state, id, report.attempts) && !(known && known->down))
    d.say(NodeSuspected{id, "runs work that this cluster does not know, which is being ended"});
}

// What State holds there without a word about it in the agent's complete report.
void settle_silent(Draft& d, const Node& node, const NodeReport& report) {
  const auto use = d.state.use.find(node.id);
  if (use == d.state.use.end()) return;
  for (const WorkloadId id : use->second.holders) {
    const Workload* w = find_workload(d.state, id);
    const NodeShare* share = w ? held_share(*w, node.id) : nullptr;
    if (!share || share->boot != report.boot) continue;
    const bool told =
        std::any_of(report.attempts.begin(), report.attempts.end(), [&](const AttemptReport& r) {
          return r.fence.workload == id && r.fence.attempt == w->current->number;
        });
    if (told) continue;
    const bool live = w->phase == Phase::placed || w->phase == Phase::running;
    if (live && w->stop_since == Time{}) continue;  // orders() sends Prepare again
    AttemptReport gone;  // it never had it, or has cleaned up: nothing is there
    gone.fence = {d.state.cluster, id, w->current->number, share->boot};
    gone.phase = AttemptPhase::gone;
    settle(d, node, gone, false);
  }
}

}  // namespace

void decide_one(Draft& d, const AgentConnected& input) {
  const NodeReport& report = input.report;
  if (!d.accept(may_join(d.state, report))) return;
  const Node* node = find_node(d.state, report.name);
  NodeSpec spec = merged(configured(d.state.config, report.name), report.spec);
  spec.name = report.name;
  if (!node || node->health == NodeHealth::absent) return join(d, node, std::move(spec), report);
  if (node->boot != report.boot) {
    lose_work(d, *node, "it has rebooted", true);
    return join(d, node, std::move(spec), report);
  }
  spec.devices = same_devices(node->spec.devices, spec.devices);
  if (spec != node->spec) d.say(NodeChanged{node->id, std::move(spec)});
  // A node that comes back with work that was given up is not ready before that is gone.
  if (unsure(*node) && !has_strays(d.state, node->id, report.attempts))
    d.say(NodeReturned{node->id});
  std::map<Fence, const AttemptReport*> last;  // if an agent names one twice, the last word counts
  for (const AttemptReport& attempt : report.attempts) last[attempt.fence] = &attempt;
  for (const auto& [fence, attempt] : last) settle(d, *node, *attempt, false);
  settle_silent(d, *node, report);
}

void decide_one(Draft& d, const AgentReported& input) {
  const Node* node = find_node(d.state, input.node);
  if (!node || node->health == NodeHealth::absent)
    return d.refuse(not_found(format("no node {} has joined", input.node)));
  if (input.report.fence.boot != node->boot) return;  // before it rebooted
  if (const Workload* w = wanted(d.state, node->id, input.report.fence)) note_usage(d, *w);
  settle(d, *node, input.report, true);
  const auto heard = d.heard.nodes.find(node->id);
  if (!unsure(*node) || heard == d.heard.nodes.end()) return;
  if (!has_strays(d.state, node->id, reports_of(heard->second))) d.say(NodeReturned{node->id});
}

void decide_one(Draft& d, const DevicesReported& input) {
  const Node* node = find_node(d.state, input.node);
  if (!node || node->health == NodeHealth::absent)
    return d.refuse(not_found(format("no node {} has joined", input.node)));
  NodeSpec spec = node->spec;
  const NodeSpec* file = configured(d.state.config, input.node);
  NodeSpec reported = node->spec;
  reported.devices = input.devices;
  spec.devices = same_devices(node->spec.devices, merged(file, reported).devices);
  if (spec != node->spec) d.say(NodeChanged{node->id, std::move(spec)});
}

void decide_one(Draft& d, const AgentSilent& input) {
  const Node* node = find_node(d.state, input.node);
  if (!node || node->health == NodeHealth::absent) return;
  const Timers& timers = d.state.config.timers;
  const std::string why = format("no word from its agent for {}", to_string(input.silent));
  if (input.silent >= timers.node_timeout) {
    if (node->health == NodeHealth::lost) return;
    d.say(NodeLost{node->id, why});
    lose_work(d, *node, why, !d.state.config.node_lost_confirm);
    return;
  }
  if (input.silent >= timers.suspect_after && node->health == NodeHealth::up)
    d.say(NodeSuspected{node->id, why});
  if (input.silent < timers.prepare_timeout) return;
  for (const WorkloadId id :
       d.state.preparing)  // a gang does not wait for a node that may never answer
    if (const Workload* w = find_workload(d.state, id); w && held_share(*w, node->id))
      d.end(*w, end_of_lost_node(*w, *node, why, d.now));
}

}  // namespace phalanx::cluster
