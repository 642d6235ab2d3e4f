// Nodes that join, fall silent, reboot and come back; what agents may say and what they are told.
#include "cluster/testing.h"

namespace phalanx::cluster {
namespace {

NodeReport report_of(const World& w, const std::string& node) {
  NodeReport report;
  report.name = node;
  report.boot = w.boots.at(node);
  for (const NodeSpec& spec : w.config.nodes)
    if (spec.name == node) report.spec = spec;
  return report;
}

std::string orders_text(const World& w, const NodeReport& report) {
  std::vector<Effect> list;
  for (const Order& order : orders(w.state, w.node(report.name).id, report))
    list.emplace_back(SendOrder{w.node(report.name).id, order});
  return w.text(list);
}

TEST(Node, JoinsWithTheSmallerAmount) {
  World w("n1:2");
  NodeReport report = report_of(w, "n1");
  report.boot = w.boots["n1"] = "second";
  report.spec.cpus = 4;
  report.spec.memory *= 2;
  report.spec.devices.pop_back();
  w.give(AgentConnected{report});
  EXPECT_EQ(w.node("n1").spec.cpus, 4);
  EXPECT_EQ(w.node("n1").spec.memory, std::int64_t{64} << 30);
  EXPECT_EQ(w.node("n1").spec.devices.size(), 1U);
  EXPECT_EQ(w.node("n1").reason, "gpus 1/2, cpus 4/8");
  EXPECT_FALSE(w.node("n1").drained);
  report.boot = w.boots["n1"] = "third";
  report.spec.cpus = 0;
  w.give(AgentConnected{report});
  EXPECT_TRUE(w.node("n1").drained);
}

TEST(Node, AnAgentMayNotSayAnything) {
  World w("n1:2");
  NodeReport report = report_of(w, "n1");
  report.name = "n9";
  report.spec.name = "another";
  report.spec.cpus = std::int64_t{1} << 62;
  report.spec.memory = -5;
  report.spec.devices.resize(1000);
  w.give(AgentConnected{report});
  EXPECT_EQ(w.node("n9").spec.cpus, 1'000'000);
  EXPECT_EQ(w.node("n9").spec.memory, 0);
  EXPECT_EQ(w.node("n9").spec.devices.size(), 64U);
  for (int i = 0; i < 100; ++i) {
    Device fresh;
    fresh.uuid = format("GPU-{}", i);
    w.give(DevicesReported{"n1", {fresh}});
  }
  EXPECT_LE(w.node("n1").spec.devices.size(), 64U);
  w.config.nodes[0].devices.resize(65);
  EXPECT_EQ(w.give(Configure{"", w.config}, admin()).error->code, Error::Code::Invalid);
}

TEST(Node, UnknownOnesJoinAnOpenCluster) {
  for (const bool open : {true, false}) {
    World w("n1:2", [&](ClusterConfig& c) { c.open = open; });
    NodeReport report = report_of(w, "n1");
    report.name = "n9";
    const Reply reply = w.give(AgentConnected{report});
    EXPECT_EQ(reply.error.has_value(), !open);
    EXPECT_EQ(find_node(w.state, "n9") != nullptr, open);
    report.wire = kWireVersion + 1;
    EXPECT_TRUE(w.give(AgentConnected{report}).error);
  }
}

// A controller that was set up anew finds work that it does not know: the node ends it and then
// serves, without an operator.
TEST(Node, JoinsWithWorkThatNobodyKnows) {
  World w("n1:2 n2:2");
  AttemptReport stray;
  stray.fence = {"c1", WorkloadId{4711}, 2, "again"};
  stray.phase = AttemptPhase::running;
  NodeReport report = report_of(w, "n1");
  report.boot = w.boots["n1"] = "again";
  report.attempts = {stray};
  w.give(AgentConnected{report});
  EXPECT_EQ(w.node("n1").health, NodeHealth::suspected);
  EXPECT_FALSE(w.node("n1").drained);
  EXPECT_EQ(orders_text(w, report), "n1:Release");
  w.submit(job("1x2"));
  w.place();
  EXPECT_EQ(w.work(1).current->shares[0].node, w.node("n2").id);
  stray.phase = AttemptPhase::gone;
  w.say("n1", stray);
  EXPECT_EQ(w.said(), "n1:Forget");
  EXPECT_EQ(w.node("n1").health, NodeHealth::up);
  EXPECT_EQ(w.node("n1").reason, "");
}

TEST(Node, ADeviceKeepsItsIndex) {
  World w("n1:2");
  w.submit(job("1x2"));
  w.place();
  std::vector<Device> devices = w.node("n1").spec.devices;
  devices.erase(devices.begin());
  w.give(DevicesReported{"n1", devices});
  ASSERT_EQ(w.node("n1").spec.devices.size(), 2U);
  EXPECT_EQ(w.node("n1").spec.devices[0].health, DeviceHealth::failed);
  EXPECT_EQ(w.node("n1").spec.devices[1].health, DeviceHealth::usable);
  w.run_to_end("n1", 1);
  w.submit(job("1x1"));
  w.place();
  EXPECT_EQ(w.work(2).current->shares[0].gpus, std::vector<DeviceIndex>{1});
}

TEST(Node, SilenceSuspectsThenLoses) {
  World w("n1:2 n2:2");
  w.submit(job("1"));
  w.place();
  w.silent("n1", seconds(14));
  EXPECT_EQ(w.node("n1").health, NodeHealth::up);
  w.silent("n1", seconds(15));
  EXPECT_EQ(w.node("n1").health, NodeHealth::suspected);
  EXPECT_EQ(w.work(1).phase, Phase::running);
  w.silent("n1", seconds(300));
  EXPECT_EQ(w.node("n1").health, NodeHealth::lost);
  EXPECT_EQ(w.work(1).phase, Phase::pending);
  EXPECT_EQ(w.work(1).restarts, 1U);
  EXPECT_EQ(w.place(), 1U);  // presumed gone: it may run elsewhere
  EXPECT_EQ(w.work(1).current->shares[0].node, w.node("n2").id);
  // The old attempt is alive after all: it must end before the node is ready.
  AttemptReport stale = w.about("n1", 1, AttemptPhase::running);
  stale.fence.attempt = 1;
  NodeReport report = report_of(w, "n1");
  report.attempts = {stale};
  EXPECT_EQ(orders_text(w, report), "n1:Release");
  w.give(AgentConnected{report});
  EXPECT_EQ(w.node("n1").health, NodeHealth::lost);
  stale.phase = AttemptPhase::gone;
  w.say("n1", stale);
  EXPECT_EQ(w.said(), "n1:Forget");
  EXPECT_EQ(w.node("n1").health, NodeHealth::up);
  EXPECT_EQ(w.work(1).phase, Phase::running);
}

// Whatever its agent says, an operator has declared it dead.
TEST(Node, DownStaysDownUntilItIsResumed) {
  World w("n1:2 n2:2");
  w.submit(gang(2));
  w.place();
  EXPECT_FALSE(w.give(Drain{"n1", true, "smoke", true}, admin()).error);
  EXPECT_EQ(w.said(), "n1:Release n2:Release n1:Release")
      << "it may be alive: nothing is forgotten";
  w.say("n1", 1, AttemptPhase::gone);
  w.say("n2", 1, AttemptPhase::gone);
  EXPECT_EQ(w.node("n1").health, NodeHealth::lost);
  w.connect("n1");
  EXPECT_EQ(w.node("n1").health, NodeHealth::lost);
  w.connect("n1", "second");
  EXPECT_EQ(w.node("n1").health, NodeHealth::lost) << "nor does a boot change that";
  EXPECT_FALSE(w.give(Drain{"n1", true, "still smoke", false}, admin()).error);
  w.connect("n1");
  EXPECT_EQ(w.node("n1").health, NodeHealth::lost);
  EXPECT_EQ(w.node("n1").reason, "still smoke");
  EXPECT_FALSE(w.give(Drain{"n1", false, "", false}, admin()).error);
  EXPECT_EQ(w.node("n1").health, NodeHealth::up);
  EXPECT_FALSE(w.node("n1").drained);
  EXPECT_EQ(w.place(), 1U);
}

TEST(Node, WithConfirmASilentNodeKeepsItsWork) {
  World w("n1:2 n2:2", [](ClusterConfig& c) { c.node_lost_confirm = true; });
  w.submit(job("1x2"));
  w.place();
  w.silent("n1", seconds(300));
  EXPECT_EQ(w.work(1).phase, Phase::pending);
  EXPECT_TRUE(w.work(1).current);
  EXPECT_EQ(w.place(), 0U);  // unconfirmed
  EXPECT_EQ(w.give(Drain{"n1", true, "", true}, admin()).error->code, Error::Code::Invalid);
  EXPECT_FALSE(w.give(Drain{"n1", true, "burnt", true}, admin()).error);
  EXPECT_EQ(w.place(), 1U);  // an operator knows
}

TEST(Node, AnotherBootEndsWhatRanThere) {
  World w("n1:2 n2:2");
  w.submit(gang(2));
  WorkloadSpec once = job("1");
  once.requeue = false;
  w.submit(once);
  w.place();
  w.say("n1", 1, AttemptPhase::prepared);
  w.say("n2", 1, AttemptPhase::prepared);
  w.connect("n1", "second");
  EXPECT_EQ(w.node("n1").health, NodeHealth::up);
  EXPECT_EQ(w.work(1).phase, Phase::pending);
  EXPECT_TRUE(w.work(1).current->released.contains(w.node("n1").id));
  EXPECT_EQ(w.work(2).phase, Phase::ended);
  EXPECT_EQ(w.work(2).end.cause, EndCause::node_failed);
  EXPECT_TRUE(finished(w.work(2)));
  w.say("n2", 1, AttemptPhase::gone);
  EXPECT_EQ(w.place(), 1U);
}

TEST(Node, AReconnectLosesNothing) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  EXPECT_EQ(orders_text(w, report_of(w, "n1")), "n1:Prepare");  // the order was lost
  NodeReport has = report_of(w, "n1");
  has.attempts = {w.about("n1", 1, AttemptPhase::running)};
  EXPECT_EQ(orders_text(w, has), "");
  w.silent("n1", seconds(20));
  w.give(AgentConnected{has});
  EXPECT_EQ(w.node("n1").health, NodeHealth::up);
  EXPECT_EQ(w.work(1).phase, Phase::running);
  w.cancel(World::target(1));
  EXPECT_EQ(orders_text(w, has), "n1:Stop");
  has.attempts[0].phase = AttemptPhase::exited;
  w.give(AgentConnected{has});
  EXPECT_EQ(w.work(1).end.cause, EndCause::cancelled);
  EXPECT_EQ(orders_text(w, has), "n1:Release");
  w.connect("n1");  // it does not know the attempt any more: nothing is there
  EXPECT_TRUE(finished(w.work(1)));
}

TEST(Node, OldReportsMeanNothing) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  const AttemptReport first = w.about("n1", 1, AttemptPhase::exited);
  w.give(Requeue{World::target(1)}, user("anna"));
  w.run_to_end("n1", 1, 1);
  w.place();
  const std::size_t before = w.events.size();
  w.say("n1", first);
  EXPECT_EQ(w.said(), "n1:Release");
  AttemptReport elsewhere = w.about("n1", 1, AttemptPhase::exited);
  elsewhere.fence.boot = "another";
  w.say("n1", elsewhere);
  elsewhere = w.about("n1", 1, AttemptPhase::exited);
  elsewhere.fence.cluster = "another";
  w.say("n1", elsewhere);
  EXPECT_EQ(w.events.size(), before);
  EXPECT_EQ(w.work(1).phase, Phase::running);
}

