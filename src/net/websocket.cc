#include "net/websocket.h"

#include <algorithm>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <utility>
#include <vector>

#include "base/text.h"
#include "net/websocket_accept.h"

namespace phalanx::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

using Protocol = asio::generic::stream_protocol;
using Socket = asio::basic_stream_socket<Protocol, asio::io_context::executor_type>;
using Stream = beast::websocket::stream<Socket, false>;  // false: no compression
using Resolver = asio::ip::basic_resolver<asio::ip::tcp, asio::io_context::executor_type>;
using Opened = std::function<void(Result<std::shared_ptr<WebSocket>>)>;

constexpr std::size_t kWriteBuffer = std::size_t{64} << 10;  // where a client masks what it sends
constexpr std::size_t kReasonBytes = 123;                    // RFC 6455 section 5.5

void configure(Stream& stream, const WebSocketOptions& options, beast::role_type role) {
  beast::websocket::stream_base::timeout timeout =
      beast::websocket::stream_base::timeout::suggested(role);
  timeout.handshake_timeout = options.handshake;
  timeout.idle_timeout = options.idle;
  timeout.keep_alive_pings = true;
  stream.set_option(timeout);
  stream.read_message_max(options.max_message);
  stream.write_buffer_bytes(kWriteBuffer);
  stream.auto_fragment(false);
}

}  // namespace

struct WebSocket::Impl {
  Impl(Loop& l, WebSocketOptions o, Peer p)
      : loop(l), stream(l.native().get_executor()), options(std::move(o)), peer(std::move(p)) {}

  struct Outgoing {
    std::string bytes;
    Kind kind = Kind::Text;
  };
  Loop& loop;
  Stream stream;
  WebSocketOptions options;
  Peer peer;
  std::string protocol;
  beast::flat_buffer in;
  std::deque<Outgoing> queue;
  std::size_t pending = 0;
  bool writing = false;
  bool closing = false;  // we say goodbye after the queue
  bool closed = false;
  beast::websocket::close_reason goodbye;
  Timer close_timer;
  // Shared, so that a callback may replace itself while it runs.
  std::shared_ptr<const std::function<void(std::string, Kind)>> on_message;
  std::function<void(const Closed&)> on_close;
  Task on_drain;
};

// The steps of a WebSocket's life, each holding it until the next.
struct WebSocketAccess {
  using Ptr = std::shared_ptr<WebSocket>;

  static WebSocket::Impl& of(const Ptr& socket) { return *socket->impl_; }

  // The read that is always pending while a WebSocket is open. If it is destroyed instead of
  // called, the loop itself goes away: the callbacks must go too, for they may hold the WebSocket
  // that holds them.
  struct Reading {
    Ptr socket;

    explicit Reading(Ptr s) : socket(std::move(s)) {}
    Reading(Reading&&) noexcept = default;
    ~Reading() {
      if (socket) drop_callbacks(of(socket));
    }
    void operator()(error_code error, std::size_t /*size*/) {
      const Ptr held = std::move(socket);
      WebSocket::Impl& impl = of(held);
      if (error) return finish(held, error);
      std::string message = beast::buffers_to_string(impl.in.data());
      impl.in.consume(impl.in.size());
      const auto kind = impl.stream.got_text() ? WebSocket::Kind::Text : WebSocket::Kind::Binary;
      if (const auto callback = impl.on_message) (*callback)(std::move(message), kind);
      read_next(held);
    }
  };

  static void read_next(const Ptr& socket) {
    WebSocket::Impl& impl = of(socket);
    if (!impl.closed) impl.stream.async_read(impl.in, Reading(socket));
  }

  static void drop_callbacks(WebSocket::Impl& impl) {
    const auto on_message = std::exchange(impl.on_message, nullptr);
    const auto on_drain = std::exchange(impl.on_drain, nullptr);
    const auto on_close = std::exchange(impl.on_close, nullptr);
  }

  static void write_next(const Ptr& socket) {
    WebSocket::Impl& impl = of(socket);
    if (impl.closed || impl.writing) return;
    if (impl.queue.empty()) {
      if (impl.closing) say_goodbye(socket);
      return;
    }
    impl.writing = true;
    impl.stream.text(impl.queue.front().kind == WebSocket::Kind::Text);
    impl.stream.async_write(asio::buffer(impl.queue.front().bytes),
                            [socket](error_code error, std::size_t) {
                              WebSocket::Impl& self = of(socket);
                              self.writing = false;
                              self.pending -= self.queue.front().bytes.size();
                              self.queue.pop_front();
                              if (error) return finish(socket, error);
                              if (self.queue.empty() && !self.closed)
                                if (const Task drained = self.on_drain) drained();
                              write_next(socket);
                            });
  }

  static void say_goodbye(const Ptr& socket) {
    WebSocket::Impl& impl = of(socket);
    impl.writing = true;  // the last frame
    impl.stream.async_close(impl.goodbye, [socket](error_code error) { finish(socket, error); });
  }

