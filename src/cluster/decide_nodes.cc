#include "base/text.h"
#include "cluster/access.h"
#include "cluster/attempts.h"
#include "cluster/decide.h"
#include "place/place.h"

namespace phalanx::cluster {
namespace {

Status drain(Draft& d, const Drain& input) {
  TRY(may_administer(d.state.config, d.who, "change nodes"));
  const Node* node = find_node(d.state, input.node);
  if (!node) return not_found(format("Invalid node name specified: {}", input.node));
  if (input.drain || input.down) {
    if (input.reason.empty())
      return invalid("You must specify a reason when DOWNING or DRAINING a node");
    const bool lost = node->health == NodeHealth::lost || node->health == NodeHealth::absent;
    if (input.down && !lost) d.say(NodeLost{node->id, input.reason});
    const bool down = input.down || node->down;
    if (!node->drained || node->reason != input.reason || node->down != down)
      d.say(NodeDrained{node->id, input.reason, d.who.user, down});
    if (input.down) lose_work(d, *node, "declared dead: " + input.reason, true);
    return {};
  }
  if (node->drained) d.say(NodeUndrained{node->id});
  const auto heard = d.heard.nodes.find(node->id);
  if (node->health != NodeHealth::lost || heard == d.heard.nodes.end() || !heard->second.connected)
    return {};
  for (const auto& [key, of_attempt] : heard->second.attempts)
    if (!is_gone(of_attempt.report) && !wanted(d.state, node->id, of_attempt.report.fence))
      return {};  // returns by itself when what still runs there is gone
  d.say(NodeReturned{node->id});
  return {};
}

Status check_nodes(const ClusterConfig& config) {
  for (const NodeSpec& node : config.nodes) {
    if (node.name.empty()) return invalid("a configured node needs a name");
    if (node.devices.size() > place::kMaxDevices)
      return invalid(format("node {} is configured with {} GPUs; at most {} are supported",
                            node.name, node.devices.size(), place::kMaxDevices));
    if (node.cpus < 0 || node.memory < 0)
      return invalid(format("node {} is configured with a negative amount", node.name));
  }
  return {};
}

}  // namespace

void decide_one(Draft& d, const Configure& input) {
  if (!d.accept(may_administer(d.state.config, d.who, "configure the cluster"))) return;
  const std::string& cluster = d.state.cluster.empty() ? input.cluster : d.state.cluster;
  if (cluster.empty()) return d.refuse(invalid("a new cluster needs an id"));
  if (!d.accept(check_nodes(input.config))) return;
  if (!d.state.cluster.empty() && input.config == d.state.config) return;
  d.say(Configured{cluster, input.config});
}

void decide_one(Draft& d, const Drain& input) { d.accept(drain(d, input)); }

}  // namespace phalanx::cluster