TEST(Node, AGangDoesNotWaitForASilentNode) {
  World w("n1:2 n2:2 n3:2");
  w.submit(gang(2));
  w.place();
  w.say("n1", 1, AttemptPhase::prepared);
  w.silent("n2", seconds(59));
  EXPECT_EQ(w.work(1).phase, Phase::placed);
  w.silent("n2", seconds(60));
  EXPECT_EQ(w.work(1).phase, Phase::pending);
}

TEST(Node, DrainedOnesGetNothingNew) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  w.give(Drain{"n1", true, "fan", false}, admin());
  w.submit(job("1"));
  EXPECT_EQ(w.place(), 0U);
  EXPECT_EQ(w.work(1).phase, Phase::running);
  w.give(Drain{"n1", false, "", false}, admin());
  EXPECT_EQ(w.place(), 1U);
  EXPECT_EQ(w.give(Drain{"n7", true, "fan", false}, admin()).error->code, Error::Code::NotFound);
}

TEST(Node, WhatTheConfigurationKeepsBackIsNotOffered) {
  World w("n1:2 n2:2", [](ClusterConfig& c) { c.standings = {{"n1", Standing::drain, "fans"}}; });
  EXPECT_TRUE(w.node("n1").drained);
  EXPECT_EQ(w.node("n1").reason, "fans");
  w.submit(gang(1));
  w.place();
  EXPECT_EQ(w.work(1).current->shares.front().node, w.node("n2").id);
  w.give(Drain{"n1", false, "", false}, admin());
  w.config.max_array_size = 7;
  w.give(Configure{"", w.config}, admin());
  EXPECT_FALSE(w.node("n1").drained) << "the file says nothing new about it";
  w.config.standings[0].reason = "fans again";
  w.give(Configure{"", w.config}, admin());
  EXPECT_TRUE(w.node("n1").drained);
}

