// The agent's link to the controller: one WebSocket, opened again after a loss, at growing
// distances (0.1 to 5 s). Each time it first says what `greeting` returns. What is sent while it is
// down is dropped: the greeting says it again. The join token is read from its file at each
// attempt. An agent that was stopped for a while (SIGSTOP, a paused machine) obeys nothing that
// came meanwhile, for others may have been told to do it since: it connects anew and asks.
//
// One thread; callbacks come from the loop, never from within a call.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "model/wire.h"
#include "net/net.h"

namespace phalanx::agent {

class ControllerLink {
 public:
  struct Callbacks {
    std::function<NodeReport()> greeting;
    std::function<void(const Order&)> order;
  };

  ControllerLink(net::Loop& loop, net::Endpoint controller, std::string token_file,
                 Callbacks callbacks);
  ~ControllerLink();

  void start();
  void send(const Report& report);
  // The key of step tokens; asked of the controller at the first connection.
  [[nodiscard]] const std::optional<net::TokenKey>& step_key() const { return step_key_; }

 private:
  void connect();
  void opened(Result<std::shared_ptr<net::WebSocket>> socket);
  void settle();
  void lost(const std::string& why);
  void fetch_step_key();
  void beat();
  bool overslept();
  [[nodiscard]] net::Headers authorization() const;

  net::Loop& loop_;
  net::Endpoint controller_;
  std::string token_file_;
  Callbacks callbacks_;
  std::shared_ptr<net::WebSocket> socket_;
  std::optional<net::TokenKey> step_key_;
  net::Timer again_, heartbeat_;
  Duration pause_;
  std::string told_;  // the last reason on stderr: the same one is not repeated
  bool was_connected_ = false;
  Duration opened_{};  // when the connection was made
  Duration awake_{};   // when it last was, by the clock that counts sleep
  bool void_ = false;  // what still comes over this connection
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace phalanx::agent
