// Private to net: one connection of the HTTP server, and what the connections of a server share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_parser.h"
#include "net/http_server.h"
#include "net/out_queue.h"
#include "net/websocket_accept.h"

namespace phalanx::net {

struct Listener {
  Fd fd;
  Watch watch;
  Timer retry;              // after the process ran out of descriptors
  std::string path;         // of a unix socket
  std::uint64_t inode = 0;  // so that only our own file is removed
  ~Listener();
};

struct ServerCore {
  Loop& loop;
  HttpServer::Handler handler;
  ServerOptions options;
  std::map<const Connection*, std::shared_ptr<Connection>> connections;
  std::vector<char> scratch =
      std::vector<char>(std::size_t{64} << 10);  // where every read lands first
  std::vector<std::unique_ptr<Listener>> listeners;
  Timer sweeper;
  bool stopping = false;

  ServerCore(Loop& l, HttpServer::Handler h, ServerOptions o)
      : loop(l), handler(std::move(h)), options(o) {}
  // The value of the Date header, made once a second.
  const std::string& date();

 private:
  std::int64_t date_second_ = -1;
  std::string date_;
};

// Reading → Answering (the handler has the request) → perhaps Streaming → Reading …; at the end
// Lingering: everything is said, what still comes is thrown away, so that a reset does not overtake
// the last answer.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ServerCore> core, Fd fd, Peer peer);
  void start();
  void refuse(int status, std::string_view why);  // answers and ends the connection
  void sweep(SteadyTime now);
  void retire();   // ends when it is idle
  void abandon();  // ends now, without a callback

  // For the Responder of the exchange of that number; nothing happens where it is over.
  struct Answer {
    int status = 200;
    std::string_view content_type;
    std::string body;
    std::shared_ptr<const std::string> shared;
    const Headers* headers = nullptr;
  };
  void reply(std::uint64_t exchange, Answer answer);
  void begin_stream(std::uint64_t exchange, const Answer& answer);
  void write(std::uint64_t exchange, std::string chunk);
  void end(std::uint64_t exchange);
  void upgrade(std::uint64_t exchange, WebSocketOptions options,
               std::function<void(std::shared_ptr<WebSocket>)> opened);
  void on_drain(std::uint64_t exchange, Task f);
  void on_close(std::uint64_t exchange, Task f);
  void drop_answer(std::uint64_t exchange);  // there will be none
  [[nodiscard]] std::size_t pending_bytes(std::uint64_t exchange) const;
  [[nodiscard]] bool open(std::uint64_t exchange) const;

 private:
  enum class Phase { Reading, Answering, Streaming, Lingering, Closed };

  void on_readable();
  void on_writable();
  void on_end_of_input();
  void consume(std::string_view bytes);
  void process(std::string_view bytes);
  void go_on();  // reads and writes whatever can be
  void note_progress();
  void dispatch();
  void reply_text(int status, std::string_view text, const Headers& headers = {});
  void finish();
  void write_out();  // from the loop: flushes and says when the queue is drained
  void flush();
  void linger();
  void close();
  void close_soon();
  [[nodiscard]] bool wants_input() const;
  void push_head(const Answer& answer, std::optional<std::size_t> length, bool chunked);
  std::shared_ptr<Connection> self() { return shared_from_this(); }

  std::shared_ptr<ServerCore> core_;
  Fd fd_;
  Peer peer_;
  Watch watch_;
  HttpParser parser_;
  OutQueue out_;
  std::string in_;  // came while an answer was due
  Phase phase_ = Phase::Reading;
  std::uint64_t exchange_ = 0;
  bool processing_ = false;  // process() is on the stack
  bool keep_alive_ = true;
  bool input_ended_ = false;
  bool head_started_ = false;
  bool shut_down_ = false;
  bool head_request_ = false;
  bool chunked_ = false;
  bool above_mark_ = false;  // on_drain is due
  std::optional<UpgradeRequest> upgrade_;
  SteadyTime deadline_;      // of what is read, or of lingering
  SteadyTime body_started_;  // when the head was complete
  SteadyTime last_written_;
  Task on_drain_;
  Task on_close_;
};

}  // namespace phalanx::net
