#include "base/codec.h"

#include <boost/json/parse.hpp>
#include <charconv>

namespace phalanx::codec {

void write_int(std::string& out, std::int64_t v) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v).ptr;
  out.append(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
}

void write_uint(std::string& out, std::uint64_t v) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v).ptr;
  out.append(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
}

// Bytes that are not UTF-8 (a path or a variable may hold any) pass as they are, and parse_json
// accepts them.
void write_string(std::string& out, std::string_view s) {
  out += '"';
  for (std::size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += s[i++];
    } else if (c == '\n') {
      out += "\\n";
      ++i;
    } else if (c < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", c);
      ++i;
    } else {
      out += s[i++];
    }
  }
  out += '"';
}

Result<boost::json::value> parse_json(std::string_view text, boost::json::storage_ptr storage) {
  boost::json::parse_options options;
  options.max_depth = 64;
  options.allow_invalid_utf8 =
      true;  // paths and environments may hold any bytes; they come back as they were
  boost::system::error_code failure;
  boost::json::value value =
      boost::json::parse({text.data(), text.size()}, failure, std::move(storage), options);
  if (failure) return invalid("not JSON: " + failure.message());
  return value;
}

Error at(const Path* path, std::string_view what) {
  std::string text(what);
  for (const char* between = ": "; path; path = path->up, between = ".")
    text = (path->name.data() ? std::string(path->name) : std::to_string(path->index)) + between +
           text;
  return invalid(std::move(text));
}

}  // namespace phalanx::codec
