// What sacct, sinfo and scontrol print of what was measured, and that nothing is printed where
// nobody measured.
#include "dialect/slurm/job_row.h"
#include "dialect/slurm/query_test_support.h"

namespace phalanx::slurm {
namespace {

constexpr std::string_view kFormat =
    "JobID,UserCPU,SystemCPU,TotalCPU,AveCPU,MaxRSS,MaxRSSNode,AveRSS";

QueryWorld measured() {
  QueryWorld w;
  Workload& job = w.add(300, QueryWorld::spec("train"), hours(1));
  w.run(job, {1, 2}, 1, 1000);
  Step step;
  step.number = 0;
  step.name = "python";
  step.tasks = 4;
  step.started = job.submitted;
  for (const NodeShare& share : job.current->shares)
    step.shares.push_back({share.node, {0}, Quantity::of(1), 0, {}});
  step.used = {{w.node(1), {1000, 250, 600 * kMiB}}, {w.node(2), {2000, 0, 1500 * kMiB + 1024}}};
  job.steps[0] = step;
  job.current->used = {{w.node(1), {1500, 250, 700 * kMiB}}, {w.node(2), {3'700'000, 1, 2}}};
  job.current->script_used = {12, 3, std::int64_t{2048} << 10};
  return w;
}

std::string sacct(const QueryWorld& w, std::vector<std::string> more = {}) {
  std::vector<std::string> args{"-nP", "-j", "300", "-o", std::string(kFormat)};
  args.insert(args.end(), more.begin(), more.end());
  return w.out("sacct", args);
}

TEST(Used, OfAJobItsScriptAndItsSteps) {
  EXPECT_EQ(sacct(measured()),
            "300|01:01:41|00:00.251|01:01:41||||\n"
            "300.batch|00:00.012|00:00.003|00:00.015|00:00:00|2M|n1|2M\n"
            "300.0|00:03.000|00:00.250|00:03.250|00:00:00|1536001K|n2|525M\n");
}

TEST(Used, InTheUnitThatWasAskedFor) {
  const QueryWorld w = measured();
  const auto of_step = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"-nP", "-j", "300.0", "-o", "MaxRSS"});
    return w.out("sacct", args);
  };
  EXPECT_EQ(of_step({"--units=G"}), "1.46G\n");
  EXPECT_EQ(of_step({"--units=K"}), "1536001K\n");
  EXPECT_EQ(of_step({"--noconvert"}), "1536001K\n");
}

TEST(Used, NothingWhereNobodyMeasured) {
  QueryWorld w = measured();
  Workload& job = w.state.workloads.begin()->second;
  job.current->used.clear();
  EXPECT_EQ(w.out("sacct", {"-nP", "-X", "-j", "300", "-o", "TotalCPU"}),
            "00:03.265\n");  // its parts
  job.current->script_used = {};
  job.steps[0].used.clear();
  EXPECT_EQ(sacct(w), "300|||||||\n300.batch|||||||\n300.0|||||||\n");
}

// It stays with the attempt when the nodes are free again, also under a node's later name.
TEST(Used, OfWorkThatIsOver) {
  QueryWorld w = measured();
  Workload& job = w.state.workloads.begin()->second;
  const auto used = job.current->used;
  const Used script = job.current->script_used;
  QueryWorld::end(job, EndCause::completed, 0, w.now);
  job.past.back().used = used;
  job.past.back().script_used = script;
  EXPECT_EQ(w.out("sacct", {"-nP", "-j", "300", "-o", "TotalCPU,MaxRSS"}),
            "01:01:41|\n00:00.015|2M\n00:03.250|1536001K\n");
}

TEST(Cost, IsToldInSeconds) {
  EXPECT_EQ(exact_seconds(-1), "-0.001");
  EXPECT_EQ(exact_seconds(12'345), "12.345");
}

TEST(Vitals, OfNodesThatSaySo) {
  const QueryWorld w;
  const std::map<std::string, Heartbeat> vitals{{"n1", {1879, 21359 * kMiB + 5}}};
  View view = w.view();
  view.vitals = &vitals;
  Ask ask;
  ask.tool = "sinfo";
  ask.args = {"-hN", "-n", "n[1-2]", "-p", "train", "-o", "%n %O %e"};
  EXPECT_EQ(answer(view, ask).said.out, "n1 1.87 21359\nn2 N/A N/A\n");
  ask.tool = "scontrol";
  ask.args = {"show", "node", "n1"};
  const std::string shown = answer(view, ask).said.out;
  EXPECT_NE(shown.find("CPULoad=1.87"), std::string::npos) << shown;
  EXPECT_NE(shown.find("FreeMem=21359"), std::string::npos) << shown;
}

}  // namespace
}  // namespace phalanx::slurm
