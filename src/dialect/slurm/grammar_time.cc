#include <algorithm>
#include <utility>

#include "base/text.h"
#include "dialect/slurm/grammar.h"

namespace phalanx::slurm {
namespace {

constexpr std::int64_t kMaxSeconds = 60LL * 2'147'483'647;  // Slurm counts minutes in 32 bits
constexpr std::int64_t kDay = 86'400;

Error bad_time(std::string_view text) {
  return invalid(
      format("\"{}\" is not a time; write minutes, m:s, h:m:s, d-h, d-h:m, d-h:m:s or UNLIMITED",
             printable(text.substr(0, 40))));
}

// Whole numbers between colons; nothing if one is missing or too large.
std::optional<std::vector<std::int64_t>> colon_fields(std::string_view text) {
  std::vector<std::int64_t> fields;
  for (const std::string_view part : split(text, ':')) {
    const auto number = parse_uint(part);
    if (!number || *number > static_cast<std::uint64_t>(kMaxSeconds)) return std::nullopt;
    fields.push_back(static_cast<std::int64_t>(*number));
  }
  return fields;
}

std::optional<std::int64_t> read_seconds(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    const auto f = colon_fields(text);
    if (!f || f->size() > 3) return std::nullopt;
    if (f->size() == 1) return f->at(0) * 60;
    if (f->size() == 2) return f->at(0) * 60 + f->at(1);
    return f->at(0) * 3600 + f->at(1) * 60 + f->at(2);
  }
  const auto days = colon_fields(text.substr(0, dash));
  if (!days || days->size() != 1) return std::nullopt;
  const std::string_view rest = text.substr(dash + 1);
  if (rest.empty()) return days->at(0) * kDay;  // "2-" is two days (S087)
  const auto f = colon_fields(rest);
  if (!f || f->size() > 3) return std::nullopt;
  std::int64_t seconds = days->at(0) * kDay + f->at(0) * 3600;
  if (f->size() > 1) seconds += f->at(1) * 60;
  if (f->size() > 2) seconds += f->at(2);
  return seconds;
}

std::string print_clock(Duration d, bool padded) {
  if (d == kForever) return "UNLIMITED";
  const std::int64_t s = std::max<std::int64_t>(0, d.count() / 1000);
  const std::int64_t days = s / kDay, h = s / 3600 % 24, m = s / 60 % 60;
  if (days > 0) return format("{}-{:02}:{:02}:{:02}", days, h, m, s % 60);
  if (padded) return format("{:02}:{:02}:{:02}", h, m, s % 60);
  return h > 0 ? format("{}:{:02}:{:02}", h, m, s % 60) : format("{}:{:02}", m, s % 60);
}

using std::chrono::sys_days;
using std::chrono::year_month_day;

std::int64_t day_number(int year, int month, int day) {
  const year_month_day date(std::chrono::year(year),
                            std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day)));
  return sys_days(date).time_since_epoch().count();
}

bool real_date(const CivilTime& c) {
  return c.year >= 1970 && c.year <= 2200 &&
         year_month_day(std::chrono::year(c.year),
                        std::chrono::month(static_cast<unsigned>(c.month)),
                        std::chrono::day(static_cast<unsigned>(c.day)))
             .ok();
}

// Reads one moment, piece by piece: a time of day and a date in either order, or "now" with an
// offset.
class MomentReader {
 public:
  MomentReader(std::string_view text, Time now, const Zone& zone)
      : text_(text), rest_(text), now_(now), zone_(zone), today_(to_civil(now, zone)) {}

  Result<Time> read() {
    skip_blanks();
    if (take_word("now")) return read_offset();
    while (!rest_.empty()) {
      if (!(read_word() || read_date() || read_clock())) return bad();
      if (!rest_.empty() && (rest_[0] == 'T' || rest_[0] == 't') && dated_) rest_.remove_prefix(1);
      skip_blanks();
    }
    return dated_ || timed_ ? settle() : Result<Time>(bad());
  }

