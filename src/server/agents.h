// The links to the agents: one WebSocket each, JSON text frames both ways (model/wire.h). Reports
// become inputs; orders go out when the core says so, and all of them again whenever an agent
// connects. Who is silent is told to the core when it matters: at suspect_after and at
// node_timeout.
//
// Loop thread only. Core must outlive it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/net.h"
#include "server/core.h"

namespace phalanx::server {

class Agents {
 public:
  // Completes an order with what the core leaves out (script, environment, file names):
  // target/native.
  using Fill = std::function<void(const State&, Prepare&)>;

  Agents(net::Loop& loop, Core& core, Fill fill);
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
  void deliver(Link& link, Order order);
  void watch_silence();

  net::Loop& loop_;
  Core& core_;
  Fill fill_;
  std::map<std::string, std::shared_ptr<Link>> by_node_;
  std::map<std::string, net::SteadyTime> silent_since_;
  net::SteadyTime started_;
  net::Timer timer_;
};

}  // namespace phalanx::server