TEST(Node, AFutureNodeIsThereWhenItJoins) {
  State state;
  Heard heard;
  ClusterConfig config = World("n1:2").config;
  config.standings = {{"n1", Standing::future, ""}};
  const auto give = [&](InputKind what) {
    step(state, heard, {from_unix_ms(1), system_identity(), std::move(what)},
         [](const State&, const Event&) {});
  };
  give(Configure{"c1", config});
  EXPECT_EQ(find_node(state, "n1"), nullptr);
  NodeReport report;
  report.name = "n1";
  report.boot = "b1";
  report.spec = config.nodes.front();
  give(AgentConnected{report});
  ASSERT_NE(find_node(state, "n1"), nullptr);
  EXPECT_EQ(find_node(state, "n1")->health, NodeHealth::up);
}

TEST(Node, OneThatNoPartitionHasSaysSo) {
  World w("n1:2");
  NodeReport report = report_of(w, "n1");
  report.name = "n9";
  w.give(AgentConnected{report});
  EXPECT_EQ(w.node("n9").reason, "no partition has this node: no work can start here");
  EXPECT_EQ(w.node("n1").reason, "");
}

TEST(Node, OneThatLeavesTheConfigurationFinishesWhatItHas) {
  World w("n1:2 n2:2", [](ClusterConfig& c) { c.open = false; });
  w.submit(gang(2));
  w.place();
  const NodeReport report = report_of(w, "n2");
  w.config.nodes.pop_back();
  w.config.partitions.front().nodes.pop_back();
  w.give(Configure{"", w.config}, admin());
  EXPECT_FALSE(w.give(AgentConnected{report}).error);
  w.cancel(World::target(1));
  w.say("n2", w.about("n2", 1, AttemptPhase::gone));
  EXPECT_TRUE(w.give(AgentConnected{report}).error) << "it has nothing left to finish";
}

