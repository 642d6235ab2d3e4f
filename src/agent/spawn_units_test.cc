// What a supervisor does for its tasks: streams, files, terminals, signals, identity, limits.
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "agent/testing/spawn_fixture.h"
#include "base/text.h"

namespace phalanx::agent::testing {
namespace {

using spawn::Scope;
using spawn::Stage;
using spawn::StreamKind;

class UnitTest : public SpawnTest {};

INSTANTIATE_TEST_SUITE_P(Programs, UnitTest, ::testing::ValuesIn(programs()), program_name);

TEST_P(UnitTest, KillReachesADaemonThatIgnoresSignals) {
  auto unit =
      run(shell("daemon",
                "(setsid sh -c 'trap \"\" TERM HUP INT; echo $$; while :; do sleep 1000; done' "
                ">&1 &) ; exit 4"));
  run_until(
      [&] { return unit->all_exited && !unit->out[0].empty() && unit->out[0].back() == '\n'; },
      "the daemon");
  const auto daemon = static_cast<pid_t>(parse_int(trim(unit->out[0])).value_or(0));
  EXPECT_EQ(WEXITSTATUS(unit->exited.at(0).status), 4);
  EXPECT_FALSE(unit->empty.has_value());
  unit->link->signal(spawn::kAllTasks, SIGTERM, Scope::Tree, 1);
  run_until([&] { return !unit->signals.empty(); }, "SignalReply");
  EXPECT_GE(unit->signals[0].signalled, 1U);
  EXPECT_TRUE(alive(daemon));
  unit->link->kill();
  run_until([&] { return unit->empty.has_value(); }, "UnitEmpty");
  EXPECT_FALSE(alive(daemon));
  release(*unit);
}

TEST_P(UnitTest, KillOutrunsATreeThatForks) {
  auto unit =
      run(shell("forks",
                "f() { while :; do sleep 1000 & done; }; ulimit -u 2000 2>/dev/null; f & f & f & "
                "echo on; sleep 1000"));
  run_until([&] { return !unit->out[0].empty(); }, "the forks");
  unit->link->kill();
  release(*unit);
}

TEST_P(UnitTest, EofComesThoughADaemonHoldsThePipe) {
  auto unit = run(shell("holder", "(setsid sleep 1000 &); echo said"));
  run_until([&] { return unit->out_eof.count(0) == 1; }, "OutputEof");
  EXPECT_TRUE(unit->out_eof.at(0).forced);
  EXPECT_EQ(unit->out[0], "said\n");
  EXPECT_FALSE(unit->empty.has_value());
  unit->link->kill();
  release(*unit);
}

TEST_P(UnitTest, SignalsReachWhatTheyName) {
  const std::string script =
      "trap 'echo parent' USR1; sh -c 'trap \"echo child\" USR1; echo up; "
      "while :; do sleep 0.02; done' & while :; do wait; done";
  struct Case {
    Scope scope;
    bool child;
  };
  for (const Case& c :
       {Case{Scope::Process, false}, Case{Scope::Group, true}, Case{Scope::Tree, true}}) {
    auto unit = run(shell("signal" + std::to_string(static_cast<int>(c.scope)), script));
    run_until([&] { return unit->out[0] == "up\n"; }, "the traps");
    unit->link->signal(0, SIGUSR1, c.scope, 9);
    const auto said = [&](const char* word) {
      return unit->out[0].find(word) != std::string::npos;
    };
    run_until(
        [&] { return said("parent") && (!c.child || said("child")) && !unit->signals.empty(); },
        "the words");
    EXPECT_EQ(said("child"), c.child);
    EXPECT_EQ(unit->signals[0].tag, 9U);
    unit->link->kill();
    release(*unit);
  }
}

// 4 MB through a window of 64 KB: the task waits while nobody acknowledges, and nothing is lost
// when the reader dies in the middle.
TEST_P(UnitTest, OutputWaitsForItsReader) {
  spawn::Start request =
      shell("flood", "i=0; while [ $i -lt 65536 ]; do printf '%063d\\n' $i; i=$((i+1)); done");
  request.window = 64 * 1024;
  ASSERT_EQ(start(request).verdict, spawn::Verdict::Accepted);
  auto slow = attach("flood", /*acknowledge=*/false);
  run_until([&] { return slow->out[0].size() == request.window; }, "a full window");
  slow->link->signal(0, 0, Scope::Process, 1);
  run_until([&] { return !slow->signals.empty(); }, "a sign of life");
  EXPECT_EQ(slow->out[0].size(), request.window);
  EXPECT_TRUE(slow->exited.empty());
  const std::uint64_t taken = 1000;
  slow->link->ack(0, 1, taken);
  run_until([&] { return slow->out[0].size() > request.window; }, "room for more");
  slow.reset();

  auto unit = attach("flood");
  run_until([&] { return unit->out_eof.count(0) == 1; }, "the end");
  EXPECT_EQ(unit->first_offset.at(0), taken);
  std::string expected;
  for (int i = 0; i < 65536; ++i) {
    const std::string number = std::to_string(i);
    expected += std::string(63 - number.size(), '0') + number + "\n";
  }
  EXPECT_TRUE(unit->out[0] == expected.substr(taken));
  EXPECT_EQ(unit->out_eof.at(0).offset, expected.size());
  EXPECT_FALSE(unit->out_eof.at(0).forced);
  release(*unit);
}

TEST_P(UnitTest, StdinFlowsAndEnds) {
  spawn::Start request = shell("stdin", "");
  request.argv = {"cat"};  // found along PATH
  request.tasks[0].in.kind = StreamKind::Stream;
  auto unit = run(request);
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i) + "\n";
  unit->link->write_stdin(0, text);
  unit->link->end_stdin(0);
  run_until([&] { return unit->out_eof.count(0) == 1 && unit->exited.count(0) == 1; }, "the echo");
  EXPECT_TRUE(unit->out[0] == text);
  EXPECT_EQ(unit->link->stdin_queued(0), 0U);
  release(*unit);
}

TEST_P(UnitTest, StdinOfADeadTaskIsDropped) {
  spawn::Start request = shell("deaf", "exec <&-; echo closed; sleep 1000");
  request.tasks[0].in.kind = StreamKind::Stream;
  auto unit = run(request);
  run_until([&] { return unit->out[0] == "closed\n"; }, "the closing");
  unit->link->write_stdin(0, std::string(1'000'000, 'x'));
  run_until([&] { return unit->taken.count(0) == 1 && unit->taken.at(0).closed; }, "StdinTaken");
  EXPECT_EQ(unit->link->stdin_queued(0), 0U);
  unit->link->kill();
  release(*unit);
}

TEST_P(UnitTest, ATerminalIsOne) {
  spawn::Start request =
      shell("tty",
            "stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && tty >/dev/null && echo yes; "
            "trap 'stty size; exit 6' WINCH; echo ready; while :; do sleep 0.02; done");
  request.tasks[0].pty = true;
  request.tasks[0].rows = 33;
  request.tasks[0].columns = 101;
  auto unit = run(request);
  const auto said = [&](const char* word) { return unit->out[0].find(word) != std::string::npos; };
  run_until([&] { return said("ready"); }, "the terminal");
  EXPECT_TRUE(said("33 101") && said("yes")) << unit->out[0];
  unit->link->resize(0, 40, 120);
  run_until([&] { return unit->out_eof.count(0) == 1 && unit->exited.count(0) == 1; },
            "the resize");
  EXPECT_TRUE(said("40 120")) << unit->out[0];
  EXPECT_EQ(WEXITSTATUS(unit->exited.at(0).status), 6);
  release(*unit);
}

TEST_P(UnitTest, ATerminalTakesKeys) {
  spawn::Start request = shell("keys", "read word; echo got $word; cat; echo over");
  request.tasks[0].pty = true;
  auto unit = run(request);
  unit->link->write_stdin(0, "hello\n");
  unit->link->end_stdin(0);
  run_until([&] { return unit->out_eof.count(0) == 1 && unit->exited.count(0) == 1; }, "the end");
  EXPECT_NE(unit->out[0].find("got hello"), std::string::npos);
  EXPECT_NE(unit->out[0].find("over"), std::string::npos);
  release(*unit);
}

TEST_P(UnitTest, ManyTasksEachWithTheirOwn) {
  constexpr std::uint32_t kTasks = 40;
  spawn::Start request = shell("many", "echo rank $RANK of $SIZE; [ $RANK != 3 ]");
  request.env.push_back("SIZE=40");
  request.env.push_back("RANK=none");
  request.tasks.assign(kTasks, request.tasks[0]);
  for (std::uint32_t i = 0; i < kTasks; ++i) request.tasks[i].env = {"RANK=" + std::to_string(i)};
  request.tasks[5].argv = {"/bin/echo", "another program"};
  auto unit = run(request);
  run_until([&] { return unit->out_eof.size() == kTasks && unit->exited.size() == kTasks; },
            "all tasks");
  for (std::uint32_t i = 0; i < kTasks; ++i) {
    EXPECT_EQ(unit->out[i],
              i == 5 ? "another program\n" : "rank " + std::to_string(i) + " of 40\n");
    EXPECT_EQ(WEXITSTATUS(unit->exited.at(i).status), i == 3 ? 1 : 0);
  }
  release(*unit);
}

TEST_P(UnitTest, FilesAreWrittenAsAsked) {
  const std::string folder = rundir_ + "/out";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/shared") << "old\n";
  std::ofstream(folder + "/appended") << "old\n";
  std::ofstream(folder + "/input") << "one\ntwo\n";
  spawn::Start request = shell("files", "wc -l; echo error >&2");
  request.umask = 027;
  request.tasks.assign(3, {});
  for (spawn::TaskSpec& task : request.tasks) {
    task.in = {StreamKind::File, false, folder + "/input"};
    task.out = {StreamKind::File, false, folder + "/shared"};
    task.err = {StreamKind::File, true, folder + "/appended"};
  }
  request.tasks[2].out.path = folder + "/new";
  request.tasks[2].err = {StreamKind::Stdout, false, ""};
  auto unit = run(request);
  release(*unit);
  EXPECT_EQ(read_text(folder + "/shared"), "2\n2\n");
  EXPECT_EQ(read_text(folder + "/appended"), "old\nerror\nerror\n");
  EXPECT_EQ(read_text(folder + "/new"), "2\nerror\n");
  struct stat info{};
  ASSERT_EQ(::stat((folder + "/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
}

TEST_P(UnitTest, AFileThatCannotBeOpenedRefusesTheUnit) {
  spawn::Start request = shell("nofile", "touch " + rundir_ + "/ran");
  request.tasks.resize(2);
  request.tasks[1].out = {StreamKind::File, false, "/nowhere/at/all.out"};
  auto unit = run(request);
  run_until([&] { return unit->empty.has_value(); }, "UnitEmpty");
  ASSERT_TRUE(unit->refused.has_value());
  EXPECT_EQ(unit->refused->stage, Stage::Stdout);
  EXPECT_EQ(unit->refused->error, ENOENT);
  EXPECT_EQ(unit->refused->detail, "/nowhere/at/all.out");
  EXPECT_TRUE(unit->started.empty());
  EXPECT_FALSE(std::filesystem::exists(rundir_ + "/ran"));
  release(*unit);
}

TEST_P(UnitTest, ALostDirectoryBecomesTmp) {
  spawn::Start request = shell("nodir", "pwd");
  request.cwd = "/nowhere/at/all";
  auto unit = run(request);
  run_until([&] { return unit->out_eof.count(0) == 1 && unit->empty; }, "the end");
  EXPECT_EQ(unit->out[0], "/tmp\n");
  EXPECT_EQ(unit->err[0],
            "phalanx: cannot enter /nowhere/at/all: No such file or directory; running in /tmp\n");
  ASSERT_EQ(unit->warnings.size(), 1U);
  EXPECT_EQ(unit->warnings[0].stage, Stage::Directory);
  EXPECT_EQ(unit->warnings[0].error, ENOENT);
  release(*unit);
}

TEST_P(UnitTest, MegabytesOfEnvironment) {
  constexpr int kStrings = 40, kLength = 100'000;
  spawn::Start request = shell("env", "echo ${#V0} ${#V39} $TOTAL");
  for (int i = 0; i < kStrings; ++i) {
    request.env.push_back("V" + std::to_string(i) + "=" + std::string(kLength, 'v'));
  }
  auto unit = run(request);
  run_until([&] { return unit->out_eof.count(0) == 1 && unit->empty; }, "the end");
  EXPECT_TRUE(unit->failed.empty());
  EXPECT_EQ(unit->out[0], "100000 100000\n");
  release(*unit);
}

TEST_P(UnitTest, AScriptRunsAsItIs) {
  spawn::Start request = shell("script", "");
  request.script = "#!/bin/sh\necho \"$0\" \"$1\"\n";
  request.argv = {"ignored", "argument"};
  auto unit = run(request);
  run_until([&] { return unit->out_eof.count(0) == 1 && unit->empty; }, "the end");
  EXPECT_EQ(unit->out[0], rundir_ + "/units/script/script argument\n");
  release(*unit);
  EXPECT_FALSE(std::filesystem::exists(rundir_ + "/units/script"));
}

TEST_P(UnitTest, WhatCannotBeExecutedSaysWhy) {
  struct Case {
    const char* name;
    const char* script;
    const char* program;
    int error;
  };
  const Case cases[] = {{"noexec", "echo no interpreter line\n", "", ENOEXEC},
                        {"nointerp", "#!/no/such/interpreter\n", "", ENOENT},
                        {"noprogram", "", "no-such-program", ENOENT},
                        {"folder", "", "/tmp", EACCES}};
  for (const Case& c : cases) {
    spawn::Start request = shell(c.name, "");
    request.script = c.script;
    request.argv = {c.program};
    auto unit = run(request);
    run_until([&] { return unit->empty.has_value(); }, "UnitEmpty");
    ASSERT_EQ(unit->failed.count(0), 1U) << c.name;
    EXPECT_EQ(unit->failed.at(0).stage, Stage::Exec) << c.name;
    EXPECT_EQ(unit->failed.at(0).error, c.error) << c.name;
    EXPECT_TRUE(unit->exited.empty() && unit->all_exited) << c.name;
    release(*unit);
  }
}

TEST_P(UnitTest, LimitsNiceAndAffinityAreSet) {
  spawn::Start request =
      shell("limits", "ulimit -Sc; ulimit -Sn; nice; nproc; umask; ls /proc/self/fd | wc -l");
  request.limits = {{RLIMIT_CORE, 0, 0}, {RLIMIT_NOFILE, 123, 456}};
  request.nice = 5;
  request.umask = 077;
  request.tasks[0].cpus = {0};
  auto unit = run(request);
  run_until([&] { return unit->out_eof.count(0) == 1 && unit->empty; }, "the end");
  EXPECT_EQ(unit->out[0], "0\n123\n5\n1\n0077\n4\n");  // 0, 1, 2 and the directory that ls reads
  EXPECT_TRUE(unit->warnings.empty());
  release(*unit);
}

TEST_P(UnitTest, AProgramStartsWithCleanSignals) {
  auto unit =
      run(shell("clean",
                "while read name value; do case $name in SigBlk:|SigIgn:) echo $value;; esac; "
                "done < /proc/$$/status"));
  run_until([&] { return unit->out_eof.count(0) == 1; }, "the end");
  EXPECT_EQ(unit->out[0], "0000000000000000\n0000000000000000\n");
  release(*unit);
}

TEST_P(UnitTest, CgroupFilesAreWrittenByTheTask) {
  spawn::Start request = shell("cgroup", "echo ran");
  request.cgroup_procs = {rundir_ + "/procs"};
  std::ofstream(rundir_ + "/procs") << "";
  auto unit = run(request);
  release(*unit);
  EXPECT_EQ(read_text(rundir_ + "/procs"), "0");

  request.unit = "cgroup-missing";
  request.cgroup_procs = {rundir_ + "/procs", "/nowhere/cgroup.procs"};
  auto failing = run(request);
  run_until([&] { return failing->empty.has_value(); }, "UnitEmpty");
  EXPECT_EQ(failing->failed.at(0).stage, Stage::Cgroup);
  EXPECT_EQ(failing->failed.at(0).detail, "/nowhere/cgroup.procs");
  release(*failing);
}

TEST_P(UnitTest, WorkRunsAsItsUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may run work for others";
  constexpr uid_t kUser = 65534;
  const std::string folder = rundir_ + "-user", scripts = rundir_ + "-scripts/";
  std::filesystem::create_directory(folder);
  ASSERT_EQ(::chown(folder.c_str(), kUser, kUser), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  spawn::Start request = shell("user", "");
  request.uid = request.gid = kUser;
  request.groups = {kUser, 4711};
  request.umask = 027;
  request.cwd = folder;
  request.script = "#!/bin/sh\nid -u; id -g; id -G; pwd; ls -l \"$0\" | cut -c1-10; cat " +
                   rundir_ +
                   "/spawn.lock; "
                   "mkdir made && echo made\n";
  request.script_path = scripts + "script";
  request.tasks[0].out = {StreamKind::File, false, folder + "/out"};
  request.tasks[0].err = {StreamKind::Null, false, ""};
  auto unit = run(request);
  release(*unit);
  EXPECT_FALSE(unit->refused.has_value());
  EXPECT_EQ(read_text(folder + "/out"),
            "65534\n65534\n65534 4711\n" + folder + "\n-rwx------\nmade\n");
  struct stat info{};
  ASSERT_EQ(::stat((folder + "/out").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kUser);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
  EXPECT_FALSE(std::filesystem::exists(scripts));

  request.unit = "user-denied";  // root could write here, the user cannot
  request.tasks[0].out.path = rundir_ + "/out";
  auto denied = run(request);
  run_until([&] { return denied->empty.has_value(); }, "UnitEmpty");
  ASSERT_TRUE(denied->refused.has_value());
  EXPECT_EQ(denied->refused->error, EACCES);
  release(*denied);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace phalanx::agent::testing
