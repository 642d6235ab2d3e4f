#include "net/websocket.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "base/text.h"
#include "net/test_server.h"

namespace phalanx::net {
namespace {

using Socket = std::shared_ptr<WebSocket>;

// Server and client on one loop, in the test's own thread.
class WebSocketTest : public testing::Test {
 protected:
  void serve(std::function<void(Socket)> opened, const WebSocketOptions& options = {}) {
    server_ = std::make_unique<HttpServer>(
        loop_, [opened = std::move(opened), options](const Request& request,
                                                     const std::shared_ptr<Responder>& responder) {
          if (request.path == "/secret")
            return responder->reply(403, "text/plain", std::string("not for you"));
          if (request.path == "/wait")
            return responder->reply(503, "text/plain", std::string("later"));
          responder->upgrade(options, opened);
        });
    ASSERT_TRUE(server_->listen(UnixSocket{.path = path(), .mode = 0600}).ok());
    port_ = server_->listen("127.0.0.1", 0).value();
  }
  void connect(std::function<void(Socket)> opened, WebSocketOptions options = {},
               Headers headers = {}) {
    connect_websocket(loop_, Endpoint::unix_socket(path()), "/ws", std::move(headers),
                      std::move(options),
                      [opened = std::move(opened)](const Result<Socket>& socket) {
                        ASSERT_TRUE(socket.ok()) << socket.error().message;
                        opened(*socket);
                      });
  }
  [[nodiscard]] std::string path() const { return folder_.file("s"); }

  TempFolder folder_;
  Loop loop_;
  std::unique_ptr<HttpServer> server_;
  std::uint16_t port_ = 0;
};

void echo(const Socket& socket) {
  socket->on_message([raw = socket.get()](std::string message, WebSocket::Kind kind) {
    EXPECT_TRUE(raw->send(std::move(message), kind));
  });
}

TEST_F(WebSocketTest, EchoesTextAndBinaryThenCloses) {
  std::vector<WebSocket::Closed> server_closed;
  serve([&](const Socket& socket) {
    EXPECT_EQ(socket->peer().kind, Peer::Kind::Unix);
    EXPECT_EQ(socket->peer().uid, ::getuid());
    echo(socket);
    socket->on_close([&](const WebSocket::Closed& closed) {
      server_closed.push_back(closed);
      if (server_closed.size() == 1) loop_.stop();
    });
  });
  const std::string big(3 << 20, '\x80');
  std::vector<std::size_t> sizes;
  connect([&](const Socket& socket) {
    socket->on_message([&, raw = socket.get()](const std::string& message, WebSocket::Kind kind) {
      sizes.push_back(message.size());
      EXPECT_EQ(kind, message == "text" ? WebSocket::Kind::Text : WebSocket::Kind::Binary);
      if (sizes.size() == 3) raw->close(4000, "enough");
    });
    EXPECT_TRUE(socket->send("text"));
    EXPECT_TRUE(socket->send(big, WebSocket::Kind::Binary));
    EXPECT_TRUE(socket->send("", WebSocket::Kind::Binary));
    EXPECT_EQ(socket->pending_bytes(), 4 + big.size());
  });
  loop_.run();
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, big.size(), 0}));
  ASSERT_EQ(server_closed.size(), 1U);
  EXPECT_EQ(server_closed[0].code, 4000);
  EXPECT_EQ(server_closed[0].reason, "enough");
  EXPECT_TRUE(server_closed[0].clean);
}

TEST_F(WebSocketTest, CloseComesAfterWhatIsQueued) {
  serve([](const Socket& socket) {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(socket->send(std::string(10000, 'x')));
    socket->close(1001, "restart");
    EXPECT_FALSE(socket->send("too late"));
  });
  std::size_t got = 0;
  std::optional<WebSocket::Closed> end;
  connect([&](const Socket& socket) {
    socket->on_message([&](const std::string& message, WebSocket::Kind) { got += message.size(); });
    socket->on_close([&](const WebSocket::Closed& closed) {
      end = closed;
      loop_.stop();
    });
  });
  loop_.run();
  EXPECT_EQ(got, 1'000'000U);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code, 1001);
  EXPECT_EQ(end->reason, "restart");
}

TEST_F(WebSocketTest, AgreesOnAProtocolAndCarriesHeaders) {
  serve([](const Socket& socket) { socket->send("hello"); }, {.protocol = "v5.channel.k8s.io"});
  connect(
      [&](const Socket& socket) {
        EXPECT_EQ(socket->protocol(), "v5.channel.k8s.io");
        socket->on_message([&](const std::string&, WebSocket::Kind) { loop_.stop(); });
      },
      {}, {{"Sec-WebSocket-Protocol", "v5.channel.k8s.io"}, {"Authorization", "Bearer x"}});
  loop_.run();
}

TEST_F(WebSocketTest, SaysWhyItCannotOpen) {
  serve([](const Socket&) {});
  std::vector<Error> errors;
  const auto attempt = [&](const Endpoint& endpoint, std::string target) {
    connect_websocket(loop_, endpoint, std::move(target), {}, {},
                      [&](const Result<Socket>& socket) {
                        ASSERT_FALSE(socket.ok());
                        errors.push_back(socket.error());
                        loop_.stop();
                      });
    loop_.run();
    return errors.back();
  };
  const Endpoint here = Endpoint::tcp("127.0.0.1", port_);
  EXPECT_EQ(attempt(here, "/secret").code, Error::Code::Denied);
  EXPECT_NE(errors.back().message.find("403 Forbidden: not for you"), std::string::npos)
      << errors.back().message;
  EXPECT_EQ(attempt(here, "/wait").code, Error::Code::Unavailable);
  EXPECT_EQ(attempt(Endpoint::unix_socket(folder_.file("none")), "/").code,
            Error::Code::Unavailable);
  EXPECT_EQ(attempt(Endpoint::unix_socket(std::string(200, 'x')), "/").code, Error::Code::Invalid);
  EXPECT_EQ(errors.size(), 4U);
}