TEST(Node, GpusAreThoseThatTheConfigurationNames) {
  World w("n1:0", [](ClusterConfig& c) {
    for (const std::int32_t minor : {2, 3}) {
      Device device;
      device.minor = minor;
      c.nodes.front().devices.push_back(device);
    }
  });
  NodeReport report = report_of(w, "n1");
  report.boot = w.boots["n1"] = "second";
  report.spec.devices.clear();
  for (std::int32_t minor = 0; minor < 3; ++minor) {
    Device device;
    device.minor = minor;
    device.uuid = format("GPU-{}", minor);
    report.spec.devices.push_back(device);
  }
  w.give(AgentConnected{report});
  ASSERT_EQ(w.node("n1").spec.devices.size(), 1U) << "3 is not there; 0 and 1 are not ours";
  EXPECT_EQ(w.node("n1").spec.devices.front().minor, 2);
}

TEST(Node, ARestartedControllerHearsAgain) {
  World w("n1:2 n2:2");
  w.submit(gang(2));
  w.place();
  w.heard = Heard{};
  w.now += hours(1);
  EXPECT_EQ(next_deadline(w.state, w.heard), kNever);  // nobody has had the time to say anything
  for (const char* name : {"n1", "n2"})
    w.connect(name, w.boots[name], {w.about(name, 1, AttemptPhase::prepared)});
  EXPECT_EQ(w.work(1).phase, Phase::running);
}

}  // namespace
}  // namespace phalanx::cluster
