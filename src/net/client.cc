#include "net/client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <limits>
#include <memory>
#include <utility>

#include "base/text.h"

namespace phalanx::net {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Whether the descriptor became ready in time; nothing where a signal came first.
std::optional<bool> wait_ready(int fd, short events, Duration timeout) {
  pollfd poll_set{fd, events, 0};
  const bool forever = timeout.count() >= std::numeric_limits<int>::max();
  const int rc = ::poll(&poll_set, 1, forever ? -1 : static_cast<int>(timeout.count()));
  if (rc < 0) return std::nullopt;
  return rc > 0;
}

// As wait_ready, but signals do not count.
bool wait_through_signals(int fd, short events, Duration timeout) {
  const auto deadline = SteadyClock::now() + timeout;
  while (true) {
    const auto left = std::chrono::ceil<Duration>(deadline - SteadyClock::now());
    if (left.count() < 0) return false;
    if (const auto ready = wait_ready(fd, events, left)) return *ready;
  }
}

// A repetition of these does no harm (RFC 9110 section 9.2.2).
bool is_idempotent(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" ||
         method == "OPTIONS";
}

HttpLimits answer_limits(const HttpClient::Options& options, bool streaming) {
  HttpLimits limits;
  limits.body = streaming ? std::numeric_limits<std::uint64_t>::max() / 2 : options.max_body;
  return limits;
}

}  // namespace

struct HttpClient::Call {
  std::string_view method;
  std::string_view target;
  const Headers& headers;
  std::string_view body;
  const Sink* sink;
};

HttpClient::HttpClient(Endpoint endpoint) : HttpClient(std::move(endpoint), Options()) {}

HttpClient::HttpClient(Endpoint endpoint, Options options)
    : endpoint_(std::move(endpoint)), options_(options) {}

Result<Response> HttpClient::request(std::string_view method, std::string_view target,
                                     const Headers& headers, std::string_view body) {
  return perform({method, target, headers, body, nullptr});
}

Result<Response> HttpClient::stream(std::string_view method, std::string_view target,
                                    const Headers& headers, std::string_view body,
                                    const Sink& sink) {
  return perform({method, target, headers, body, &sink});
}

Result<Response> HttpClient::perform(const Call& call) {
  failure_ = Failure::None;
  const bool reused = connection_usable();
  if (!reused) TRY(connect());
  auto response = exchange(call, reused);
  // The server may close a connection that it keeps for us in the same moment in which we use it.
  if (!response && failure_ == Failure::Lost && reused && !any_input_ &&
      is_idempotent(call.method)) {
    failure_ = Failure::None;
    TRY(connect());
    response = exchange(call, false);
  }
  if (!response) fd_.reset();
  return response;
}

Error HttpClient::fail(Failure failure, std::string message) {
  failure_ = failure;
  return failure == Failure::NotLetIn ? denied(std::move(message))
                                      : unavailable(std::move(message));
}

// An idle connection has nothing to read; whatever it has, the end or stray bytes, makes it
// useless.
bool HttpClient::connection_usable() const {
  if (!fd_ || !leftover_.empty()) return false;
  char byte = 0;
  return ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

Status HttpClient::connect() {
  leftover_.clear();
  if (endpoint_.kind == Endpoint::Kind::Unix) {
    const auto address = unix_address(endpoint_.path);
    if (!address) return fail(Failure::NoServer, address.error().message);
    return connect_to(&*address, sizeof *address, AF_UNIX);
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int rc =
      ::getaddrinfo(endpoint_.host.c_str(), std::to_string(endpoint_.port).c_str(), &hints, &found);
  if (rc != 0)
    return fail(Failure::NoServer,
                format("cannot find {}: {}", printable(endpoint_.host), ::gai_strerror(rc)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  Status status;
  for (const addrinfo* address = found; address; address = address->ai_next) {
    status = connect_to(address->ai_addr, address->ai_addrlen, address->ai_family);
    if (status) return status;
  }
  return status;
}

Status HttpClient::connect_to(const void* address, std::uint32_t size, int family) {
  const auto cannot = [&](int error) {
    const bool locked = error == EACCES || error == EPERM;
    return fail(locked ? Failure::NotLetIn : Failure::NoServer,
                format("cannot connect to {}: {}", to_string(endpoint_), error_text(error)));
  };
  failure_ = Failure::None;
  fd_.reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd_) return cannot(errno);
  int error = ::connect(fd_.get(), static_cast<const sockaddr*>(address), size) == 0 ? 0 : errno;
  const auto deadline = SteadyClock::now() + options_.connect;
  while (error == EAGAIN && SteadyClock::now() < deadline) {
    // A unix socket whose backlog is full: there is nothing to wait for but time.
    ::poll(nullptr, 0, 10);
    error = ::connect(fd_.get(), static_cast<const sockaddr*>(address), size) == 0 ? 0 : errno;
  }
  if (error == EINPROGRESS) {
    socklen_t length = sizeof error;
    if (!wait_through_signals(fd_.get(), POLLOUT, options_.connect))
      error = ETIMEDOUT;
    else if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0)
      error = errno;
  }
  if (error != 0) {
    fd_.reset();
    return cannot(error);
  }
  const int on = 1;
  if (family != AF_UNIX) ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {};
}

Status HttpClient::send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_through_signals(fd_.get(), POLLOUT, options_.answer))
        return fail(Failure::TimedOut,
                    format("{} does not take the request", to_string(endpoint_)));
    } else if (errno != EINTR) {
      return fail(Failure::Lost, format("the connection to {} broke: {}", to_string(endpoint_),
                                        error_text(errno)));
    }
  }
  return {};
}

