#include "net/http.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"

namespace phalanx::net {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool add_parameter(std::string_view text, Query& query) {
  if (text.empty()) return true;
  const std::size_t equals = std::min(text.find('='), text.size());
  auto name = percent_decode(text.substr(0, equals), true);
  auto value = percent_decode(text.substr(std::min(equals + 1, text.size())), true);
  if (!name || !value) return false;
  query.add(std::move(*name), std::move(*value));
  return true;
}

struct StatusName {
  int status;
  std::string_view text;
};

constexpr std::array kStatusNames{
    StatusName{100, "Continue"},
    StatusName{101, "Switching Protocols"},
    StatusName{200, "OK"},
    StatusName{201, "Created"},
    StatusName{202, "Accepted"},
    StatusName{204, "No Content"},
    StatusName{206, "Partial Content"},
    StatusName{301, "Moved Permanently"},
    StatusName{302, "Found"},
    StatusName{303, "See Other"},
    StatusName{304, "Not Modified"},
    StatusName{307, "Temporary Redirect"},
    StatusName{308, "Permanent Redirect"},
    StatusName{400, "Bad Request"},
    StatusName{401, "Unauthorized"},
    StatusName{403, "Forbidden"},
    StatusName{404, "Not Found"},
    StatusName{405, "Method Not Allowed"},
    StatusName{406, "Not Acceptable"},
    StatusName{408, "Request Timeout"},
    StatusName{409, "Conflict"},
    StatusName{410, "Gone"},
    StatusName{412, "Precondition Failed"},
    StatusName{413, "Content Too Large"},
    StatusName{415, "Unsupported Media Type"},
    StatusName{416, "Range Not Satisfiable"},
    StatusName{417, "Expectation Failed"},
    StatusName{422, "Unprocessable Content"},
    StatusName{426, "Upgrade Required"},
    StatusName{429, "Too Many Requests"},
    StatusName{431, "Request Header Fields Too Large"},
    StatusName{500, "Internal Server Error"},
    StatusName{501, "Not Implemented"},
    StatusName{502, "Bad Gateway"},
    StatusName{503, "Service Unavailable"},
    StatusName{504, "Gateway Timeout"},
    StatusName{505, "HTTP Version Not Supported"},
    StatusName{507, "Insufficient Storage"},
};

}  // namespace

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const Header& header : list_)
    if (iequals(header.name, name)) return header.value;
  return std::nullopt;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      list_, [&](const Header& header) { return iequals(header.name, name); }));
}

bool Headers::has_word(std::string_view name, std::string_view word) const {
  for (const Header& header : list_) {
    if (!iequals(header.name, name)) continue;
    for (const std::string_view part : split(header.value, ','))
      if (iequals(trim(part), word)) return true;
  }
  return false;
}

std::optional<std::string_view> Query::find(std::string_view name) const {
  for (const auto& [key, value] : list_)
    if (key == name) return value;
  return std::nullopt;
}

std::vector<std::string> Query::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : list_)
    if (key == name) values.push_back(value);
  return values;
}

bool wants_websocket(const Request& request) {
  return request.method == "GET" && request.headers.has_word("Connection", "upgrade") &&
         request.headers.has_word("Upgrade", "websocket");
}

std::string_view status_text(int status) {
  const auto* found = std::ranges::lower_bound(kStatusNames, status, {}, &StatusName::status);
  return found != kStatusNames.end() && found->status == status ? found->text : "Unknown";
}

std::string http_date(Time time) {
  constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const time_t second = unix_seconds(time);
  tm civil{};
  ::gmtime_r(&second, &civil);
  return format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                kDays[static_cast<std::size_t>(civil.tm_wday)], civil.tm_mday,
                kMonths[static_cast<std::size_t>(civil.tm_mon)], civil.tm_year + 1900,
                civil.tm_hour, civil.tm_min, civil.tm_sec);
}

std::optional<std::string> percent_decode(std::string_view text, bool plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

bool split_target(std::string_view target, std::string& path, Query& query) {
  const std::size_t fragment = target.find('#');
  if (!target.starts_with('/') || fragment != std::string_view::npos) return false;
  const std::size_t mark = std::min(target.find('?'), target.size());
  auto decoded = percent_decode(target.substr(0, mark), false);
  if (!decoded) return false;
  path = std::move(*decoded);
  if (mark == target.size()) return true;
  for (const std::string_view part : split(target.substr(mark + 1), '&'))
    if (!add_parameter(part, query)) return false;
  return true;
}

}  // namespace phalanx::net