 private:
  Error bad() const {
    return invalid(
        format("\"{}\" is not a moment; write now+2hours, 16:00, tomorrow, noon, 12/25 or "
               "2026-12-01T10:00",
               printable(text_.substr(0, 40))));
  }
  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  bool take_word(std::string_view word) {
    if (!istarts_with(rest_, word)) return false;
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    if (rest_.size() > word.size() && letter(rest_[word.size()])) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // Up to `width` digits; nothing if there is none.
  std::optional<int> take_number(std::size_t width) {
    std::size_t n = 0;
    while (n < rest_.size() && n < width && rest_[n] >= '0' && rest_[n] <= '9') ++n;
    const auto number = parse_uint(rest_.substr(0, n));
    if (!number) return std::nullopt;
    rest_.remove_prefix(n);
    return static_cast<int>(*number);
  }
  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Result<Time> read_offset() {
    skip_blanks();
    if (rest_.empty()) return now_;
    const bool back = rest_[0] == '-';
    if (!take('+') && !take('-')) return bad();
    skip_blanks();
    const auto count = take_number(9);
    if (!count) return bad();
    skip_blanks();
    std::int64_t unit = rest_.empty() ? 1 : 0;
    const std::pair<std::string_view, std::int64_t> units[] = {
        {"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", kDay}, {"weeks", 7 * kDay}};
    for (const auto& [name, size] : units)
      if (!rest_.empty() && istarts_with(name, rest_)) unit = size;
    if (unit == 0) return bad();
    if (*count > 100 * 366 * kDay / unit) return bad();  // a hundred years
    const Duration d = seconds(*count * unit);
    return back ? now_ - d : later(now_, d);
  }

  bool read_word() {
    const std::pair<std::string_view, int> clocks[] = {
        {"midnight", 0}, {"noon", 12}, {"elevenses", 11}, {"fika", 15}, {"teatime", 16}};
    for (const auto& [word, hour] : clocks)
      if (!timed_ && take_word(word)) return set_clock(hour, 0, 0);
    if (dated_) return false;
    if (take_word("today")) return set_date(today_.year, today_.month, today_.day);
    if (!take_word("tomorrow")) return false;
    const CivilTime next = date_after(today_);
    return set_date(next.year, next.month, next.day);
  }

  // YYYY-MM-DD, MM/DD[/YY], MM.DD[.YY], MMDD[YY].
  bool read_date() {
    if (dated_) return false;
    const std::string_view start = rest_;
    if (const auto year = take_number(4); year && start.size() - rest_.size() == 4 && take('-')) {
      const auto month = take_number(2);
      if (month && take('-'))
        if (const auto day = take_number(2)) return set_date(*year, *month, *day);
    }
    rest_ = start;
    const auto month = take_number(2);
    if (!month) return false;
    for (const char mark : {'/', '.'}) {
      if (!take(mark)) continue;
      const auto day = take_number(2);
      if (!day) break;
      if (!take(mark)) return set_yearless(*month, *day);
      if (const auto year = take_number(4))
        return set_date(*year < 100 ? *year + 2000 : *year, *month, *day);
      break;
    }
    const std::size_t digits = static_cast<std::size_t>(
        std::find_if(start.begin(), start.end(), [](char c) { return c < '0' || c > '9'; }) -
        start.begin());
    const bool clock = digits < start.size() && start[digits] == ':';
    if (!clock && (digits == 4 || digits == 6)) {
      rest_ = start;
      const int m = take_number(2).value_or(0), d = take_number(2).value_or(0);
      return digits == 4 ? set_yearless(m, d) : set_date(take_number(2).value_or(0) + 2000, m, d);
    }
    rest_ = start;
    return false;
  }

  bool read_clock() {
    if (timed_) return false;
    const auto hour = take_number(2);
    if (!hour || !take(':')) return false;
    const auto minute = take_number(2);
    if (!minute) return false;
    const auto second = take(':') ? take_number(2) : std::optional<int>(0);
    if (!second) return false;
    skip_blanks();
    const bool pm = take_word("pm");
    if (!pm && !take_word("am")) return set_clock(*hour, *minute, *second);
    return *hour >= 1 && *hour <= 12 && set_clock(*hour % 12 + (pm ? 12 : 0), *minute, *second);
  }

  bool set_clock(int hour, int minute, int second) {
    if (hour > 23 || minute > 59 || second > 59) return false;
    wanted_.hour = hour, wanted_.minute = minute, wanted_.second = second;
    return timed_ = true;
  }
  bool set_date(int year, int month, int day) {
    wanted_.year = year, wanted_.month = month, wanted_.day = day;
    return dated_ = real_date(wanted_);
  }
  bool set_yearless(int month, int day) {
    yearless_ = true;
    if (set_date(today_.year, month, day)) return true;
    return set_date(today_.year + 1, month, day);  // 29 February
  }
  static CivilTime date_after(const CivilTime& c) {
    return to_civil(Time(std::chrono::days(day_number(c.year, c.month, c.day) + 1)), Zone{});
  }

  Time settle() {
    if (!dated_) {
      wanted_.year = today_.year, wanted_.month = today_.month, wanted_.day = today_.day;
      if (wanted_ < today_) {
        const CivilTime next = date_after(today_);
        wanted_.year = next.year, wanted_.month = next.month, wanted_.day = next.day;
      }
    } else if (yearless_ && wanted_ < today_ &&
               std::pair(wanted_.month, wanted_.day) != std::pair(today_.month, today_.day)) {
      CivilTime next = wanted_;
      ++next.year;
      if (real_date(next)) wanted_ = next;
    }
    return from_civil(wanted_, zone_);
  }

  std::string_view text_, rest_;
  Time now_;
  const Zone& zone_;
  CivilTime today_, wanted_;
  bool dated_ = false, timed_ = false, yearless_ = false;
};

}  // namespace

