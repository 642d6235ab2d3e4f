// Dependencies on single elements of arrays, and work that ends when its own can never come true.
#include "model/dependency.h"
#include "cluster/testing.h"

namespace phalanx::cluster {
namespace {

WorkloadSpec waits_for(const World& w, DependencyKind kind, JobNumber on,
                       std::optional<std::uint32_t> index = {}) {
  WorkloadSpec spec = job("1");
  Dependency d;
  d.kind = kind;
  const auto* array = find_array(w.state, w.state.by_number.at(on));
  d.on = array ? array->id : w.work(on).id;
  d.index = index;
  spec.dependencies.push_back(d);
  return spec;
}

Verdict verdict(const World& w, const Workload& work) {
  return dependence(w.state, *work.spec, work.id, w.now).verdict;
}

TEST(Dependency, OnAnElementThatIsStillPending) {
  World w("n1:8");
  w.submit_array(job("1x8"), {0, 1, 2});  // one at a time
  w.submit(waits_for(w, DependencyKind::afterok, 1, 1));
  w.submit(waits_for(w, DependencyKind::afternotok, 1, 1));
  w.submit(waits_for(w, DependencyKind::afterany, 1, 2));
  const auto is = [&](JobNumber number, Verdict expected) {
    EXPECT_EQ(verdict(w, w.work(number)), expected) << number;
  };
  w.place();
  w.run_to_end("n1", w.element(1, 0)->number, 1);  // another one fails: of no interest
  w.archive();
  for (const JobNumber number : {2, 3, 4}) is(number, Verdict::waiting);
  w.place();
  w.run_to_end("n1", w.element(1, 1)->number);
  is(2, Verdict::satisfied);
  is(3, Verdict::never);
  is(4, Verdict::waiting);
  w.archive();  // the element has left State, its array has not
  is(2, Verdict::satisfied);
  is(3, Verdict::never);
  w.cancel(World::target(1, {2}));
  is(4, Verdict::satisfied);
  w.archive();
  ASSERT_EQ(find_array(w.state, w.work(2).spec->dependencies[0].on), nullptr);
  is(2, Verdict::satisfied);
  is(3, Verdict::never);
  is(4, Verdict::satisfied);
}

TEST(Dependency, OnAnElementThatFailedAndLeft) {
  World w("n1:8");
  w.submit_array(job("1x8"), {0, 1});
  w.place();
  w.run_to_end("n1", w.element(1, 0)->number, 3);
  w.submit(waits_for(w, DependencyKind::afterok, 1, 0));
  w.archive();
  EXPECT_EQ(verdict(w, w.work(3)), Verdict::never);
}

// Each element waits for its own match.
TEST(Dependency, ElementByElement) {
  World w("n1:8");
  w.submit_array(job("1x8"), {0, 1});
  const Reply reply = w.submit_array(waits_for(w, DependencyKind::aftercorr, 1), {0, 1});
  ASSERT_FALSE(reply.error);
  const auto is = [&](std::uint32_t index, Verdict expected) {
    ASSERT_NE(w.element(reply.number, index), nullptr);
    EXPECT_EQ(verdict(w, *w.element(reply.number, index)), expected) << index;
  };
  is(0, Verdict::waiting);
  w.give(Propose{{PlaceProposal{w.state.by_number.at(1), 0, w.first_fit(job("1x8"), {})}}});
  w.run_to_end("n1", w.element(1, 0)->number);
  is(0, Verdict::satisfied);
  is(1, Verdict::waiting);
  w.cancel(World::target(1, {1}));
  is(0, Verdict::satisfied);
  is(1, Verdict::never);
}

TEST(Dependency, WhatCanNeverComeTrueEndsIfItAskedTo) {
  World w("n1:8");
  w.submit(job("1x8"));
  WorkloadSpec stays = waits_for(w, DependencyKind::afterok, 1);
  WorkloadSpec ends = stays;
  ends.end_if_never = true;
  w.submit(stays);
  w.submit(ends);
  w.submit_array(ends, {0, 1});
  WorkloadSpec next = waits_for(w, DependencyKind::afterok, 3);
  next.end_if_never = true;
  w.submit(next);
  const JobNumber last = w.state.next_number - 1;
  w.give(Propose{{PlaceProposal{w.work(1).id, {}, w.first_fit(job("1x8"), {})}}});
  w.run_to_end("n1", 1, 2);
  EXPECT_EQ(w.work(2).phase, Phase::pending);
  EXPECT_EQ(w.work(3).end.cause, EndCause::cancelled);
  EXPECT_EQ(w.work(3).end.by, End().by);                   // nobody did
  EXPECT_EQ(w.work(last).end.cause, EndCause::cancelled);  // the end of one is the end of the next
  for (const auto& [id, array] : w.state.arrays) EXPECT_TRUE(array.pending.empty());
  w.submit(ends);  // hopeless from the start
  EXPECT_EQ(w.work(w.state.next_number - 1).end.cause, EndCause::cancelled);
}

}  // namespace
}  // namespace phalanx::cluster
