// Private to net: how the HTTP server hands a connection over to a WebSocket.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/fd.h"
#include "net/websocket.h"

namespace phalanx::net {

// What the handshake needs of the request.
struct UpgradeRequest {
  std::string host;
  std::string key;
  std::string version;
};

// Answers 101 and calls `opened` from the loop; on a handshake that fails the connection just
// closes.
void accept_websocket(Loop& loop, Fd fd, const UpgradeRequest& request, WebSocketOptions options,
                      Peer peer, std::function<void(std::shared_ptr<WebSocket>)> opened);

}  // namespace phalanx::net