Result<Duration> parse_time(std::string_view text) {
  if (text == "-1" || iequals(text, "unlimited") || iequals(text, "infinite")) return kForever;
  const auto s = read_seconds(text);
  if (!s || *s > kMaxSeconds) return bad_time(text);
  return Duration(seconds(*s));
}

Result<Duration> parse_time_limit(std::string_view text) {
  const Duration d = TRY(parse_time(text));
  if (d == kForever || d == Duration::zero()) return kForever;
  return Duration(std::chrono::ceil<minutes>(d));
}

std::string print_time(Duration d) { return print_clock(d, false); }
std::string print_time_padded(Duration d) { return print_clock(d, true); }

CivilTime to_civil(Time t, const Zone& zone) {
  Duration offset = zone.offset;
  for (const Zone::Change& change : zone.changes)
    if (change.at <= t) offset = change.offset;
  const std::int64_t s = unix_seconds(t + offset);
  const std::int64_t day = s >= 0 ? s / kDay : -((kDay - 1 - s) / kDay);
  const year_month_day date{sys_days(std::chrono::days(day))};
  const int of_day = static_cast<int>(s - day * kDay);
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          of_day / 3600,
          of_day / 60 % 60,
          of_day % 60};
}

Time from_civil(const CivilTime& c, const Zone& zone) {
  const std::int64_t s =
      day_number(c.year, c.month, c.day) * kDay + c.hour * 3600LL + c.minute * 60LL + c.second;
  const Time as_utc = from_unix_ms(s * 1000);
  Duration offset = zone.offset;
  for (const Zone::Change& change : zone.changes) {
    if (as_utc - offset < change.at)
      break;  // the moment lies before this change, at the offset until it
    if (as_utc - change.offset < change.at) return change.at;  // skipped by the jump
    offset = change.offset;
  }
  return as_utc - offset;
}

Result<Time> parse_moment(std::string_view text, Time now, const Zone& zone) {
  return MomentReader(text, now, zone).read();
}

std::string print_moment(Time t, const Zone& zone) {
  if (t == kNever) return "Unknown";
  const CivilTime c = to_civil(t, zone);
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", c.year, c.month, c.day, c.hour, c.minute,
                c.second);
}

}  // namespace phalanx::slurm
