#include "net/http_server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/text.h"
#include "net/test_server.h"

namespace phalanx::net {
namespace {

void echo(const Request& request, const std::shared_ptr<Responder>& responder) {
  responder->reply(200, "text/plain", request.method + " " + request.path + " " + request.body);
}

std::string get(std::string_view path, std::string_view headers = "") {
  return format("GET {} HTTP/1.1\r\nHost: x\r\n{}\r\n", path, headers);
}

std::string status_line(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }

// A value that another thread waits for.
template <class T>
class Box {
 public:
  void put(T value) { promise_.set_value(std::move(value)); }
  T take() { return promise_.get_future().get(); }

 private:
  std::promise<T> promise_;
};

TEST(HttpServer, AnswersOnUnixAndTcp) {
  TestServer server([](const Request& request, const std::shared_ptr<Responder>& responder) {
    const Peer& peer = request.peer;
    const bool local = peer.kind == Peer::Kind::Unix;
    const std::string who =
        local ? format("unix {} {} {}", peer.uid, peer.gid, peer.pid) : "tcp " + peer.address;
    responder->reply(200, "text/plain", who, {{"X-Extra", "a\r\nb"}});
  });
  HttpClient local(server.unix_endpoint());
  const auto response = local.request("GET", "/");
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, format("unix {} {} {}", ::getuid(), ::getgid(), ::getpid()));
  EXPECT_EQ(response->headers.find("content-type"), "text/plain");
  EXPECT_EQ(response->headers.find("x-extra"), "a  b");
  EXPECT_TRUE(response->headers.find("date").has_value());

