#include "net/http_connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "net/clock.h"

namespace phalanx::net {
namespace {

constexpr std::size_t kReadAhead = std::size_t{64}
                                   << 10;  // pipelined input kept while an answer is due
constexpr std::size_t kLowMark = std::size_t{64} << 10;
constexpr Duration kLinger = seconds(2);

SteadyTime steady_now() { return std::chrono::steady_clock::now(); }

bool has_body(int status) { return status >= 200 && status != 204 && status != 304; }

// Text from users may end up in a header; it must not be able to end the header.
void append_value(std::string& out, std::string_view value) {
  for (const char c : value) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
}

}  // namespace

const std::string& ServerCore::date() {
  const Time now = wall_now();
  const std::int64_t second = unix_seconds(now);
  if (second != date_second_) {
    date_second_ = second;
    date_ = http_date(now);
  }
  return date_;
}

Connection::Connection(std::shared_ptr<ServerCore> core, Fd fd, Peer peer)
    : core_(std::move(core)),
      fd_(std::move(fd)),
      peer_(std::move(peer)),
      parser_(HttpParser::Kind::Request, core_->options.limits),
      deadline_(steady_now() + core_->options.head),
      last_written_(steady_now()) {}

void Connection::start() {
  const auto guarded = [weak = weak_from_this()](void (Connection::*method)()) {
    return [weak, method] {
      if (const auto connection = weak.lock()) ((*connection).*method)();
    };
  };
  watch_ = core_->loop.watch(fd_.get(), guarded(&Connection::on_readable),
                             guarded(&Connection::on_writable));
  watch_.arm_read();
}

bool Connection::wants_input() const {
  if (phase_ == Phase::Closed || input_ended_) return false;
  return phase_ == Phase::Reading || phase_ == Phase::Lingering || in_.size() < kReadAhead;
}

void Connection::on_readable() {
  const auto keep = self();
  if (phase_ == Phase::Closed) return;
  std::vector<char>& scratch = core_->scratch;
  const ssize_t got = ::recv(fd_.get(), scratch.data(), scratch.size(), MSG_DONTWAIT);
  if (got == 0) return on_end_of_input();
  if (got < 0 && errno != EAGAIN && errno != EINTR) return close();
  if (got > 0) consume(std::string_view(scratch.data(), static_cast<std::size_t>(got)));
  go_on();
}

void Connection::on_writable() {
  const auto keep = self();
  if (phase_ == Phase::Closed) return;
  write_out();
}

void Connection::write_out() {
  flush();
  if (!above_mark_ || out_.bytes() > kLowMark) return;
  above_mark_ = false;
  if (const Task drained = on_drain_) drained();
}

void Connection::on_end_of_input() {
  input_ended_ = true;
  keep_alive_ = false;
  if (phase_ == Phase::Answering) {
    if (const Task gone = std::exchange(on_close_, nullptr)) gone();
  } else if (phase_ == Phase::Streaming || parser_.started() || out_.empty()) {
    close();
  } else {
    phase_ = Phase::Lingering;  // it still reads the last answer
  }
}

void Connection::consume(std::string_view bytes) {
  if (phase_ == Phase::Lingering) return;
  if (phase_ == Phase::Reading && in_.empty()) return process(bytes);
  in_.append(bytes);
  if (phase_ == Phase::Reading) process(std::exchange(in_, {}));
}

void Connection::process(std::string_view bytes) {
  processing_ = true;
  while (!bytes.empty() && phase_ == Phase::Reading) {
    bytes.remove_prefix(parser_.feed(bytes));
    if (parser_.phase() == HttpParser::Phase::Failed)
      refuse(parser_.fault().status, parser_.fault().text);
    if (parser_.phase() == HttpParser::Phase::Done) dispatch();
  }
  processing_ = false;
  if (phase_ == Phase::Reading) note_progress();
  if (phase_ == Phase::Answering || phase_ == Phase::Streaming) in_.append(bytes);
}

// Sets the deadline for what is still to come of a request.
void Connection::note_progress() {
  if (!parser_.started()) return;  // idle: finish() has set it
  const ServerOptions& options = core_->options;
  const SteadyTime now = steady_now();
  if (!parser_.head_complete()) {
    if (!std::exchange(head_started_, true)) deadline_ = now + options.head;
    return;
  }
  if (body_started_ == SteadyTime()) {
    body_started_ = now;
    if (parser_.head().expects_continue && parser_.body_received() == 0)
      out_.push("HTTP/1.1 100 Continue\r\n\r\n");
  }
  const auto earned = static_cast<std::int64_t>(parser_.body_received()) / options.body_rate;
  deadline_ = body_started_ + options.body_grace + seconds(earned);
}

void Connection::go_on() {
  write_out();
  if (wants_input()) watch_.arm_read();
}

void Connection::dispatch() {
  HttpHead& head = parser_.head();
  Request request;
  if (!split_target(head.target, request.path, request.query))
    return refuse(400, "the request target is malformed");
  request.method = std::move(head.method);
  request.target = std::move(head.target);
  request.headers = std::move(head.headers);
  request.body = parser_.take_body();
  request.peer = peer_;

  keep_alive_ = head.keep_alive && !input_ended_ && !core_->stopping;
  head_request_ = request.method == "HEAD";
  chunked_ = head.minor == 1;
  upgrade_.reset();
  if (wants_websocket(request)) {
    const auto text = [&](std::string_view name) {
      return std::string(request.headers.find(name).value_or(""));
    };
    upgrade_ =
        UpgradeRequest{text("Host"), text("Sec-WebSocket-Key"), text("Sec-WebSocket-Version")};
  }
  parser_.next();
  head_started_ = false;
  body_started_ = {};
  phase_ = Phase::Answering;
  core_->handler(std::move(request), std::make_shared<Responder>(core_->loop, self(), exchange_));
}

void Connection::refuse(int status, std::string_view why) {
  keep_alive_ = false;
  head_request_ = false;
  phase_ = Phase::Answering;
  reply_text(status, why);
}

void Connection::reply_text(int status, std::string_view text, const Headers& headers) {
  reply(exchange_, {status, "text/plain; charset=utf-8", format("{}\n", text), nullptr, &headers});
}

bool Connection::open(std::uint64_t exchange) const {
  return exchange == exchange_ && (phase_ == Phase::Answering || phase_ == Phase::Streaming);
}

void Connection::push_head(const Answer& answer, std::optional<std::size_t> length, bool chunked) {
  std::string head;
  head.reserve(256);
  fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\nDate: {}\r\n", answer.status,
                 status_text(answer.status), core_->date());
  if (!answer.content_type.empty()) {
    head += "Content-Type: ";
    append_value(head, answer.content_type);
    head += "\r\n";
  }
  if (length) fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", *length);
  if (chunked) head += "Transfer-Encoding: chunked\r\n";
  // An HTTP/1.0 client believes in keep-alive only if told so.
  if (!keep_alive_)
    head += "Connection: close\r\n";
  else if (!chunked_)
    head += "Connection: keep-alive\r\n";
  if (answer.headers) {
    for (const Header& header : *answer.headers) {
      append_value(head, header.name);
      head += ": ";
      append_value(head, header.value);
      head += "\r\n";
    }
  }
  head += "\r\n";
  out_.push(std::move(head));
}

