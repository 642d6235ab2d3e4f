// The life of work that nobody disturbs, and how launches fail.
#include "cluster/cluster.h"

#include "cluster/testing.h"

namespace phalanx::cluster {
namespace {

TEST(Life, OfAJobOnOneNode) {
  World w("n1:2");
  const Reply reply = w.submit(job("2x1"));
  ASSERT_FALSE(reply.error) << reply.error->message;
  EXPECT_EQ(reply.number, 1U);
  EXPECT_EQ(w.work(1).phase, Phase::pending);
  EXPECT_EQ(w.place(), 1U);
  EXPECT_EQ(w.said(), "n1:Prepare");  // placed and launched at once: one order
  const auto& prepare = std::get<Prepare>(std::get<SendOrder>(w.effects[0]).order);
  EXPECT_TRUE(prepare.go);
  EXPECT_TRUE(prepare.order.first_node);
  EXPECT_EQ(prepare.order.label, "1");
  EXPECT_EQ(prepare.order.share.gpus, (std::vector<DeviceIndex>{0, 1}));
  EXPECT_EQ(w.work(1).phase, Phase::running);
  EXPECT_EQ(w.work(1).current->port, 20000);
  w.now += minutes(10);
  w.exits("n1", 1, 0);
  EXPECT_EQ(w.said(), "n1:Release");
  EXPECT_EQ(w.work(1).end.cause, EndCause::completed);
  EXPECT_TRUE(completing(w.work(1)));
  w.now += seconds(1);
  w.say("n1", 1, AttemptPhase::gone);
  EXPECT_EQ(w.said(), format("n1:Forget archive:{}", w.work(1).id.value));
  EXPECT_TRUE(finished(w.work(1)));
  EXPECT_EQ(w.work(1).charged.gpu_ms, 2 * 600'000);
  EXPECT_EQ(w.state.charged["research"]["anna"].cpu_ms, 2 * 600'000);
  EXPECT_EQ(w.work(1).past.back().nodes, (std::vector<std::string>{"n1"}));
  w.archive();
  EXPECT_TRUE(w.state.workloads.empty());
  EXPECT_TRUE(w.state.blob_uses.empty());
  EXPECT_TRUE(w.stored.empty());
  EXPECT_TRUE(w.state.by_number.empty());
  EXPECT_FALSE(w.submit(job("1")).error);
  EXPECT_EQ(w.work(2).number, 2U);  // numbers do not come back
}

TEST(Life, EndsAsItsScriptEnds) {
  struct Case {
    int code, signal;
    bool oom;
    EndCause cause;
  };
  for (const Case& c :
       {Case{0, 0, false, EndCause::completed}, Case{3, 0, false, EndCause::failed},
        Case{0, 11, false, EndCause::failed}, Case{0, 9, true, EndCause::out_of_memory}}) {
    World w("n1:2");
    w.submit(job("1"));
    w.place();
    AttemptReport report = w.about("n1", 1, AttemptPhase::exited);
    report.exit_code = c.code;
    report.exit_signal = c.signal;
    report.out_of_memory = c.oom;
    w.say("n1", report);
    EXPECT_EQ(w.work(1).end.cause, c.cause);
    EXPECT_EQ(w.work(1).end.exit_code, c.code);
    EXPECT_EQ(w.work(1).end.exit_signal, c.signal);
  }
}

TEST(Gang, GoesWhenEveryNodeIsPrepared) {
  World w("n1:2 n2:2");
  w.submit(gang(2));
  w.place();
  EXPECT_EQ(w.said(), "n1:Prepare n2:Prepare");
  EXPECT_EQ(w.work(1).phase, Phase::placed);
  w.say("n1", 1, AttemptPhase::preparing);
  w.say("n1", 1, AttemptPhase::prepared);
  EXPECT_EQ(w.said(), "");
  EXPECT_EQ(w.work(1).phase, Phase::placed);
  w.say("n2", 1, AttemptPhase::prepared);
  EXPECT_EQ(w.said(), "n1:Go n2:Go");
  EXPECT_EQ(w.work(1).phase, Phase::running);
  w.exits("n1", 1, 0);
  EXPECT_EQ(w.said(), "n1:Release n2:Release");
  w.say("n2", 1, AttemptPhase::gone);
  EXPECT_TRUE(completing(w.work(1)));
  w.say("n1", 1, AttemptPhase::gone);
  EXPECT_TRUE(finished(w.work(1)));
}

TEST(Gang, TwoJobsNeverShareAPort) {
  World w("n1:2 n2:2 n3:2");
  w.submit(gang(2));
  w.submit(gang(3));
  w.place();
  EXPECT_EQ(w.work(1).current->port, 20000);
  EXPECT_EQ(w.work(2).current->port, 20001);
}

TEST(Launch, RefusedOnOneNodeGoesElsewhere) {
  World w("n1:2 n2:2 n3:2");
  w.submit(gang(2));
  w.place();
  w.say("n1", 1, AttemptPhase::prepared);
  AttemptReport refusal = w.about("n2", 1, AttemptPhase::refused);
  refusal.detail = "prolog failed";
  w.say("n2", refusal);
  EXPECT_EQ(w.said(), "n1:Release n2:Release");  // nothing is left running anywhere
  const Workload& j = w.work(1);
  EXPECT_EQ(j.phase, Phase::pending);
  EXPECT_EQ(j.not_before, w.now + seconds(1));
  EXPECT_EQ(j.avoid, std::set<NodeId>{w.node("n2").id});
  EXPECT_EQ(j.restarts, 0U);
  EXPECT_EQ(j.past.back().end.cause, EndCause::launch_failed);
  w.now += seconds(1);
  EXPECT_EQ(w.place(), 0U);  // its last attempt is not gone yet
  w.say("n1", 1, AttemptPhase::gone);
  w.say("n2", 1, AttemptPhase::gone);
  EXPECT_EQ(w.place(), 1U);
  EXPECT_EQ(w.work(1).attempts, 2U);
  EXPECT_EQ(w.work(1).current->shares[1].node, w.node("n3").id);
}

// Refuses on every node it is given, `times` times.
void refuse(World& w, JobNumber number, int times) {
  for (int i = 0; i < times; ++i) {
    w.now += minutes(10);
    if (w.place() == 0) return;
    const std::string node = w.state.nodes.at(w.work(number).current->shares[0].node).spec.name;
    w.say(node, number, AttemptPhase::refused);
    w.say(node, number, AttemptPhase::gone);
  }
}

// One of two nodes is left: too few for a gang of two, which must not wait for ever.
TEST(Launch, AGangThatFitsNowhereElseTriesTheSameNodes) {
  World w("n1:2 n2:2");
  w.submit(gang(2));
  refuse(w, 1, 1);
  w.say("n2", 1, AttemptPhase::gone);
  EXPECT_TRUE(w.work(1).avoid.empty());
  w.now += minutes(10);
  EXPECT_EQ(w.place(), 1U);
}

TEST(Launch, ThreeDifferentNodesHoldIt) {
  World w("n1:2 n2:2 n3:2 n4:2");
  w.submit(job("1"));
  refuse(w, 1, 2);
  EXPECT_EQ(w.work(1).held_why, "");
  EXPECT_EQ(w.work(1).not_before, w.now + seconds(2));
  refuse(w, 1, 1);
  EXPECT_NE(w.work(1).held_why.find("3 different nodes"), std::string::npos) << w.work(1).held_why;
  w.now += hours(1);
  EXPECT_EQ(w.place(), 0U);
  EXPECT_FALSE(w.give(Hold{World::target(1), false}, user("anna")).error);
  EXPECT_TRUE(w.work(1).avoid.empty());
  EXPECT_EQ(w.place(), 1U);
}

TEST(Launch, WithNowhereElseToGoItTriesTheSameNodeAFewTimes) {
  World w("n1:2");
  w.submit(job("1"));
  refuse(w, 1, 9);
  EXPECT_EQ(w.work(1).attempts, 3U);
  EXPECT_FALSE(w.work(1).held_why.empty());
}

TEST(Launch, AUsersFaultEndsIt) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  AttemptReport refusal = w.about("n1", 1, AttemptPhase::refused);
  refusal.user_fault = true;
  refusal.detail = "cannot create logs/7.out";
  w.say("n1", refusal);
  EXPECT_EQ(w.work(1).phase, Phase::ended);
  EXPECT_EQ(w.work(1).end.cause, EndCause::failed);
  EXPECT_EQ(w.work(1).end.exit_signal, 53);
  EXPECT_EQ(w.work(1).end.detail, "node n1: cannot create logs/7.out");
  EXPECT_TRUE(w.node("n1").launch_failures.empty());
}

TEST(Launch, SilenceWhilePreparingFailsIt) {
  World w("n1:2 n2:2 n3:2");
  w.submit(gang(2));
  w.place();
  w.say("n1", 1, AttemptPhase::prepared);
  w.now += seconds(30);
  AttemptReport pulling = w.about("n2", 1, AttemptPhase::preparing);
  pulling.detail = "prolog";
  w.say("n2", pulling);
  EXPECT_EQ(next_deadline(w.state, w.heard), w.now + seconds(60));  // progress counts
  w.now += seconds(59);
  w.tick();
  EXPECT_EQ(w.work(1).phase, Phase::placed);
  w.now += seconds(1);
  w.tick();
  EXPECT_EQ(w.work(1).phase, Phase::pending);
  EXPECT_EQ(w.work(1).avoid, std::set<NodeId>{w.node("n2").id});
  EXPECT_EQ(next_deadline(w.state, w.heard), kNever);
}

TEST(Launch, ALostSupervisorRequeuesOrEndsIt) {
  for (const bool requeue : {true, false}) {
    World w("n1:2");
    WorkloadSpec spec = job("1");
    spec.requeue = requeue;
    w.submit(spec);
    w.place();
    AttemptReport lost = w.about("n1", 1, AttemptPhase::exited);
    lost.supervisor_lost = true;
    w.say("n1", lost);
    EXPECT_EQ(w.work(1).phase, requeue ? Phase::pending : Phase::ended);
    EXPECT_EQ(w.work(1).past.back().end.cause,
              requeue ? EndCause::launch_failed : EndCause::node_failed);
    EXPECT_EQ(w.work(1).restarts, requeue ? 1U : 0U);
  }
}

TEST(Place, DropsWhatNoLongerHolds) {
  World w("n1:2 n2:2");
  w.submit(job("2x1"));
  const std::vector<NodeShare> good = w.first_fit(*w.work(1).spec, {});
  const auto propose = [&](const std::function<void(std::vector<NodeShare>&)>& spoil) {
    PlaceProposal p{w.work(1).id, std::nullopt, good};
    spoil(p.shares);
    w.give(Propose{{p}});
    return w.work(1).phase;
  };
  EXPECT_EQ(propose([](auto& s) { s[0].gpus = {0, 7}; }), Phase::pending);
  EXPECT_EQ(propose([](auto& s) { s[0].gpus = {1, 1}; }), Phase::pending);
  EXPECT_EQ(propose([](auto& s) { s[0].gpus = {0}; }), Phase::pending);
  EXPECT_EQ(propose([](auto& s) { s[0].tasks = 1; }), Phase::pending);
  EXPECT_EQ(propose([](auto& s) { s[0].cpus = Quantity::of(9); }), Phase::pending);
  EXPECT_EQ(propose([](auto& s) { s[0].memory = std::int64_t{65} << 30; }), Phase::pending);
  EXPECT_EQ(propose([](auto& s) { s[0].boot = "another"; }), Phase::pending);
  EXPECT_EQ(propose([](auto& s) { s[0].node = NodeId{99}; }), Phase::pending);
  EXPECT_EQ(propose([](auto& s) { s.push_back(s[0]); }), Phase::pending);
  EXPECT_EQ(propose([](auto& s) { s.clear(); }), Phase::pending);
  EXPECT_EQ(propose([](auto&) {}), Phase::running);
}

TEST(Place, AGpuThatSomebodyHoldsIsNotGivenAgain) {
  World w("n1:2");
  w.submit(job("1x1"));
  w.place();
  w.submit(job("1x1"));
  PlaceProposal p{w.work(2).id, std::nullopt, w.first_fit(*w.work(2).spec, {})};
  const std::vector<DeviceIndex> free = p.shares[0].gpus;
  p.shares[0].gpus = w.work(1).current->shares[0].gpus;
  w.give(Propose{{p}});
  EXPECT_EQ(w.work(2).phase, Phase::pending);
  p.shares[0].gpus = free;
  w.give(Propose{{p}});
  EXPECT_EQ(w.work(2).phase, Phase::running);
}

TEST(Place, OneBatchOfProposalsCannotOverlap) {
  World w("n1:2");
  w.submit(job("1x1"));
  w.submit(job("2x1"));
  w.submit(job("1x1"));
  const auto shares = [&](JobNumber n) { return w.first_fit(*w.work(n).spec, {}); };
  PlaceProposal other{w.work(3).id, std::nullopt, shares(3)};
  other.shares[0].gpus = {1};
  w.give(Propose{{PlaceProposal{w.work(1).id, std::nullopt, shares(1)},
                  PlaceProposal{w.work(1).id, std::nullopt, shares(1)},
                  PlaceProposal{w.work(2).id, std::nullopt, shares(2)}, other}});
  EXPECT_EQ(w.work(1).phase, Phase::running);
  EXPECT_EQ(w.work(2).phase, Phase::pending);
  EXPECT_EQ(w.work(3).phase, Phase::running);
  EXPECT_NE(w.work(1).current->port, w.work(3).current->port);
}

TEST(Promise, IsAFactOnlyWhenItChanges) {
  World w("n1:2");
  w.submit(job("1"));
  const WorkloadId id = w.work(1).id;
  w.give(Propose{{PromiseProposal{id, w.now + hours(1), ""}}});
  const std::size_t before = w.events.size();
  w.give(Propose{{PromiseProposal{id, w.now + hours(1), ""}}});
  EXPECT_EQ(w.events.size(), before);
  w.give(Propose{{PromiseProposal{id, w.now + hours(2), "n1 is down"}}});
  EXPECT_EQ(w.work(1).promise->cause, "n1 is down");
}

}  // namespace
}  // namespace phalanx::cluster
