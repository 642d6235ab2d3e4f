#include "dialect/slurm/hostlist.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace phalanx::slurm {
namespace {

constexpr std::size_t kMaxDigits =
    18;  // a number of so many digits, and its successor, fit in 64 bits

constexpr bool digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool separator(char c) {
  return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::size_t width = 1;
};

// A run of literal text, then the numbers of one bracket group; the last piece may have none.
struct Piece {
  std::string_view literal;
  std::vector<Range> ranges;
};

Error bad_host(std::string_view element, std::string_view why) {
  return invalid(format("Invalid host list \"{}\": {}", printable(element.substr(0, 80)), why));
}

Result<Range> parse_range(std::string_view element, std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view low_text = text.substr(0, dash);
  const std::string_view high_text =
      dash == std::string_view::npos ? low_text : text.substr(dash + 1);
  const auto low = parse_uint(low_text);
  const auto high = parse_uint(high_text);
  if (!low || !high || low_text.size() > kMaxDigits || high_text.size() > kMaxDigits)
    return bad_host(element, "write numbers or ranges in the brackets, as in n[1-4,07]");
  if (*high < *low) return bad_host(element, "a range must go upwards, as in n[1-4]");
  return Range{*low, *high, low_text.size()};
}

Result<std::vector<Piece>> parse_element(std::string_view element) {
  std::vector<Piece> pieces;
  std::string_view rest = element;
  while (!rest.empty()) {
    const std::size_t open = rest.find_first_of("[]");
    if (open == std::string_view::npos) {
      pieces.push_back({rest, {}});
      break;
    }
    const std::size_t close = rest.find_first_of("[]", open + 1);
    if (rest[open] == ']' || close == std::string_view::npos || rest[close] == '[')
      return bad_host(element, "a bracket has no partner; write ranges as n[1-4]");
    Piece piece{rest.substr(0, open), {}};
    for (const std::string_view part : split(rest.substr(open + 1, close - open - 1), ','))
      piece.ranges.push_back(TRY(parse_range(element, part)));
    pieces.push_back(std::move(piece));
    rest.remove_prefix(close + 1);
  }
  return pieces;
}

// How many names the pieces stand for, or limit + 1 if more than limit.
std::size_t count_names(const std::vector<Piece>& pieces, std::size_t limit) {
  std::size_t total = 1;
  for (const Piece& piece : pieces) {
    if (piece.ranges.empty()) continue;
    std::size_t numbers = 0;
    for (const Range& range : piece.ranges) {
      const std::uint64_t more = range.high - range.low;  // one less than the range holds
      if (more >= limit - numbers) return limit + 1;
      numbers += static_cast<std::size_t>(more) + 1;
    }
    if (numbers > limit / total) return limit + 1;
    total *= numbers;
  }
  return total;
}

std::size_t longest_name(const std::vector<Piece>& pieces) {
  std::size_t length = 0;
  for (const Piece& piece : pieces) {
    length += piece.literal.size();
    std::size_t number = 0;
    for (const Range& range : piece.ranges)
      number = std::max({number, range.width, format("{}", range.high).size()});
    length += number;
  }
  return length;
}

void append_names(std::vector<std::string>& names, const std::vector<Piece>& pieces) {
  std::vector<std::string> heads{""};
  for (const Piece& piece : pieces) {
    for (std::string& head : heads) head += piece.literal;
    if (piece.ranges.empty()) continue;
    std::vector<std::string> longer;
    for (const std::string& head : heads)
      for (const Range& range : piece.ranges)
        for (std::uint64_t n = range.low; n <= range.high; ++n)
          longer.push_back(format("{}{:0{}}", head, n, range.width));
    heads = std::move(longer);
  }
  std::move(heads.begin(), heads.end(), std::back_inserter(names));
}

// The next element of the list, up to a separator outside brackets.
std::string_view take_element(std::string_view& list) {
  std::size_t depth = 0;
  std::size_t end = 0;
  for (; end < list.size(); ++end) {
    if (list[end] == '[') ++depth;
    if (list[end] == ']' && depth > 0) --depth;
    if (depth == 0 && separator(list[end])) break;
  }
  const std::string_view element = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return element;
}

struct Name {
  std::string_view prefix;
  std::string_view digits;  // the trailing number as written; empty: none
  std::uint64_t number = 0;
};

Name split_name(std::string_view name) {
  std::size_t start = name.size();
  while (start > 0 && digit(name[start - 1]) && name.size() - start < kMaxDigits) --start;
  Name out{name.substr(0, start), name.substr(start), 0};
  out.number = parse_uint(out.digits).value_or(0);
  return out;
}

// "[01-03,7]", or "7" alone.
std::string print_group(const std::vector<std::pair<std::string, std::string>>& ranges) {
  if (ranges.size() == 1 && ranges[0].first == ranges[0].second) return ranges[0].first;
  std::string out = "[";
  for (const auto& [low, high] : ranges) {
    if (out.size() > 1) out += ',';
    out += low;
    if (low != high) out += '-' + high;
  }
  return out + "]";
}

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view list, std::size_t limit) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::string_view element = take_element(list);
    if (element.empty()) continue;
    const std::vector<Piece> pieces = TRY(parse_element(element));
    const std::size_t count = count_names(pieces, limit);
    if (count > limit - names.size())
      return bad_host(element, format("more than {} hosts; name fewer", limit));
    if (longest_name(pieces) > kMaxHostName)
      return bad_host(element, format("a host name has at most {} characters", kMaxHostName));
    append_names(names, pieces);
  }
  return names;
}

std::string fold_hosts(std::span<const std::string> names) {
  std::string out;
  for (std::size_t i = 0; i < names.size();) {
    if (!out.empty()) out += ',';
    const Name first = split_name(names[i]);
    if (first.digits.empty()) {
      out += names[i++];
      continue;
    }
    std::vector<std::pair<std::string, std::string>> ranges;
    for (; i < names.size();) {
      const Name low = split_name(names[i]);
      if (low.digits.empty() || low.prefix != first.prefix) break;
      std::string high(low.digits);
      for (std::uint64_t next = low.number + 1; ++i < names.size(); ++next) {
        std::string expected = format("{:0{}}", next, low.digits.size());
        const Name name = split_name(names[i]);
        if (name.prefix != first.prefix || name.digits != expected) break;
        high = std::move(expected);
      }
      ranges.emplace_back(std::string(low.digits), std::move(high));
    }
    out += first.prefix;
    out += print_group(ranges);
  }
  return out;
}

bool host_before(std::string_view a, std::string_view b) {
  const Name x = split_name(a);
  const Name y = split_name(b);
  return std::tuple(x.prefix, x.number, x.digits.size()) <
         std::tuple(y.prefix, y.number, y.digits.size());
}

std::string fold_hosts_sorted(std::span<const std::string> names) {
  std::vector<std::string> sorted(names.begin(), names.end());
  std::stable_sort(sorted.begin(), sorted.end(), host_before);
  return fold_hosts(sorted);
}

}  // namespace phalanx::slurm
