// Durations and ends are what nodes measured: a controller or an agent that was away makes no job
// longer, dearer or too late.
#include "cluster/testing.h"

namespace phalanx::cluster {
namespace {

// The controller dies, and comes back after `away` without having heard of anything.
void outage(World& w, Duration away) {
  w.heard = Heard{};
  w.now += away;
}

AttemptReport ran(const World& w, JobNumber number, Duration lasted, Duration ended_ago) {
  AttemptReport report = w.about("n1", number, AttemptPhase::exited);
  report.by_itself = true;
  report.ran = lasted;
  report.began_ago = lasted + ended_ago;
  return report;
}

// A running job with a step "s"; when it was placed.
Time run_with_step(World& w, StepRequest& request) {
  w.submit(job("1"));
  const Time placed = w.now;
  w.place();
  request.target = World::target(1);
  request.key = "s";
  EXPECT_TRUE(w.give(request, user("anna")).step);
  return placed;
}

TEST(Exact, AnEndDuringAnOutageIsInTimeAndCostsWhatRan) {
  World w("n1:2");
  WorkloadSpec spec = job("1x2");
  spec.limit = minutes(1);
  w.submit(spec);
  const Time placed = w.now;
  w.place();
  w.now += seconds(40);
  outage(w, seconds(35));  // it ended after 45 s
  EXPECT_EQ(next_deadline(w.state, w.heard), kNever) << "its node has not told yet";
  w.tick();
  EXPECT_EQ(w.work(1).phase, Phase::running);
  w.connect("n1", "", {ran(w, 1, milliseconds(45'100), milliseconds(29'850))});
  EXPECT_EQ(w.work(1).end.cause, EndCause::completed);
  EXPECT_EQ(w.work(1).ended, placed + milliseconds(45'150));
  EXPECT_EQ(w.work(1).past.back().launched, placed + milliseconds(50));
  w.now += seconds(2);
  w.say("n1", 1, AttemptPhase::gone);
  EXPECT_EQ(w.work(1).charged.gpu_ms, 2 * 45'100);
  EXPECT_EQ(w.state.reserved.gpu_ms, 2 * (77'000 - 45'100)) << "held, and charged to nobody";
}

TEST(Exact, ASilentAgentDecidesNoLimit) {
  World w("n1:2");
  WorkloadSpec spec = job("1");
  spec.limit = minutes(1);
  spec.launch.warn = {10, seconds(20), false};
  w.submit(spec);
  w.place();
  AttemptReport running = w.about("n1", 1, AttemptPhase::running);
  running.began_ago = Duration(0);
  w.say("n1", running);
  EXPECT_EQ(next_deadline(w.state, w.heard), w.now + seconds(40));
  w.now += seconds(30);
  w.silent("n1", seconds(1));
  w.now += seconds(45);
  w.tick();
  EXPECT_EQ(w.work(1).stop_since, Time{});
  // Its agent is back and does not know yet what has become of the script.
  w.connect("n1", "", {w.about("n1", 1, AttemptPhase::running)});
  w.tick();
  EXPECT_EQ(w.work(1).stop_since, Time{});
  w.say("n1", ran(w, 1, seconds(50), seconds(25)));
  EXPECT_EQ(w.work(1).end.cause, EndCause::completed);
}

TEST(Exact, WhatStillRunsAfterAnOutageIsStoppedAtItsLimit) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  outage(w, hours(2));
  AttemptReport running = w.about("n1", 1, AttemptPhase::running);
  running.began_ago = hours(2);
  w.connect("n1", "", {running});
  EXPECT_LE(next_deadline(w.state, w.heard), w.now);
  w.tick();
  EXPECT_EQ(w.said(), "n1:Stop");
  EXPECT_EQ(w.work(1).stop_cause, EndCause::timeout);
}

// The order was lost with the controller: the limit counts from when it really began.
TEST(Exact, ALateStartHasItsWholeLimit) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  outage(w, hours(2));
  w.connect("n1");  // it does not have it: Prepare goes out again
  w.tick();
  EXPECT_EQ(w.work(1).stop_since, Time{});
  w.now += seconds(1);
  AttemptReport running = w.about("n1", 1, AttemptPhase::running);
  running.began_ago = Duration(0);
  w.say("n1", running);
  EXPECT_EQ(next_deadline(w.state, w.heard), w.now + hours(1));
}

TEST(Exact, AStopForTheLimitThatCameTooLateChangesNothing) {
  for (const bool by_itself : {true, false}) {
    World w("n1:2");
    w.submit(job("1"));
    w.place();
    w.now += hours(1);
    w.tick();
    ASSERT_EQ(w.work(1).stop_cause, EndCause::timeout);
    AttemptReport report = ran(w, 1, hours(1), Duration(0));
    report.by_itself = by_itself;
    w.say("n1", report);
    EXPECT_EQ(w.work(1).end.cause, by_itself ? EndCause::completed : EndCause::timeout);
  }
}

TEST(Exact, TheNodeKeepsTheLimitWhileTheControllerIsAway) {
  World w("n1:2 n2:2");
  w.submit(gang(2));
  w.place();
  for (const char* node : {"n1", "n2"}) w.say(node, 1, AttemptPhase::prepared);
  outage(w, hours(2));
  AttemptReport report = ran(w, 1, hours(1) + seconds(30), minutes(59));
  report.timed_out = true;
  report.by_itself = false;
  report.exit_code = 0;  // it caught the signal
  w.connect("n1", "", {report});
  EXPECT_EQ(w.work(1).end.cause, EndCause::timeout);
  EXPECT_EQ(w.said(), "n1:Stop n2:Stop n1:Release n2:Release");
  EXPECT_EQ(w.work(1).ended - w.work(1).past.back().launched, hours(1) + seconds(30));
}

TEST(Exact, AChangedLimitReachesTheNode) {
  World w("n1:2", [](ClusterConfig& c) { c.timers.over_time_limit = minutes(1); });
  w.submit(job("1"));
  w.place();
  const auto& prepare = std::get<Prepare>(std::get<SendOrder>(w.effects.front()).order);
  EXPECT_EQ(prepare.order.limit, minutes(61));
  w.give(Update{World::target(1), hours(3), {}, {}}, admin());
  EXPECT_EQ(w.said(), "n1:SetLimit");
  NodeReport report;
  report.name = "n1";
  report.boot = w.boots.at("n1");
  report.attempts = {w.about("n1", 1, AttemptPhase::running)};
  report.attempts[0].limit = minutes(61);  // the order was lost
  const auto again = orders(w.state, w.node("n1").id, report);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(std::get<SetLimit>(again[0]).limit, minutes(181));
}

// Told only when its job was over for long.
TEST(Exact, AStepEndsWhenItsNodeSaysSo) {
  World w("n1:2");
  StepRequest request;
  const Time placed = run_with_step(w, request);
  request.overlap = true;
  request.key = "t";
  ASSERT_TRUE(w.give(request, user("anna")).step);
  w.now += seconds(100);
  AttemptReport report = ran(w, 1, seconds(40), seconds(60));
  report.steps = {{0, 0, 0, false, seconds(70)}};
  w.say("n1", report);
  EXPECT_EQ(w.work(1).ended, placed + seconds(40));
  EXPECT_EQ(w.work(1).steps.at(0).ended, placed + seconds(30));
  EXPECT_EQ(w.work(1).steps.at(1).ended, placed + seconds(40)) << "killed with its job";
}

// The end that srun tells is the nodes', if they have told theirs.
TEST(Exact, SrunSaysHowAStepEndedAndItsNodeWhen) {
  World w("n1:2");
  StepRequest request;
  const Time placed = run_with_step(w, request);
  w.now += seconds(30);
  StepOver over;
  over.target = World::target(1);
  over.target.step = 0;
  over.exit_code = 3;
  EXPECT_FALSE(w.give(over, user("anna")).error);
  EXPECT_EQ(w.work(1).steps.at(0).ended, placed + seconds(30)) << "its node has said nothing";
  EXPECT_FALSE(w.work(1).steps.at(0).measured);

  request.key = "t";
  ASSERT_TRUE(w.give(request, user("anna")).step);
  w.now += seconds(30);
  AttemptReport report = w.about("n1", 1, AttemptPhase::running);
  report.steps = {{1, 0, 0, false, seconds(10)}};
  w.say("n1", report);
  over.target.step = 1;
  EXPECT_FALSE(w.give(over, user("anna")).error);
  EXPECT_EQ(w.work(1).steps.at(1).ended, placed + seconds(50));
  EXPECT_TRUE(w.work(1).steps.at(1).measured);
}

TEST(Exact, AStepDoesNotOutliveItsJob) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  StepRequest request;
  request.target = World::target(1);
  request.key = "s";
  ASSERT_TRUE(w.give(request, user("anna")).step);
  w.now += seconds(100);
  AttemptReport report = ran(w, 1, seconds(40), seconds(60));
  report.steps = {{0, 0, 0, false}};
  w.say("n1", report);
  EXPECT_EQ(w.work(1).steps.at(0).ended, w.work(1).ended);
}

}  // namespace
}  // namespace phalanx::cluster