  // However it ends, it ends here, once.
  static void finish(const Ptr& socket, error_code error) {
    WebSocket::Impl& impl = of(socket);
    if (std::exchange(impl.closed, true)) return;
    WebSocket::Closed closed;
    const beast::websocket::close_reason& theirs = impl.stream.reason();
    if (!error || error == beast::websocket::error::closed) {
      const auto& reason =
          theirs.code != beast::websocket::close_code::none ? theirs : impl.goodbye;
      closed = {
          reason.code == beast::websocket::close_code::none ? std::uint16_t{1005} : reason.code,
          std::string(reason.reason.data(), reason.reason.size()), true};
    } else if (error == beast::error::timeout) {
      closed.reason =
          format("the peer gave no sign of life for {}", phalanx::to_string(impl.options.idle));
    } else {
      closed.reason = error.message();
    }
    impl.close_timer.cancel();
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): it closes anyway
    impl.stream.next_layer().close(ignored);
    const auto callback = std::exchange(impl.on_close, nullptr);
    drop_callbacks(impl);
    if (callback) callback(closed);
  }

  static Ptr make(Loop& loop, WebSocketOptions options, Peer peer) {
    return std::make_shared<WebSocket>(
        std::make_unique<WebSocket::Impl>(loop, std::move(options), std::move(peer)));
  }
};

WebSocket::WebSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebSocket::~WebSocket() = default;

void WebSocket::on_message(std::function<void(std::string, Kind)> f) {
  if (!impl_->closed)
    impl_->on_message =
        std::make_shared<const std::function<void(std::string, Kind)>>(std::move(f));
}

void WebSocket::on_close(std::function<void(const Closed&)> f) {
  if (!impl_->closed) impl_->on_close = std::move(f);
}

void WebSocket::on_drain(Task f) {
  if (!impl_->closed) impl_->on_drain = std::move(f);
}

bool WebSocket::send(std::string message, Kind kind) {
  if (!is_open() || impl_->pending + message.size() > impl_->options.max_pending) return false;
  impl_->pending += message.size();
  impl_->queue.push_back({std::move(message), kind});
  WebSocketAccess::write_next(shared_from_this());
  return true;
}

void WebSocket::close(std::uint16_t code, std::string_view reason) {
  if (!is_open()) return;
  impl_->closing = true;
  impl_->goodbye.code = code;
  reason = reason.substr(0, kReasonBytes);
  impl_->goodbye.reason.assign(reason.data(), reason.size());
  impl_->close_timer = impl_->loop.after(impl_->options.handshake, [socket = shared_from_this()] {
    WebSocketAccess::finish(socket, beast::error::timeout);
  });
  WebSocketAccess::write_next(shared_from_this());
}

bool WebSocket::is_open() const { return !impl_->closed && !impl_->closing; }
std::size_t WebSocket::pending_bytes() const { return impl_->pending; }
const Peer& WebSocket::peer() const { return impl_->peer; }
const std::string& WebSocket::protocol() const { return impl_->protocol; }

void accept_websocket(Loop& loop, Fd fd, const UpgradeRequest& request, WebSocketOptions options,
                      Peer peer, std::function<void(std::shared_ptr<WebSocket>)> opened) {
  const int family = peer.kind == Peer::Kind::Unix ? AF_UNIX : AF_INET;
  const auto socket = WebSocketAccess::make(loop, std::move(options), std::move(peer));
  WebSocket::Impl& impl = WebSocketAccess::of(socket);
  error_code error;
  // NOLINTNEXTLINE(bugprone-unused-return-value): it is in error
  impl.stream.next_layer().assign(Protocol(family, 0), fd.get(), error);
  if (error) return;
  (void)fd.release();
  configure(impl.stream, impl.options, beast::role_type::server);
  impl.protocol = impl.options.protocol;
  impl.stream.set_option(
      beast::websocket::stream_base::decorator([name = impl.protocol](auto& message) {
        message.erase(http::field::server);
        if (!name.empty()) message.set(http::field::sec_websocket_protocol, name);
      }));
  http::request<http::string_body> upgrade(http::verb::get, "/", 11);
  upgrade.set(http::field::host, request.host);
  upgrade.set(http::field::connection, "upgrade");
  upgrade.set(http::field::upgrade, "websocket");
  upgrade.set(http::field::sec_websocket_key, request.key);
  upgrade.set(http::field::sec_websocket_version, request.version);
  impl.stream.async_accept(upgrade, [socket, done = std::move(opened)](error_code failed) {
    if (failed) return WebSocketAccess::finish(socket, failed);
    done(socket);
    WebSocketAccess::read_next(socket);
  });
}