void Connection::reply(std::uint64_t exchange, Answer answer) {
  if (exchange != exchange_ || phase_ != Phase::Answering) return;
  const std::size_t size = answer.shared ? answer.shared->size() : answer.body.size();
  const bool body = has_body(answer.status);
  push_head(answer, body ? std::optional(size) : std::nullopt, false);
  if (body && !head_request_) {
    if (answer.shared)
      out_.push(std::move(answer.shared));
    else
      out_.push(std::move(answer.body));
  }
  finish();
}

void Connection::begin_stream(std::uint64_t exchange, const Answer& answer) {
  if (exchange != exchange_ || phase_ != Phase::Answering) return;
  if (!chunked_) keep_alive_ = false;
  push_head(answer, std::nullopt, chunked_ && has_body(answer.status));
  phase_ = Phase::Streaming;
  if (input_ended_)
    close_soon();
  else if (!processing_)
    flush();
}

void Connection::write(std::uint64_t exchange, std::string chunk) {
  if (exchange != exchange_ || phase_ != Phase::Streaming || chunk.empty() || head_request_) return;
  if (out_.bytes() + chunk.size() > core_->options.max_pending) return close_soon();
  if (chunked_) out_.push(format("{:x}\r\n", chunk.size()));
  out_.push(std::move(chunk));
  if (chunked_) out_.push("\r\n");
  if (!processing_) flush();
  above_mark_ = above_mark_ || out_.bytes() > kLowMark;
}

void Connection::end(std::uint64_t exchange) {
  if (exchange != exchange_ || phase_ != Phase::Streaming) return;
  if (chunked_ && !head_request_) out_.push("0\r\n\r\n");
  finish();
}

