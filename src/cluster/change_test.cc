// What users and time do to work: cancel, limits, requeue, hold, update, keys, who may.
#include "cluster/testing.h"

namespace phalanx::cluster {
namespace {

const SignalOrder* signal_in(const std::vector<Effect>& effects) {
  for (const Effect& effect : effects)
    if (const auto* send = std::get_if<SendOrder>(&effect))
      if (const auto* signal = std::get_if<SignalOrder>(&send->order)) return signal;
  return nullptr;
}

TEST(Cancel, PendingWorkIsOverAtOnce) {
  World w("n1:2");
  w.submit(job("1"));
  EXPECT_FALSE(w.cancel(World::target(1)).error);
  EXPECT_TRUE(finished(w.work(1)));
  EXPECT_EQ(w.work(1).end.cause, EndCause::cancelled);
  EXPECT_EQ(w.work(1).end.by, user("anna").uid);
  EXPECT_EQ(w.said(), format("archive:{}", w.work(1).id.value));
  EXPECT_EQ(w.cancel(World::target(1)).error->code, Error::Code::Conflict);
  EXPECT_EQ(w.cancel(World::target(9)).error->code, Error::Code::NotFound);
}

TEST(Cancel, RunningWorkIsStoppedAndEndsWithItsScript) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  w.cancel(World::target(1));
  EXPECT_EQ(w.said(), "n1:Stop");
  EXPECT_EQ(w.work(1).phase, Phase::running);
  w.cancel(World::target(1));
  EXPECT_EQ(w.said(), "");  // it is on its way
  w.exits("n1", 1, 0, 15);
  EXPECT_EQ(w.work(1).end.cause, EndCause::cancelled);
  EXPECT_EQ(w.work(1).end.exit_signal, 15);
  w.say("n1", 1, AttemptPhase::gone);
  EXPECT_TRUE(finished(w.work(1)));
}

TEST(Cancel, PlacedWorkNeverRan) {
  World w("n1:2 n2:2");
  w.submit(gang(2));
  w.place();
  w.cancel(World::target(1));
  EXPECT_EQ(w.said(), "n1:Release n2:Release");
  EXPECT_EQ(w.work(1).phase, Phase::ended);
}

TEST(Cancel, NeverWaitsForEver) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  w.cancel(World::target(1));
  w.now = next_deadline(w.state, w.heard);
  EXPECT_EQ(w.now, w.work(1).stop_since + 2 * seconds(30) + seconds(10));
  w.tick();
  EXPECT_EQ(w.work(1).end.cause, EndCause::cancelled);
  EXPECT_TRUE(completing(w.work(1)));  // devices stay held
  EXPECT_EQ(next_deadline(w.state, w.heard), kNever);
}

TEST(Cancel, ASignalIsNoFact) {
  World w("n1:2 n2:2");
  w.submit(gang(2));
  Cancel usr1;
  usr1.target = World::target(1);
  usr1.signal = 10;
  EXPECT_EQ(w.give(usr1, user("anna")).error->code, Error::Code::Conflict);
  w.place();
  w.say("n1", 1, AttemptPhase::prepared);
  w.say("n2", 1, AttemptPhase::prepared);
  const std::size_t before = w.events.size();
  EXPECT_FALSE(w.give(usr1, user("anna")).error);
  EXPECT_EQ(w.said(), "n1:Signal n2:Signal");
  EXPECT_EQ(w.events.size(), before);
}

TEST(Limit, StopsWorkThatIsOverIt) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  EXPECT_EQ(next_deadline(w.state, w.heard), w.now + hours(1));
  w.now += hours(1) - milliseconds(1);
  w.tick();
  EXPECT_EQ(w.said(), "");
  w.now += milliseconds(1);
  w.tick();
  EXPECT_EQ(w.said(), "n1:Stop");
  w.exits("n1", 1, 0);  // it caught the signal
  EXPECT_EQ(w.work(1).end.cause, EndCause::timeout);
}