  HttpClient remote(server.tcp_endpoint());
  EXPECT_TRUE(remote.request("GET", "/").value().body.starts_with("tcp 127.0.0.1:"));
}

TEST(HttpServer, DecodesTheTarget) {
  TestServer server([](const Request& request, const std::shared_ptr<Responder>& responder) {
    responder->reply(200, "",
                     request.path + "|" + std::string(request.query.find("q").value_or("none")) +
                         "|" + join(request.query.all("c"), ","));
  });
  HttpClient client(server.unix_endpoint());
  EXPECT_EQ(client.request("GET", "/a%2Fb?q=x+y&c=1&c=2").value().body, "/a/b|x y|1,2");
  EXPECT_EQ(client.request("GET", "/%zz").value().status, 400);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  // Every second answer is late.
  TestServer server([](const Request& request, const std::shared_ptr<Responder>& responder) {
    if (request.path.back() % 2 == 0) return responder->reply(200, "", request.path);
    std::thread([responder, path = request.path] {
      responder->post_reply(200, "", path);
    }).detach();
  });
  RawClient client(server);
  std::string requests;
  for (char c = 'a'; c <= 'z'; ++c) requests += get(std::string("/") + c);
  ASSERT_TRUE(client.send(requests));
  for (char c = 'a'; c <= 'z'; ++c) {
    EXPECT_EQ(status_line(client.read_until("\r\n\r\n")), "HTTP/1.1 200 OK");
    EXPECT_EQ(client.read_until(std::string("/") + c), std::string("/") + c);
  }
}

TEST(HttpServer, ReadsBodiesInEveryForm) {
  TestServer server(echo);
  RawClient client(server);
  ASSERT_TRUE(client.send("POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  for (const std::string_view piece : {"3\r", "\nab", "c\r\n2;x\r\nde\r\n0", "\r\n\r\n"})
    ASSERT_TRUE(client.send(piece));
  EXPECT_NE(client.read_until("POST /c abcde").find("Content-Length: 13"), std::string::npos);

  ASSERT_TRUE(client.send(
      "POST /e HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(client.send("ok"));
  EXPECT_TRUE(client.read_until("POST /e ok").ends_with("POST /e ok"));

  HttpClient big(server.tcp_endpoint());
  const std::string body(20 << 20, 'b');
  EXPECT_EQ(big.request("PUT", "/big", {}, body).value().body, "PUT /big " + body);
}

TEST(HttpServer, HeadHasALengthAndNoBody) {
  TestServer server(echo);
  RawClient client(server);
  ASSERT_TRUE(
      client.send("HEAD /h HTTP/1.1\r\nHost: x\r\n\r\n" + get("/g", "Connection: close\r\n")));
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_NE(head.find("Content-Length: 8\r\n"), std::string::npos);
  EXPECT_EQ(status_line(client.read_to_end()), "HTTP/1.1 200 OK");
}

TEST(HttpServer, HonoursConnectionHeaders) {
  TestServer server(echo);
  RawClient old(server);
  ASSERT_TRUE(old.send("GET /o HTTP/1.0\r\n\r\n"));
  EXPECT_NE(old.read_to_end().find("Connection: close\r\n"), std::string::npos);
  RawClient kept(server);
  ASSERT_TRUE(kept.send("GET /k HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_NE(kept.read_until("GET /k ").find("Connection: keep-alive\r\n"), std::string::npos);
}

TEST(HttpServer, RefusesWhatItCannotRead) {
  ServerOptions options;
  options.limits = {.head = 1000, .headers = 20, .body = 1000};
  TestServer server(echo, options);
  const struct {
    std::string request, answer;
  } cases[] = {
      {"GET /\r\n\r\n", "HTTP/1.1 400 Bad Request"},
      {"\x16\x03\x01 hello", "HTTP/1.1 400 Bad Request"},
      {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request"},
      {"GET / HTTP/3.0\r\nHost: x\r\n\r\n", "HTTP/1.1 505 HTTP Version Not Supported"},
      {get("/", "A: " + std::string(2000, 'x')), "HTTP/1.1 431 Request Header Fields Too Large"},
      {get("/", "Transfer-Encoding: gzip\r\n"), "HTTP/1.1 501 Not Implemented"},
      {get("/", "Content-Length: 1001\r\n") + std::string(1001, 'x'),
       "HTTP/1.1 413 Content Too Large"},
      {get("/", "Transfer-Encoding: chunked\r\n") + "fff\r\n", "HTTP/1.1 413 Content Too Large"},
      {get("/", "Expect: x\r\n"), "HTTP/1.1 417 Expectation Failed"},
  };
  for (const auto& c : cases) {
    RawClient client(server);
    ASSERT_TRUE(client.send(c.request));
    client.end_output();
    const std::string answer = client.read_to_end();
    EXPECT_EQ(status_line(answer), c.answer) << printable(c.request.substr(0, 60));
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  }
}

TEST(HttpServer, ARefusedUploadStillGetsItsAnswer) {
  ServerOptions options;
  options.limits.body = 1000;
  TestServer server(echo, options);
  HttpClient client(server.tcp_endpoint());
  EXPECT_EQ(client.request("PUT", "/", {}, std::string(8 << 20, 'x')).value().status, 413);
}

TEST(HttpServer, TimesOutSlowRequestsAndIdleConnections) {
  ServerOptions options;
  options.head = options.body_grace = options.idle = milliseconds(20);
  options.sweep = milliseconds(5);
  TestServer server(echo, options);
  RawClient slow_head(server);
  ASSERT_TRUE(slow_head.send("GET / HT"));
  RawClient slow_body(server);
  ASSERT_TRUE(slow_body.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"));
  RawClient silent(server);
  RawClient idle(server);
  ASSERT_TRUE(idle.send(get("/i")));
  EXPECT_EQ(status_line(slow_head.read_to_end()), "HTTP/1.1 408 Request Timeout");
  EXPECT_EQ(status_line(slow_body.read_to_end()), "HTTP/1.1 408 Request Timeout");
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_TRUE(idle.read_to_end().ends_with("GET /i "));
}

TEST(HttpServer, LimitsConnections) {
  ServerOptions options;
  options.max_connections = 2;
  TestServer server(echo, options);
  HttpClient a(server.unix_endpoint());
  HttpClient b(server.unix_endpoint());
  EXPECT_EQ(a.request("GET", "/").value().status, 200);
  EXPECT_EQ(b.request("GET", "/").value().status, 200);
  HttpClient c(server.unix_endpoint());
  EXPECT_EQ(c.request("GET", "/").value().status, 503);
}

TEST(HttpServer, AForgottenAnswerIsAnError) {
  TestServer server([](const Request&, const std::shared_ptr<Responder>&) {});
  HttpClient client(server.unix_endpoint());
  EXPECT_EQ(client.request("GET", "/").value().status, 500);
  EXPECT_EQ(client.request("GET", "/").value().status, 500);
}

TEST(HttpServer, TheFirstAnswerCounts) {
  TestServer server([](const Request&, const std::shared_ptr<Responder>& responder) {
    responder->reply(201, "", std::string("first"));
    EXPECT_TRUE(responder->closed());
    responder->reply(202, "", std::string("second"));
    responder->begin_stream(203, "");
    responder->write("third");
    responder->end();
    responder->upgrade({}, [](const std::shared_ptr<WebSocket>&) { ADD_FAILURE(); });
  });
  HttpClient client(server.unix_endpoint());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.request("GET", "/").value().body, "first");
}

TEST(HttpServer, TellsTheHandlerThatThePeerIsGone) {
  Box<bool> arrived, gone;
  std::shared_ptr<Responder> held;
  TestServer server([&](const Request&, const std::shared_ptr<Responder>& responder) {
    held = responder;
    responder->on_close([&] { gone.put(true); });
    arrived.put(true);
  });
  RawClient client(server);
  ASSERT_TRUE(client.send(get("/")));
  arrived.take();
  client.close();
  EXPECT_TRUE(gone.take());
  server.on_loop([&] {
    held->reply(200, "", std::string("into the void"));
    held.reset();
  });
}

TEST(HttpServer, APeerThatOnlyStoppedSendingGetsItsAnswer) {
  std::shared_ptr<Responder> held;
  Box<bool> gone;
  TestServer server([&](const Request&, const std::shared_ptr<Responder>& responder) {
    held = responder;
    responder->on_close([&] { gone.put(true); });
  });
  RawClient client(server);
  ASSERT_TRUE(client.send(get("/")));
  client.end_output();
  gone.take();
  server.on_loop([&] {
    held->reply(200, "", std::string(1 << 20, 'x'));
    held.reset();
  });
  EXPECT_TRUE(client.read_to_end().ends_with("xxx"));
}

TEST(HttpServer, StreamsWithBackPressure) {
  constexpr std::size_t kTotal = std::size_t{32} << 20;
  std::atomic<std::size_t> most = 0;
  TestServer server([&](const Request&, const std::shared_ptr<Responder>& responder) {
    responder->begin_stream(200, "application/octet-stream");
    auto written = std::make_shared<std::size_t>(0);
    const auto pump = [&most, responder, written] {
      while (*written < kTotal && responder->pending_bytes() < (1 << 18)) {
        responder->write(std::string(1 << 15, 's'));
        *written += 1 << 15;
      }
      most = std::max(most.load(), responder->pending_bytes());
      if (*written == kTotal) responder->end();
    };
    responder->on_drain(pump);
    pump();
  });
  HttpClient client(server.tcp_endpoint());
  std::size_t got = 0;
  const auto response = client.stream("GET", "/", {}, {}, [&](std::string_view piece) {
    got += piece.size();
    return true;
  });
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "");
  EXPECT_EQ(got, kTotal);
  EXPECT_LT(most.load(), std::size_t{1} << 20);
  EXPECT_TRUE(client.request("GET", "/").ok());  // the connection is still good
}

TEST(HttpServer, DropsAStreamWhoseReaderLags) {
  ServerOptions options;
  options.max_pending = 1 << 20;
  Box<bool> gone;
  TestServer server(
      [&](const Request&, const std::shared_ptr<Responder>& responder) {
        responder->on_close([&] { gone.put(true); });
        responder->begin_stream(200, "");
        for (int i = 0; i < 100; ++i) responder->write(std::string(1 << 17, 'x'));
      },
      options);
  RawClient client(server);
  ASSERT_TRUE(client.send(get("/")));
  EXPECT_TRUE(gone.take());
}

TEST(HttpServer, AStreamCutShortDoesNotLookComplete) {
  TestServer server([](const Request&, const std::shared_ptr<Responder>& responder) {
    responder->begin_stream(200, "");
    responder->write("half");
  });
  HttpClient client(server.unix_endpoint());
  EXPECT_FALSE(client.request("GET", "/").ok());
  EXPECT_EQ(client.failure(), HttpClient::Failure::Lost);
}

TEST(HttpServer, SharesLargeBodies) {
  const auto body = std::make_shared<const std::string>(std::string(5 << 20, 'c'));
  TestServer server([&](const Request&, const std::shared_ptr<Responder>& responder) {
    responder->reply(200, "text/plain", body);
  });
  HttpClient client(server.unix_endpoint());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.request("GET", "/").value().body, *body);
}

TEST(HttpServer, ServesAThousandConnections) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 8192);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  TestServer server(echo);
  std::vector<std::unique_ptr<RawClient>> clients;
  clients.reserve(1000);
  for (int i = 0; i < 1000; ++i) clients.push_back(std::make_unique<RawClient>(server));
  for (int round = 0; round < 2; ++round) {
    for (const auto& client : clients) ASSERT_TRUE(client->send(get("/n")));
    for (const auto& client : clients)
      ASSERT_TRUE(client->read_until("GET /n ").ends_with("GET /n "));
  }
  EXPECT_EQ(server.on_loop([&] { return server.server().connections(); }), 1000U);
  clients.clear();
}

TEST(HttpServer, StopsAfterTheAnswersThatAreDue) {
  std::shared_ptr<Responder> held;
  Box<bool> arrived;
  TestServer server([&](const Request& request, const std::shared_ptr<Responder>& responder) {
    if (request.path != "/late") return echo(request, responder);
    held = responder;
    arrived.put(true);
  });
  RawClient idle(server);
  ASSERT_TRUE(idle.send(get("/i")));
  idle.read_until("GET /i ");
  RawClient late(server);
  ASSERT_TRUE(late.send(get("/late")));
  arrived.take();
  const std::string path = server.path();
  server.on_loop([&] { server.server().stop(); });
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_FALSE(std::filesystem::exists(path));
  server.on_loop([&] {
    held->reply(200, "", std::string("done"));
    held.reset();
  });
  EXPECT_TRUE(late.read_to_end().ends_with("done"));
}

TEST(HttpServer, GoesAwayUnderItsConnections) {
  std::vector<std::shared_ptr<Responder>> held;
  Box<bool> arrived;
  auto loop = std::make_unique<Loop>();
  const TempFolder folder;
  auto server = std::make_unique<HttpServer>(
      *loop, [&](const Request&, std::shared_ptr<Responder> responder) {
        responder->on_close([] { ADD_FAILURE(); });
        held.push_back(std::move(responder));
        loop->stop();
      });
  ASSERT_TRUE(server->listen(UnixSocket{.path = folder.file("s"), .mode = 0600}).ok());
  std::thread client([&] {
    HttpClient http(Endpoint::unix_socket(folder.file("s")));
    EXPECT_FALSE(http.request("GET", "/").ok());
  });
  loop->run();
  server.reset();
  client.join();
  EXPECT_TRUE(held.front()->closed());
  held.clear();
  loop.reset();
}

}  // namespace
}  // namespace phalanx::net
