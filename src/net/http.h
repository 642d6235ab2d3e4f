// The nouns of HTTP: headers, query, request, response. Plain values without I/O, used by the
// server and the clients alike; bytes as they came off the wire, header names compared without
// case.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "net/peer.h"

namespace phalanx::net {

struct Header {
  std::string name;
  std::string value;
  bool operator==(const Header&) const = default;
};

class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> list) : list_(list) {}

  void add(std::string name, std::string value) {
    list_.push_back({std::move(name), std::move(value)});
  }
  void clear() { list_.clear(); }
  // The value of the first one of that name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;
  // Whether a list such as "Connection: keep-alive, Upgrade" has the word.
  [[nodiscard]] bool has_word(std::string_view name, std::string_view word) const;
  [[nodiscard]] std::size_t size() const { return list_.size(); }
  [[nodiscard]] auto begin() const { return list_.begin(); }
  [[nodiscard]] auto end() const { return list_.end(); }
  bool operator==(const Headers&) const = default;

 private:
  std::vector<Header> list_;
};

// "a=1&a=2&b": names repeat (kubectl exec sends one `command` a word), and their order counts.
class Query {
 public:
  void add(std::string name, std::string value) {
    list_.emplace_back(std::move(name), std::move(value));
  }
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;  // the first
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name).has_value(); }
  [[nodiscard]] std::size_t size() const { return list_.size(); }
  [[nodiscard]] auto begin() const { return list_.begin(); }
  [[nodiscard]] auto end() const { return list_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> list_;
};

struct Request {
  std::string method;  // as sent: upper case
  std::string target;  // as sent: "/a%20b?c=d"
  std::string path;    // decoded, without the query: "/a b"; dot segments are not resolved
  Query query;
  Headers headers;
  std::string body;
  Peer peer;
};

struct Response {
  int status = 0;
  Headers headers;
  std::string body;
};

// Whether it asks for a WebSocket (RFC 6455): answer it with Responder::upgrade.
bool wants_websocket(const Request& request);

std::string_view status_text(
    int status);                   // "Not Found"; "Unknown" for numbers that nobody registered
std::string http_date(Time time);  // "Mon, 30 Nov 2026 14:37:10 GMT"
// "%41" to "A", and with `plus` "+" to " ". Nothing where an escape is broken or is %00.
std::optional<std::string> percent_decode(std::string_view text, bool plus);
// Everything but letters, digits and "-._~" as %XX.
std::string percent_encode(std::string_view text);
// Fills path and query from `target`; false where it is not "/…" or has a broken escape.
bool split_target(std::string_view target, std::string& path, Query& query);

}  // namespace phalanx::net
