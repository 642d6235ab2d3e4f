#include "base/quantity.h"

#include "base/text.h"

namespace phalanx {

Result<Quantity> Quantity::parse(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return invalid(fmt::format("\"{}\" is not an amount: {}", printable(text), why));
  };
  std::string_view s = text;
  const bool thousandths = !s.empty() && s.back() == 'm';
  if (thousandths) s.remove_suffix(1);
  const std::size_t dot = s.find('.');
  const std::string_view whole_text = s.substr(0, dot);
  const std::string_view fraction =
      dot == std::string_view::npos ? std::string_view() : s.substr(dot + 1);
  if (dot != std::string_view::npos && (thousandths || fraction.empty() || fraction.size() > 3))
    return bad("write at most three decimals, as in 0.125");
  const auto whole = parse_uint(whole_text);
  if (!whole || *whole > 9'000'000'000'000) return bad("write a number such as 2, 0.5 or 1500m");
  std::int64_t part = 0;
  if (!fraction.empty()) {
    const auto digits = parse_uint(fraction);
    if (!digits) return bad("write a number such as 2, 0.5 or 1500m");
    part = static_cast<std::int64_t>(*digits);
    for (std::size_t i = fraction.size(); i < 3; ++i) part *= 10;
  }
  const auto units = static_cast<std::int64_t>(*whole);
  return thousandths ? milli(units) : milli(units * 1000 + part);
}

std::string to_string(Quantity q) {
  const std::int64_t m = q.in_milli();
  if (m % 1000 == 0) return fmt::format("{}", m / 1000);
  const std::int64_t a = m < 0 ? -m : m;
  std::string out = fmt::format("{}{}.{:03}", m < 0 ? "-" : "", a / 1000, a % 1000);
  while (out.back() == '0') out.pop_back();
  return out;
}

}  // namespace phalanx
