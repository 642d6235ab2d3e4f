// Whose fault a failed launch was: nobody's bad work drains a node, good work finds a bad node out.
#include "base/rng.h"
#include "cluster/testing.h"

namespace phalanx::cluster {
namespace {

std::string first_node(const World& w, JobNumber number) {
  return w.state.nodes.at(w.work(number).current->shares[0].node).spec.name;
}

// What its node makes of a launch: refused and cleaned up, or running.
void launch(World& w, JobNumber number, bool well) {
  const std::string node = first_node(w, number);
  if (well) return w.say(node, number, AttemptPhase::running);
  w.say(node, number, AttemptPhase::refused);
  w.say(node, number, AttemptPhase::gone);
}

TEST(Blame, TwoJobsThatRunElsewhereDrainTheNode) {
  World w("n1:2 n2:2");
  for (const JobNumber number : {1U, 2U}) {
    w.submit(job("1"));
    w.place();
    ASSERT_EQ(first_node(w, number), "n1");
    launch(w, number, false);
    w.now += minutes(1);
    w.place();
    EXPECT_FALSE(w.node("n1").drained) << "it may be the job's own fault";
    launch(w, number, true);
  }
  EXPECT_TRUE(w.node("n1").drained);
  EXPECT_EQ(w.node("n1").reason, "launch failed for jobs 1 and 2, which run elsewhere");
  w.run_to_end("n2", 2);
  EXPECT_FALSE(w.give(Drain{"n1", false, "", false}, admin()).error);
  EXPECT_TRUE(w.node("n1").proven_failures.empty());
}

TEST(Blame, OneJobAloneProvesNothing) {
  World w("n1:2 n2:2");
  w.submit(job("1"));
  for (int round = 0; round < 3; ++round) {
    w.now += minutes(1);
    w.place();
    launch(w, 1, first_node(w, 1) != "n1");
    if (w.work(1).phase == Phase::running) w.give(Requeue{World::target(1), false}, user("anna"));
    w.say("n2", 1, AttemptPhase::gone);
  }
  EXPECT_FALSE(w.node("n1").drained);
}

TEST(Blame, WhatRanMayHaveEndedItsOwnSupervisor) {
  World w("n1:2 n2:2 n3:2");
  for (const JobNumber number : {1U, 2U, 3U}) {
    w.submit(job("1"));
    while (w.work(number).held_why.empty()) {
      w.now += minutes(1);
      ASSERT_EQ(w.place(), 1U);
      launch(w, number, true);
      AttemptReport lost = w.about(first_node(w, number), number, AttemptPhase::exited);
      lost.supervisor_lost = true;
      w.say(first_node(w, number), lost);
      w.say(first_node(w, number), number, AttemptPhase::gone);
    }
  }
  for (const auto& [id, node] : w.state.nodes) EXPECT_FALSE(node.drained) << node.spec.name;
}

// Bad work of many users beside good work, on good nodes and one bad one.
class Mix {
 public:
  explicit Mix(std::uint64_t seed, bool bad_node)
      : rng_(seed), bad_node_(bad_node), w_("n1:2 n2:2 n3:2 n4:2") {}

  World run() {
    for (int i = 0; i < 40; ++i) {
      if (rng_.chance(2)) submit();
      w_.now += seconds(rng_.between(1, 60));
      w_.place();
      for (JobNumber number = 1; number < w_.state.next_number; ++number) go_on(number);
      w_.archive();
    }
    return std::move(w_);
  }

 private:
  void submit() {
    const char* const users[] = {"anna", "bert", "carl"};
    const Reply reply = w_.submit(job("1x2", users[rng_.below(3)]));
    if (rng_.chance(2)) bad_.insert(reply.number);
  }
  void go_on(JobNumber number) {
    const Workload* w = find_job(w_.state, number);
    if (!w || w->phase != Phase::running) return;
    const std::string node = first_node(w_, number);
    if (bad_.contains(number) || (bad_node_ && node == "n1")) return launch(w_, number, false);
    launch(w_, number, true);
    w_.run_to_end(node, number);
  }

  Rng rng_;
  bool bad_node_;
  World w_;
  std::set<JobNumber> bad_;
};

TEST(Blame, BadWorkDrainsNoNodeAndGoodWorkFindsTheBadOne) {
  constexpr std::uint64_t kSeeds = 12;
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const bool bad_node : {false, true}) {
      const World w = Mix(seed, bad_node).run();
      for (const auto& [id, node] : w.state.nodes) {
        const bool bad = bad_node && node.spec.name == "n1";
        EXPECT_TRUE(bad || !node.drained) << node.spec.name << ", seed " << seed;
        found += bad && node.drained ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(found, kSeeds);
}

}  // namespace
}  // namespace phalanx::cluster
