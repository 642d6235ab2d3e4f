#include "net/http_parser.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace phalanx::net {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr std::size_t kChunkLine = 1024;  // a chunk's size and extensions

constexpr std::array<bool, 256> token_characters() {
  std::array<bool, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr auto kTokenCharacters = token_characters();

bool is_token_character(char c) { return kTokenCharacters[static_cast<unsigned char>(c)]; }

bool is_token(std::string_view s) {
  return !s.empty() && std::ranges::all_of(s, is_token_character);
}

bool is_value_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

bool is_target_character(char c) { return c > 0x20 && c < 0x7f; }

std::string_view trim_blanks(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

// "http://host/path" (RFC 9112 section 3.2.2) as "/path".
std::string_view without_authority(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!istarts_with(target, scheme)) continue;
    const std::size_t slash = target.find_first_of("/?", scheme.size());
    if (slash == std::string_view::npos) return "/";
    return target[slash] == '/' ? target.substr(slash) : std::string_view();
  }
  return target;
}

}  // namespace

std::size_t HttpParser::feed(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && (phase_ == Phase::Head || phase_ == Phase::Body)) {
    const std::string_view rest = bytes.substr(used);
    used += phase_ == Phase::Head ? feed_head(rest) : feed_body(rest);
  }
  return used;
}

void HttpParser::feed_end() {
  if (phase_ == Phase::Body && framing_ == Framing::UntilEnd) {
    phase_ = Phase::Done;
  } else if (phase_ != Phase::Done && phase_ != Phase::Failed) {
    fail(400, "the connection ended in the middle of a message");
  }
}

void HttpParser::next() {
  const Kind kind = kind_;
  const HttpLimits limits = limits_;
  *this = HttpParser(kind, limits);
}

std::string HttpParser::take_body() { return std::exchange(body_, {}); }

bool HttpParser::fail(int status, std::string_view text) {
  phase_ = Phase::Failed;
  fault_ = {status, text};
  return false;
}

std::size_t HttpParser::feed_head(std::string_view bytes) {
  if (!started_) {
    // A client may end a body with a CRLF too many (RFC 9112 section 2.2).
    if (bytes.front() == '\r' || bytes.front() == '\n') return 1;
    if (!is_token_character(bytes.front())) {
      fail(400, "this is not HTTP; a TLS client on a plain port?");
      return 0;
    }
    started_ = true;
  }
  const std::size_t had = held_.size();
  if (had == 0) {
    if (const std::size_t end = bytes.substr(0, limits_.head).find(kEndOfHead);
        end != std::string_view::npos) {
      parse_head(bytes.substr(0, end + 2));
      return end + kEndOfHead.size();
    }
  }
  held_.append(bytes.substr(0, limits_.head + 1 - std::min(had, limits_.head)));
  const std::size_t end = held_.find(kEndOfHead, had < 3 ? 0 : had - 3);
  if (end != std::string::npos) {
    const std::string head = std::exchange(held_, {});
    parse_head(std::string_view(head).substr(0, end + 2));
    return end + kEndOfHead.size() - had;
  }
  if (held_.size() > limits_.head) fail(431, "the request line and headers are too long");
  return std::min(bytes.size(), held_.size() - had);
}

void HttpParser::parse_head(std::string_view head) {
  bool first = true;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (!(first ? parse_start(line) : parse_header(line))) return;
    first = false;
  }
  phase_ = Phase::Body;
  if (!decide_framing()) return;
  if (framing_ == Framing::Length && left_ == 0) phase_ = Phase::Done;
}

bool HttpParser::parse_start(std::string_view line) {
  return kind_ == Kind::Request ? parse_request_line(line) : parse_status_line(line);
}

bool HttpParser::parse_request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return fail(400, "the request line is malformed");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method) || method.size() > 32) return fail(400, "the method is malformed");
  if (target.empty() || !std::ranges::all_of(target, is_target_character))
    return fail(400, "the request target is malformed");
  if (!version.starts_with("HTTP/")) return fail(400, "the request line is malformed");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return fail(505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
  head_.method = method;
  head_.target = without_authority(target);
  head_.minor = version.back() - '0';
  return true;
}

bool HttpParser::parse_status_line(std::string_view line) {
  if (line.size() < 12 || !line.starts_with("HTTP/1.") || (line[7] != '0' && line[7] != '1') ||
      line[8] != ' ')
    return fail(502, "the status line is malformed");
  const auto status = parse_uint(line.substr(9, 3));
  if (!status || *status < 100 || *status > 599 || (line.size() > 12 && line[12] != ' ') ||
      !std::ranges::all_of(line, is_value_character))
    return fail(502, "the status line is malformed");
  head_.status = static_cast<int>(*status);
  head_.minor = line[7] - '0';
  return true;
}

bool HttpParser::parse_header(std::string_view line) {
  if (head_.headers.size() >= limits_.headers) return fail(431, "there are too many headers");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return fail(400, "a header is malformed");
  const std::string_view value = trim_blanks(line.substr(colon + 1));
  if (!std::ranges::all_of(value, is_value_character))
    return fail(400, "a header holds a control character");
  head_.headers.add(std::string(line.substr(0, colon)), std::string(value));
  return true;
}

