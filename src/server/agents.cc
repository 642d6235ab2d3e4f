#include "server/agents.h"

#include "base/codec.h"

namespace phalanx::server {
namespace {

constexpr Duration kLook = seconds(1);

Duration since(net::SteadyTime then) {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - then);
}

// A silence has passed one of the limits at which the core decides something.
bool matters(const Timers& timers, Duration told, Duration silent) {
  for (const Duration limit : {timers.suspect_after, timers.prepare_timeout, timers.node_timeout})
    if (told < limit && silent >= limit) return true;
  return false;
}

}  // namespace

struct Agents::Link {
  std::shared_ptr<net::WebSocket> socket;
  std::string node;          // once it has said so
  std::vector<Order> early;  // for a node whose report is still being committed
  bool ready = false;
  bool given_up = false;  // whatever still comes is old
  net::SteadyTime heard_at = std::chrono::steady_clock::now();
};

Agents::Agents(net::Loop& loop, Core& core, Fill fill, Vitals vitals)
    : loop_(loop),
      core_(core),
      fill_(std::move(fill)),
      vitals_(std::move(vitals)),
      started_(std::chrono::steady_clock::now()),
      looked_at_(started_) {
  timer_ = loop_.after(kLook, [this] { watch_silence(); });
}

Agents::~Agents() { disconnect_all(); }

void Agents::accept(std::shared_ptr<net::WebSocket> socket) {
  auto link = std::make_shared<Link>();
  link->socket = std::move(socket);
  link->socket->on_message(
      [this, link](const std::string& text, net::WebSocket::Kind) { heard(link, text); });
  link->socket->on_close([this, link](const net::WebSocket::Closed&) { lost(link); });
}

void Agents::heard(const std::shared_ptr<Link>& link, const std::string& text) {
  if (link->given_up) return;
  link->heard_at = std::chrono::steady_clock::now();
  auto report = codec::decode<Report>(text);
  if (!report.ok())
    return link->socket->close(1008, "not a report of this version: " + report.error().message);
  if (const auto* node = std::get_if<NodeReport>(&*report)) return joined(link, *node);
  if (link->node.empty()) return link->socket->close(1008, "the first frame must be a node report");
  if (const auto* attempt = std::get_if<AttemptReport>(&*report)) {
    core_.put(system_identity(), AgentReported{link->node, *attempt});
  } else if (const auto* devices = std::get_if<DevicesReport>(&*report)) {
    core_.put(system_identity(), DevicesReported{link->node, devices->devices});
  } else if (const auto* vitals = std::get_if<Heartbeat>(&*report)) {
    vitals_(link->node, *vitals);
  }
}

void Agents::joined(const std::shared_ptr<Link>& link, const NodeReport& report) {
  if (report.wire != kWireVersion)
    return link->socket->close(
        1008, format("the agent speaks version {} of the wire, this controller {}", report.wire,
                     kWireVersion));
  if (auto old = by_node_.find(report.name); old != by_node_.end() && old->second != link) {
    old->second->ready = false;
    old->second->given_up = true;
    old->second->socket->close(1008, "another agent has joined under this name");
  }
  link->node = report.name;
  link->ready = false;
  by_node_[report.name] = link;
  silent_.erase(report.name);
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
  link->given_up = true;
  silent_[link->node] = {link->heard_at};
  vitals_(link->node, std::nullopt);
  tell_silence(link->node);
}

void Agents::tell_silence(const std::string& node) {
  Silence& silence = silent_[node];
  silence.told = since(silence.since);
  core_.put(system_identity(), AgentSilent{node, silence.told});
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
    silent_[name] = {std::chrono::steady_clock::now()};
    vitals_(name, std::nullopt);
    link->ready = false;
    link->given_up = true;
    link->socket->close(1012, "the controller starts anew");
  }
}

// An agent that stands still keeps its connection for a while; nothing it is sent would be done.
void Agents::close_deaf_links() {
  const Duration most = core_.state().config.timers.suspect_after;
  std::vector<std::shared_ptr<Link>> deaf;
  for (const auto& [name, link] : by_node_)
    if (since(link->heard_at) >= most) deaf.push_back(link);
  for (const auto& link : deaf) {
    lost(link);
    link->socket->close(1008, "nothing was heard of you: come again");
  }
}

// While this process stood still it heard nobody: that is nobody's silence.
void Agents::forgive_own_absence() {
  const Duration absent = since(looked_at_) - kLook;
  looked_at_ = std::chrono::steady_clock::now();
  if (absent < kLook) return;
  started_ += absent;
  for (auto& [name, link] : by_node_) link->heard_at += absent;
  for (auto& [name, silence] : silent_) silence.since += absent;
}

// Tells the core of each node that is silent, how long by now: it decides what that means.
void Agents::watch_silence() {
  forgive_own_absence();
  close_deaf_links();
  for (const auto& [id, node] : core_.state().nodes) {
    const std::string& name = node.spec.name;
    if (by_node_.contains(name) || node.health == NodeHealth::lost ||
        node.health == NodeHealth::absent)
      continue;
    const auto it = silent_.try_emplace(name, Silence{started_}).first;
    if (matters(core_.state().config.timers, it->second.told, since(it->second.since)))
      tell_silence(name);
  }
  timer_ = loop_.after(kLook, [this] { watch_silence(); });
}

}  // namespace phalanx::server
