// Time as the core sees it: a number handed in from outside, in milliseconds since 1970. Epoch has
// no now(), so that pure code cannot read a clock even by mistake.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace phalanx {

struct Epoch {
  // NOLINTBEGIN(readability-identifier-naming): std::chrono asks for these names
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Epoch>;
  static constexpr bool is_steady = true;
  // NOLINTEND(readability-identifier-naming)
};
using Duration = Epoch::duration;
using Time = Epoch::time_point;

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr Time kNever = Time::max();
inline constexpr Duration kForever = Duration::max();

constexpr std::int64_t unix_ms(Time t) { return t.time_since_epoch().count(); }
constexpr std::int64_t unix_seconds(Time t) {
  return std::chrono::floor<std::chrono::seconds>(t).time_since_epoch().count();
}
constexpr Time from_unix_ms(std::int64_t ms) { return Time(Duration(ms)); }

// t + d without overflow: kNever and kForever absorb.
constexpr Time later(Time t, Duration d) {
  return t == kNever || d == kForever || d > kNever - t ? kNever : t + d;
}

// "90ms", "1m30s", "2h", "3d4h", "0s", "forever": for people and scenarios; parse_duration reads it
// back.
std::string to_string(Duration d);
// Civil UTC, "2026-11-30T14:37:10Z". Local time is a matter of the edge.
std::string to_rfc3339(Time t);

}  // namespace phalanx
