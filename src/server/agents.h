// The links to the agents: one WebSocket each, JSON text frames both ways (model/wire.h). Reports
// become inputs; orders go out when the core says so, and all of them again whenever an agent
// connects. Who is silent is told to the core when it matters: at suspect_after, prepare_timeout
// and node_timeout. A link on which nothing is heard for suspect_after, although heartbeats come
// every 5 s, is closed: its agent must come again and say all that it has.
//
// Loop thread only. Core must outlive it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "net/net.h"
#include "server/core.h"

namespace phalanx::server {

class Agents {
 public:
  // Completes an order with what the core leaves out (script, environment, file names):
  // target/native.
  using Fill = std::function<void(const State&, Prepare&)>;

  // What connected agents say of their load; nothing: it is silent.
  using Vitals = std::function<void(const std::string& node, std::optional<Heartbeat>)>;

  Agents(net::Loop& loop, Core& core, Fill fill, Vitals vitals);
  ~Agents();

  // A connection that has shown the join token.
  void accept(std::shared_ptr<net::WebSocket> socket);
  void send(const SendOrder& order);
  // After the core was rebuilt: everybody reports again.
  void disconnect_all();
  [[nodiscard]] std::size_t connected() const { return by_node_.size(); }

 private:
  struct Link;
  void heard(const std::shared_ptr<Link>& link, const std::string& text);
  void joined(const std::shared_ptr<Link>& link, const NodeReport& report);
  void lost(const std::shared_ptr<Link>& link);
  void forgive_own_absence();
  void close_deaf_links();
  void tell_silence(const std::string& node);
  void deliver(Link& link, Order order);
  void watch_silence();

  net::Loop& loop_;
  Core& core_;
  Fill fill_;
  Vitals vitals_;
  std::map<std::string, std::shared_ptr<Link>> by_node_;
  struct Silence {
    net::SteadyTime since;
    Duration told{-1};  // how long it was when the core last heard of it
  };
  std::map<std::string, Silence> silent_;
  net::SteadyTime started_, looked_at_;
  net::Timer timer_;
};

}  // namespace phalanx::server
