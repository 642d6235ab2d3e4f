// phalanx-spawn and supervisors as the agent meets them: starting, the fence, coming back after a
// crash, and what is left of a unit whose supervisor was killed.
#include "agent/spawn_client.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "agent/testing/spawn_fixture.h"

namespace phalanx::agent::testing {
namespace {

using spawn::Stage;
using spawn::Verdict;

INSTANTIATE_TEST_SUITE_P(Programs, SpawnTest, ::testing::ValuesIn(programs()), program_name);

TEST_P(SpawnTest, AThousandUnitsLeaveNothing) {
  constexpr int kUnits = 1000, kAtOnce = 16;
  spawn::Start request = shell("first", "true");
  const spawn::StartReply first = start(request);
  const pid_t server = parent_of(first.pid);
  auto warm = attach("first");
  release(*warm);
  warm.reset();
  run_until([&] { return children(server) == 0; }, "the first supervisor to be reaped");
  const std::size_t server_files = open_files(server), own_files = open_files(::getpid());

  request.argv = {"/bin/true"};
  int begun = 0, done = 0;
  std::map<std::string, std::unique_ptr<Recorder>> running;
  const auto begin = [&] {
    request.unit = "unit" + std::to_string(begun++);
    client_->start(request, [&](Result<spawn::StartReply> reply) {
      ASSERT_TRUE(reply.ok());
      ASSERT_EQ(reply->verdict, Verdict::Accepted);
      running[reply->unit] = attach(reply->unit);
    });
  };
  const auto turn = [&] {
    for (auto it = running.begin(); it != running.end();) {
      Recorder& unit = *it->second;
      if (unit.empty && !unit.released) unit.link->release();
      if (!unit.released || unit.released->error != 0) {
        ++it;
        continue;
      }
      EXPECT_EQ(unit.exited.at(0).status, 0);
      it = running.erase(it);
      ++done;
    }
    while (begun < kUnits && begun - done < kAtOnce) begin();
    return done == kUnits;
  };
  run_until(turn, "all units to be released");
  run_until([&] { return children(server) == 0; }, "the supervisors to be reaped");
  EXPECT_EQ(client_->units(), std::vector<std::string>{});
  EXPECT_EQ(open_files(server), server_files);
  EXPECT_EQ(open_files(::getpid()), own_files);
}

TEST_P(SpawnTest, ReportsExitCodesAndSignals) {
  struct Case {
    const char* script;
    int code, signal;
  };
  const Case cases[] = {{"exit 0", 0, 0},
                        {"exit 7", 7, 0},
                        {"kill -TERM $$", 0, SIGTERM},
                        {"kill -KILL $$", 0, SIGKILL}};
  int number = 0;
  for (const Case& c : cases) {
    auto unit = run(shell("codes" + std::to_string(number++), c.script));
    release(*unit);
    const int status = unit->exited.at(0).status;
    EXPECT_TRUE(unit->all_exited);
    if (c.signal != 0) {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == c.signal) << c.script;
    } else {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == c.code) << c.script;
    }
    EXPECT_GE(unit->exited.at(0).time, unit->started.at(0).time);
  }
}

TEST_P(SpawnTest, AReturningAgentLearnsEverything) {
  spawn::Start request = shell("comeback", "echo before; read line; echo after; exit 3");
  request.tasks[0].in.kind = spawn::StreamKind::Stream;
  auto old = run(request);
  run_until([&] { return old->out[0] == "before\n"; }, "the first output");
  old.reset();  // the agent is killed
  new_client();
  EXPECT_EQ(client_->units(), std::vector<std::string>{"comeback"});
  auto back = attach("comeback");
  run_until([&] { return back->replayed; }, "the replay");
  EXPECT_EQ(back->started.count(0), 1U);
  EXPECT_EQ(back->exited.count(0), 0U);
  back->link->write_stdin(0, "go\n");
  back.reset();  // and again, perhaps before the task went on
  auto last = attach("comeback");
  last->link->write_stdin(0, "go\n");
  run_until([&] { return last->exited.count(0) == 1 && last->out_eof.count(0) == 1; }, "the exit");
  EXPECT_EQ(WEXITSTATUS(last->exited.at(0).status), 3);
  EXPECT_NE(last->out[0].find("after\n"), std::string::npos);
  EXPECT_EQ(last->infos, 1);
  release(*last);
}

TEST_P(SpawnTest, UnitsOutliveTheServer) {
  auto unit = run(shell("survivor", "trap 'exit 5' TERM; while :; do read x || sleep 0.05; done"));
  run_until([&] { return unit->started.count(0) == 1; }, "the start");
  bool stopped = false, lost = false;
  client_->on_lost([&] { lost = true; });
  client_->stop([&](const Status& s) { stopped = s.ok(); });
  run_until([&] { return stopped && lost; }, "the server to stop");
  EXPECT_TRUE(alive(unit->started.at(0).pid));
  ASSERT_TRUE(client_->connect().ok());  // a new server
  EXPECT_EQ(start(shell("survivor", "true")).verdict, Verdict::Exists);
  unit->link->kill();
  release(*unit);
}

