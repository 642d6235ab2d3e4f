#include "dialect/kube/quantity.h"

#include <limits>
#include <optional>

#include "base/text.h"

namespace phalanx::kube {
namespace {

__extension__ using Wide = __int128;
constexpr std::int64_t kMost = 9'000'000'000'000'000;  // of the unit asked for; sums stay exact
constexpr Wide kBound = Wide{1} << 120;

// digits × 10^ten × 2^two
struct Number {
  Wide digits = 0;
  int ten = 0;
  int two = 0;
};

struct Suffix {
  std::string_view name;
  int ten, two;
};
constexpr Suffix kSuffixes[] = {{"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},
                                {"k", 3, 0},   {"M", 6, 0},   {"G", 9, 0},   {"T", 12, 0},
                                {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
                                {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60}};

Error bad(std::string_view text, std::string_view why) {
  return invalid(format("\"{}\" is not a quantity: {}", printable(text), why));
}

// "12.5" at the front of `s`, which keeps the rest.
std::optional<Number> take_digits(std::string_view& s) {
  Number n;
  bool any = false, fraction = false;
  std::size_t i = 0;
  for (; i < s.size(); ++i) {
    if (s[i] == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (s[i] < '0' || s[i] > '9') break;
    any = true;
    if (n.digits > kBound / 100) return std::nullopt;
    n.digits = n.digits * 10 + (s[i] - '0');
    n.ten -= fraction ? 1 : 0;
  }
  s.remove_prefix(i);
  return any ? std::optional(n) : std::nullopt;
}

Result<Number> parse(std::string_view text) {
  std::string_view s = text;
  if (s.starts_with('-')) return bad(text, "it must not be negative");
  if (s.starts_with('+')) s.remove_prefix(1);
  std::optional<Number> n = take_digits(s);
  if (!n) return bad(text, "write a number such as 2, 0.5, 500m or 2Gi");
  if (s.size() > 1 && (s.front() == 'e' || s.front() == 'E') && s != "Ei") {
    std::string_view exponent = s.substr(1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    const auto power = parse_int(exponent);
    if (!power || *power > 30 || *power < -30)
      return bad(text, "the exponent must be a number between -30 and 30");
    n->ten += static_cast<int>(*power);
    return *n;
  }
  for (const Suffix& suffix : kSuffixes)
    if (s == suffix.name) {
      n->ten += suffix.ten;
      n->two = suffix.two;
      return *n;
    }
  return bad(text, format("the suffix \"{}\" is none of n u m k M G T P E Ki Mi Gi Ti Pi Ei",
                          printable(s)));
}

// In units of 10^-decimals, rounded up.
Result<std::int64_t> in_units(std::string_view text, int decimals) {
  const Number n = TRY(parse(text));
  if (n.digits == 0) return std::int64_t{0};
  Wide value = n.digits;
  int ten = n.ten + decimals;
  for (int i = 0; i < n.two; ++i) {
    if (value > kBound / 2) return bad(text, "it is too large");
    value *= 2;
  }
  for (; ten > 0; --ten) {
    if (value > kBound / 10) return bad(text, "it is too large");
    value *= 10;
  }
  for (; ten < 0; ++ten) value = value / 10 + (value % 10 != 0 ? 1 : 0);
  if (value > kMost) return bad(text, "it is too large");
  return static_cast<std::int64_t>(value);
}

}  // namespace

Result<Quantity> parse_cpus(std::string_view text) {
  return Quantity::milli(TRY(in_units(text, 3)));
}

Result<std::int64_t> parse_bytes(std::string_view text) { return in_units(text, 0); }

Result<std::int64_t> parse_count(std::string_view text) {
  const std::int64_t thousandths = TRY(in_units(text, 3));
  if (thousandths % 1000 != 0) return bad(text, "a device is given whole or not at all");
  return thousandths / 1000;
}

}  // namespace phalanx::kube