TEST(Limit, IsThePartitionsIfNoneIsAsked) {
  World w("n1:2", [](ClusterConfig& c) {
    c.partitions[0].default_time = minutes(30);
    c.partitions[0].max_time = hours(2);
  });
  WorkloadSpec spec = job("1");
  spec.limit = kForever;
  w.submit(spec);
  EXPECT_EQ(w.work(1).limit, minutes(30));
  w.submit(job("1"));
  w.give(Update{World::target(2), hours(3), {}, {}}, user("anna"));
  EXPECT_EQ(w.place(), 1U);  // the other one waits with PartitionTimeLimit
  EXPECT_EQ(w.work(2).phase, Phase::pending);
}

TEST(Limit, WarnsOnceBefore) {
  for (const bool shell : {true, false}) {
    World w("n1:2");
    WorkloadSpec spec = job("1");
    spec.launch.warn = {10, seconds(90), shell};
    w.submit(spec);
    w.place();
    w.now += hours(1) - seconds(90);
    w.tick();
    const SignalOrder* signal = signal_in(w.effects);
    ASSERT_NE(signal, nullptr);
    EXPECT_EQ(signal->signal, 10);
    EXPECT_EQ(signal->target, shell ? SignalTarget::shell : SignalTarget::steps);
    w.tick();
    EXPECT_EQ(w.said(), "");
    EXPECT_EQ(next_deadline(w.state, w.heard), w.now + seconds(90));
  }
}

TEST(Limit, MovesWhenItIsUpdated) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  const auto update = [&](Duration limit, const Identity& who) {
    return w.give(Update{World::target(1), limit, {}, {}}, who);
  };
  EXPECT_FALSE(update(minutes(5), user("anna")).error);
  EXPECT_EQ(next_deadline(w.state, w.heard), w.now + minutes(5));
  EXPECT_EQ(update(hours(5), user("anna")).error->code, Error::Code::Denied);
  EXPECT_FALSE(update(hours(5), admin()).error);
  EXPECT_EQ(update(Duration(0), admin()).error->code, Error::Code::Invalid);
  EXPECT_EQ(next_deadline(w.state, w.heard), w.now + hours(5));
}

TEST(Requeue, RunsAgainUnderTheSameNumber) {
  World w("n1:2");
  w.submit(job("1"));
  EXPECT_EQ(w.give(Requeue{World::target(1)}, user("anna")).error->code, Error::Code::Conflict);
  w.place();
  EXPECT_FALSE(w.give(Requeue{World::target(1)}, user("anna")).error);
  EXPECT_EQ(w.said(), "n1:Stop");
  w.exits("n1", 1, 0, 15);
  EXPECT_EQ(w.work(1).phase, Phase::pending);
  EXPECT_EQ(w.work(1).restarts, 1U);
  EXPECT_EQ(w.place(), 0U);  // not before the old attempt is gone
  w.say("n1", 1, AttemptPhase::gone);
  EXPECT_EQ(w.place(), 1U);
  EXPECT_EQ(w.work(1).attempts, 2U);
  w.run_to_end("n1", 1);
  EXPECT_EQ(w.work(1).past.size(), 2U);
}

// Ended and still in State, on its nodes even.
TEST(Requeue, OfEndedWorkItIsANewAttempt) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  w.exits("n1", 1, 3);
  EXPECT_FALSE(w.give(Requeue{World::target(1)}, user("anna")).error);
  EXPECT_EQ(w.work(1).phase, Phase::pending);
  EXPECT_EQ(w.place(), 0U);  // not before the old attempt is gone
  w.say("n1", 1, AttemptPhase::gone);
  EXPECT_EQ(w.place(), 1U);
  w.run_to_end("n1", 1);
  EXPECT_FALSE(w.give(Requeue{World::target(1), true}, user("anna")).error);
  w.archive();  // it is not over any more
  EXPECT_TRUE(w.work(1).held_by_user);
  EXPECT_EQ(w.work(1).restarts, 2U);
  EXPECT_EQ(w.work(1).end, End{});
}