namespace {

Error refusal(const http::response<http::string_body>& response) {
  const unsigned status = response.result_int();
  std::string message = format("{} {}", status, status_text(static_cast<int>(status)));
  if (const auto body = trim(response.body()); !body.empty()) message += format(": {}", body);
  switch (status) {
    case 401:
    case 403:
      return denied(std::move(message));
    case 404:
      return not_found(std::move(message));
    case 409:
      return conflict(std::move(message));
    case 429:
      return unavailable(std::move(message));
    default:
      return status >= 500 ? unavailable(std::move(message)) : invalid(std::move(message));
  }
}

// One attempt to connect: resolve, connect to one address after the other, shake hands.
class Opening : public std::enable_shared_from_this<Opening> {
 public:
  Opening(Loop& loop, Endpoint endpoint, std::string target, Headers headers,
          WebSocketOptions options, Opened done)
      : loop_(loop),
        endpoint_(std::move(endpoint)),
        target_(std::move(target)),
        headers_(std::move(headers)),
        done_(std::move(done)),
        socket_(WebSocketAccess::make(loop, std::move(options), {})),
        resolver_(loop.native().get_executor()) {}

  void start() {
    const auto self = shared_from_this();
    timer_ = loop_.after(impl().options.handshake,
                         [self] { self->fail(unavailable("no answer in time")); });
    if (endpoint_.kind == Endpoint::Kind::Unix) {
      // Asio throws where a path is too long.
      if (const auto address = unix_address(endpoint_.path); !address)
        return fail_later(address.error());
      addresses_.emplace_back(asio::local::stream_protocol::endpoint(endpoint_.path));
      return connect_next({});
    }
    resolver_.async_resolve(endpoint_.host, std::to_string(endpoint_.port),
                            Resolver::flags::numeric_service,
                            [self](error_code error, const Resolver::results_type& found) {
                              for (const auto& entry : found)
                                self->addresses_.emplace_back(entry.endpoint());
                              self->connect_next(error);
                            });
  }

 private:
  WebSocket::Impl& impl() { return WebSocketAccess::of(socket_); }

  void connect_next(error_code last) {
    if (!done_) return;
    if (next_ == addresses_.size())
      return fail_later(unavailable(last ? last.message() : "no address"));
    error_code ignored;
    Socket& socket = impl().stream.next_layer();
    socket.close(ignored);  // NOLINT(bugprone-unused-return-value): it closes anyway
    socket.async_connect(addresses_[next_++], [self = shared_from_this()](error_code error) {
      if (error) return self->connect_next(error);
      self->shake_hands();
    });
  }

  void shake_hands() {
    if (!done_) return;
    if (auto peer = peer_of(impl().stream.next_layer().native_handle()))
      impl().peer = std::move(*peer);
    if (endpoint_.kind == Endpoint::Kind::Tcp) {
      error_code ignored;
      // NOLINTNEXTLINE(bugprone-unused-return-value): slower without it
      impl().stream.next_layer().set_option(asio::ip::tcp::no_delay(true), ignored);
    }
    configure(impl().stream, impl().options, beast::role_type::client);
    impl().stream.set_option(beast::websocket::stream_base::decorator(
        [headers = headers_](beast::websocket::request_type& request) {
          for (const Header& header : headers) request.insert(header.name, header.value);
        }));
    const std::string host =
        endpoint_.kind == Endpoint::Kind::Unix ? "localhost" : to_string(endpoint_);
    impl().stream.async_handshake(response_, host, target_,
                                  [self = shared_from_this()](error_code error) {
                                    if (error == beast::websocket::error::upgrade_declined)
                                      return self->fail(refusal(self->response_));
                                    if (error) return self->fail(unavailable(error.message()));
                                    self->succeed();
                                  });
  }

  void succeed() {
    if (!done_) return;
    timer_.cancel();
    const auto protocol = response_[http::field::sec_websocket_protocol];
    impl().protocol = std::string(protocol.data(), protocol.size());
    std::exchange(done_, nullptr)(socket_);
    WebSocketAccess::read_next(socket_);
  }

  // Never from within connect_websocket: the caller may not be ready.
  void fail_later(Error error) {
    loop_.post([self = shared_from_this(), error = std::move(error)] { self->fail(error); });
  }

  void fail(Error error) {
    if (!done_) return;
    timer_.cancel();
    resolver_.cancel();
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): it closes anyway
    impl().stream.next_layer().close(ignored);
    error.message =
        format("cannot open a WebSocket to {}: {}", to_string(endpoint_), error.message);
    std::exchange(done_, nullptr)(std::move(error));
  }

  Loop& loop_;
  Endpoint endpoint_;
  std::string target_;
  Headers headers_;
  Opened done_;
  std::shared_ptr<WebSocket> socket_;
  Resolver resolver_;
  std::vector<Protocol::endpoint> addresses_;
  std::size_t next_ = 0;
  http::response<http::string_body> response_;
  Timer timer_;
};

}  // namespace

void connect_websocket(Loop& loop, const Endpoint& endpoint, std::string target, Headers headers,
                       WebSocketOptions options, Opened done) {
  std::make_shared<Opening>(loop, endpoint, std::move(target), std::move(headers),
                            std::move(options), std::move(done))
      ->start();
}

}  // namespace phalanx::net
