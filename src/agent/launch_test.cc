#include "agent/launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "agent/record.h"

namespace phalanx::agent {
namespace {

const LocalEnvironment kLocal{"n1", "/run/c.sock", "/opt/phalanx/slurm", false};

bool has(const std::vector<std::string>& env, const std::string& text) {
  return std::ranges::find(env, text) != env.end();
}

bool names(const std::vector<std::string>& env, const std::string& name) {
  return std::ranges::any_of(env,
                             [&](const std::string& text) { return text.starts_with(name + "="); });
}

LaunchOrder batch() {
  LaunchOrder order;
  order.script_text = "#!/bin/sh\n";
  order.launch.work_dir = "/home/ada";
  order.launch.arguments = {"one"};
  order.environment = {"PATH=/bin", "A=1"};
  order.std_out = "logs/7.out";
  order.std_err = "logs/7.out";
  return order;
}

TEST(BatchRequest, RunsTheScriptInItsFolderWithItsFiles) {
  const spawn::Start start = batch_request(batch(), "/spool/job_7/slurm_script", kLocal);
  EXPECT_EQ(start.script, "#!/bin/sh\n");
  EXPECT_EQ(start.argv, (std::vector<std::string>{"/spool/job_7/slurm_script", "one"}));
  EXPECT_EQ(start.cwd, "/home/ada");
  ASSERT_EQ(start.tasks.size(), 1U);
  EXPECT_EQ(start.tasks[0].in.kind, spawn::StreamKind::Null);
  EXPECT_EQ(start.tasks[0].out.path, "/home/ada/logs/7.out");
  EXPECT_EQ(start.tasks[0].err.kind, spawn::StreamKind::Stdout);  // one file, opened once
  EXPECT_TRUE(has(start.env, "SLURMD_NODENAME=n1"));
  EXPECT_TRUE(has(start.env, "PHALANX_SOCKET=/run/c.sock"));
  EXPECT_TRUE(has(start.env, "A=1"));
}

TEST(BatchRequest, CommandsAreFoundThroughPath) {
  struct Row {
    const char* path;
    bool first;
    const char* expected;
  };
  const Row rows[] = {
      {"PATH=/bin", false, "PATH=/bin:/opt/phalanx/slurm"},
      {"PATH=/bin", true, "PATH=/opt/phalanx/slurm:/bin"},
      {"PATH=/opt/phalanx/slurm:/bin", false, "PATH=/opt/phalanx/slurm:/bin"},
      {"B=2", false, "PATH=/usr/local/bin:/usr/bin:/bin:/opt/phalanx/slurm"},
  };
  for (const Row& row : rows) {
    LaunchOrder order = batch();
    order.environment = {row.path};
    LocalEnvironment local = kLocal;
    local.commands_first = row.first;
    EXPECT_TRUE(has(batch_request(order, "/s", local).env, row.expected)) << row.path;
  }
}

TEST(BatchRequest, ALimitIsNeverAboveTheAgentsOwn) {
  LaunchOrder order = batch();
  order.launch.limits = {{"nofile", 17}, {"core", -1}, {"nonsense", 3}};
  const auto limits = batch_request(order, "/s", kLocal).limits;
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_EQ(limits[0].soft, limits[0].hard);  // core: unlimited is as much as there is
  EXPECT_EQ(limits[1].soft, 17U);
}

StepGrant grant() {
  StepGrant grant;
  grant.share.ranks = {4, 5};
  grant.environment = {"SLURM_STEP_ID=0", "A=grant", "CUDA_VISIBLE_DEVICES"};
  grant.per_task = {{"SLURM_PROCID=4"}, {"SLURM_PROCID=5", "B"}};
  return grant;
}

StepLaunch launch() {
  StepLaunch launch;
  launch.argv = {"hostname"};
  launch.work_dir = "/tmp";
  launch.environment = {"A=user", "B=user", "CUDA_VISIBLE_DEVICES=7"};
  launch.streams.resize(1);
  return launch;
}

TEST(Requests, NameThisNodeAndAFolderThatIsHere) {
  struct Row {
    const char* given;
    const char* expected;
  };
  for (const Row& row : {Row{"HOSTNAME=login07", "HOSTNAME=n1"}, Row{"A=1", "HOSTNAME=n1"},
                         Row{"A=1", "TMPDIR=/tmp"}, Row{"TMPDIR=", "TMPDIR=/tmp"},
                         Row{"TMPDIR=/var", "TMPDIR=/var"}}) {
    LaunchOrder order = batch();
    order.environment = {row.given};
    EXPECT_TRUE(has(batch_request(order, "/s", kLocal).env, row.expected)) << row.given;
    StepLaunch step = launch();
    step.environment = {row.given};
    EXPECT_TRUE(has(step_request(grant(), step, kLocal)->env, row.expected)) << row.given;
  }
}

TEST(StepRequest, LaterEnvironmentsWinAndCanRemove) {
  const auto start = step_request(grant(), launch(), kLocal);
  ASSERT_TRUE(start.ok());
  EXPECT_TRUE(has(start->env, "A=grant"));
  EXPECT_TRUE(has(start->env, "SLURM_UMASK=0022"));
  EXPECT_TRUE(has(start->env, "SLURM_TASK_PID="));
  EXPECT_FALSE(names(start->env, "CUDA_VISIBLE_DEVICES"));
  EXPECT_FALSE(names(start->env, "B"));  // some task lacks it, so each has its own
  ASSERT_EQ(start->tasks.size(), 2U);
  EXPECT_TRUE(has(start->tasks[0].env, "B=user"));
  EXPECT_TRUE(has(start->tasks[0].env, "SLURM_PROCID=4"));
  EXPECT_FALSE(names(start->tasks[1].env, "B"));
}

TEST(StepRequest, StreamsAreOneForAllOrOneForEach) {
  StepLaunch asked = launch();
  asked.streams.resize(3);
  EXPECT_FALSE(step_request(grant(), asked, kLocal).ok());
  asked.streams.resize(2);
  asked.streams[1].out = {StepStreamKind::file, "out.5", true};
  const auto start = step_request(grant(), asked, kLocal);
  ASSERT_TRUE(start.ok());
  EXPECT_EQ(start->tasks[0].out.kind, spawn::StreamKind::Stream);
  EXPECT_EQ(start->tasks[1].out.path, "/tmp/out.5");
  EXPECT_TRUE(start->tasks[1].out.append);
}

TEST(Sentence, NamesWhatWasOpenedAndWhy) {
  EXPECT_EQ(sentence(spawn::Stage::Stdout, ENOENT, "/x/7.out"),
            "cannot open /x/7.out for standard output: No such file or directory");
  EXPECT_EQ(sentence(spawn::Stage::Exec, ENOENT, "/spool/slurm_script"),
            "cannot execute /spool/slurm_script: the interpreter that its first line names is not "
            "on this node");
}

// What the order lacks, who it is for and what it names is never the node's fault.
TEST(UserFault, IsWhatComesWithTheSubmission) {
  using spawn::Stage;
  for (const Stage stage : {Stage::Request, Stage::Identity, Stage::Stdin, Stage::Stdout,
                            Stage::Stderr, Stage::Directory, Stage::Exec, Stage::ArgumentSpace})
    EXPECT_TRUE(is_user_fault(stage)) << sentence(stage, 0, "");
  for (const Stage stage :
       {Stage::Intent, Stage::Folder, Stage::Fork, Stage::Script, Stage::Pty, Stage::Cgroup})
    EXPECT_FALSE(is_user_fault(stage)) << sentence(stage, 0, "");
}

TEST(RoomName, IsSafeAndShortAndItsUnitsLeadBack) {
  const Fence fence{"c", WorkloadId{9}, 3, "b"};
  EXPECT_EQ(room_name(fence, "4711_3"), "job_4711_3_a3");
  EXPECT_EQ(room_name(fence, "default/train-0"), "job_default-train-0_a3");
  EXPECT_EQ(room_name(fence, std::string(300, 'x')), "job_w9_a3");
  for (const StepNumber step : {StepNumber{0}, StepNumber{17}, kBatchStep})
    EXPECT_EQ(step_of_unit("job_1_a1", unit_name("job_1_a1", step)), step);
  EXPECT_EQ(step_of_unit("job_1_a1", "job_1_a10.0"), std::nullopt);
  EXPECT_EQ(step_of_unit("job_1_a1", "job_1_a1.x"), std::nullopt);
}

}  // namespace
}  // namespace phalanx::agent
