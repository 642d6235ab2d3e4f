// Random clusters, work and faults, in chaos, by fixed seeds and one that nobody has seen before. A
// failure names its seed and prints the scenario: phalanx sim swarm --seed N --seeds 1.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

#include "base/text.h"
#include "sim/sim.h"

namespace phalanx::sim {
namespace {

constexpr std::uint64_t kBlocks = 8, kSeedsInBlock = 25;  // blocks run side by side
constexpr int kWork = 12;

std::string complaint(std::uint64_t seed, const Flight& flight) {
  return format("seed {}:\n{}\n{}", seed, join(flight.problems, "\n"), flight.scenario);
}

class SwarmBlock : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SwarmBlock, EverythingHolds) {
  std::size_t promises = 0, scripts = 0;
  int restarts = 0;
  const std::uint64_t first = 1 + GetParam() * kSeedsInBlock;
  for (std::uint64_t seed = first; seed < first + kSeedsInBlock; ++seed) {
    const Flight flight = fly(seed, kWork);
    ASSERT_TRUE(flight.problems.empty()) << complaint(seed, flight);
    promises += flight.promises_kept;
    scripts += flight.scripts_begun;
    restarts += flight.restarts;
  }
  // It does something: a swarm that never starts, promises or fails would hold everything.
  EXPECT_GT(scripts, 5 * kSeedsInBlock);
  EXPECT_GT(promises, kSeedsInBlock / 5);
  EXPECT_GT(restarts, static_cast<int>(kSeedsInBlock / 2));
}

INSTANTIATE_TEST_SUITE_P(Seeds, SwarmBlock, testing::Range(std::uint64_t{0}, kBlocks));

TEST(Swarm, AFreshSeedHolds) {
  const auto seed = static_cast<std::uint64_t>(
      std::chrono::system_clock::now().time_since_epoch().count() % 1'000'000'000);
  std::cout << "seed " << seed << '\n';
  const Flight flight = fly(seed, 2 * kWork);
  EXPECT_TRUE(flight.problems.empty()) << complaint(seed, flight);
}

TEST(Swarm, TheSameSeedGivesTheSameJournal) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    ASSERT_EQ(fly(seed, kWork).journal, fly(seed, kWork).journal) << "seed " << seed;
}

}  // namespace
}  // namespace phalanx::sim
