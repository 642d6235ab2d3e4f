// HttpServer: HTTP/1.1 on any number of unix sockets and TCP addresses, all on one Loop. It reads a
// request whole, calls the handler, and takes the answer at once or at any later time; requests
// that are pipelined wait for the answer before them. Requests that cannot be read are answered
// here (400, 408, 413, 417, 431, 501, 505) and never reach the handler. Who may connect and what it
// may do is the handler's matter.
//
// A server owns its listeners and connections; the Loop must outlive it and every Responder. All
// methods and callbacks belong to the loop thread, except Responder::post_reply and Responder's
// destructor.
#pragma once

#include <atomic>
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
#include "net/http_parser.h"
#include "net/loop.h"
#include "net/websocket.h"

namespace phalanx::net {

class Connection;
struct ServerCore;

struct ServerOptions {
  HttpLimits limits;
  std::size_t max_connections = 4096;  // beyond it: 503
  std::size_t max_pending = std::size_t{64}
                            << 20;     // of one stream; a reader that lags more is dropped
  Duration head = seconds(20);         // from the first byte to the end of the headers
  Duration body_grace = seconds(30);   // a body may take this, and …
  std::int64_t body_rate = 16 * 1024;  // … one second more for each so many bytes received
  Duration idle = seconds(120);        // between requests
  Duration write_stall = seconds(60);  // without a byte accepted by the peer
  Duration sweep = seconds(1);         // how often the times above are looked at
};

// The answer to one request. Exactly one of reply, begin_stream…end, upgrade; what comes after it
// does nothing, and so does everything after the peer is gone. Dropped without an answer it answers
// 500.
class Responder {
 public:
  Responder(Loop& loop, std::shared_ptr<Connection> connection,
            std::uint64_t exchange);  // for the server
  ~Responder();
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  void reply(int status, std::string_view content_type, std::string body,
             const Headers& headers = {});
  // The same bytes for many readers, never copied.
  void reply(int status, std::string_view content_type, std::shared_ptr<const std::string> body,
             const Headers& headers = {});
  // From any thread.
  void post_reply(int status, std::string content_type, std::string body, Headers headers = {});

  // A body that grows: chunked for HTTP/1.1, until the connection ends for HTTP/1.0.
  void begin_stream(int status, std::string_view content_type, const Headers& headers = {});
  void write(std::string chunk);  // queues; look at pending_bytes() before writing more
  void end();

  // Bytes that the peer has not taken yet. on_drain is called each time they fall to 64 KiB or less
  // after having been more.
  [[nodiscard]] std::size_t pending_bytes() const;
  void on_drain(Task f);
  // Called once if the peer goes away before the answer is complete. A peer that only stopped
  // sending still gets a plain reply. Neither callback is ever called from within a method of this
  // class.
  void on_close(Task f);
  [[nodiscard]] bool closed() const;  // nobody listens any more, or the answer is complete

  // For requests where wants_websocket() holds (others are answered 426). `opened` is called when
  // the handshake is done, never if the peer breaks it off.
  void upgrade(WebSocketOptions options, std::function<void(std::shared_ptr<WebSocket>)> opened);

 private:
  Loop& loop_;
  std::shared_ptr<Connection> connection_;
  std::uint64_t exchange_;
  std::atomic<bool> posted_ = false;  // an answer is on its way to the loop
};

class HttpServer {
 public:
  using Handler = std::function<void(Request, std::shared_ptr<Responder>)>;

  HttpServer(Loop& loop, Handler handler, ServerOptions options = {});
  ~HttpServer();  // closes everything at once; no callback is called
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  Status listen(const UnixSocket& socket);  // its file is removed when the server ends
  // The port that was bound, of interest where 0 was asked for.
  Result<std::uint16_t> listen(const std::string& host, std::uint16_t port);

  // No new connections; idle ones close now, the others after the answer that they wait for.
  void stop();
  [[nodiscard]] std::size_t connections() const;

 private:
  std::shared_ptr<ServerCore> core_;
};

}  // namespace phalanx::net
