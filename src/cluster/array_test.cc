// Arrays, and work that waits for other work.
#include "cluster/testing.h"

namespace phalanx::cluster {
namespace {

const Array& array_of(const World& w, JobNumber number) {
  for (const auto& [id, a] : w.state.arrays)
    if (a.number == number) return a;
  static const Array kNone;
  ADD_FAILURE() << "no array " << number;
  return kNone;
}

TEST(Array, IsOneRecordUntilPlaced) {
  World w("n1:2");
  EXPECT_EQ(w.submit_array(job("1x1"), {1, 3, 5}).number, 1U);
  EXPECT_EQ(array_of(w, 1).written, "1-5:2");
  EXPECT_EQ(array_of(w, 1).size, 3U);
  EXPECT_EQ(w.place(), 2U);
  EXPECT_EQ(array_of(w, 1).pending, (std::set<std::uint32_t>{5}));
  EXPECT_EQ(w.element(1, 1)->number, 2U);  // fresh numbers
  EXPECT_EQ(w.element(1, 3)->number, 3U);
  EXPECT_EQ(label(*w.element(1, 3)), "1_3");
  w.run_to_end("n1", 2);
  EXPECT_EQ(w.place(), 1U);
  EXPECT_EQ(w.element(1, 5)->number, 1U);  // the last keeps the array's own
  EXPECT_EQ(w.work(1).array_index, 5U);
  EXPECT_EQ(w.element(1, 3)->number, 3U);  // and the others are still found
  w.run_to_end("n1", 1);
  w.archive();
  EXPECT_NE(w.element(1, 3), nullptr);
  EXPECT_EQ(w.element(1, 5), nullptr);
  w.run_to_end("n1", 3);
  w.archive();
  EXPECT_TRUE(w.state.arrays.empty());
  EXPECT_TRUE(w.state.by_number.empty());
  EXPECT_EQ(w.state.next_number, 4U);
}

TEST(Array, RunsNoMoreAtOnceThanAllowed) {
  World w("n1:8");
  w.submit_array(job("1"), {0, 1, 2, 3, 4}, 2);
  EXPECT_EQ(array_of(w, 1).written, "0-4%2");
  EXPECT_EQ(w.place(), 2U);
  w.exits("n1", 2, 0);
  EXPECT_EQ(w.place(), 0U);  // it holds its devices still
  w.say("n1", 2, AttemptPhase::gone);
  EXPECT_EQ(w.place(), 1U);
  EXPECT_EQ(array_of(w, 1).busy, 2U);
}

TEST(Array, OneBatchRespectsTheLimitToo) {
  World w("n1:8");
  w.submit_array(job("1"), {0, 1, 2}, 1);
  Propose all;
  for (const std::uint32_t index : {0U, 0U, 1U, 2U})
    all.proposals.emplace_back(
        PlaceProposal{array_of(w, 1).id, index, w.first_fit(*array_of(w, 1).spec, {})});
  w.give(all);
  EXPECT_EQ(array_of(w, 1).busy, 1U);
}

TEST(Array, ElementsAreAddressedAlone) {
  World w("n1:1");
  w.submit_array(job("1x1"), {0, 1, 2, 3, 4, 5});
  w.place();
  EXPECT_FALSE(w.give(Hold{World::target(1, {2})}, user("anna")).error);
  EXPECT_TRUE(w.element(1, 2)->held_by_user);
  EXPECT_FALSE(w.cancel(World::target(1, {3, 4, 9})).error);
  const Workload* row = w.element(1, 3);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->array_rest, "3-4");
  EXPECT_EQ(row->end.cause, EndCause::cancelled);
  EXPECT_EQ(array_of(w, 1).pending, (std::set<std::uint32_t>{1, 5}));
  EXPECT_FALSE(w.cancel(World::target(1, {0})).error);
  EXPECT_EQ(w.said(), "n1:Stop");
  EXPECT_EQ(w.cancel(World::target(1, {9})).error->code, Error::Code::NotFound);
  EXPECT_FALSE(w.give(Update{World::target(1, {5}), minutes(3), {}, {}}, user("anna")).error);
  EXPECT_EQ(w.element(1, 5)->limit, minutes(3));
  EXPECT_EQ(array_of(w, 1).limit, hours(1));
}

TEST(Array, AllOfItIsHeldUpdatedAndCancelled) {
  World w("n1:1");
  w.submit_array(job("1x1"), {0, 1, 2, 3});
  w.place();
  w.give(Hold{World::target(1)}, user("anna"));
  EXPECT_TRUE(array_of(w, 1).held_by_user);
  w.give(Update{World::target(1), minutes(9), {}, {}}, user("anna"));
  EXPECT_EQ(w.element(1, 0)->limit, minutes(9));
  EXPECT_EQ(array_of(w, 1).limit, minutes(9));
  w.cancel(World::target(1));
  EXPECT_EQ(w.work(1).array_rest, "1-3");  // what was left has the array's number
  EXPECT_EQ(w.element(1, 0)->stop_cause, EndCause::cancelled);
  w.run_to_end("n1", 2);
  w.archive();
  EXPECT_TRUE(w.state.arrays.empty());
}

struct Parent {
  const char* end;
  Phase after, ok, notok, any;  // of children after the parent's end and a look of the planner
};

TEST(Dependency, IsDecidedOnTheFinalState) {
  const Phase runs = Phase::running, waits = Phase::pending;
  for (const Parent& p :
       {Parent{"ok", runs, runs, waits, runs}, Parent{"fails", runs, waits, runs, runs},
        Parent{"cancelled while pending", runs, waits, runs, runs},
        Parent{"still runs", runs, waits, waits, waits},
        Parent{"waits", waits, waits, waits, waits}}) {
    World w("n1:8");
    w.submit(job("1"));
    const WorkloadId on = w.work(1).id;
    for (const DependencyKind kind : {DependencyKind::after, DependencyKind::afterok,
                                      DependencyKind::afternotok, DependencyKind::afterany}) {
      WorkloadSpec spec = job("1");
      spec.dependencies.push_back({kind, on, {}, false});
      ASSERT_FALSE(w.submit(spec).error);
    }
    const std::string end = p.end;
    if (end == "cancelled while pending") w.cancel(World::target(1));
    if (end == "waits") w.give(Hold{World::target(1)}, user("anna"));
    w.place();
    if (end == "ok") w.run_to_end("n1", 1, 0);
    if (end == "fails") w.run_to_end("n1", 1, 1);
    w.archive();  // a memory of it is enough
    w.place();
    EXPECT_EQ(w.work(2).phase, p.after) << p.end;
    EXPECT_EQ(w.work(3).phase, p.ok) << p.end;
    EXPECT_EQ(w.work(4).phase, p.notok) << p.end;
    EXPECT_EQ(w.work(5).phase, p.any) << p.end;
    w.now += hours(5);
    w.tick();
    w.place();
    EXPECT_EQ(w.work(3).phase, p.ok) << p.end;  // remembered for as long as it is needed
  }
}

TEST(Dependency, OnAnArrayMeansAllOfIt) {
  for (const int code : {0, 1}) {
    World w("n1:8");
    w.submit_array(job("1"), {0, 1});
    WorkloadSpec child = job("1");
    child.dependencies.push_back({DependencyKind::afterok, array_of(w, 1).id, {}, false});
    w.submit(child);
    w.place();
    w.run_to_end("n1", 1, code);  // element 1: the array's number
    w.archive();
    w.place();
    EXPECT_EQ(w.work(2).phase, Phase::pending);
    w.run_to_end("n1", 3, 0);
    w.archive();
    w.place();
    EXPECT_EQ(w.work(2).phase, code == 0 ? Phase::running : Phase::pending);
  }
}

TEST(Dependency, SingletonsRunOneByOne) {
  World w("n1:8");
  WorkloadSpec single = job("1");
  single.dependencies.push_back({DependencyKind::singleton, {}, {}, false});
  w.submit(single);
  w.submit(single);
  WorkloadSpec other = single;
  other.name = "another";
  w.submit(other);
  EXPECT_EQ(w.place(), 2U);
  EXPECT_EQ(w.work(2).phase, Phase::pending);
  w.exits("n1", 1, 1);
  EXPECT_EQ(w.place(), 1U);
}

TEST(Dependency, IsForgottenWhenNobodyNeedsIt) {
  World w("n1:8");
  w.submit(job("1"));
  w.place();
  w.run_to_end("n1", 1);
  w.archive();
  EXPECT_EQ(w.state.remembered.size(), 1U);
  w.now += minutes(30);
  w.submit(job("1"));
  EXPECT_TRUE(w.state.remembered.empty());
}

}  // namespace
}  // namespace phalanx::cluster
