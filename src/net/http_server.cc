#include "net/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "net/http_connection.h"

namespace phalanx::net {
namespace {

constexpr int kAcceptBatch =
    64;  // connections a wake-up, so that a flood leaves time for the others
constexpr Duration kAcceptRetry = milliseconds(100);

std::uint64_t inode_of(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

// Small answers leave at once, and the kernel finds out about peers that vanished.
void tune_tcp(int fd, Duration stall) {
  const int on = 1;
  const int idle = 60;
  const auto timeout = static_cast<unsigned>(stall.count());
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
}

void take_in(const std::shared_ptr<ServerCore>& core, Fd fd) {
  auto peer = peer_of(fd.get());
  if (!peer) return;  // gone already
  if (peer->kind == Peer::Kind::Tcp) tune_tcp(fd.get(), core->options.write_stall);
  const bool full = core->connections.size() >= core->options.max_connections;
  auto connection = std::make_shared<Connection>(core, std::move(fd), std::move(*peer));
  core->connections.emplace(connection.get(), connection);
  connection->start();
  if (full) connection->refuse(503, "there are too many connections; try again later");
}

void accept_all(const std::shared_ptr<ServerCore>& core, Listener& listener) {
  for (int i = 0; i < kAcceptBatch; ++i) {
    Fd fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      take_in(core, std::move(fd));
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      listener.retry = core->loop.after(kAcceptRetry, [&listener] { listener.watch.arm_read(); });
      return;
    }
    if (errno == EAGAIN) break;  // every other error is that of one connection, already gone
  }
  listener.watch.arm_read();
}

void start_listener(const std::shared_ptr<ServerCore>& core, Fd fd, std::string path) {
  Listener& listener = *core->listeners.emplace_back(std::make_unique<Listener>());
  listener.fd = std::move(fd);
  listener.path = std::move(path);
  if (!listener.path.empty()) listener.inode = inode_of(listener.path);
  listener.watch = core->loop.watch(listener.fd.get(), [weak = std::weak_ptr(core), &listener] {
    if (const auto alive = weak.lock()) accept_all(alive, listener);
  });
  listener.watch.arm_read();
}

void sweep_later(const std::shared_ptr<ServerCore>& core) {
  core->sweeper = core->loop.after(core->options.sweep, [weak = std::weak_ptr(core)] {
    const auto alive = weak.lock();
    if (!alive) return;
    const SteadyTime now = std::chrono::steady_clock::now();
    const auto connections = alive->connections;  // a callback may close some
    for (const auto& [key, connection] : connections) connection->sweep(now);
    sweep_later(alive);
  });
}

}  // namespace

Listener::~Listener() {
  watch.cancel();
  if (!path.empty() && inode != 0 && inode_of(path) == inode) ::unlink(path.c_str());
}

Responder::Responder(Loop& loop, std::shared_ptr<Connection> connection, std::uint64_t exchange)
    : loop_(loop), connection_(std::move(connection)), exchange_(exchange) {}

Responder::~Responder() {
  if (posted_) return;
  if (loop_.in_loop_thread()) {
    connection_->drop_answer(exchange_);
  } else {
    loop_.post([connection = std::move(connection_), exchange = exchange_] {
      connection->drop_answer(exchange);
    });
  }
}

void Responder::reply(int status, std::string_view content_type, std::string body,
                      const Headers& headers) {
  connection_->reply(exchange_, {status, content_type, std::move(body), nullptr, &headers});
}

void Responder::reply(int status, std::string_view content_type,
                      std::shared_ptr<const std::string> body, const Headers& headers) {
  connection_->reply(exchange_, {status, content_type, {}, std::move(body), &headers});
}

void Responder::post_reply(int status, std::string content_type, std::string body,
                           Headers headers) {
  posted_ = true;
  loop_.post([connection = connection_, exchange = exchange_, status,
              type = std::move(content_type), text = std::move(body),
              extra = std::move(headers)]() mutable {
    connection->reply(exchange, {status, type, std::move(text), nullptr, &extra});
  });
}

void Responder::begin_stream(int status, std::string_view content_type, const Headers& headers) {
  connection_->begin_stream(exchange_, {status, content_type, {}, nullptr, &headers});
}

void Responder::write(std::string chunk) { connection_->write(exchange_, std::move(chunk)); }

void Responder::end() { connection_->end(exchange_); }

std::size_t Responder::pending_bytes() const { return connection_->pending_bytes(exchange_); }

void Responder::on_drain(Task f) { connection_->on_drain(exchange_, std::move(f)); }

void Responder::on_close(Task f) { connection_->on_close(exchange_, std::move(f)); }

bool Responder::closed() const { return !connection_->open(exchange_); }

void Responder::upgrade(WebSocketOptions options,
                        std::function<void(std::shared_ptr<WebSocket>)> opened) {
  connection_->upgrade(exchange_, std::move(options), std::move(opened));
}

HttpServer::HttpServer(Loop& loop, Handler handler, ServerOptions options)
    : core_(std::make_shared<ServerCore>(loop, std::move(handler), options)) {
  sweep_later(core_);
}

HttpServer::~HttpServer() {
  core_->listeners.clear();
  core_->sweeper.cancel();
  const auto connections = std::exchange(core_->connections, {});
  for (const auto& [key, connection] : connections) connection->abandon();
  core_->handler = nullptr;  // it may hold what holds our responders
}

Status HttpServer::listen(const UnixSocket& socket) {
  Fd fd = TRY(listen_unix(socket));
  start_listener(core_, std::move(fd), socket.path);
  return {};
}

Result<std::uint16_t> HttpServer::listen(const std::string& host, std::uint16_t port) {
  Fd fd = TRY(listen_tcp(host, port));
  const std::uint16_t bound = local_port(fd.get());
  start_listener(core_, std::move(fd), {});
  return bound;
}

void HttpServer::stop() {
  core_->stopping = true;
  core_->listeners.clear();
  const auto connections = core_->connections;
  for (const auto& [key, connection] : connections) connection->retire();
}

std::size_t HttpServer::connections() const { return core_->connections.size(); }

}  // namespace phalanx::net
