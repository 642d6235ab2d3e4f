#include <gtest/gtest.h>

#include "queue/queue.h"

namespace phalanx::queue {
namespace {

TEST(Order, TierThenPriorityThenAgeThenId) {
  const Turn base{1, 10, 0, from_unix_ms(5), WorkloadId{7}};
  Turn other = base;
  other.tier = 2;
  EXPECT_TRUE(before(other, base));
  other = base;
  other.priority = 11;
  EXPECT_TRUE(before(other, base));
  other = base;
  other.nice = -1;
  EXPECT_TRUE(before(other, base));
  other = base;
  other.submitted = from_unix_ms(4);
  EXPECT_TRUE(before(other, base));
  other = base;
  other.id = WorkloadId{6};
  EXPECT_TRUE(before(other, base));
  EXPECT_FALSE(before(base, base));
}

TEST(Order, AgeIsWorthItsWeightAtMost) {
  Policy policy;
  policy.weight_age = 1000;
  policy.max_age = hours(10);
  const Partition partition;
  const auto at = [&](Duration waited) {
    return priority(policy, partition, from_unix_ms(0) + waited, from_unix_ms(0), std::nullopt, 0);
  };
  EXPECT_EQ(at(hours(5)) - at(hours(0)), 500);
  EXPECT_EQ(at(hours(20)) - at(hours(0)), 1000);
}

TEST(Order, APartitionsJobFactorCountsByItsShareOfTheLargest) {
  Policy policy;
  policy.weight_partition = 1000;
  policy.largest_job_factor = 10;
  const auto of = [&](std::int64_t factor) {
    Partition partition;
    partition.priority_job_factor = factor;
    return priority(policy, partition, Time{}, Time{}, std::nullopt, 0);
  };
  EXPECT_EQ(of(10) - of(0), 1000);
  EXPECT_EQ(of(1) - of(0), 100);
}

TEST(Order, TheHandAndNiceCount) {
  Policy policy;
  policy.weight_age = 1000;
  policy.max_age = hours(10);
  const Partition partition;
  const auto of = [&](std::optional<std::int64_t> by_hand, std::int64_t nice) {
    return priority(policy, partition, from_unix_ms(0) + hours(5), from_unix_ms(0), by_hand, nice);
  };
  EXPECT_EQ(of(42, 5), 42);
  EXPECT_EQ(of(std::nullopt, 0), 501);
  EXPECT_EQ(of(std::nullopt, 100), 401);
  EXPECT_EQ(of(std::nullopt, 5'000), 1);
  // A number that people set by hand to go first does so: factors add up to thousands.
  EXPECT_GT(of(99'999, 0), of(std::nullopt, 0));
}

}  // namespace
}  // namespace phalanx::queue