Result<Response> HttpClient::exchange(const Call& call, bool reused) {
  any_input_ = false;
  const std::string host =
      endpoint_.kind == Endpoint::Kind::Unix ? "localhost" : to_string(endpoint_);
  std::string message = format("{} {} HTTP/1.1\r\nHost: {}\r\n", call.method, call.target, host);
  for (const Header& header : call.headers)
    message += format("{}: {}\r\n", header.name, header.value);
  if (!call.body.empty() || call.method == "POST" || call.method == "PUT" || call.method == "PATCH")
    message += format("Content-Length: {}\r\n", call.body.size());
  message += "\r\n";
  const bool small = call.body.size() <= 64 * 1024;
  if (small) message += call.body;
  Status sent = send_all(message);
  if (sent && !small) sent = send_all(call.body);
  if (!sent && (failure_ != Failure::Lost || reused)) return sent.error();
  // A server that refuses a body answers and stops reading; the answer says more than our broken
  // pipe.
  failure_ = Failure::None;
  return read_answer(call);
}

Status HttpClient::wait_for_input(const Call& call, bool streaming) {
  const auto deadline = SteadyClock::now() + options_.answer;
  while (true) {
    const auto left = std::chrono::ceil<Duration>(deadline - SteadyClock::now());
    const auto ready = left.count() < 0 && !streaming
                           ? std::optional(false)
                           : wait_ready(fd_.get(), POLLIN, streaming ? kForever : left);
    if (!ready && call.sink && !(*call.sink)({})) return fail(Failure::Stopped, "interrupted");
    if (!ready) continue;
    if (*ready) return {};
    return fail(Failure::TimedOut, format("{} gave no answer within {}", to_string(endpoint_),
                                          phalanx::to_string(options_.answer)));
  }
}

// Feeds the parser with the next bytes, or with the end.
Status HttpClient::read_some(HttpParser& parser, const Call& call, bool streaming) {
  if (leftover_.empty()) {
    std::array<char, std::size_t{64} << 10> buffer;
    ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    while (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      TRY(wait_for_input(call, streaming));
      got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    }
    if (got > 0) leftover_.assign(buffer.data(), static_cast<std::size_t>(got));
    if (got <= 0) {
      parser.feed_end();
      if (parser.phase() == HttpParser::Phase::Done) return {};
      return fail(Failure::Lost, format("{} closed the connection before the answer was complete",
                                        to_string(endpoint_)));
    }
    any_input_ = true;
  }
  leftover_.erase(0, parser.feed(leftover_));
  if (parser.phase() != HttpParser::Phase::Failed) return {};
  return fail(Failure::BadAnswer, format("the answer of {} cannot be read: {}",
                                         to_string(endpoint_), parser.fault().text));
}

Result<Response> HttpClient::read_answer(const Call& call) {
  HttpParser parser(HttpParser::Kind::Response, answer_limits(options_, call.sink != nullptr));
  if (call.method == "HEAD") parser.expect_no_body();
  Response response;
  while (parser.phase() != HttpParser::Phase::Done) {
    const bool streaming = call.sink && parser.head_complete() && parser.head().status / 100 == 2;
    TRY(read_some(parser, call, streaming));
    if (parser.phase() == HttpParser::Phase::Done && parser.head().status == 100) {
      parser.next();
      if (call.method == "HEAD") parser.expect_no_body();
      continue;
    }
    std::string piece = parser.take_body();
    if (piece.empty()) continue;
    if (!call.sink || parser.head().status / 100 != 2) {
      response.body += piece;
      if (response.body.size() > options_.max_body)
        return fail(Failure::BadAnswer,
                    format("the answer of {} is too large", to_string(endpoint_)));
    } else if (!(*call.sink)(piece)) {
      return fail(Failure::Stopped, "stopped by the reader");
    }
  }
  response.status = parser.head().status;
  response.headers = std::move(parser.head().headers);
  if (!parser.head().keep_alive) fd_.reset();
  return response;
}

}  // namespace phalanx::net
