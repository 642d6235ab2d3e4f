#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "base/quantity.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/time.h"

namespace phalanx {
namespace {

TEST(Quantity, NeverPassesThroughADouble) {
  EXPECT_EQ(Quantity::parse("0.57")->in_milli(), 570);
  EXPECT_EQ(Quantity::parse("1500m")->in_milli(), 1500);
  EXPECT_EQ(to_string(*Quantity::parse("0.250")), "0.25");
  for (const char* bad : {"", ".", "1.", ".5", "0.0001", "1.5m", "-1", "1e3", "9999999999999"})
    EXPECT_FALSE(Quantity::parse(bad).ok()) << bad;
}

TEST(Quantity, RoundsUpToWholeUnits) {
  EXPECT_EQ(Quantity::milli(1).ceil(), 1);
  EXPECT_EQ(Quantity::milli(1000).ceil(), 1);
  EXPECT_EQ(Quantity::milli(1001).ceil(), 2);
}

TEST(Time, PrintsDurationsForPeople) {
  EXPECT_EQ(to_string(Duration(0)), "0s");
  EXPECT_EQ(to_string(Duration(90'061'005)), "1d1h1m1s5ms");
  EXPECT_EQ(to_rfc3339(from_unix_ms(1'796'049'430'000)), "2026-11-30T14:37:10Z");
  EXPECT_EQ(later(kNever, seconds(1)), kNever);
  EXPECT_EQ(later(from_unix_ms(1), kForever), kNever);
}

TEST(Text, SplitsAndTrims) {
  EXPECT_EQ(split("a,,b", ',').size(), 3U);
  EXPECT_EQ(split("", ',').size(), 1U);
  EXPECT_EQ(split_blanks(" a \t b\n").size(), 2U);
  EXPECT_EQ(trim(" \t x \r\n"), "x");
}

TEST(Text, ParsesWholeNumbersOnly) {
  EXPECT_EQ(parse_int("-12"), -12);
  for (const char* bad : {"", "1x", " 1", "+1", "99999999999999999999"})
    EXPECT_FALSE(parse_int(bad)) << bad;
}

TEST(Text, SuggestsTheNearestName) {
  const std::string_view names[] = {"partition", "nodes", "time"};
  EXPECT_EQ(nearest("partiton", names), "partition");
  EXPECT_FALSE(nearest("zzz", names));
}

TEST(Text, GarbageCannotReachATerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\xff\xc3\xa9"), "a\\x1b[2Jb\\xff\xc3\xa9");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
}

TEST(Diagnostic, NamesFileAndLine) {
  EXPECT_EQ(to_string(Diagnostic{Diagnostic::Severity::Warning, {"slurm.conf", 3, 7}, "x"}),
            "slurm.conf:3:7: warning: x");
}

Result<int> half(int n) { return n % 2 ? Result<int>(invalid("odd")) : Result<int>(n / 2); }
Result<int> quarter(int n) {
  const int h = TRY(half(n));
  return TRY(half(h));
}

TEST(Result, TryReturnsTheFirstError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message, "odd");
}

TEST(Rng, SameSeedSameNumbers) {
  Rng a(7), b(7);
  for (int i = 0; i < 100; ++i) {
    const auto x = a.between(-3, 3);
    EXPECT_EQ(x, b.between(-3, 3));
    EXPECT_TRUE(x >= -3 && x <= 3);
  }
}

}  // namespace
}  // namespace phalanx
