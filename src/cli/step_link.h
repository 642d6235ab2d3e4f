// srun's connection to the agent of one node (model/step_wire.h says what they say). It opens again
// by itself when it breaks, for as long as the agent keeps the step; output that comes a second
// time is dropped here.
//
// Loop thread. Callbacks may destroy nothing. After `gone` nothing more comes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "dialect/slurm/slurm.h"
#include "model/step_wire.h"
#include "net/net.h"

namespace phalanx::cli {

class StepLink {
 public:
  struct Handler {
    std::function<void(const StepNotice&)> notice;
    std::function<void(std::uint32_t rank, std::uint8_t stream, std::string bytes)> output;
    std::function<void(const std::string& why)> gone;  // lost for good, or never reached
    std::function<void()> open;                        // connected, again or for the first time
  };

  StepLink(net::Loop& loop, slurm::StepNode node, StepLaunch launch, Handler handler);
  void open();
  // False where it is not connected; signals are worth repeating then, input is sent again anyway.
  bool send(const StepCommand& command);
  bool send_input(std::uint64_t offset, std::string_view bytes);
  // So many bytes of this stream are taken care of.
  void written(std::uint32_t rank, std::uint8_t stream, std::size_t bytes);
  void close();

  [[nodiscard]] const std::string& name() const { return node_.name; }
  [[nodiscard]] const slurm::StepNode& node() const { return node_; }
  [[nodiscard]] bool done() const { return ended_ || gone_; }
  [[nodiscard]] bool closed() const { return !socket_ || !socket_->is_open(); }

 private:
  struct Stream {
    std::uint64_t received = 0, written = 0, told = 0;
  };
  void opened(Result<std::shared_ptr<net::WebSocket>> socket);
  void message(const std::string& message, net::WebSocket::Kind kind);
  void take(const StepBytes& piece);
  void lost(const std::string& why);
  void give_up(const std::string& why);

  net::Loop& loop_;
  slurm::StepNode node_;
  StepLaunch launch_;
  Handler handler_;
  std::shared_ptr<net::WebSocket> socket_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, Stream> streams_;
  net::SteadyTime broken_since_{};
  Duration pause_{};
  net::Timer timer_;
  bool heard_ = false;  // the agent knows the step
  bool ended_ = false, gone_ = false, closing_ = false;
};

}  // namespace phalanx::cli
