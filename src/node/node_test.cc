#include "node/node.h"
#include "base/codec.h"

#include <gtest/gtest.h>

#include <csignal>

namespace phalanx::node {
namespace {

constexpr Time kT0 = from_unix_ms(1'000'000);
const Fence kFence{"c", WorkloadId{7}, 1, "boot"};

// What the node did, in short: "room", "batch", "sig 15 batch", "kill", "clean", and what it told:
// "tell running".
std::string text(const std::vector<Action>& actions) {
  std::string out;
  for (const Action& action : actions) {
    if (!out.empty()) out += "; ";
    if (std::holds_alternative<MakeRoom>(action)) out += "room";
    if (std::holds_alternative<StartBatch>(action)) out += "batch";
    if (std::holds_alternative<KillAll>(action)) out += "kill";
    if (std::holds_alternative<CleanUp>(action)) out += "clean";
    if (std::holds_alternative<Expired>(action)) out += "expired";
    if (const auto* s = std::get_if<SendSignal>(&action))
      out += format("sig {} {}{}", s->signal,
                    s->unit.step == kBatchStep ? "batch" : format("step {}", s->unit.step),
                    s->shell_only ? " alone" : "");
    if (const auto* tell = std::get_if<Tell>(&action))
      out += format("tell {}", boost::describe::enum_to_string(
                                   std::get<AttemptReport>(tell->report).phase, "?"));
  }
  return out;
}

struct Fixture : ::testing::Test {
  Node node{"boot", "c"};
  LaunchOrder batch() {
    LaunchOrder order;
    order.first_node = true;
    return order;
  }
  std::string order(const Order& o, Duration after = {}) {
    return text(node.order(kT0 + after, o));
  }
  std::string os(const OsResult& r) { return text(node.os(kT0, r)); }
  void run(WorkloadKind kind = WorkloadKind::batch) {
    LaunchOrder o = batch();
    o.kind = kind;
    order(Prepare{kFence, o, true});
    os(RoomMade{kFence, ""});
    if (kind == WorkloadKind::batch) os(BatchStarted{kFence, "", false});
  }
};
using NodeMachine = Fixture;

TEST_F(NodeMachine, LifeOfABatchJob) {
  EXPECT_EQ(order(Prepare{kFence, batch(), true}), "tell preparing; room");
  EXPECT_EQ(os(RoomMade{kFence, ""}), "tell prepared; batch");
  EXPECT_EQ(os(BatchStarted{kFence, "", false}), "tell running");
  EXPECT_EQ(os(UnitExited{{kFence, kBatchStep}, 3, 0, false, false, {}}), "tell exited");
  EXPECT_EQ(node.reports(kT0)[0].exit_code, 3);
  EXPECT_EQ(order(Release{kFence}), "kill");
  EXPECT_EQ(os(RoomEmpty{kFence}), "clean");
  EXPECT_EQ(os(RoomGone{kFence, {10, 5, 20}}), "tell gone");
  EXPECT_EQ(order(Forget{kFence}), "");
  EXPECT_TRUE(node.reports(kT0).empty());
}

TEST_F(NodeMachine, NothingRunsBeforeGo) {
  order(Prepare{kFence, batch(), false});
  EXPECT_EQ(os(RoomMade{kFence, ""}), "tell prepared");
  EXPECT_NE(node.refuse_step(StepGrant{kFence}), "");
  EXPECT_EQ(order(Go{kFence}), "batch");
}

TEST_F(NodeMachine, ARepeatedPrepareOrGoNeverStartsTwice) {
  EXPECT_EQ(order(Prepare{kFence, batch(), true}), "tell preparing; room");
  EXPECT_EQ(order(Prepare{kFence, batch(), true}), "tell preparing");
  os(RoomMade{kFence, ""});
  EXPECT_EQ(order(Go{kFence}), "tell prepared");  // it is starting
  os(BatchStarted{kFence, "", false});
  EXPECT_EQ(order(Go{kFence}), "tell running");
  EXPECT_EQ(order(Prepare{kFence, batch(), true}), "tell running");
}

TEST_F(NodeMachine, TheFenceHolds) {
  Fence other = kFence;
  other.boot = "earlier";
  EXPECT_EQ(order(Prepare{other, batch(), true}), "tell refused");
  other = kFence;
  other.cluster = "another";
  EXPECT_EQ(order(Prepare{other, batch(), true}), "tell refused");
  Fence second = kFence;
  second.attempt = 2;
  order(Prepare{second, batch(), true});
  EXPECT_EQ(order(Prepare{kFence, batch(), true}), "tell refused");
}

TEST_F(NodeMachine, WhatWasReleasedNeverStartsAgain) {
  EXPECT_EQ(order(Release{kFence}), "tell gone");  // it never came here, and now never will
  EXPECT_EQ(order(Prepare{kFence, batch(), true}), "tell gone");
  EXPECT_TRUE(node.reports(kT0).empty());
}

TEST_F(NodeMachine, ALaterAttemptKillsTheEarlierOne) {
  run();
  Fence second = kFence;
  second.attempt = 2;
  EXPECT_EQ(order(Prepare{second, batch(), true}), "kill; tell preparing; room");
}

TEST_F(NodeMachine, AStopIsPoliteThenForce) {
  run();
  os(StepBegan{{kFence, 0}});
  EXPECT_EQ(order(Stop{kFence, EndCause::cancelled, seconds(30)}),
            "sig 18 step 0; sig 15 step 0; sig 18 batch; sig 15 batch");
  EXPECT_EQ(text(node.tick(kT0 + seconds(29))), "");
  EXPECT_EQ(node.next_deadline(), kT0 + seconds(30));
  EXPECT_EQ(text(node.tick(kT0 + seconds(30))), "kill");
  EXPECT_EQ(text(node.tick(kT0 + seconds(32))), "kill");  // and again, until it is gone
  EXPECT_NE(node.refuse_step(StepGrant{kFence}), "");
}

TEST_F(NodeMachine, AStopBeforeTheStartIsNotForgotten) {
  order(Prepare{kFence, batch(), true});
  order(Stop{kFence, EndCause::cancelled, seconds(30)});
  EXPECT_EQ(os(RoomMade{kFence, ""}), "tell exited");
}

TEST_F(NodeMachine, AnAllocationStopsWhenItsLastStepIsOver) {
  run(WorkloadKind::allocation);
  EXPECT_EQ(node.refuse_step(StepGrant{kFence}), "");
  os(StepBegan{{kFence, 0}});
  EXPECT_EQ(order(Stop{kFence, EndCause::completed, seconds(30)}), "sig 18 step 0; sig 15 step 0");
  EXPECT_EQ(os(UnitExited{{kFence, 0}, 0, SIGTERM, false, false, {}}), "tell exited");
}

TEST_F(NodeMachine, ARefusalCleansUpAndWaitsForItsRelease) {
  order(Prepare{kFence, batch(), true});
  EXPECT_EQ(os(RoomMade{kFence, "no cgroup"}), "tell refused; clean");
  EXPECT_EQ(os(RoomGone{kFence, {}}), "tell refused");
  EXPECT_EQ(order(Release{kFence}), "tell gone");
}

// A prolog that hangs must not hold the node: it is killed, again and again until it is over, and
// whatever comes of it is cleaned up.
TEST_F(NodeMachine, AReleaseStopsWhatPrepareStarted) {
  for (const char* end : {"", "killed"}) {
    node = Node("boot", "c");
    order(Prepare{kFence, batch(), true});
    EXPECT_EQ(order(Release{kFence}), "kill");
    EXPECT_EQ(os(RoomEmpty{kFence}), "");  // not before it is made, or has failed
    EXPECT_EQ(text(node.tick(kT0 + seconds(2))), "kill");
    EXPECT_EQ(os(RoomMade{kFence, end}), "clean");
    EXPECT_EQ(node.next_deadline(), kNever);
    EXPECT_EQ(os(RoomGone{kFence, {}}), "tell gone");
  }
}

// Nobody waits for a prolog that never ends: it is killed, and if that does not help, the order is
// refused meanwhile. The room stays ours until it is known to be gone.
TEST_F(NodeMachine, WhatIsNotPreparedInTimeIsRefused) {
  LaunchOrder o = batch();
  o.prepare_limit = seconds(60);
  for (const bool dies : {true, false}) {
    node = Node("boot", "c");
    order(Prepare{kFence, o, true});
    EXPECT_EQ(node.next_deadline(), kT0 + seconds(60));
    EXPECT_EQ(text(node.tick(kT0 + seconds(59))), "");
    EXPECT_EQ(text(node.tick(kT0 + seconds(60))), "kill");
    if (dies) {
      EXPECT_EQ(os(RoomMade{kFence, "killed"}), "tell refused; clean");
      EXPECT_EQ(os(RoomGone{kFence, {}}), "tell refused");
    } else {
      EXPECT_EQ(os(RoomEmpty{kFence}), "");
      EXPECT_EQ(text(node.tick(kT0 + seconds(62))), "kill");
      EXPECT_EQ(text(node.tick(kT0 + seconds(70))), "tell refused; kill");
      EXPECT_EQ(order(Release{kFence}, seconds(71)), "kill");  // it may still hold its devices
      EXPECT_EQ(os(RoomMade{kFence, ""}), "clean");            // it came to its end: too late
    }
    EXPECT_EQ(node.next_deadline(), kNever);
    EXPECT_EQ(node.reports(kT0)[0].detail, "not prepared within 1m");
  }
}

TEST_F(NodeMachine, WhatIsPreparedInTimeMayWaitForItsGo) {
  LaunchOrder o = batch();
  o.prepare_limit = seconds(60);
  order(Prepare{kFence, o, false});
  os(RoomMade{kFence, ""});
  EXPECT_EQ(node.next_deadline(), kNever);
}

// A script that hangs before it begins, on a dead file system perhaps. It is killed; what came of
// it is known only when it is over.
TEST_F(NodeMachine, WhatDoesNotStartInTimeIsKilled) {
  LaunchOrder o = batch();
  o.prepare_limit = seconds(60);
  const auto start = [&] {
    node = Node("boot", "c");
    order(Prepare{kFence, o, true});
    EXPECT_EQ(os(RoomMade{kFence, ""}), "tell prepared; batch");
    EXPECT_EQ(text(node.tick(kT0 + seconds(60))), "kill");
  };
  start();  // it had not begun
  EXPECT_EQ(os(BatchStarted{kFence, "cannot open /x/7.out", true}), "tell refused; kill");
  EXPECT_FALSE(node.reports(kT0)[0].user_fault);
  EXPECT_EQ(node.reports(kT0)[0].detail, "not started within 1m");
  start();  // nothing is left of it
  EXPECT_EQ(text(node.tick(kT0 + seconds(80))), "kill");
  EXPECT_EQ(os(RoomEmpty{kFence}), "tell refused; kill; clean");
  start();  // it had
  EXPECT_EQ(os(BatchStarted{kFence, "", false}), "tell running");
  EXPECT_EQ(os(UnitExited{{kFence, kBatchStep}, 0, SIGKILL, false, false, {}}), "tell exited");
  EXPECT_TRUE(node.reports(kT0)[0].supervisor_lost);
}

TEST_F(NodeMachine, ASupervisorThatDiesBeforeTheScriptBeginsIsNotWaitedFor) {
  order(Prepare{kFence, batch(), true});
  os(RoomMade{kFence, ""});
  EXPECT_EQ(os(UnitExited{{kFence, kBatchStep}, 0, SIGKILL, false, true, {}}), "tell exited");
  EXPECT_TRUE(node.reports(kT0)[0].supervisor_lost);
}

TEST_F(NodeMachine, AGoAfterTheReleaseStartsNothing) {
  order(Prepare{kFence, batch(), false});
  os(RoomMade{kFence, ""});
  EXPECT_EQ(order(Release{kFence}), "kill");
  EXPECT_EQ(order(Go{kFence}), "tell prepared");
  EXPECT_EQ(order(Prepare{kFence, batch(), true}), "tell prepared");
}

TEST_F(NodeMachine, AReleaseReachesAScriptThatIsJustStarting) {
  order(Prepare{kFence, batch(), true});
  EXPECT_EQ(os(RoomMade{kFence, ""}), "tell prepared; batch");
  EXPECT_EQ(order(Release{kFence}), "kill");
  EXPECT_EQ(os(BatchStarted{kFence, "", false}), "tell running; kill");
}

// What lives is measured again; what has exited keeps its last word; what nobody measures stays
// unknown.
TEST_F(NodeMachine, ReportsSayWhatWasMeasured) {
  run();
  os(StepBegan{{kFence, 0}});
  EXPECT_EQ(os(Measured{kFence, {10, 2, 100}, {{kBatchStep, {6, 1, 50}}, {0, {}}}}),
            "tell running");
  os(UnitExited{{kFence, 0}, 0, 0, false, false, {4, 1, 60}});
  EXPECT_EQ(os(Measured{kFence, {20, {}, 90}, {{0, {1, 1, 1}}}}), "tell running");
  const AttemptReport report = node.reports(kT0)[0];
  EXPECT_EQ(report.used, (Used{20, 2, 90}));
  EXPECT_EQ(report.steps_used, (std::vector<StepUsed>{{0, {4, 1, 60}}, {kBatchStep, {6, 1, 50}}}));
}

TEST_F(NodeMachine, ReportsSayHowLongAgoAStepEnded) {
  run();
  os(StepBegan{{kFence, 0}});
  UnitExited exited{{kFence, 0}, 0, 0, false, false, {}};
  exited.at = kT0 - seconds(2);
  os(exited);
  EXPECT_EQ(node.reports(kT0)[0].steps[0].ended_ago, seconds(2));
  EXPECT_EQ(node.reports(kT0 + seconds(5))[0].steps[0].ended_ago, seconds(7));
}

TEST_F(NodeMachine, SignalsReachWhomTheyMean) {
  run();
  os(StepBegan{{kFence, 0}});
  EXPECT_EQ(order(SignalOrder{kFence, SIGUSR1, SignalTarget::steps, {}}), "sig 10 step 0");
  EXPECT_EQ(order(SignalOrder{kFence, SIGUSR1, SignalTarget::shell, {}}), "sig 10 batch alone");
  EXPECT_EQ(order(SignalOrder{kFence, SIGUSR1, SignalTarget::all, {}}),
            "sig 10 step 0; sig 10 batch");
}

TEST_F(NodeMachine, ARestartedAgentGoesOn) {
  Node again("boot", "c");
  again.restore(kT0, {{kFence, batch(), true, {kBatchStep, 0}}});
  EXPECT_EQ(again.reports(kT0)[0].phase, AttemptPhase::running);
  EXPECT_EQ(again.reports(kT0)[0].running_steps, std::vector<StepNumber>{0});
  EXPECT_EQ(text(again.order(kT0, Prepare{kFence, batch(), true})), "tell running");
}

TEST_F(NodeMachine, ALostSupervisorIsReportedAndNeverStartedAgain) {
  Node again("boot", "c");
  EXPECT_EQ(text(again.restore(kT0, {{kFence, batch(), true, {}}})), "tell exited");
  EXPECT_TRUE(again.reports(kT0)[0].supervisor_lost);
  EXPECT_EQ(text(again.order(kT0, Go{kFence})), "tell exited");
}

// How long it ran is told whenever somebody hears it, as its own clock counted.
TEST_F(NodeMachine, MeasuresHowLongWorkRan) {
  order(Prepare{kFence, batch(), true});
  os(RoomMade{kFence, ""});
  os(BatchStarted{kFence, "", false, kT0 + seconds(2)});
  AttemptReport report = node.reports(kT0 + seconds(5))[0];
  EXPECT_EQ(report.began_ago, Duration(seconds(3)));
  EXPECT_EQ(report.ran, std::nullopt);
  node.os(kT0 + seconds(60),
          UnitExited{{kFence, kBatchStep}, 0, 0, false, false, {}, kT0 + seconds(6)});
  report = node.reports(kT0 + seconds(100))[0];
  EXPECT_EQ(report.began_ago, Duration(seconds(98)));
  EXPECT_EQ(report.ran, Duration(seconds(4)));
  EXPECT_TRUE(report.by_itself);
}

TEST_F(NodeMachine, KeepsTheLimitByItself) {
  LaunchOrder o = batch();
  o.limit = minutes(1);
  o.grace = seconds(5);
  order(Prepare{kFence, o, true});
  os(RoomMade{kFence, ""});
  EXPECT_EQ(node.next_deadline(), kNever);
  os(BatchStarted{kFence, "", false});
  // What ends at its limit has ended in time.
  constexpr Duration kPast = milliseconds(1);
  EXPECT_EQ(node.next_deadline(), kT0 + minutes(1) + kPast);
  EXPECT_EQ(order(SetLimit{kFence, minutes(2)}), "tell running");
  EXPECT_EQ(node.next_deadline(), kT0 + minutes(2) + kPast);
  EXPECT_EQ(text(node.tick(kT0 + minutes(2) + kPast)),
            "expired; tell running; sig 18 batch; sig 15 batch");
  EXPECT_EQ(node.next_deadline(), kT0 + minutes(2) + kPast + seconds(5));
  EXPECT_EQ(text(node.tick(kT0 + minutes(2) + kPast + seconds(5))), "kill");
  EXPECT_EQ(os(UnitExited{{kFence, kBatchStep}, 0, SIGKILL, false, false, {}, kT0 + seconds(126)}),
            "tell exited");
  const AttemptReport report = node.reports(kT0)[0];
  EXPECT_TRUE(report.timed_out);
  EXPECT_FALSE(report.by_itself);
  EXPECT_EQ(report.ran, Duration(seconds(126)));
}

// The agent comes back after the limit and hears late that the script had ended before it.
TEST_F(NodeMachine, AnEndBeforeTheLimitIsInTimeWheneverItIsHeard) {
  LaunchOrder o = batch();
  o.limit = minutes(1);
  Node again("boot", "c");
  again.restore(kT0 + minutes(5), {{kFence, o, true, {kBatchStep}, std::nullopt}});
  EXPECT_EQ(again.reports(kT0 + minutes(5))[0].began_ago, std::nullopt) << "nobody knows yet";
  again.os(kT0 + minutes(5), BatchStarted{kFence, "", false, kT0});
  again.tick(kT0 + minutes(5));
  again.os(kT0 + minutes(5),
           UnitExited{{kFence, kBatchStep}, 0, 0, false, false, {}, kT0 + seconds(59)});
  const AttemptReport report = again.reports(kT0 + minutes(6))[0];
  EXPECT_TRUE(report.by_itself);
  EXPECT_FALSE(report.timed_out);
}

}  // namespace
}  // namespace phalanx::node
