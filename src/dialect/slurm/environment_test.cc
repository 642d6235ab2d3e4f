// What jobs and tasks see, against what real Slurm 22.05 showed for the same submissions (ids of
// the observations: env/plain, env/N2-n4, env/N2-tpn4, env/c4, env/gres2, env/gpus-per-task,
// env/array).
#include "dialect/slurm/environment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/translate.h"

namespace phalanx::slurm {
namespace {

struct Environment : ::testing::Test {
  Environment() {
    state.config.name = "bench";
    for (const std::uint64_t i : {5U, 6U}) {
      Node node;
      node.id = NodeId{i};
      node.spec.name = format("n{}", i);
      node.spec.devices.resize(4);
      for (std::size_t d = 0; d < 4; ++d) node.spec.devices[d].minor = static_cast<std::int32_t>(d);
      state.node_by_name[node.spec.name] = node.id;
      state.nodes[node.id] = node;
    }
    spec.name = "e.sh";
    spec.partition = "train";
    spec.account = "physics";
    spec.owner.user = "alice";
    spec.owner.uid = spec.owner.gid = 1001;
    spec.launch.work_dir = "/home/alice/proj";
    w.number = 190;
    w.limit = kForever;
    w.current.emplace();
    w.current->number = 1;
    w.current->port = 20007;
    w.current->placed = from_unix_ms(1'000'000);
  }

  void share(std::uint64_t node, std::int64_t tasks, std::int64_t cpus,
             std::vector<DeviceIndex> gpus = {}) {
    NodeShare s;
    s.node = NodeId{node};
    s.tasks = tasks;
    s.cpus = Quantity::of(cpus);
    s.gpus = std::move(gpus);
    w.current->shares.push_back(s);
  }

  Variables batch(const std::vector<std::string>& submitted = {}) {
    w.spec = std::make_shared<WorkloadSpec>(spec);
    return read(batch_environment(state, w, submitted));
  }

  // Of the task with this local number on a node of a step over the whole job.
  Variables task(std::size_t node, std::size_t local, std::int64_t gpus_per_task = 0) {
    w.spec = std::make_shared<WorkloadSpec>(spec);
    Step step;
    for (const NodeShare& s : w.current->shares) {
      StepShare part;
      part.node = s.node;
      part.cpus = s.cpus;
      part.gpus = s.gpus;
      for (std::int64_t i = 0; i < s.tasks; ++i) part.ranks.push_back(step.tasks++);
      step.shares.push_back(part);
    }
    const StepShare& part = step.shares[node];
    auto lines = step_environment(state, w, step, part);
    const auto own = task_environments(w, part, state, gpus_per_task)[local];
    lines.insert(lines.end(), own.begin(), own.end());
    return read(lines);
  }

  static Variables read(const std::vector<std::string>& lines) {
    Variables out;
    for (const std::string& line : lines) {
      const std::size_t equals = line.find('=');
      if (equals == std::string::npos)
        out.erase(line);
      else
        out[line.substr(0, equals)] = line.substr(equals + 1);
    }
    return out;
  }

  static void expect(const Variables& v, const Variables& wanted) {
    for (const auto& [name, value] : wanted) {
      const auto it = v.find(name);
      EXPECT_EQ(it == v.end() ? "(unset)" : it->second, value) << name;
    }
  }

