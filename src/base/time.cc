#include "base/time.h"

#include <fmt/format.h>

namespace phalanx {

std::string to_string(Duration d) {
  if (d == kForever) return "forever";
  std::string out;
  if (d < Duration::zero()) {
    out = "-";
    d = -d;
  }
  const std::int64_t ms = d.count();
  const struct {
    std::int64_t size;
    const char* unit;
  } units[] = {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}, {1, "ms"}};
  std::int64_t rest = ms;
  for (const auto& [size, unit] : units) {
    if (rest / size == 0) continue;
    out += fmt::format("{}{}", rest / size, unit);
    rest %= size;
  }
  return ms == 0 ? "0s" : out;
}

std::string to_rfc3339(Time t) {
  if (t == kNever) return "never";
  const auto day = std::chrono::floor<std::chrono::days>(t);
  const std::chrono::year_month_day date{std::chrono::sys_days(day.time_since_epoch())};
  const std::int64_t s = std::chrono::floor<std::chrono::seconds>(t - day).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     s / 3600, s / 60 % 60, s % 60);
}

}  // namespace phalanx
