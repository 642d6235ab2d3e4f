// Any bytes, in pieces whose size the first byte says, give a response or a fault, and the same one
// as in one piece.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "net/http_parser.h"

namespace {

using phalanx::net::HttpParser;

std::string read_all(std::string_view bytes, std::size_t piece) {
  HttpParser parser(HttpParser::Kind::Response, {.head = 4096, .headers = 16, .body = 4096});
  std::string body;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    const std::size_t used = parser.feed(part);
    ASSERT(used <= part.size());
    bytes.remove_prefix(used);
    body += parser.take_body();
    if (parser.phase() == HttpParser::Phase::Done || parser.phase() == HttpParser::Phase::Failed)
      break;
    ASSERT(used > 0);
  }
  parser.feed_end();
  ASSERT(body.size() <= 4097);
  const bool done = parser.phase() == HttpParser::Phase::Done;
  ASSERT(done || parser.phase() == HttpParser::Phase::Failed);
  return done ? std::to_string(parser.head().status) + body : std::string("failed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  ASSERT(read_all(bytes, std::size_t{data[0]} + 1) == read_all(bytes, bytes.size()));
  return 0;
}