TEST_P(SpawnTest, AUnitIsNeverStartedTwice) {
  spawn::Start request = shell("once", "true");
  request.intent = rundir_ + "/intent-once";
  auto unit = run(request);
  EXPECT_EQ(start(request).verdict, Verdict::Exists);
  release(*unit);
  EXPECT_TRUE(std::filesystem::exists(request.intent));
  const spawn::StartReply again = start(request);  // released, and yet the fence stands
  EXPECT_EQ(again.verdict, Verdict::Gone);
  EXPECT_EQ(again.stage, Stage::Intent);
  EXPECT_EQ(client_->units(), std::vector<std::string>{});
}

TEST_P(SpawnTest, RefusesWhatCannotBe) {
  struct Case {
    const char* what;
    std::function<void(spawn::Start&)> change;
    Stage stage;
  };
  const Case cases[] = {
      {"a path as a name", [](spawn::Start& s) { s.unit = "../up"; }, Stage::Request},
      {"no task", [](spawn::Start& s) { s.tasks.clear(); }, Stage::Request},
      {"no program", [](spawn::Start& s) { s.argv.clear(); }, Stage::Request},
      {"a relative file",
       [](spawn::Start& s) { s.tasks[0].out = {spawn::StreamKind::File, false, "x"}; },
       Stage::Stdout},
      {"an intent without its folder", [](spawn::Start& s) { s.intent = "/nowhere/x"; },
       Stage::Intent},
  };
  for (const Case& c : cases) {
    spawn::Start request = shell("refused", "true");
    c.change(request);
    const spawn::StartReply reply = start(request);
    EXPECT_EQ(reply.verdict, Verdict::Refused) << c.what;
    EXPECT_EQ(reply.stage, c.stage) << c.what;
    EXPECT_NE(reply.error, 0) << c.what;
  }
  EXPECT_EQ(client_->units(), std::vector<std::string>{});
}

TEST_P(SpawnTest, WithoutRootOnlyOwnWorkRuns) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may run work for others";
  spawn::Start request = shell("other", "true");
  request.uid = 0;
  const spawn::StartReply reply = start(request);
  EXPECT_EQ(reply.verdict, Verdict::Refused);
  EXPECT_EQ(reply.stage, Stage::Identity);
}

// One child keeps the marker, another is a daemon with an empty environment.
TEST_P(SpawnTest, WhatALostSupervisorLeavesIsKilled) {
  const spawn::Start request = shell("orphan",
                                     "trap '' TERM; (setsid sh -c 'echo $$; exec sleep 1000' &); "
                                     "env -i sleep 1000 & echo $!; wait");
  const spawn::StartReply reply = start(request);
  auto unit = attach("orphan");
  const auto pids = [&] { return std::count(unit->out[0].begin(), unit->out[0].end(), '\n'); };
  run_until([&] { return pids() == 2 && unit->started.count(0) == 1; }, "the children");
  ::kill(reply.pid, SIGKILL);
  run_until([&] { return unit->lost.has_value(); }, "SupervisorLost");
  EXPECT_TRUE(unit->lost->known);
  auto later = attach("orphan");  // whoever comes later learns the same
  run_until([&] { return later->lost.has_value(); }, "SupervisorLost");
  EXPECT_EQ(later->started.count(0), 1U);
  EXPECT_EQ(start(request).verdict, Verdict::Gone);

  std::optional<Status> killed, forgotten;
  client_->kill_lost("orphan", [&](const Status& s) { killed = s; });
  run_until([&] { return killed.has_value(); }, "kill_lost");
  EXPECT_TRUE(killed->ok());
  std::istringstream lines(unit->out[0]);
  for (pid_t pid = 0; lines >> pid;) EXPECT_FALSE(alive(pid)) << pid;
  EXPECT_FALSE(alive(unit->started.at(0).pid));
  client_->forget("orphan", [&](const Status& s) { forgotten = s; });
  run_until([&] { return forgotten.has_value(); }, "forget");
  EXPECT_EQ(client_->units(), std::vector<std::string>{});
}

TEST_P(SpawnTest, ALivingUnitIsNeitherLostNorForgotten) {
  auto unit = run(shell("living", "sleep 1000"));
  run_until([&] { return unit->started.count(0) == 1; }, "the start");
  std::optional<Status> killed, forgotten;
  client_->kill_lost("living", [&](const Status& s) { killed = s; });
  client_->forget("living", [&](const Status& s) { forgotten = s; });
  run_until([&] { return killed && forgotten; }, "the answers");
  EXPECT_FALSE(killed->ok());
  EXPECT_FALSE(forgotten->ok());
  unit->link->release();
  run_until([&] { return unit->released.has_value(); }, "ReleaseReply");
  EXPECT_EQ(unit->released->error, EBUSY);
  unit->released.reset();
  EXPECT_TRUE(alive(unit->started.at(0).pid));
  unit->link->kill();
  release(*unit);
}

TEST_P(SpawnTest, SocketsAreForTheirOwnerOnly) {
  auto unit = run(shell("private", "sleep 1000"));
  run_until([&] { return unit->started.count(0) == 1; }, "the start");
  for (const char* name : {"", "/units", "/units/private", "/spawn.sock", "/units/private/sock",
                           "/units/private/state"}) {
    struct stat info{};
    ASSERT_EQ(::stat((rundir_ + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 077, 0U) << name;
  }
  unit->link->kill();
  release(*unit);
}

TEST_P(SpawnTest, AnUnknownUnitIsLost) {
  auto unit = attach("never");
  run_until([&] { return unit->lost.has_value(); }, "SupervisorLost");
  EXPECT_FALSE(unit->lost->known);
}

}  // namespace
}  // namespace phalanx::agent::testing
