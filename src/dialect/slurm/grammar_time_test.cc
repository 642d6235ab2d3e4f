#include <gtest/gtest.h>

#include "dialect/slurm/grammar.h"

namespace phalanx::slurm {
namespace {

std::string limit(std::string_view text) {
  const auto d = parse_time_limit(text);
  return d.ok() ? print_time(*d) : "refused";
}

TEST(TimeLimit, ReadsTheSixFormsAndRoundsUp) {
  const std::pair<const char*, const char*> cases[] = {
      {"5:30", "6:00"},           // slurm 1.4.20
      {"1:02:03", "1:03:00"},     // slurm 1.4.20
      {"1-2", "1-02:00:00"},      // slurm 1.4.20
      {"0", "UNLIMITED"},         // slurm 1.4.20
      {"infinite", "UNLIMITED"},  // slurm 1.4.20
      {"UNLIMITED", "UNLIMITED"},
      {"-1", "UNLIMITED"},
      {"4:00", "4:00"},              // B008: minutes and seconds
      {"2-12", "2-12:00:00"},        // B008
      {"1-00:00:00", "1-00:00:00"},  // B010
      {"12:34:00", "12:34:00"},      // B011
      {"0:29", "1:00"},              // B013: never 0
      {"0:89", "2:00"},
      {"2-", "2-00:00:00"},         // S087
      {"60:00", "1:00:00"},         // S088
      {"24:00", "24:00"},           // S089
      {"0-60:00", "2-12:00:00"},    // S090
      {"5-0:0", "5-00:00:00"},      // S054
      {"15", "15:00"},              // S048
      {"00-00:10:00", "10:00"},     // S084
      {"100:00:00", "4-04:00:00"},  // S037
      {"03:00", "3:00"},            // S097
      {"1-02:03", "1-02:03:00"},
  };
  for (const auto& [text, printed] : cases) EXPECT_EQ(limit(text), printed) << text;
}

TEST(TimeLimit, RefusesWhatItCannotRead) {
  for (const char* text :
       {"", "-5", "-", "-2:00", "abc", "05:00:00:00" /* S085 */, ":5", "5:", "1-2-3", "1:2-3",
        "1::2", "1-:2", "1.5", "5 ", "1h", "99999999999999999999", "999999999999"})
    EXPECT_EQ(limit(text), "refused") << text;
}

TEST(TimeLimit, PrintsPaddedForScontrolAndSacct) {
  EXPECT_EQ(print_time_padded(minutes(60)), "01:00:00");
  EXPECT_EQ(print_time_padded(seconds(72)), "00:01:12");
  EXPECT_EQ(print_time_padded(hours(26)), "1-02:00:00");
  EXPECT_EQ(print_time_padded(kForever), "UNLIMITED");
  EXPECT_EQ(print_time(seconds(5)), "0:05");
}

constexpr Time kNow = from_unix_ms(1'796'049'430'000);  // 2026-11-30 14:37:10 UTC, a Monday
const Zone kMoscow{hours(3), {}};

std::string moment(std::string_view text, const Zone& zone = kMoscow) {
  const auto t = parse_moment(text, kNow, zone);
  return t.ok() ? print_moment(*t, zone) : "refused";
}

TEST(Moment, ReadsEveryForm) {
  const std::pair<const char*, const char*> cases[] = {
      // it is 17:37:10 in Moscow
      {"now", "2026-11-30T17:37:10"},
      {"now+24hour", "2026-12-01T17:37:10"},  // S006: glued, singular
      {"now+1hour", "2026-11-30T18:37:10"},
      {"now+60", "2026-11-30T17:38:10"},
      {"now + 2 days", "2026-12-02T17:37:10"},
      {"now-1week", "2026-11-23T17:37:10"},
      {"16:00", "2026-12-01T16:00:00"},  // passed: tomorrow
      {"18:00", "2026-11-30T18:00:00"},
      {"4:30pm", "2026-12-01T16:30:00"},
      {"12:00am", "2026-12-01T00:00:00"},
      {"6:30:15 PM", "2026-11-30T18:30:15"},
      {"midnight", "2026-12-01T00:00:00"},
      {"noon", "2026-12-01T12:00:00"},
      {"teatime", "2026-12-01T16:00:00"},
      {"today", "2026-11-30T00:00:00"},
      {"tomorrow", "2026-12-01T00:00:00"},
      {"tomorrow 10:00", "2026-12-01T10:00:00"},
      {"noon tomorrow", "2026-12-01T12:00:00"},
      {"12/25", "2026-12-25T00:00:00"},
      {"01/15", "2027-01-15T00:00:00"},  // passed: next year
      {"01/15/26", "2026-01-15T00:00:00"},
      {"12.25.2026", "2026-12-25T00:00:00"},
      {"1225", "2026-12-25T00:00:00"},
      {"122527", "2027-12-25T00:00:00"},
      {"16:00 12/25", "2026-12-25T16:00:00"},
      {"2026-12-01", "2026-12-01T00:00:00"},
      {"2026-12-01T10:00", "2026-12-01T10:00:00"},
      {"2026-12-01T10:00:30", "2026-12-01T10:00:30"},
  };
  for (const auto& [text, printed] : cases) EXPECT_EQ(moment(text), printed) << text;
}

TEST(Moment, RefusesWhatItCannotRead) {
  for (const char* text :
       {"", " ", "foo", "25:00", "10:60", "now+1fortnight", "now+", "now1", "13:00pm", "2026-13-01",
        "02/30/27", "noonish", "10:00 11:00", "tomorrow today", "now+999999999weeks"})
    EXPECT_EQ(moment(text), "refused") << text;
}

TEST(Moment, B124_LocalTimeAroundTheChangeOfClocks) {
  // America/New_York: from 02:00 EST to 03:00 EDT on 2027-03-14, back on 2027-11-07.
  const Zone zone{
      hours(-5),
      {{from_unix_ms(1'805'007'600'000), hours(-4)}, {from_unix_ms(1'825'567'200'000), hours(-5)}}};
  EXPECT_EQ(moment("2027-03-14T01:59:59", zone), "2027-03-14T01:59:59");
  EXPECT_EQ(moment("2027-03-14T02:30", zone), "2027-03-14T03:00:00");  // skipped: after the jump
  EXPECT_EQ(moment("2027-03-14T03:30", zone), "2027-03-14T03:30:00");
  const auto first = parse_moment("2027-11-07T01:30", kNow, zone);  // twice: the first
  EXPECT_EQ(to_rfc3339(*first), "2027-11-07T05:30:00Z");
  EXPECT_EQ(to_rfc3339(*parse_moment("2027-11-07T02:30", kNow, zone)), "2027-11-07T07:30:00Z");
}

}  // namespace
}  // namespace phalanx::slurm