TEST_F(WebSocketTest, NoticesADeadPeer) {
  std::optional<WebSocket::Closed> end;
  Socket held;
  serve(
      [&](const Socket& socket) {
        held = socket;
        socket->on_close([&](const WebSocket::Closed& closed) {
          end = closed;
          loop_.stop();
        });
      },
      {.idle = milliseconds(40)});
  // Shakes hands and never answers a ping.
  std::thread client([&] {
    const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = unix_address(path()).value();
    ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string_view hello =
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: "
        "websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    ASSERT_EQ(::send(fd.get(), hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
    std::string seen;
    char byte = 0;
    while (::recv(fd.get(), &byte, 1, 0) == 1) seen += byte;
    EXPECT_TRUE(seen.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << printable(seen);
    EXPECT_NE(seen.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos);
    EXPECT_NE(seen.find('\x89'), std::string::npos);  // a ping
  });
  loop_.run();
  client.join();
  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(end->clean);
  EXPECT_EQ(end->code, 1006);
  EXPECT_EQ(end->reason, "the peer gave no sign of life for 40ms");
}

TEST_F(WebSocketTest, IdleButAliveStaysOpen) {
  const WebSocketOptions options{.idle = milliseconds(20)};
  Socket held;
  serve(
      [&](const Socket& socket) {
        held = socket;
        echo(socket);
      },
      options);
  Timer timer;
  connect(
      [&](const Socket& socket) {
        socket->on_message([&](const std::string&, WebSocket::Kind) { loop_.stop(); });
        socket->on_close([&](const WebSocket::Closed& closed) {
          ADD_FAILURE() << closed.reason;
          loop_.stop();
        });
        timer = loop_.after(milliseconds(100), [socket] { socket->send("still here"); });
      },
      options);
  loop_.run();
}

TEST_F(WebSocketTest, QueueAndMessagesAreBounded) {
  std::optional<WebSocket::Closed> end;
  serve(
      [&](const Socket& socket) {
        socket->on_close([&](const WebSocket::Closed& closed) {
          end = closed;
          loop_.stop();
        });
      },
      {.max_message = 1000});
  connect(
      [&](const Socket& socket) {
        EXPECT_FALSE(socket->send(std::string(3000, 'x')));
        EXPECT_TRUE(socket->send(std::string(2000, 'x')));
        EXPECT_FALSE(socket->send("x"));
      },
      {.max_pending = 2000});
  loop_.run();
  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(end->clean);
}

TEST_F(WebSocketTest, PlainRequestsAreTold) {
  serve([](const Socket&) {});
  std::thread client([&] {
    HttpClient http(Endpoint::unix_socket(path()));
    const auto response = http.request("GET", "/");
    EXPECT_EQ(response.value().status, 426);
    EXPECT_EQ(response.value().headers.find("Upgrade"), "websocket");
    EXPECT_TRUE(http.request("GET", "/secret").ok());
    loop_.stop();
  });
  loop_.run();
  client.join();
}

TEST_F(WebSocketTest, CallbacksThatHoldTheirSocketDoNotLeak) {
  std::weak_ptr<WebSocket> server_side;
  std::weak_ptr<WebSocket> client_side;
  int closed = 0;
  const auto count = [&] {
    if (++closed == 2) loop_.post([this] { loop_.stop(); });
  };
  serve([&](const Socket& socket) {
    server_side = socket;
    socket->on_message([socket](const std::string&, WebSocket::Kind) { socket->close(); });
    socket->on_close([socket, count](const WebSocket::Closed&) { count(); });
  });
  connect([&](const Socket& socket) {
    client_side = socket;
    socket->on_drain([socket] {});
    socket->on_close([socket, count](const WebSocket::Closed&) { count(); });
    socket->send("bye");
  });
  loop_.run();
  server_.reset();
  EXPECT_EQ(closed, 2);
}

TEST(WebSocketAndLoop, CallbacksGoWithTheLoop) {
  const TempFolder folder;
  std::weak_ptr<WebSocket> server_side;
  std::weak_ptr<WebSocket> client_side;
  {
    Loop loop;
    HttpServer server(loop, [&](const Request&, const std::shared_ptr<Responder>& responder) {
      responder->upgrade({}, [&](const Socket& socket) {
        server_side = socket;
        socket->on_message([&, socket](const std::string&, WebSocket::Kind) { loop.stop(); });
      });
    });
    ASSERT_TRUE(server.listen(UnixSocket{.path = folder.file("s")}).ok());
    connect_websocket(loop, Endpoint::unix_socket(folder.file("s")), "/", {}, {},
                      [&](const Result<Socket>& socket) {
                        client_side = *socket;
                        (*socket)->on_message([socket](const std::string&, WebSocket::Kind) {});
                        (*socket)->send("stop");
                      });
    loop.run();
    EXPECT_FALSE(server_side.expired());
    EXPECT_FALSE(client_side.expired());
  }
  EXPECT_TRUE(server_side.expired());
  EXPECT_TRUE(client_side.expired());
}

}  // namespace
}  // namespace phalanx::net