TEST(Requeue, OfWhatWasCancelledCanBeCancelledAgain) {
  World w("n1:2");
  w.submit(job("1"));
  w.place();
  w.cancel(World::target(1));
  w.exits("n1", 1, 0, 15);
  w.say("n1", 1, AttemptPhase::gone);
  EXPECT_FALSE(w.give(Requeue{World::target(1)}, user("anna")).error);
  EXPECT_EQ(w.work(1).phase, Phase::pending);
  EXPECT_EQ(w.place(), 1U);
  w.cancel(World::target(1));
  EXPECT_EQ(w.said(), "n1:Stop");
}

TEST(Requeue, OfWorkThatHasLeftState) {
  World w("n1:2");
  WorkloadSpec spec = job("1");
  spec.launch.script = "a";
  w.submit(spec);
  w.place();
  w.run_to_end("n1", 1, 1);
  const auto row = std::make_shared<const Workload>(w.work(1));
  w.archive();
  const auto requeue = [&](std::shared_ptr<const Workload> gone, const Identity& who) {
    return w.give(Requeue{World::target(1), false, std::move(gone)}, who);
  };
  EXPECT_EQ(requeue(nullptr, user("anna")).error->code, Error::Code::NotFound);
  EXPECT_EQ(requeue(row, user("bert")).error->code, Error::Code::Denied);
  EXPECT_FALSE(requeue(row, user("anna")).error);
  EXPECT_EQ(w.work(1).phase, Phase::pending);
  EXPECT_EQ(w.work(1).restarts, 1U);
  EXPECT_EQ(w.place(), 1U);
  EXPECT_EQ(w.work(1).attempts, 2U);
  w.run_to_end("n1", 1);
  w.archive();
  EXPECT_EQ(find_job(w.state, 1), nullptr);
  w.now += w.config.timers.min_job_age + seconds(1);
  EXPECT_EQ(requeue(row, user("anna")).error->code, Error::Code::NotFound);
}

TEST(Requeue, OfAnElementItsArrayCountsItAgain) {
  World w("n1:2");
  w.submit_array(job("1"), {1, 2});
  w.place();
  const Workload first = *w.element(1, 1);
  w.run_to_end("n1", first.number, 1);
  const auto row = std::make_shared<const Workload>(*w.element(1, 1));
  w.archive();
  EXPECT_EQ(w.element(1, 1), nullptr);
  EXPECT_FALSE(w.give(Requeue{World::target(1, {1}), false, row}, user("anna")).error);
  ASSERT_NE(w.element(1, 1), nullptr);
  EXPECT_EQ(find_array(w.state, first.array)->ended_not_ok, 0U);
}

TEST(Client, AnAllocationWhoseClientIsAwayEnds) {
  World w("n1:2");
  WorkloadSpec spec = job("1");
  spec.kind = WorkloadKind::allocation;
  spec.submit_host = "login";
  w.submit(spec);
  spec.client_stays = true;
  w.submit(spec);
  w.place();
  w.submit(spec);
  const auto gone = [&](JobNumber number, const Identity& who) {
    return w.give(ClientGone{w.work(number).id, seconds(60)}, who);
  };
  EXPECT_EQ(gone(1, system_identity()).error->code, Error::Code::Invalid);
  EXPECT_EQ(gone(2, user("anna")).error->code, Error::Code::Denied);
  EXPECT_FALSE(gone(2, system_identity()).error);
  EXPECT_EQ(w.said(), "n1:Stop");
  w.say("n1", 2, AttemptPhase::gone);
  EXPECT_EQ(w.work(2).end.cause, EndCause::cancelled);
  EXPECT_EQ(w.work(2).end.by, w.work(2).spec->owner.uid);
  EXPECT_EQ(w.work(2).end.detail, "its client on login was away for 1m and is given up");
  EXPECT_FALSE(gone(3, system_identity()).error);  // it never started
  EXPECT_EQ(w.work(3).end.cause, EndCause::cancelled);
}

