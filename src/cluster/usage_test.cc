// What attempts really used: when it is written down, and what of it is believed.
#include "cluster/testing.h"

namespace phalanx::cluster {
namespace {

std::size_t reported(const World& w) {
  return static_cast<std::size_t>(
      std::count_if(w.events.begin(), w.events.end(),
                    [](const Event& e) { return std::holds_alternative<UsageReported>(e.what); }));
}

void uses(World& w, const std::string& node, JobNumber number, AttemptPhase phase, const Used& all,
          std::vector<StepUsed> steps = {}) {
  AttemptReport report = w.about(node, number, phase);
  report.used = all;
  report.steps_used = std::move(steps);
  w.say(node, report);
}

TEST(Usage, IsWrittenDownAtMostEveryFiveMinutes) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  const NodeId n1 = w.node("n1").id;
  for (int second = 0; second < 600; second += 30) {
    w.now += seconds(30);
    uses(w, "n1", 1, AttemptPhase::running, {second, 1, 100});
  }
  EXPECT_EQ(reported(w), 2U);
  EXPECT_EQ(w.work(1).current->used.at(n1), (Used{570, 1, 100}));
  w.now += minutes(10);
  uses(w, "n1", 1, AttemptPhase::running, {570, 1, 100});  // no news
  EXPECT_EQ(reported(w), 2U);
}

// The last word of a node comes with its release, and stays with the attempt.
TEST(Usage, EndsWithTheRelease) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  const NodeId n1 = w.node("n1").id;
  uses(w, "n1", 1, AttemptPhase::exited, {}, {{kBatchStep, {40, 2, 50}}});
  EXPECT_EQ(w.work(1).phase, Phase::ended);
  uses(w, "n1", 1, AttemptPhase::gone, {50, 3, 60}, {{kBatchStep, {40, 2, 50}}});
  EXPECT_EQ(reported(w), 0U);
  EXPECT_EQ(w.work(1).past.back().used.at(n1), (Used{50, 3, 60}));
  EXPECT_EQ(w.work(1).past.back().script_used, (Used{40, 2, 50}));
}

// One event for a whole gang, though each node speaks for itself.
TEST(Usage, OfAGangIsOneFact) {
  World w("n1:1 n2:1");
  w.submit(gang(2));
  w.place();
  for (const char* node : {"n1", "n2"}) w.say(node, 1, AttemptPhase::prepared);
  ASSERT_EQ(w.work(1).phase, Phase::running);
  uses(w, "n2", 1, AttemptPhase::running, {7, 0, 1});
  w.now += minutes(5);
  uses(w, "n1", 1, AttemptPhase::running, {5, 0, 1});
  EXPECT_EQ(reported(w), 1U);
  EXPECT_EQ(w.work(1).current->used.size(), 2U);
}

TEST(Usage, NonsenseIsNotBelieved) {
  World w("n1:2 n2:2");
  w.submit(job("1"));
  w.place();
  const NodeId n1 = w.node("n1").id;
  w.now += minutes(5);
  uses(w, "n1", 1, AttemptPhase::running, {50, -3, {}}, {{3, {1, 1, 1}}});
  w.now += minutes(5);
  uses(w, "n1", 1, AttemptPhase::running, {40, 2, {}});  // less than before
  EXPECT_EQ(w.work(1).current->used.at(n1), (Used{50, 2, {}}));
  EXPECT_TRUE(w.work(1).steps.empty());
}

// A lost node's last word is better than none.
TEST(Usage, OfALostNodeIsWhatItSaidLast) {
  World w("n1:2 n2:2");
  w.submit(job("1"));
  w.place();
  const NodeId n1 = w.node("n1").id;
  uses(w, "n1", 1, AttemptPhase::running, {50, 5, 9});
  w.silent("n1", minutes(5));
  EXPECT_EQ(w.work(1).past.back().used.at(n1), (Used{50, 5, 9}));
}

TEST(Usage, OfStepsIsKeptByStep) {
  World w("n1:2");
  WorkloadSpec spec = job("2x1");
  spec.kind = WorkloadKind::allocation;
  w.submit(spec);
  w.place();
  w.say("n1", 1, AttemptPhase::prepared);
  StepRequest request;
  request.target = World::target(1);
  ASSERT_TRUE(w.give(request, user("anna")).step);
  const NodeId n1 = w.node("n1").id;
  w.now += minutes(6);
  uses(w, "n1", 1, AttemptPhase::running, {9, 1, 5}, {{0, {8, 1, 4}}});
  EXPECT_EQ(w.work(1).steps.at(0).used.at(n1), (Used{8, 1, 4}));
}

}  // namespace
}  // namespace phalanx::cluster
