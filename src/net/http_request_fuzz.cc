// Any bytes are a run of pipelined requests and perhaps a fault, and the same ones in any pieces.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "net/http_parser.h"

namespace {

using phalanx::net::HttpParser;

std::string read_all(std::string_view bytes, std::size_t piece) {
  HttpParser parser(HttpParser::Kind::Request, {.head = 4096, .headers = 16, .body = 4096});
  std::string seen;
  while (!bytes.empty()) {
    const std::size_t used = parser.feed(bytes.substr(0, piece));
    ASSERT(used <= bytes.size());
    bytes.remove_prefix(used);
    if (parser.phase() == HttpParser::Phase::Failed) return seen + " failed";
    if (parser.phase() != HttpParser::Phase::Done) continue;
    std::string path;
    phalanx::net::Query query;
    const bool good = phalanx::net::split_target(parser.head().target, path, query);
    seen += parser.head().method + (good ? path : "?") + parser.take_body() + ";";
    parser.next();
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  ASSERT(read_all(bytes, std::size_t{data[0]} + 1) == read_all(bytes, bytes.size()));
  return 0;
}
