#include "agent/controller_link.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "agent/kernel_file.h"
#include "base/codec.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

constexpr Duration kPauseFirst = milliseconds(100);
constexpr Duration kPauseMost = seconds(5);
constexpr Duration kPauseQuiet = seconds(2);
constexpr Duration kSettled = seconds(1);  // a refusal comes sooner
constexpr Duration kHeartbeat = seconds(5);
constexpr Duration kOverslept = seconds(11);  // two heartbeats have not been sent

// The load of a minute, in thousandths, from "0.52 …".
std::int64_t load_milli() {
  const std::string text = read_text("/proc/loadavg").value_or("0");
  const auto load = Quantity::parse(text.substr(0, text.find(' ')));
  return load.ok() ? load->in_milli() : 0;
}

std::int64_t free_memory() {
  constexpr std::int64_t kKib = 1024;
  return read_key("/proc/meminfo", "MemAvailable:").value_or(0) * kKib;
}

}  // namespace

ControllerLink::ControllerLink(net::Loop& loop, net::Endpoint controller, std::string token_file,
                               Callbacks callbacks)
    : loop_(loop),
      controller_(std::move(controller)),
      token_file_(std::move(token_file)),
      callbacks_(std::move(callbacks)),
      pause_(kPauseFirst) {}

ControllerLink::~ControllerLink() {
  if (socket_) socket_->close(1001, "the agent stops");
}

void ControllerLink::start() {
  heartbeat_ = loop_.after(kHeartbeat, [this] { beat(); });
  connect();
}

net::Headers ControllerLink::authorization() const {
  return {{"Authorization", "Bearer " + read_text(token_file_).value_or("")}};
}

void ControllerLink::connect() {
  net::connect_websocket(loop_, controller_, "/agent/v1", authorization(), {},
                         [this, alive = std::weak_ptr(alive_)](auto socket) {
                           if (!alive.expired()) opened(std::move(socket));
                         });
}

void ControllerLink::opened(Result<std::shared_ptr<net::WebSocket>> socket) {
  if (!socket.ok()) return lost(socket.error().message);
  socket_ = *socket;
  const std::weak_ptr alive = alive_;
  socket_->on_message([this, alive](const std::string& text, net::WebSocket::Kind) {
    if (alive.expired() || overslept()) return;
    settle();
    const auto order = codec::decode<Order>(text);
    if (order.ok())
      callbacks_.order(*order);
    else
      std::fprintf(stderr, "phalanx agent: an order that this version does not know: %s\n",
                   order.error().message.c_str());
  });
  socket_->on_close([this, alive](const net::WebSocket::Closed& closed) {
    if (!alive.expired()) lost(closed.reason.empty() ? "the connection broke" : closed.reason);
  });
  was_connected_ = true;
  void_ = false;
  awake_ = opened_ = net::boottime_now();
  if (!step_key_) fetch_step_key();
  socket_->send(codec::encode(Report(callbacks_.greeting())));
}

// It has taken us in. One that refuses what we say of ourselves lets us connect, too.
void ControllerLink::settle() {
  pause_ = kPauseFirst;
  told_.clear();
}

void ControllerLink::lost(const std::string& why) {
  if (socket_ && net::boottime_now() - opened_ > kSettled) settle();
  socket_.reset();
  // One that starts beside us needs a moment.
  const bool matters = was_connected_ || pause_ > kPauseQuiet;
  if (matters && why != told_) {
    std::fprintf(stderr, "phalanx agent: no controller: %s\n", why.c_str());
    told_ = why;
  }
  again_ = loop_.after(pause_, [this] { connect(); });
  pause_ = std::min(pause_ * 2, kPauseMost);
}

// It waits for the answer: the controller that has just let us in answers in microseconds.
void ControllerLink::fetch_step_key() {
  net::HttpClient client(controller_, {seconds(1), seconds(5)});
  const auto answer = client.request("GET", "/agent/v1/step-key", authorization());
  if (!answer.ok() || answer->status != 200) return;
  auto key = net::TokenKey::from_bytes(answer->body);
  if (key.ok()) step_key_ = std::move(*key);
}

void ControllerLink::send(const Report& report) {
  if (socket_) socket_->send(codec::encode(report));
}

bool ControllerLink::overslept() {
  if (!socket_ || void_) return void_;
  if (net::boottime_now() - awake_ < kOverslept) return false;
  void_ = true;
  socket_->close(1001, "the agent was stopped for a while: it comes again");
  return true;
}

void ControllerLink::beat() {
  if (!overslept()) awake_ = net::boottime_now();
  send(Heartbeat{load_milli(), free_memory()});
  heartbeat_ = loop_.after(kHeartbeat, [this] { beat(); });
}

}  // namespace phalanx::agent
