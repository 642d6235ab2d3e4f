#include "cli/step_link.h"

#include <algorithm>

#include "base/codec.h"
#include "base/text.h"

namespace phalanx::cli {
namespace {

constexpr Duration kFirstPause = milliseconds(100);
constexpr Duration kLongestPause = seconds(2);
constexpr std::uint64_t kTellEvery = 16 * 1024;
constexpr std::uint16_t kPolicy = 1008;  // refused for good

}  // namespace

StepLink::StepLink(net::Loop& loop, slurm::StepNode node, StepLaunch launch, Handler handler)
    : loop_(loop),
      node_(std::move(node)),
      launch_(std::move(launch)),
      handler_(std::move(handler)),
      broken_since_(std::chrono::steady_clock::now()),
      pause_(kFirstPause) {}

void StepLink::open() {
  auto endpoint = net::Endpoint::parse(node_.agent_url);
  if (!endpoint.ok()) return give_up("its agent has no address: " + endpoint.error().message);
  net::connect_websocket(
      loop_, *endpoint, "/step/v1", {{"Authorization", "Bearer " + node_.token}}, {},
      [this](Result<std::shared_ptr<net::WebSocket>> socket) { opened(std::move(socket)); });
}

void StepLink::opened(Result<std::shared_ptr<net::WebSocket>> socket) {
  if (closing_) {
    if (socket.ok()) (*socket)->close();
    return;
  }
  if (!socket.ok()) {
    const Error& error = socket.error();
    return error.code == Error::Code::Unavailable ? lost(error.message) : give_up(error.message);
  }
  socket_ = std::move(*socket);
  socket_->on_message(
      [this](const std::string& text, net::WebSocket::Kind kind) { message(text, kind); });
  socket_->on_close([this](const net::WebSocket::Closed& closed) {
    if (closing_ || ended_) return;
    if (closed.code == kPolicy) return give_up(closed.reason);
    lost(closed.reason.empty() ? "the connection broke" : closed.reason);
  });
  socket_->send(heard_ ? codec::encode(StepCommand(StepAttach{}))
                       : codec::encode(StepCommand(launch_)));
  handler_.open();
}

void StepLink::message(const std::string& message, net::WebSocket::Kind kind) {
  heard_ = true;
  pause_ = kFirstPause;
  if (kind == net::WebSocket::Kind::Binary) {
    if (const auto piece = read_step_frame(message)) take(*piece);
    return;
  }
  const auto notice = codec::decode<StepNotice>(std::string_view(message));
  if (!notice.ok()) return give_up("its agent speaks another version: " + notice.error().message);
  if (std::holds_alternative<StepNodeEnded>(*notice)) ended_ = true;
  handler_.notice(*notice);
}

void StepLink::take(const StepBytes& piece) {
  Stream& stream = streams_[{piece.rank, piece.stream}];
  const std::uint64_t end = piece.offset + piece.bytes.size();
  if (end <= stream.received) return;
  const std::uint64_t known = stream.received > piece.offset ? stream.received - piece.offset : 0;
  stream.received = end;
  handler_.output(piece.rank, piece.stream, std::string(piece.bytes.substr(known)));
}

void StepLink::written(std::uint32_t rank, std::uint8_t stream, std::size_t bytes) {
  Stream& s = streams_[{rank, stream}];
  s.written += bytes;
  if (s.written - s.told < kTellEvery) return;
  if (send(StepReceived{rank, stream, s.written})) s.told = s.written;
}

bool StepLink::send(const StepCommand& command) {
  return socket_ && socket_->is_open() && socket_->send(codec::encode(command));
}

bool StepLink::send_input(std::uint64_t offset, std::string_view bytes) {
  return socket_ && socket_->is_open() &&
         socket_->send(step_frame(0, kAllRanks, offset, bytes), net::WebSocket::Kind::Binary);
}

void StepLink::lost(const std::string& why) {
  const auto now = std::chrono::steady_clock::now();
  if (socket_) {
    socket_.reset();
    broken_since_ = now;
  }
  if (now - broken_since_ > kStepReconnect) return give_up(why);
  timer_ = loop_.after(pause_, [this] { open(); });
  pause_ = std::min(pause_ * 2, kLongestPause);
}

void StepLink::give_up(const std::string& why) {
  if (done()) return;
  gone_ = true;
  handler_.gone(why);
}

void StepLink::close() {
  closing_ = true;
  timer_.cancel();
  if (socket_ && socket_->is_open()) socket_->close();
}

}  // namespace phalanx::cli