TEST(Requeue, MayHoldAndMayBeForbiddenAndMayBeCancelled) {
  World w("n1:4");
  w.submit(job("1"));
  WorkloadSpec once = job("1");
  once.requeue = false;
  w.submit(once);
  w.submit(job("1"));
  w.place();
  EXPECT_EQ(w.give(Requeue{World::target(2)}, user("anna")).error->code, Error::Code::Conflict);
  w.give(Requeue{World::target(1), true}, user("anna"));
  w.run_to_end("n1", 1);
  EXPECT_EQ(w.work(1).phase, Phase::pending);
  EXPECT_TRUE(w.work(1).held_by_user);
  w.give(Requeue{World::target(3)}, user("anna"));
  w.cancel(World::target(3));
  w.run_to_end("n1", 3);
  EXPECT_EQ(w.work(3).end.cause, EndCause::cancelled);
}

TEST(Hold, ByUserAndByAdministrator) {
  World w("n1:2");
  w.submit(job("1"));
  EXPECT_EQ(w.give(Hold{World::target(1)}, user("bert")).error->code, Error::Code::Denied);
  EXPECT_FALSE(w.give(Hold{World::target(1)}, user("anna")).error);
  EXPECT_TRUE(w.work(1).held_by_user);
  EXPECT_EQ(w.place(), 0U);
  EXPECT_FALSE(w.give(Hold{World::target(1)}, admin()).error);
  EXPECT_TRUE(w.work(1).held_by_admin);
  EXPECT_EQ(w.give(Hold{World::target(1), false}, user("anna")).error->code, Error::Code::Denied);
  EXPECT_FALSE(w.give(Hold{World::target(1), false}, admin()).error);
  EXPECT_EQ(w.place(), 1U);
  EXPECT_EQ(w.give(Hold{World::target(1)}, user("anna")).error->code, Error::Code::Conflict);
}

TEST(Hold, PriorityZeroIsOneAndAnyOtherEndsIt) {
  World w("n1:2");
  w.submit(job("1"));
  EXPECT_FALSE(w.give(Update{World::target(1), {}, 0, {}}, admin()).error);
  EXPECT_TRUE(w.work(1).held_by_admin);
  EXPECT_EQ(w.work(1).priority, std::nullopt);
  EXPECT_EQ(w.place(), 0U);
  EXPECT_FALSE(w.give(Update{World::target(1), {}, 7, {}}, admin()).error);
  EXPECT_EQ(w.work(1).priority, 7);
  EXPECT_EQ(w.place(), 1U);
}

TEST(Access, IsDecidedHere) {
  World w("n1:2", [](ClusterConfig& c) { c.operators = {"olga"}; });
  w.submit(job("1"));
  w.place();
  const auto code = [](const Reply& r) {
    return r.error ? std::optional(r.error->code) : std::nullopt;
  };
  EXPECT_EQ(code(w.cancel(World::target(1), user("bert"))), Error::Code::Denied);
  EXPECT_EQ(code(w.give(Update{World::target(1), {}, 100, {}}, user("anna"))), Error::Code::Denied);
  EXPECT_EQ(code(w.give(Update{World::target(1), {}, {}, -5}, user("anna"))), Error::Code::Denied);
  EXPECT_EQ(code(w.give(Update{World::target(1), {}, {}, 5}, user("anna"))), std::nullopt);
  EXPECT_EQ(code(w.give(Update{World::target(1), {}, 100, {}}, user("olga"))), std::nullopt);
  EXPECT_EQ(code(w.give(Drain{"n1", true, "fan", false}, user("anna"))), Error::Code::Denied);
  EXPECT_EQ(code(w.give(Configure{"", w.config}, user("anna"))), Error::Code::Denied);
  EXPECT_EQ(code(w.give(Tick{}, user("anna"))), Error::Code::Denied);
  EXPECT_EQ(code(w.give(AgentSilent{"n1", hours(1)}, admin())), Error::Code::Denied);
  Submit for_anna;
  for_anna.spec = std::make_shared<WorkloadSpec>(job("1"));
  EXPECT_EQ(code(w.give(for_anna, user("bert"))), Error::Code::Denied);
  EXPECT_EQ(code(w.give(for_anna, admin())), std::nullopt);
  EXPECT_EQ(code(w.cancel(World::target(1), user("olga"))), std::nullopt);
}