bool HttpParser::decide_framing() {
  const Headers& headers = head_.headers;
  head_.keep_alive = head_.minor == 1 ? !headers.has_word("Connection", "close")
                                      : headers.has_word("Connection", "keep-alive");
  if (kind_ == Kind::Request) {
    const std::size_t hosts = headers.count("Host");
    if (hosts > 1 || (hosts == 0 && head_.minor == 1))
      return fail(400, "there must be one Host header");
    if (const auto expect = headers.find("Expect")) {
      if (!iequals(*expect, "100-continue"))
        return fail(417, "only the expectation 100-continue is known");
      head_.expects_continue = head_.minor == 1;
    }
  }
  const bool bodiless =
      no_body_ || (kind_ == Kind::Response &&
                   (head_.status < 200 || head_.status == 204 || head_.status == 304));
  const std::size_t encodings = headers.count("Transfer-Encoding");
  if (encodings > 0) {
    if (headers.count("Content-Length") > 0 || head_.minor == 0)
      return fail(400, "Transfer-Encoding must stand without Content-Length, in HTTP/1.1");
    if (encodings > 1 || !iequals(*headers.find("Transfer-Encoding"), "chunked"))
      return fail(501, "the only transfer coding known is chunked");
    if (!bodiless) framing_ = Framing::Chunked;
    return true;
  }
  if (!decide_length()) return false;
  if (bodiless) {
    framing_ = Framing::Length;
    left_ = 0;
  }
  return true;
}

bool HttpParser::decide_length() {
  const auto text = head_.headers.find("Content-Length");
  if (!text) {
    if (kind_ == Kind::Response) framing_ = Framing::UntilEnd;
    return true;
  }
  const auto length = parse_uint(*text);
  if (!length || head_.headers.count("Content-Length") > 1)
    return fail(400, "Content-Length is malformed");
  if (*length > limits_.body && !no_body_) return fail(413, "the body is too large");
  left_ = *length;
  return true;
}

std::size_t HttpParser::feed_body(std::string_view bytes) {
  if (framing_ == Framing::Chunked) return feed_chunked(bytes);
  if (framing_ == Framing::UntilEnd) left_ = limits_.body + 1 - received_;
  const std::size_t used = take_bytes(bytes);
  if (received_ > limits_.body)
    fail(413, "the body is too large");
  else if (left_ == 0)
    phase_ = Phase::Done;
  return used;
}

std::size_t HttpParser::take_bytes(std::string_view bytes) {
  const std::size_t used = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  // A large body of known length is copied once, not at every doubling.
  if (framing_ == Framing::Length && body_.empty() && received_ == 0)
    body_.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(left_, std::uint64_t{1} << 20)));
  body_.append(bytes.substr(0, used));
  left_ -= used;
  received_ += used;
  return used;
}

std::size_t HttpParser::take_line(std::string_view bytes, bool& complete) {
  const std::size_t end = bytes.find('\n');
  complete = end != std::string_view::npos;
  const std::size_t used = complete ? end + 1 : bytes.size();
  if (line_.size() + used > kChunkLine) {
    complete = false;
    fail(400, "a line between chunks is too long");
    return used;
  }
  line_.append(bytes.substr(0, used));
  if (!complete) return used;
  if (!line_.ends_with("\r\n")) {
    complete = false;
    fail(400, "a line between chunks must end in CR LF");
    return used;
  }
  line_.resize(line_.size() - 2);
  return used;
}

std::size_t HttpParser::feed_chunked(std::string_view bytes) {
  if (chunk_ == Chunk::Data) {
    const std::size_t used = take_bytes(bytes);
    if (left_ == 0) chunk_ = Chunk::DataEnd;
    return used;
  }
  bool complete = false;
  const std::size_t used = take_line(bytes, complete);
  if (!complete) return used;
  const bool empty = line_.empty();
  if (chunk_ == Chunk::Size) {
    chunk_size_line();
  } else if (chunk_ == Chunk::DataEnd) {
    if (!empty) fail(400, "a chunk is longer than it says");
    chunk_ = Chunk::Size;
  } else if (empty) {
    phase_ = Phase::Done;
  } else {
    trailer_bytes_ += line_.size();
    if (trailer_bytes_ > limits_.head) fail(431, "the trailer is too long");
  }
  line_.clear();
  return used;
}

void HttpParser::chunk_size_line() {
  std::uint64_t size = 0;
  const char* const begin = line_.data();
  const char* const end = begin + line_.size();
  const auto [stop, error] = std::from_chars(begin, end, size, 16);
  const std::string_view rest =
      trim_blanks(std::string_view(stop, static_cast<std::size_t>(end - stop)));
  if (error != std::errc() || *begin == '-' || !(rest.empty() || rest.front() == ';')) {
    fail(400, "the size of a chunk is malformed");
    return;
  }
  if (size > limits_.body - received_) {
    fail(413, "the body is too large");
    return;
  }
  left_ = size;
  chunk_ = size == 0 ? Chunk::Trailer : Chunk::Data;
}

}  // namespace phalanx::net
