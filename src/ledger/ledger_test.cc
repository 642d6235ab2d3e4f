#include "ledger/ledger.h"

#include <gtest/gtest.h>

#include "model/usage.h"

namespace phalanx::ledger {
namespace {

TEST(Ledger, ChargesWhatWasHeldExactly) {
  struct Case {
    std::int64_t milli_cpus, memory, gpus, ms;
    Usage cost;
  };
  const std::int64_t gib = std::int64_t{1} << 30;
  const Case cases[] = {
      {8000, 16 * gib, 2, 1000, {2000, 8000, 16384 * 1000, 1000}},
      {500, 0, 0, 3, {0, 1, 0, 3}},                  // 1.5 CPU-ms, rounded down per share
      {1500, 1, 1, 1999, {1999, 2998, 1999, 1999}},  // a byte is a MiB
      {128000,
       2048 * gib,
       8,
       31'536'000'000,
       {252'288'000'000, 4'036'608'000'000, 66'135'785'472'000'000, 31'536'000'000}},  // a year
      {8000, 16 * gib, 2, 0, {}},
      {8000, 16 * gib, 2, -5, {}},
  };
  for (const Case& c : cases) {
    NodeShare share;
    share.cpus = Quantity::milli(c.milli_cpus);
    share.memory = c.memory;
    share.gpus.resize(static_cast<std::size_t>(c.gpus));
    EXPECT_EQ(usage_of(share, Duration(c.ms)), c.cost) << c.ms;
  }
}

TEST(Ledger, SumsMemberByMember) {
  Usage sum{1, 2, 3, 4};
  sum += Usage{10, 20, 30, 40};
  EXPECT_EQ(sum, (Usage{11, 22, 33, 44}));
}

}  // namespace
}  // namespace phalanx::ledger
