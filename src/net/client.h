// HttpClient: a small blocking HTTP/1.1 client for command lines, on plain sockets. Starting it
// costs nothing; the connection is made by the first request and kept for the next ones. One per
// thread.
//
// Each call fails with an Error for people; failure() tells programs what kind it was. An answer
// with an error status is an answer, not a failure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/endpoint.h"
#include "net/fd.h"
#include "net/http.h"
#include "net/http_parser.h"

namespace phalanx::net {

class HttpClient {
 public:
  enum class Failure {
    None,
    NoServer,   // nobody listens there: the request was certainly not processed
    NotLetIn,   // no permission for the socket
    TimedOut,   // it may have been processed
    Lost,       // the connection broke before the answer was complete: it may have been processed
    BadAnswer,  // what came is not HTTP, or too large
    Stopped,    // the sink of stream() said so
  };
  struct Options {
    Duration connect = seconds(5);
    Duration answer = seconds(60);  // without a byte from the server
    std::uint64_t max_body = std::uint64_t{1} << 30;
  };
  // Gets the body piece by piece; false stops. It is also called with an empty piece when a signal
  // interrupted the wait.
  using Sink = std::function<bool(std::string_view piece)>;

  explicit HttpClient(Endpoint endpoint);
  HttpClient(Endpoint endpoint, Options options);

  Result<Response> request(std::string_view method, std::string_view target,
                           const Headers& headers = {}, std::string_view body = {});
  // Hands a 2xx body to `sink` as it comes, waiting for each piece as long as it takes; the body of
  // any other answer is in the Response.
  Result<Response> stream(std::string_view method, std::string_view target, const Headers& headers,
                          std::string_view body, const Sink& sink);

  [[nodiscard]] Failure failure() const { return failure_; }  // of the last call
  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

 private:
  struct Call;
  Result<Response> perform(const Call& call);
  Result<Response> exchange(const Call& call, bool reused);
  Status connect();
  Status connect_to(const void* address, std::uint32_t size, int family);
  Status send_all(std::string_view bytes);
  Result<Response> read_answer(const Call& call);
  Status read_some(HttpParser& parser, const Call& call, bool streaming);
  Status wait_for_input(const Call& call, bool streaming);
  [[nodiscard]] bool connection_usable() const;
  Error fail(Failure failure, std::string message);

  Endpoint endpoint_;
  Options options_;
  Fd fd_;
  Failure failure_ = Failure::None;
  bool any_input_ = false;  // of the answer that is due
  std::string leftover_;    // read beyond the end of a message
};

}  // namespace phalanx::net