// The answer is complete; the next request may be read.
void Connection::finish() {
  ++exchange_;
  on_drain_ = nullptr;
  on_close_ = nullptr;
  above_mark_ = false;
  if (!keep_alive_ || core_->stopping) {
    phase_ = Phase::Lingering;
    in_.clear();
  } else {
    phase_ = Phase::Reading;
    deadline_ = steady_now() + core_->options.idle;
  }
  if (processing_) return;  // process() goes on
  flush();
  if (phase_ == Phase::Reading && !in_.empty()) {
    // Not from here: the handler must not be called from within another handler.
    core_->loop.post([connection = self()] {
      connection->consume({});
      connection->go_on();
    });
  } else if (wants_input()) {
    watch_.arm_read();
  }
}

void Connection::flush() {
  if (phase_ == Phase::Closed) return;
  const std::size_t before = out_.bytes();
  const OutQueue::Written written = out_.write_to(fd_.get());
  if (written == OutQueue::Written::Broken) {
    out_.clear();
    return close_soon();
  }
  if (before != out_.bytes()) last_written_ = steady_now();
  if (written == OutQueue::Written::Blocked)
    watch_.arm_write();
  else if (phase_ == Phase::Lingering)
    linger();
}

// Everything is written: says so, and waits a little for the peer to say the same.
void Connection::linger() {
  if (input_ended_) return close_soon();
  if (std::exchange(shut_down_, true)) return;
  ::shutdown(fd_.get(), SHUT_WR);
  deadline_ = steady_now() + kLinger;
  watch_.arm_read();
}

void Connection::sweep(SteadyTime now) {
  const auto keep = self();
  // A stream may stand still for as long as its reader likes; the kernel notices a dead one.
  const bool stalled = !out_.empty() && phase_ != Phase::Streaming;
  if (stalled && now >= last_written_ + core_->options.write_stall) return close();
  if (shut_down_ && now >= deadline_) return close();
  if (phase_ != Phase::Reading || now < deadline_) return;
  if (!parser_.started()) return close();
  refuse(408, "the request did not come in time");
}

void Connection::retire() {
  const auto keep = self();
  keep_alive_ = false;
  if (phase_ != Phase::Reading || parser_.started()) return;
  phase_ = Phase::Lingering;
  flush();
}

void Connection::drop_answer(std::uint64_t exchange) {
  if (exchange != exchange_) return;
  // The reader of a stream that was cut short must be able to tell.
  if (phase_ == Phase::Streaming) return close_soon();
  reply_text(500, "the server gave no answer");
}

void Connection::abandon() {
  on_close_ = nullptr;
  close();
}

void Connection::close() {
  if (phase_ == Phase::Closed) return;
  const auto keep = self();
  phase_ = Phase::Closed;
  ++exchange_;
  watch_.cancel();
  fd_.reset();
  out_.clear();
  in_.clear();
  on_drain_ = nullptr;
  core_->connections.erase(this);
  if (const Task gone = std::exchange(on_close_, nullptr)) gone();
}

void Connection::close_soon() {
  core_->loop.post([connection = self()] { connection->close(); });
}

void Connection::upgrade(std::uint64_t exchange, WebSocketOptions options,
                         std::function<void(std::shared_ptr<WebSocket>)> opened) {
  if (exchange != exchange_ || phase_ != Phase::Answering) return;
  if (!upgrade_ || upgrade_->key.empty() || upgrade_->version != "13") {
    const Headers headers{{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}};
    return reply_text(426, "this address speaks WebSocket, version 13", headers);
  }
  const auto keep = self();
  flush();
  if (!out_.empty() || !in_.empty() || input_ended_) return close_soon();  // it did not wait for us
  watch_.cancel();
  phase_ = Phase::Closed;
  ++exchange_;
  on_close_ = nullptr;
  on_drain_ = nullptr;
  core_->connections.erase(this);
  accept_websocket(core_->loop, std::move(fd_), *upgrade_, std::move(options), peer_,
                   std::move(opened));
}

void Connection::on_drain(std::uint64_t exchange, Task f) {
  if (open(exchange)) on_drain_ = std::move(f);
}

void Connection::on_close(std::uint64_t exchange, Task f) {
  if (open(exchange)) on_close_ = std::move(f);
}

std::size_t Connection::pending_bytes(std::uint64_t exchange) const {
  return open(exchange) ? out_.bytes() : 0;
}

}  // namespace phalanx::net
