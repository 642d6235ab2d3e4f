// HttpParser: reads one HTTP/1.x message after another from bytes that arrive in any pieces. Strict
// where leniency lets two readers disagree about where a message ends (bare LF, folded headers,
// both lengths, doubled lengths: RFC 9112 sections 5 and 6). Owns what it has read;
// single-threaded; total: any bytes give a message or a fault, memory is bounded by the limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/http.h"

namespace phalanx::net {

struct HttpLimits {
  std::size_t head = std::size_t{64} << 10;  // bytes of the start line and all headers
  std::size_t headers = 128;
  std::uint64_t body = std::uint64_t{64} << 20;
};

struct HttpHead {
  std::string method;  // request
  std::string target;
  int status = 0;  // response
  int minor = 1;   // HTTP/1.minor
  Headers headers;
  bool keep_alive = true;
  bool expects_continue = false;
};

// What to answer to a message that cannot be read.
struct HttpFault {
  int status = 0;
  std::string_view text;
};

class HttpParser {
 public:
  enum class Kind { Request, Response };
  enum class Phase { Head, Body, Done, Failed };

  explicit HttpParser(Kind kind, HttpLimits limits = {}) : kind_(kind), limits_(limits) {}

  // Takes what belongs to this message and says how many bytes that was; the rest is the next
  // one's.
  std::size_t feed(std::string_view bytes);
  void feed_end();  // no more bytes will come
  void next();      // after Done: make ready for the next message
  // The response to a HEAD has a length and no body. Call before its head arrives.
  void expect_no_body() { no_body_ = true; }

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] bool started() const { return started_; }  // any byte of this message was seen
  [[nodiscard]] bool head_complete() const {
    return phase_ == Phase::Body || phase_ == Phase::Done;
  }
  [[nodiscard]] HttpHead& head() { return head_; }
  [[nodiscard]] HttpFault fault() const { return fault_; }
  [[nodiscard]] std::uint64_t body_received() const { return received_; }
  // The bytes of the body that came since it was last called.
  std::string take_body();

 private:
  enum class Framing { Length, Chunked, UntilEnd };
  enum class Chunk { Size, Data, DataEnd, Trailer };

  std::size_t feed_head(std::string_view bytes);
  std::size_t feed_body(std::string_view bytes);
  std::size_t feed_chunked(std::string_view bytes);
  std::size_t take_bytes(std::string_view bytes);
  std::size_t take_line(std::string_view bytes, bool& complete);
  void chunk_size_line();
  void parse_head(std::string_view head);
  bool parse_start(std::string_view line);
  bool parse_request_line(std::string_view line);
  bool parse_status_line(std::string_view line);
  bool parse_header(std::string_view line);
  bool decide_framing();
  bool decide_length();
  bool fail(int status, std::string_view text);

  Kind kind_;
  HttpLimits limits_;
  Phase phase_ = Phase::Head;
  HttpHead head_;
  HttpFault fault_;
  bool started_ = false;
  bool no_body_ = false;
  std::string held_;  // an incomplete head
  Framing framing_ = Framing::Length;
  Chunk chunk_ = Chunk::Size;
  std::uint64_t left_ = 0;  // of the body or the chunk
  std::uint64_t received_ = 0;
  std::size_t trailer_bytes_ = 0;
  std::string line_;  // an incomplete line between chunks
  std::string body_;
};

}  // namespace phalanx::net
