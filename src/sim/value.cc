#include "sim/value.h"

#include <algorithm>

#include "base/text.h"

namespace phalanx::sim {
namespace {

constexpr std::int64_t kMost = 4'294'967'294;  // what a priority may be
constexpr std::size_t kMostNames = 4'096;
constexpr std::int64_t kLongestMs = std::int64_t{10'000} * 86'400'000;

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr Unit kUnits[] = {
    {"d", 86'400'000}, {"h", 3'600'000}, {"ms", 1}, {"m", 60'000}, {"s", 1000}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Error no_duration(std::string_view text) {
  return invalid(format("'{}' is no duration: write 90s, 1h30m or 250ms", text));
}

// One piece of "[1-3,7]".
Status add_range(std::vector<std::string>& names, std::string_view prefix, std::string_view piece,
                 std::string_view suffix) {
  const std::size_t dash = piece.find('-');
  const auto first = parse_int(piece.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_int(piece.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first ||
      *last - *first >= static_cast<std::int64_t>(kMostNames - names.size()))
    return invalid(format("'{}' is no range of at most {} names: write n[1-4]", piece, kMostNames));
  for (std::int64_t i = *first; i <= *last; ++i)
    names.push_back(format("{}{}{}", prefix, i, suffix));
  return {};
}

// Splits at commas outside of brackets.
std::vector<std::string_view> pieces(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    out.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  return out;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text == "forever") return kForever;
  if (text == "0") return Duration{};
  std::int64_t total = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto digits = static_cast<std::size_t>(
        std::find_if_not(rest.begin(), rest.end(), is_digit) - rest.begin());
    const auto number = parse_int(rest.substr(0, digits));
    rest.remove_prefix(digits);
    const auto unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                   [&](const Unit& u) { return rest.starts_with(u.name); });
    if (!number || unit == std::end(kUnits) || *number > kLongestMs / unit->ms)
      return no_duration(text);
    total += *number * unit->ms;
    rest.remove_prefix(unit->name.size());
  }
  if (text.empty() || total > kLongestMs) return no_duration(text);
  return Duration(total);
}

Result<std::int64_t> parse_count(std::string_view text, std::int64_t least) {
  const auto number = parse_int(text);
  if (!number || *number < least || *number > kMost)
    return invalid(format("'{}' is no whole number of at least {}", text, least));
  return *number;
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kSizes = "KMGT";
  const std::size_t size = text.empty() ? std::string_view::npos : kSizes.find(text.back());
  const auto number = parse_int(text.substr(0, text.empty() ? 0 : text.size() - 1));
  if (size == std::string_view::npos || !number || *number < 0 || *number > 1'000'000)
    return invalid(format("'{}' is no amount of memory: write 512M or 64G", text));
  return *number << (10 * (size + 1));
}

Result<bool> parse_yes(std::string_view text) {
  if (text == "yes") return true;
  if (text == "no") return false;
  return invalid(format("'{}' is neither yes nor no", text));
}

Result<std::vector<std::string>> expand_names(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view piece : pieces(text)) {
    const std::size_t open = piece.find('['), close = piece.find(']');
    if (piece.empty() || names.size() >= kMostNames)
      return invalid(format("'{}' is no list of at most {} names", text, kMostNames));
    if (open == std::string_view::npos && close == std::string_view::npos) {
      names.emplace_back(piece);
      continue;
    }
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
      return invalid(format("'{}' has a bracket without its partner", piece));
    for (const std::string_view range : split(piece.substr(open + 1, close - open - 1), ','))
      TRY(add_range(names, piece.substr(0, open), range, piece.substr(close + 1)));
  }
  return names;
}

Result<TypedCount> parse_typed_count(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return TypedCount{"", TRY(parse_count(text))};
  return TypedCount{std::string(text.substr(0, colon)), TRY(parse_count(text.substr(colon + 1)))};
}

}  // namespace phalanx::sim
