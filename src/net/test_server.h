// For the tests of this room: a server on a loop thread of its own, with a unix socket in a
// temporary folder and a TCP port on loopback, and a raw client that sends exactly the bytes it is
// told to.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "net/net.h"

namespace phalanx::net {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "net-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] std::string file(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

 private:
  std::string path_;
};

class TestServer {
 public:
  explicit TestServer(HttpServer::Handler handler, ServerOptions options = {})
      : server_(std::make_unique<HttpServer>(loop_, std::move(handler), options)) {
    EXPECT_TRUE(server_->listen(UnixSocket{.path = path(), .mode = 0600}).ok());
    port_ = server_->listen("127.0.0.1", 0).value();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~TestServer() {
    loop_.stop();
    thread_.join();
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  [[nodiscard]] std::string path() const { return folder_.file("s"); }
  [[nodiscard]] Endpoint unix_endpoint() const { return Endpoint::unix_socket(path()); }
  [[nodiscard]] Endpoint tcp_endpoint() const { return Endpoint::tcp("127.0.0.1", port_); }
  Loop& loop() { return loop_; }
  HttpServer& server() { return *server_; }  // on the loop thread only

  // Runs `f` on the loop thread and returns what it returns.
  template <class F>
  auto on_loop(F f) {
    std::packaged_task<decltype(f())()> task(std::move(f));
    auto result = task.get_future();
    loop_.post([&task] { task(); });
    return result.get();
  }

 private:
  TempFolder folder_;
  Loop loop_;
  std::unique_ptr<HttpServer> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

class RawClient {
 public:
  explicit RawClient(const TestServer& server) {
    fd_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = unix_address(server.path()).value();
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_output() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }
  [[nodiscard]] int fd() const { return fd_.get(); }

  // Reads on until the input holds `mark`; what came before it ended, if it never does.
  std::string read_until(std::string_view mark) {
    while (input_.find(mark) == std::string::npos && read_more()) continue;
    const std::size_t end = input_.find(mark);
    const std::size_t count = end == std::string::npos ? input_.size() : end + mark.size();
    std::string out = input_.substr(0, count);
    input_.erase(0, count);
    return out;
  }
  std::string read_to_end() {
    while (read_more()) continue;
    return std::exchange(input_, {});
  }
  bool read_more() {
    std::array<char, 65536> buffer;
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    input_.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
  }

 private:
  Fd fd_;
  std::string input_;
};

}  // namespace phalanx::net