std::string submitted_to(Partition p, const std::function<void(WorkloadSpec&)>& change = nullptr) {
  World w("n1:2", [&](ClusterConfig& c) {
    p.name = "main";
    p.nodes = {"n1"};
    c.partitions = {p};
  });
  WorkloadSpec spec = job("1");
  spec.partition = "main";
  if (change) change(spec);
  const Reply r = w.submit(spec);
  return r.error ? r.error->message : "accepted";
}

TEST(Submit, APartitionSaysWhoMayUseItAndWhen) {
  const auto says = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  EXPECT_EQ(submitted_to({}), "accepted");
  Partition p;
  p.state = PartitionState::down;
  EXPECT_EQ(submitted_to(p), "accepted") << "it waits until the partition is up";
  for (const PartitionState state : {PartitionState::drain, PartitionState::inactive}) {
    p.state = state;
    says(submitted_to(p), "Required partition not available");
  }
  p = {};
  p.deny_qos = {"low"};
  says(submitted_to(p, [](auto& s) { s.qos = "low"; }), "Invalid qos");
  p = {};
  p.allow_groups = {"physics"};
  p.allow_gids = {77};
  says(submitted_to(p), "AllowGroups");
  EXPECT_EQ(submitted_to(p, [](auto& s) { s.owner.groups = {5, 77}; }), "accepted");
  p = {};
  p.max_memory_per_node = std::int64_t{1} << 29;
  says(submitted_to(p), "Memory required by task is not available");
}

TEST(Submit, LimitsMayBeEnforcedAtOnce) {
  for (const bool enforced : {false, true}) {
    World w("n1:2 n2:2", [&](ClusterConfig& c) {
      c.enforce_limits = enforced;
      c.partitions.front().max_nodes = 1;
      c.partitions.front().max_time = hours(2);
    });
    EXPECT_EQ(w.submit(gang(2)).error.has_value(), enforced);
    WorkloadSpec longer = job("1");
    longer.limit = hours(3);
    EXPECT_EQ(w.submit(longer).error.has_value(), enforced);
    EXPECT_FALSE(w.submit(job("1")).error);
  }
}

TEST(Submit, IsRefusedWithWhatIsWrong) {
  World w("n1:2", [](ClusterConfig& c) {
    Partition closed;
    closed.name = "closed";
    closed.allow_accounts = {"secret"};
    closed.nodes = {"n1"};
    c.partitions.push_back(closed);
    c.max_array_size = 10;
    c.partitions.front().allow_root_jobs = false;
  });
  const auto message = [&](const std::function<void(WorkloadSpec&)>& spoil) {
    WorkloadSpec spec = job("1");
    spoil(spec);
    const Reply r = w.submit(spec);
    return r.error ? r.error->message : "accepted";
  };
  EXPECT_NE(message([](auto& s) { s.partition = "gpu"; }).find("there are: main, closed"),
            std::string::npos);
  EXPECT_NE(message([](auto& s) { s.partition = "closed"; }).find("research"), std::string::npos);
  EXPECT_NE(message([](auto& s) { s.groups.emplace_back(); }).find("heterogeneous"),
            std::string::npos);
  EXPECT_NE(message([](auto& s) { s.limit = Duration(0); }).find("time limit"), std::string::npos);
  EXPECT_NE(message([](auto& s) { s.nice = -1; }).find("nice"), std::string::npos);
  EXPECT_NE(message([](auto& s) { s.owner = admin(); }).find("DisableRootJobs"), std::string::npos);
  EXPECT_NE(message([](auto& s) {
              s.dependencies.push_back({DependencyKind::afterok, WorkloadId{77}, {}, false});
            }).find("dependency"),
            std::string::npos);
  EXPECT_NE(w.submit_array(job("1"), {1, 10}).error->message.find("MaxArraySize"),
            std::string::npos);
  EXPECT_NE(w.submit_array(job("1"), {}).error->message.find("no index"), std::string::npos);
  EXPECT_TRUE(w.state.workloads.empty());
  EXPECT_EQ(w.state.next_number, 1U);
}

