// WebSocket (RFC 6455): messages both ways on one connection. The server side comes from
// Responder::upgrade, the client side from connect_websocket. Held by shared_ptr; it stays open
// until one side closes it, whoever holds it, and is dead-checked by pings: a peer that is silent
// for `idle` is gone. All methods and callbacks belong to the loop thread. Set the callbacks in the
// function that receives the WebSocket: nothing is read before that returns. They are dropped after
// on_close, and so are the WebSockets that they hold. Messages that are too large, or text that is
// not UTF-8, close the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/endpoint.h"
#include "net/http.h"
#include "net/loop.h"

namespace phalanx::net {

struct WebSocketOptions {
  std::string protocol = {};         // the subprotocol agreed on; empty: none
  Duration handshake = seconds(10);  // to open, and to close
  Duration idle = seconds(30);       // without a sign of life; pings go at half of it
  std::size_t max_message = std::size_t{64} << 20;  // received
  std::size_t max_pending = std::size_t{64} << 20;  // queued for sending
};

class WebSocket : public std::enable_shared_from_this<WebSocket> {
 public:
  enum class Kind { Text, Binary };
  struct Closed {
    std::uint16_t code = 1006;  // as sent by the peer or by us; 1006: the connection broke
    std::string reason;         // the peer's, or what broke
    bool clean = false;         // both sides said goodbye
  };
  struct Impl;

  explicit WebSocket(std::unique_ptr<Impl> impl);  // for websocket.cc
  ~WebSocket();

  void on_message(std::function<void(std::string message, Kind kind)> f);
  void on_close(std::function<void(const Closed& closed)> f);  // once
  void on_drain(Task f);  // each time everything queued was handed to the kernel

  // Queues a message. False, and nothing queued: closed, or more than max_pending would wait.
  bool send(std::string message, Kind kind = Kind::Text);
  // Says goodbye after what is queued. 1000: normal; 1001: going away; 1008: policy; 1011: our
  // fault. The reason is cut at 123 bytes.
  void close(std::uint16_t code = 1000, std::string_view reason = {});

  [[nodiscard]] bool is_open() const;
  [[nodiscard]] std::size_t pending_bytes() const;
  [[nodiscard]] const Peer& peer() const;
  [[nodiscard]] const std::string& protocol() const;  // what the server chose; empty: none

 private:
  friend struct WebSocketAccess;
  std::unique_ptr<Impl> impl_;
};

// Opens one from the client's side. `done` is called once, from the loop: with the WebSocket, or
// with why not: Unavailable (nobody there, time-out, 429, 5xx), Denied (401, 403), NotFound,
// Conflict, Invalid; the message holds the body of the refusal. Coming back after a loss is the
// caller's matter. Propose subprotocols with the header Sec-WebSocket-Protocol.
void connect_websocket(Loop& loop, const Endpoint& endpoint, std::string target, Headers headers,
                       WebSocketOptions options,
                       std::function<void(Result<std::shared_ptr<WebSocket>>)> done);

}  // namespace phalanx::net
