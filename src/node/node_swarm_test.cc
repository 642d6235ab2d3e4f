// Orders in any order, repeated and late, to a node whose operating system answers when it likes:
// what was released never starts again, no two attempts of a workload begin beside each other, and
// whatever is released is gone in the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/rng.h"
#include "base/text.h"
#include "node/node.h"

namespace phalanx::node {
namespace {

constexpr int kSeeds = 200;
constexpr int kOrders = 200;

class Swarm {
 public:
  explicit Swarm(std::uint64_t seed) : rng_(seed) {}

  void run() {
    for (int i = 0; i < kOrders && !testing::Test::HasFailure(); ++i) {
      now_ += milliseconds(rng_.between(0, 1500));
      if (rng_.chance(2)) carry_out(node_.order(now_, order()));
      if (rng_.chance(2)) answer();
      if (now_ >= node_.next_deadline()) carry_out(node_.tick(now_));
    }
    end();
  }

 private:
  Fence fence() {
    return {"c", WorkloadId{1 + rng_.below(3)}, 1 + static_cast<AttemptNumber>(rng_.below(3)),
            "boot"};
  }

  Order order() {
    const Fence f = fence();
    LaunchOrder launch;
    launch.first_node = !rng_.chance(4);
    if (rng_.chance(3)) launch.prepare_limit = milliseconds(rng_.between(0, 5000));
    if (rng_.chance(5)) launch.kind = WorkloadKind::allocation;
    switch (rng_.below(6)) {
      case 0:
        return Go{f};
      case 1:
        return Stop{f, EndCause::cancelled, seconds(3)};
      case 2:
        released_.insert(f);
        return Release{f};
      case 3:
        return Forget{f};
      default:
        return Prepare{f, launch, rng_.chance(2)};
    }
  }

  void carry_out(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (const auto* make = std::get_if<MakeRoom>(&action)) {
        EXPECT_TRUE(rooms_.insert(make->fence).second) << "a room is made twice";
        owed_.emplace_back(RoomMade{make->fence, rng_.chance(6) ? "no room" : ""});
      } else if (const auto* start = std::get_if<StartBatch>(&action)) {
        started(start->fence);
      } else if (const auto* kill = std::get_if<KillAll>(&action)) {
        killed(kill->fence);
      } else if (const auto* clean = std::get_if<CleanUp>(&action)) {
        EXPECT_FALSE(alive_.contains(clean->fence)) << "cleaned up around living processes";
        rooms_.erase(clean->fence);
        owed_.emplace_back(RoomGone{clean->fence, {}});
      }
    }
  }

  void started(const Fence& f) {
    for (const Fence& r : released_)
      EXPECT_FALSE(r.workload == f.workload && r.attempt >= f.attempt)
          << "attempt " << f.attempt << " starts after the release of " << r.attempt;
    EXPECT_TRUE(ever_.insert(f).second) << "a script starts twice";
    alive_.insert(f);
    if (rng_.chance(8)) {
      alive_.erase(f);
      owed_.emplace_back(BatchStarted{f, "it cannot", rng_.chance(2)});
      return;
    }
    owed_.emplace_back(BatchStarted{f, "", false});
    if (rng_.chance(3)) exits(f);
  }
  void exits(const Fence& f) {
    if (alive_.erase(f) > 0)
      owed_.emplace_back(UnitExited{{f, kBatchStep}, 0, 0, false, false, {}});
  }
  // A kill reaches everything; that nothing is left is told when a script that was starting has
  // been told of.
  void killed(const Fence& f) {
    exits(f);
    owed_.emplace_back(RoomEmpty{f});
  }

  // Answers come in order for one room, as the agent gives them.
  void answer() {
    if (owed_.empty()) return;
    const auto of = [](const OsResult& r) {
      return std::visit(
          [](const auto& result) {
            if constexpr (requires { result.unit; })
              return result.unit.fence;
            else
              return result.fence;
          },
          r);
    };
    const Fence chosen = of(owed_[rng_.below(owed_.size())]);
    const auto it = std::find_if(owed_.begin(), owed_.end(),
                                 [&](const OsResult& r) { return of(r) == chosen; });
    const OsResult result = std::move(*it);
    owed_.erase(it);
    carry_out(node_.os(now_, result));
  }

  void end() {
    for (const AttemptReport& report : node_.reports(now_))
      carry_out(node_.order(now_, Release{report.fence}));
    for (int i = 0; i < 10'000 && (!owed_.empty() || node_.next_deadline() != kNever); ++i) {
      while (!owed_.empty()) answer();
      now_ = std::max(now_, node_.next_deadline() == kNever ? now_ : node_.next_deadline());
      carry_out(node_.tick(now_));
    }
    for (const AttemptReport& report : node_.reports(now_))
      EXPECT_EQ(report.phase, AttemptPhase::gone) << report.detail;
    EXPECT_TRUE(rooms_.empty());
    EXPECT_TRUE(alive_.empty());
  }

  Rng rng_;
  Time now_ = from_unix_ms(1'000'000);
  Node node_{"boot", "c"};
  std::set<Fence> rooms_, alive_, ever_, released_;
  std::vector<OsResult> owed_;
};

TEST(NodeSwarm, WhatIsReleasedIsGoneAndStaysGone) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(format("seed {}", seed));
    Swarm(seed).run();
    if (testing::Test::HasFailure()) return;  // the first seed that fails says enough
  }
}

}  // namespace
}  // namespace phalanx::node