TEST(Submit, TheSameKeyGivesTheSameAnswer) {
  World w("n1:2");
  const Reply first = w.submit(job("1"), "k1", "digest");
  const Reply again = w.submit(job("1"), "k1", "digest");
  EXPECT_EQ(again.number, first.number);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(w.state.workloads.size(), 1U);
  EXPECT_EQ(w.submit(job("1"), "k1", "other").error->code, Error::Code::Conflict);
  EXPECT_EQ(w.submit(job("1", "bert"), "k1", "digest").number, 2U);  // another user's key
  w.now += minutes(30);
  EXPECT_EQ(w.submit(job("1"), "k1", "digest").number, 3U);  // forgotten by now
  w.tick();
  EXPECT_EQ(w.state.keys.size(), 1U);
}

TEST(Submit, TestOnlyChangesNothing) {
  World w("n1:2");
  Submit input;
  input.spec = std::make_shared<WorkloadSpec>(job("1"));
  input.test_only = true;
  const std::size_t before = w.events.size();
  EXPECT_TRUE(w.give(input, user("anna")).would_start.has_value());
  EXPECT_EQ(w.events.size(), before);
}

TEST(Allocation, EndsWhenItsUserSaysSo) {
  struct Case {
    int code;
    EndCause cause;
  };
  for (const Case& c : {Case{0, EndCause::completed}, Case{7, EndCause::failed}}) {
    World w("n1:2 n2:2");
    WorkloadSpec spec = gang(2);
    spec.kind = WorkloadKind::allocation;
    w.submit(spec);
    w.place();
    w.say("n1", 1, AttemptPhase::prepared);
    w.say("n2", 1, AttemptPhase::prepared);
    w.say("n1", 1, AttemptPhase::running);
    w.give(Finish{World::target(1), c.code}, user("anna"));
    EXPECT_EQ(w.said(), "n1:Stop n2:Stop");
    w.say("n1", 1, AttemptPhase::gone);
    EXPECT_EQ(w.work(1).phase, Phase::running);  // the other keeps its time
    w.say("n2", 1, AttemptPhase::exited);
    EXPECT_EQ(w.work(1).end.cause, c.cause);
    EXPECT_EQ(w.work(1).end.exit_code, c.code);
    EXPECT_TRUE(w.work(1).current->released.contains(w.node("n1").id));
    w.say("n2", 1, AttemptPhase::gone);
    EXPECT_TRUE(finished(w.work(1)));
    EXPECT_FALSE(w.give(Finish{World::target(1)}, user("anna")).error);  // said twice
  }
}

TEST(Allocation, GivenUpWhileItWaits) {
  World w("n1:2");
  WorkloadSpec spec = job("1");
  spec.kind = WorkloadKind::allocation;
  w.submit(spec);
  w.give(Finish{World::target(1)}, user("anna"));
  EXPECT_EQ(w.work(1).end.cause, EndCause::cancelled);
  w.submit(job("1"));
  EXPECT_EQ(w.give(Finish{World::target(2)}, user("anna")).error->code, Error::Code::Invalid);
}

}  // namespace
}  // namespace phalanx::cluster
