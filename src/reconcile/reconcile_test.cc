#include "reconcile/reconcile.h"

#include <gtest/gtest.h>

#include "model/dependency.h"

namespace phalanx::reconcile {
namespace {

const Time kNow = from_unix_ms(1'000'000'000'000);

// A workload that has ended like this, or (none) still waits.
void add(State& state, std::uint64_t id, std::optional<EndCause> cause, Time started = {}) {
  Workload w;
  w.id = WorkloadId{id};
  auto spec = std::make_shared<WorkloadSpec>();
  spec->name = "train";
  spec->owner.uid = 1000;
  w.spec = spec;
  if (cause) {
    w.phase = Phase::ended;
    w.end.cause = *cause;
    w.ended = kNow - seconds(10);
  } else {
    state.by_name[{1000, "train"}].insert(w.id);
  }
  if (started != Time{}) {
    w.past.emplace_back();
    w.past.back().launched = started;
  }
  state.workloads[w.id] = w;
}

WorkloadSpec on(std::vector<Dependency> dependencies) {
  WorkloadSpec spec;
  spec.name = "train";
  spec.owner.uid = 1000;
  spec.dependencies = std::move(dependencies);
  return spec;
}

TEST(Dependence, OfEachKindOnEachFate) {
  State state;
  add(state, 1, EndCause::completed, kNow - seconds(60));
  add(state, 2, EndCause::failed, kNow - seconds(60));
  add(state, 3, EndCause::cancelled);  // while pending
  add(state, 4, std::nullopt);
  state.remembered[WorkloadId{5}] = {true, kNow - hours(1), kNow - minutes(1)};
  state.remembered[WorkloadId{6}] = {false, Time{}, kNow - minutes(1)};
  struct Case {
    DependencyKind kind;
    Verdict of[7];  // by id; 7 is unknown
  };
  const auto yes = Verdict::satisfied, wait = Verdict::waiting, no = Verdict::never;
  for (const Case& c : {Case{DependencyKind::after, {yes, yes, yes, wait, yes, yes, no}},
                        Case{DependencyKind::afterok, {yes, no, no, wait, yes, no, no}},
                        Case{DependencyKind::afternotok, {no, yes, yes, wait, no, yes, no}},
                        Case{DependencyKind::afterany, {yes, yes, yes, wait, yes, yes, no}}})
    for (std::uint64_t id = 1; id <= 7; ++id) {
      const Dependence d =
          dependence(state, on({{c.kind, WorkloadId{id}, {}, false}}), WorkloadId{99}, kNow);
      EXPECT_EQ(d.verdict, c.of[id - 1]) << static_cast<int>(c.kind) << " on " << id;
      EXPECT_EQ(d.on, d.verdict == yes ? WorkloadId{} : WorkloadId{id});
    }
}

TEST(Dependence, AfterWaitsForItsDelay) {
  State state;
  add(state, 1, EndCause::completed, kNow - seconds(60));
  const WorkloadSpec spec = on({{DependencyKind::after, WorkloadId{1}, minutes(2), false}});
  EXPECT_EQ(dependence(state, spec, WorkloadId{9}, kNow).verdict, Verdict::waiting);
  EXPECT_EQ(dependence(state, spec, WorkloadId{9}, kNow).at, kNow + seconds(60));
  EXPECT_EQ(dependence(state, spec, WorkloadId{9}, kNow + seconds(60)).verdict, Verdict::satisfied);
}

TEST(Dependence, AllAreNeededUnlessAnySuffices) {
  State state;
  add(state, 1, EndCause::completed);
  add(state, 2, EndCause::failed);
  add(state, 3, std::nullopt);
  const auto ok = [](std::uint64_t id, bool any) {
    return Dependency{DependencyKind::afterok, WorkloadId{id}, {}, any};
  };
  const auto verdict = [&](std::vector<Dependency> list) {
    return dependence(state, on(std::move(list)), WorkloadId{9}, kNow).verdict;
  };
  EXPECT_EQ(verdict({ok(1, false), ok(3, false)}), Verdict::waiting);
  EXPECT_EQ(verdict({ok(3, false), ok(2, false)}), Verdict::never);
  EXPECT_EQ(verdict({ok(2, true), ok(1, false)}), Verdict::satisfied);
  EXPECT_EQ(verdict({ok(2, true), ok(3, false)}), Verdict::waiting);
  EXPECT_EQ(verdict({ok(2, true), ok(2, false)}), Verdict::never);
}

TEST(Dependence, SingletonsWaitForEarlierOnesOfTheirName) {
  State state;
  add(state, 3, std::nullopt);
  const WorkloadSpec single = on({{DependencyKind::singleton, {}, {}, false}});
  EXPECT_EQ(dependence(state, single, WorkloadId{9}, kNow).on, WorkloadId{3});
  EXPECT_EQ(dependence(state, single, WorkloadId{2}, kNow).verdict, Verdict::satisfied);
  WorkloadSpec other = single;
  other.owner.uid = 1001;
  EXPECT_EQ(dependence(state, other, WorkloadId{9}, kNow).verdict, Verdict::satisfied);
}

TEST(Dependence, OnAnArray) {
  State state;
  Array& array = state.arrays[WorkloadId{1}];
  array.id = WorkloadId{1};
  array.ended_ok = 3;
  const auto verdict = [&](DependencyKind kind) {
    return dependence(state, on({{kind, WorkloadId{1}, {}, false}}), WorkloadId{9}, kNow).verdict;
  };
  EXPECT_EQ(verdict(DependencyKind::afterok), Verdict::satisfied);
  EXPECT_EQ(verdict(DependencyKind::afternotok), Verdict::never);
  array.pending = {4};
  EXPECT_EQ(verdict(DependencyKind::afterok), Verdict::waiting);
  array.ended_not_ok = 1;
  EXPECT_EQ(verdict(DependencyKind::afterok), Verdict::never);  // one is enough to know
  EXPECT_EQ(verdict(DependencyKind::afternotok), Verdict::waiting);
  array.pending.clear();
  EXPECT_EQ(verdict(DependencyKind::afternotok), Verdict::satisfied);
}

TEST(Backoff, DoublesUpToAMost) {
  const Timers timers;
  const std::pair<std::uint32_t, Duration> cases[] = {
      {1, seconds(1)},   {2, seconds(2)},  {3, seconds(4)},
      {9, seconds(256)}, {10, minutes(5)}, {4'000'000'000, minutes(5)}};
  for (const auto& [failures, wait] : cases) EXPECT_EQ(backoff(timers, failures), wait) << failures;
}

}  // namespace
}  // namespace phalanx::reconcile
