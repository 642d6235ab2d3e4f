// Where srun reaches this node: a unix socket on which anybody may connect; the kernel says who
// does, and a token of the controller says what they may start here. One StepSession for each step.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/controller_link.h"
#include "agent/rooms.h"
#include "agent/step_session.h"
#include "net/net.h"
#include "node/node.h"

namespace phalanx::agent {

class StepService {
 public:
  using Found = std::function<void(const node::OsResult&)>;

  // All of them must outlive it. `run_dir`: where records of steps are kept.
  StepService(net::Loop& loop, Rooms& rooms, const node::Node& node, const ControllerLink& link,
              std::string run_dir, Found found);

  Status listen(const std::string& socket);
  // Its steps' users hear why.
  void job_stops(const Fence& fence, EndCause cause);
  void step_stops(const node::UnitKey& key);

 private:
  void handle(const net::Request& request, const std::shared_ptr<net::Responder>& answer);
  [[nodiscard]] Result<StepGrant> granted(const net::Request& request) const;
  void opened(const std::shared_ptr<net::WebSocket>& socket, const StepGrant& grant);
  void first(const std::shared_ptr<net::WebSocket>& socket, const StepGrant& grant,
             const std::string& message);
  void launch(const std::shared_ptr<net::WebSocket>& socket, const StepGrant& grant,
              const StepLaunch& launch);
  StepSession& session(const node::UnitKey& key, StepRecord record);
  [[nodiscard]] Duration kill_wait(const Fence& fence) const;
  [[nodiscard]] std::string record_path(const node::UnitKey& key) const;
  Unit::Handler adopt(const node::UnitKey& key);
  void forget(const node::UnitKey& key);

  net::Loop& loop_;
  Rooms& rooms_;
  const node::Node& node_;
  const ControllerLink& link_;
  std::string run_dir_;
  Found found_;
  std::map<node::UnitKey, std::unique_ptr<StepSession>> sessions_;
  net::HttpServer server_;
};

}  // namespace phalanx::agent