  State state;
  WorkloadSpec spec;
  Workload w;
};

TEST_F(Environment, OfAPlainBatchJob) {
  share(5, 1, 1);
  const Variables v = batch();
  expect(v, {{"SLURM_JOB_ID", "190"},
             {"SLURM_JOBID", "190"},
             {"SLURM_JOB_NAME", "e.sh"},
             {"SLURM_JOB_NODELIST", "n5"},
             {"SLURM_NODELIST", "n5"},
             {"SLURM_JOB_NUM_NODES", "1"},
             {"SLURM_NNODES", "1"},
             {"SLURM_JOB_CPUS_PER_NODE", "1"},
             {"SLURM_TASKS_PER_NODE", "1"},
             {"SLURM_CPUS_ON_NODE", "1"},
             {"SLURM_JOB_PARTITION", "train"},
             {"SLURM_JOB_ACCOUNT", "physics"},
             {"SLURM_JOB_QOS", "normal"},
             {"SLURM_JOB_USER", "alice"},
             {"SLURM_JOB_UID", "1001"},
             {"SLURM_JOB_GID", "1001"},
             {"SLURM_CLUSTER_NAME", "bench"},
             {"SLURM_SUBMIT_DIR", "/home/alice/proj"},
             {"SLURMD_NODENAME", "n5"},
             {"SLURM_TOPOLOGY_ADDR", "n5"},
             {"SLURM_TOPOLOGY_ADDR_PATTERN", "node"},
             {"SLURM_PROCID", "0"},
             {"SLURM_LOCALID", "0"},
             {"SLURM_NODEID", "0"},
             {"SLURM_GTIDS", "0"},
             {"ENVIRONMENT", "BATCH"},
             {"MASTER_ADDR", "n5"},
             {"MASTER_PORT", "20007"},
             {"RDZV_ENDPOINT", "n5:20007"}});
  for (const char* unset : {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE",
                            "SLURM_CPUS_PER_TASK", "SLURM_RESTART_COUNT", "CUDA_VISIBLE_DEVICES",
                            "SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_ARRAY_JOB_ID"})
    EXPECT_FALSE(v.contains(unset)) << unset;
}

TEST_F(Environment, TheQosIsTheOneThatTheQueriesPrint) {
  share(5, 1, 1);
  expect(task(0, 0), {{"SLURM_JOB_QOS", "normal"}});
  spec.qos = "high";
  expect(batch(), {{"SLURM_JOB_QOS", "high"}});
}

TEST_F(Environment, OfTasksOnSeveralNodes) {
  share(5, 3, 3);
  share(6, 1, 1);
  spec.tasks_given = true;
  expect(batch(), {{"SLURM_NTASKS", "4"},
                   {"SLURM_NPROCS", "4"},
                   {"SLURM_TASKS_PER_NODE", "3,1"},
                   {"SLURM_JOB_CPUS_PER_NODE", "3,1"},
                   {"SLURM_CPUS_ON_NODE", "3"},
                   {"SLURM_JOB_NODELIST", "n[5-6]"},
                   {"SLURM_JOB_NUM_NODES", "2"}});
  expect(task(1, 0), {{"SLURM_PROCID", "3"},
                      {"SLURM_LOCALID", "0"},
                      {"SLURM_NODEID", "1"},
                      {"SLURM_GTIDS", "3"},
                      {"SLURMD_NODENAME", "n6"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_STEPID", "0"},
                      {"SLURM_STEP_NODELIST", "n[5-6]"},
                      {"SLURM_STEP_NUM_NODES", "2"},
                      {"SLURM_STEP_NUM_TASKS", "4"},
                      {"SLURM_STEP_TASKS_PER_NODE", "3,1"},
                      {"SLURM_CPUS_ON_NODE", "1"}});
  EXPECT_FALSE(task(1, 0).contains("SLURM_NTASKS_PER_NODE"));
  EXPECT_FALSE(task(1, 0).contains("ENVIRONMENT"));
}

// Golden env/mem0-exclusive and env/named-time: nobody asked for tasks.
TEST_F(Environment, WithoutTasksTheCpusTellHowManyFit) {
  share(5, 1, 16);
  expect(batch(), {{"SLURM_TASKS_PER_NODE", "16"}});
  expect(task(0, 0), {{"SLURM_TASKS_PER_NODE", "1"}, {"SLURM_NTASKS", "1"}});
  spec.cpus_per_task = 4;
  spec.asked["hint"] = "nomultithread";
  expect(batch(), {{"SLURM_TASKS_PER_NODE", "4"}, {"SLURM_HINT", "nomultithread"}});
  spec.tasks_given = true;
  expect(batch(), {{"SLURM_TASKS_PER_NODE", "1"}});
}

// Golden env/plain, env/N2-n4, env/gpus-per-node; no CPUs are bound here.
TEST_F(Environment, HowTasksAreSpreadAndBound) {
  share(5, 1, 1);
  expect(task(0, 0), {{"SLURM_DISTRIBUTION", "cyclic"},
                      {"SLURM_CPU_BIND", "quiet,none"},
                      {"SLURM_CPU_BIND_TYPE", "none"},
                      {"SLURM_CPU_BIND_VERBOSE", "quiet"},
                      {"SLURM_CPU_BIND_LIST", ""}});
  share(6, 1, 1);
  expect(task(1, 0), {{"SLURM_DISTRIBUTION", "cyclic"}});
  w.current->shares[0].tasks = 3;
  expect(task(1, 0), {{"SLURM_DISTRIBUTION", "block"}});
}

TEST_F(Environment, ALimitThatWasAskedAwayHasNoEnd) {
  share(5, 1, 1);
  w.limit = hours(1);
  EXPECT_TRUE(batch().contains("SLURM_JOB_END_TIME"));
  w.limit = kNoLimit;
  EXPECT_FALSE(batch().contains("SLURM_JOB_END_TIME"));
}

TEST_F(Environment, TasksPerNodeAreToldWheneverTheyAreEven) {
  share(5, 4, 4);
  share(6, 4, 4);
  spec.tasks_given = true;
  spec.cpus_per_task = 1;
  expect(batch(), {{"SLURM_NTASKS_PER_NODE", "4"},
                   {"SLURM_TASKS_PER_NODE", "4(x2)"},
                   {"SLURM_JOB_CPUS_PER_NODE", "4(x2)"},
                   {"SLURM_CPUS_PER_TASK", "1"},
                   {"SLURM_NTASKS", "8"}});
  expect(task(0, 2), {{"SLURM_GTIDS", "0,1,2,3"}, {"SLURM_NTASKS_PER_NODE", "4"}});
}

TEST_F(Environment, GpusAreCountedFromZeroInTheJob) {
  share(5, 2, 2, {1, 3});
  expect(batch(), {{"CUDA_VISIBLE_DEVICES", "0,1"},
                   {"ROCR_VISIBLE_DEVICES", "0,1"},
                   {"GPU_DEVICE_ORDINAL", "0,1"},
                   {"ZE_AFFINITY_MASK", "0,1"},
                   {"SLURM_JOB_GPUS", "1,3"},
                   {"SLURM_GPUS_ON_NODE", "2"}});
  expect(task(0, 1), {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_STEP_GPUS", "1,3"}});
  expect(task(0, 0, 1), {{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_STEP_GPUS", "1"}});
  expect(task(0, 1, 1), {{"CUDA_VISIBLE_DEVICES", "1"}, {"SLURM_STEP_GPUS", "3"}});
}

TEST_F(Environment, OfAnArraysElementAndOfARestart) {
  share(5, 1, 1);
  Array array;
  array.id = WorkloadId{9};
  array.size = 3;
  array.first = 3;
  array.last = 9;
  array.stride = 3;
  state.arrays[array.id] = array;
  w.array = array.id;
  w.array_number = 188;
  w.array_index = 6;
  w.restarts = 2;
  expect(batch(), {{"SLURM_ARRAY_JOB_ID", "188"},
                   {"SLURM_ARRAY_TASK_ID", "6"},
                   {"SLURM_ARRAY_TASK_COUNT", "3"},
                   {"SLURM_ARRAY_TASK_MIN", "3"},
                   {"SLURM_ARRAY_TASK_MAX", "9"},
                   {"SLURM_ARRAY_TASK_STEP", "3"},
                   {"SLURM_RESTART_COUNT", "2"}});
  EXPECT_EQ(output_path(state, w, ""), "/home/alice/proj/slurm-188_6.out");
  EXPECT_EQ(output_path(state, w, "logs/%x-%04a.out"), "/home/alice/proj/logs/e.sh-0006.out");
  EXPECT_EQ(named_path(state, w, "/tmp/%u.%N"), "/tmp/alice.n5");
  EXPECT_EQ(named_path(state, w, ""), "");
}

TEST_F(Environment, AMeetingPointThatTheUserGaveStays) {
  share(5, 1, 1);
  expect(batch({"MASTER_PORT=1234", "HOME=/home/alice", "SLURM_JOB_ID=7"}),
         {{"MASTER_PORT", "1234"}, {"HOME", "/home/alice"}, {"SLURM_JOB_ID", "190"}});
}

TEST(Export, TakesWhatIsAskedFor) {  // B032
  const std::vector<std::string> all{"HOME=/h",
                                     "PATH=/bin",
                                     "A=1",
                                     "B=2",
                                     "SLURM_JOB_ID=5",
                                     "SLURM_CONF=/etc/s",
                                     "CUDA_VISIBLE_DEVICES=3"};
  const auto of = [&](const std::string& text) {
    auto list = submitted_environment(all, parse_export(text).value());
    std::sort(list.begin(), list.end());
    return join(list, " ");
  };
  EXPECT_EQ(of("ALL"), "A=1 B=2 HOME=/h PATH=/bin SLURM_CONF=/etc/s");
  EXPECT_EQ(of("ALL,A=9,C=x y"), "A=9 B=2 C=x y HOME=/h PATH=/bin SLURM_CONF=/etc/s");
  EXPECT_EQ(of("NONE"), "HOME=/h PATH=/bin");
  EXPECT_EQ(of("B,CUDA_VISIBLE_DEVICES"), "B=2 CUDA_VISIBLE_DEVICES=3 HOME=/h PATH=/bin");
  EXPECT_EQ(submitted_environment({}, parse_export("NONE").value()).front(),
            "PATH=/usr/local/bin:/usr/bin:/bin");
}

}  // namespace
}  // namespace phalanx::slurm
