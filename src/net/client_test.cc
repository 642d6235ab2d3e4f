#include "net/client.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <functional>
#include <vector>

#include "net/test_server.h"

namespace phalanx::net {
namespace {

using Failure = HttpClient::Failure;

// A server of one connection after another, each answered by a script.
class Scripted {
 public:
  using Script = std::function<void(Fd fd)>;
  explicit Scripted(std::vector<Script> scripts)
      : listener_(std::move(listen_unix({.path = folder_.file("s"), .mode = 0600}).value())),
        thread_([this, list = std::move(scripts)] {
          for (const Script& script : list) {
            pollfd ready{listener_.get(), POLLIN, 0};
            ::poll(&ready, 1, -1);
            script(Fd(::accept(listener_.get(), nullptr, nullptr)));
          }
        }) {}
  ~Scripted() { thread_.join(); }
  [[nodiscard]] Endpoint endpoint() const { return Endpoint::unix_socket(folder_.file("s")); }

 private:
  TempFolder folder_;
  Fd listener_;
  std::thread thread_;
};

void read_request(const Fd& fd) {
  std::string seen;
  char byte = 0;
  while (seen.find("\r\n\r\n") == std::string::npos && ::read(fd.get(), &byte, 1) == 1)
    seen += byte;
}

void say(const Fd& fd, std::string_view text) {
  ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

Scripted::Script answer(std::string text) {
  return [text = std::move(text)](Fd fd) {
    read_request(fd);
    say(fd, text);
    fd.reset();
  };
}

TEST(HttpClient, TellsFailuresApart) {
  const TempFolder folder;
  HttpClient nobody(Endpoint::unix_socket(folder.file("none")));
  const auto response = nobody.request("GET", "/");
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, Error::Code::Unavailable);
  EXPECT_EQ(nobody.failure(), Failure::NoServer);
  EXPECT_NE(response.error().message.find(folder.file("none")), std::string::npos);

  {
    const auto fd = listen_unix({.path = folder.file("stale"), .mode = 0600});
  }
  HttpClient stale(Endpoint::unix_socket(folder.file("stale")));
  EXPECT_FALSE(stale.request("GET", "/").ok());
  EXPECT_EQ(stale.failure(), Failure::NoServer);

  HttpClient unknown(Endpoint::tcp("no-such-host.invalid", 1));
  EXPECT_FALSE(unknown.request("GET", "/").ok());
  EXPECT_EQ(unknown.failure(), Failure::NoServer);

  HttpClient long_path(Endpoint::unix_socket(std::string(200, 'x')));
  EXPECT_FALSE(long_path.request("GET", "/").ok());
}

TEST(HttpClient, ReadsEveryFormOfAnswer) {
  const struct {
    std::string text, body;
    Failure failure;
  } cases[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", Failure::None},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok",
       Failure::None},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", "ok",
       Failure::None},
      {"HTTP/1.0 200 OK\r\n\r\nok", "ok", Failure::None},
      {"HTTP/1.1 204 No Content\r\n\r\n", "", Failure::None},
      {"", "", Failure::Lost},
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", "", Failure::Lost},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n", "", Failure::Lost},
      {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "", Failure::BadAnswer},
  };
  for (const auto& c : cases) {
    const Scripted server({answer(c.text)});
    HttpClient client(server.endpoint());
    const auto response = client.request("GET", "/");
    EXPECT_EQ(client.failure(), c.failure) << c.text;
    EXPECT_EQ(response.ok(), c.failure == Failure::None);
    EXPECT_EQ(response ? response->body : std::string(), c.body) << c.text;
  }
}

TEST(HttpClient, ComesBackWhereAKeptConnectionWasClosed) {
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  std::promise<void> closed;
  const Scripted server({[&](Fd fd) {
                           answer(ok)(std::move(fd));
                           closed.set_value();
                         },
                         answer(ok)});
  HttpClient client(server.endpoint());
  EXPECT_TRUE(client.request("GET", "/").ok());
  closed.get_future().wait();
  EXPECT_TRUE(client.request("POST", "/", {}, "x").ok());  // its end is seen before sending
}

TEST(HttpClient, DoesNotRepeatWhatMayHaveBeenDone) {
  // Takes the second request and goes away without a word.
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const Scripted server({[&](const Fd& fd) {
                           read_request(fd);
                           say(fd, ok);
                           read_request(fd);
                         },
                         [&](const Fd& fd) {
                           read_request(fd);
                           say(fd, ok);
                           read_request(fd);
                         },
                         answer(ok)});
  HttpClient client(server.endpoint());
  ASSERT_TRUE(client.request("GET", "/").ok());
  EXPECT_FALSE(client.request("POST", "/").ok());
  EXPECT_EQ(client.failure(), Failure::Lost);
  ASSERT_TRUE(client.request("GET", "/").ok());
  EXPECT_TRUE(client.request("GET", "/").ok());  // harmless: sent again on a new connection
}

TEST(HttpClient, GivesUpOnASilentServer) {
  const Scripted server({[](const Fd& fd) {
    read_request(fd);
    char byte = 0;
    EXPECT_EQ(::read(fd.get(), &byte, 1), 0);
  }});
  HttpClient client(server.endpoint(),
                    {.connect = seconds(5), .answer = milliseconds(20), .max_body = 100});
  EXPECT_FALSE(client.request("GET", "/").ok());
  EXPECT_EQ(client.failure(), Failure::TimedOut);
}

TEST(HttpClient, StreamsPieceByPieceUntilItHasEnough) {
  const Scripted server({[](const Fd& fd) {
    read_request(fd);
    say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    char byte = 0;
    EXPECT_EQ(::read(fd.get(), &byte, 1), 0);  // the client has gone
  }});
  HttpClient client(server.endpoint());
  std::string seen;
  const auto response = client.stream("GET", "/", {}, {}, [&](std::string_view piece) {
    seen += piece;
    return seen != "one";
  });
  EXPECT_FALSE(response.ok());
  EXPECT_EQ(client.failure(), Failure::Stopped);
}

TEST(HttpClient, AnErrorToAStreamIsNotStreamed) {
  const Scripted server({answer("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone")});
  HttpClient client(server.endpoint());
  const auto response = client.stream("GET", "/", {}, {}, [](std::string_view) { return false; });
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "none");
}

TEST(HttpClient, RefusesAnswersThatAreTooLarge) {
  const Scripted server({answer("HTTP/1.1 200 OK\r\n\r\n" + std::string(5000, 'x'))});
  HttpClient client(server.endpoint(),
                    {.connect = seconds(5), .answer = seconds(5), .max_body = 1000});
  EXPECT_FALSE(client.request("GET", "/").ok());
  EXPECT_EQ(client.failure(), Failure::BadAnswer);
}

}  // namespace
}  // namespace phalanx::net
