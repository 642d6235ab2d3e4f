#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/diagnostic.h"

namespace phalanx {
namespace {

constexpr bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

// The length of the valid UTF-8 sequence at the start of `s`; 0 if there is none.
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const std::size_t n = byte(0) < 0x80                      ? 1
                        : byte(0) >= 0xc2 && byte(0) < 0xe0 ? 2
                        : (byte(0) & 0xf0) == 0xe0          ? 3
                        : byte(0) >= 0xf0 && byte(0) < 0xf5 ? 4
                                                            : 0;
  if (n == 0 || n > s.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return n;
}

template <class Int>
std::optional<Int> parse_whole(std::string_view s) {
  Int value = 0;
  const auto [end, failure] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (failure != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view trim(std::string_view s) {
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = s.find(separator);
    parts.push_back(s.substr(0, at));
    if (at == std::string_view::npos) return parts;
    s.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> split_blanks(std::string_view s) {
  std::vector<std::string_view> parts;
  for (s = trim(s); !s.empty(); s = trim(s)) {
    const auto end = std::find_if(s.begin(), s.end(), blank);
    const auto length = static_cast<std::size_t>(end - s.begin());
    parts.push_back(s.substr(0, length));
    s.remove_prefix(length);
  }
  return parts;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string to_lower(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool iequals(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool istarts_with(std::string_view s, std::string_view prefix) {
  return s.size() >= prefix.size() && iequals(s.substr(0, prefix.size()), prefix);
}

std::optional<std::int64_t> parse_int(std::string_view s) { return parse_whole<std::int64_t>(s); }
std::optional<std::uint64_t> parse_uint(std::string_view s) {
  return parse_whole<std::uint64_t>(s);
}

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  if (word.size() > 64) return best;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string shell_quote(std::string_view s) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("%+,-./:=@_").find(c) != std::string_view::npos;
  };
  if (!s.empty() && std::all_of(s.begin(), s.end(), plain)) return std::string(s);
  std::string out = "'";
  for (const char c : s) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string printable(std::string_view s) {
  std::string out;
  while (!s.empty()) {
    const std::size_t n = utf8_length(s);
    const auto c = static_cast<unsigned char>(s[0]);
    if (n == 0 || (n == 1 && (c < 0x20 || c == 0x7f))) {
      out += fmt::format("\\x{:02x}", c);
      s.remove_prefix(1);
    } else {
      out += s.substr(0, n);
      s.remove_prefix(n);
    }
  }
  return out;
}

std::string to_string(const Diagnostic& d) {
  std::string out = d.at.file;
  if (d.at.line > 0) {
    out += out.empty() ? fmt::format("line {}", d.at.line) : fmt::format(":{}", d.at.line);
    if (d.at.column > 0) out += fmt::format(":{}", d.at.column);
  }
  if (!out.empty()) out += ": ";
  switch (d.severity) {
    case Diagnostic::Severity::Note:
      out += "note: ";
      break;
    case Diagnostic::Severity::Warning:
      out += "warning: ";
      break;
    case Diagnostic::Severity::Error:
      out += "error: ";
      break;
  }
  return out + d.message;
}

}  // namespace phalanx
