#include "server/agents.h"

#include "base/codec.h"

namespace phalanx::server {
namespace {

constexpr Duration kLook = seconds(1);

}  // namespace

struct Agents::Link {
  std::shared_ptr<net::WebSocket> socket;
  std::string node;          // once it has said so
  std::vector<Order> early;  // for a node whose report is still being committed
  bool ready = false;
};

Agents::Agents(net::Loop& loop, Core& core, Fill fill)
    : loop_(loop), core_(core), fill_(std::move(fill)), started_(std::chrono::steady_clock::now()) {
  timer_ = loop_.after(kLook, [this] { watch_silence(); });
}

Agents::~Agents() { disconnect_all(); }

void Agents::accept(std::shared_ptr<net::WebSocket> socket) {
  auto link = std::make_shared<Link>();
  link->socket = socket;
  socket->on_message([this, link](std::string text, net::WebSocket::Kind) { heard(link, text); });
  socket->on_close([this, link](const net::WebSocket::Closed&) { lost(link); });
}

void Agents::heard(const std::shared_ptr<Link>& link, const std::string& text) {
  auto report = codec::decode<Report>(text);
  if (!report.ok())
    return link->socket->close(1008, "not a report of this version: " + report.error().message);
  if (const auto* node = std::get_if<NodeReport>(&*report)) return joined(link, *node);
  if (link->node.empty()) return link->socket->close(1008, "the first frame must be a node report");
  if (const auto* attempt = std::get_if<AttemptReport>(&*report)) {
    core_.put(system_identity(), AgentReported{link->node, *attempt});
  } else if (const auto* devices = std::get_if<DevicesReport>(&*report)) {
    core_.put(system_identity(), DevicesReported{link->node, devices->devices});
  }
}

void Agents::joined(const std::shared_ptr<Link>& link, const NodeReport& report) {
  if (report.wire != kWireVersion)
    return link->socket->close(
        1008, format("the agent speaks version {} of the wire, this controller {}", report.wire,
                     kWireVersion));
  if (auto old = by_node_.find(report.name); old != by_node_.end() && old->second != link) {
    old->second->ready = false;
    old->second->socket->close(1008, "another agent has joined under this name");
  }
  link->node = report.name;
  link->ready = false;
  by_node_[report.name] = link;
  silent_since_.erase(report.name);
  core_.put(
      system_identity(), AgentConnected{report},
      [this, link, report](const Reply& reply, std::uint64_t) {
        if (reply.error) return link->socket->close(1008, reply.error->message);
        const Node* node = find_node(core_.state(), report.name);
        if (!node || !link->socket->is_open()) return;
        // What it should still do or stop, as decided by now: it may hear of that when it is on
        // disk. Orders of the meantime come after these, or repeat them.
        core_.after_commit([this, link, orders = cluster::orders(core_.state(), node->id, report)](
                               const Reply& committed, std::uint64_t) {
          if (committed.error || !link->socket->is_open()) return;
          link->ready = true;
          for (const Order& order : orders) deliver(*link, order);
          for (Order& order : std::exchange(link->early, {})) deliver(*link, std::move(order));
        });
      });
}

void Agents::lost(const std::shared_ptr<Link>& link) {
  const auto it = by_node_.find(link->node);
  if (it == by_node_.end() || it->second != link) return;
  by_node_.erase(it);
  silent_since_[link->node] = std::chrono::steady_clock::now();
  core_.put(system_identity(), AgentSilent{link->node, Duration::zero()});
}

void Agents::deliver(Link& link, Order order) {
  if (auto* prepare = std::get_if<Prepare>(&order)) fill_(core_.state(), *prepare);
  link.socket->send(codec::encode(order));
}

void Agents::send(const SendOrder& order) {
  const Node* node = find_node(core_.state(), order.node);
  if (!node) return;
  const auto it = by_node_.find(node->spec.name);
  if (it == by_node_.end()) return;  // it hears of it when it comes back
  if (!it->second->ready) return it->second->early.push_back(order.order);
  deliver(*it->second, order.order);
}

void Agents::disconnect_all() {
  for (auto& [name, link] : std::exchange(by_node_, {})) {
    silent_since_[name] = std::chrono::steady_clock::now();
    link->ready = false;
    link->socket->close(1012, "the controller starts anew");
  }
}

// Tells the core of each node that is silent, how long by now: it decides what that means.
void Agents::watch_silence() {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [id, node] : core_.state().nodes) {
    if (by_node_.contains(node.spec.name) || node.health == NodeHealth::lost ||
        node.health == NodeHealth::absent)
      continue;
    const auto it = silent_since_.find(node.spec.name);
    const auto since = it == silent_since_.end() ? started_ : it->second;
    const auto silent = std::chrono::duration_cast<Duration>(now - since);
    const Timers& timers = core_.state().config.timers;
    const bool matters = node.health == NodeHealth::up ? silent >= timers.suspect_after
                                                       : silent >= timers.node_timeout;
    if (matters) core_.put(system_identity(), AgentSilent{node.spec.name, silent});
  }
  timer_ = loop_.after(kLook, [this] { watch_silence(); });
}

}  // namespace phalanx::server
