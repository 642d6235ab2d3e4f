#include "place/step.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace phalanx::place {
namespace {

// A running job with these CPUs, GPUs and tasks on its nodes: "n1:8:2:2" is node:cpus:gpus:tasks.
struct Job {
  explicit Job(std::string_view text) {
    w.number = 7;
    w.current.emplace();
    std::uint64_t id = 0;
    for (const std::string_view word : split_blanks(text)) {
      const auto part = split(word, ':');
      const auto amount = [&](std::size_t i) { return parse_int(part[i]).value_or(0); };
      Node node;
      node.id = NodeId{++id};
      node.spec.name = std::string(part[0]);
      node.spec.memory = std::int64_t{32} << 30;
      NodeShare share{node.id, "b", amount(3), Quantity::of(amount(1)), std::int64_t{16} << 30, {}};
      for (std::int64_t d = 0; d < amount(2); ++d) {
        Device device;
        device.type = d % 2 == 0 ? "a100" : "h100";
        node.spec.devices.push_back(device);
        share.gpus.push_back(static_cast<DeviceIndex>(d));
      }
      w.current->shares.push_back(share);
      nodes[node.id] = node;
    }
  }
  // "n1:0,1*2 n2:2*1": node, GPUs, tasks; or "waits"; or "never".
  std::string fit(const StepRequest& request) {
    auto fit = fit_step(w, nodes, request);
    if (!fit.ok()) return "never";
    if (fit->shares.empty()) return "waits";
    Step step;
    step.number = w.next_step++;
    step.overlap = request.overlap;
    step.shares = fit->shares;
    w.steps[step.number] = step;
    std::string out;
    for (const StepShare& share : fit->shares) {
      out += format("{}{}:", out.empty() ? "" : " ", nodes.at(share.node).spec.name);
      for (std::size_t i = 0; i < share.gpus.size(); ++i)
        out += format("{}{}", i == 0 ? "" : ",", share.gpus[i]);
      out += format("*{}", share.ranks.size());
    }
    return out;
  }
  Workload w;
  std::map<NodeId, Node> nodes;
};

StepRequest tasks(std::int64_t n) {
  StepRequest request;
  request.shape.tasks = n;
  return request;
}

StepRequest exact(std::int64_t n, std::int64_t cpus, std::int64_t gpus = 0) {
  StepRequest request = tasks(n);
  request.exact = true;
  request.shape.per_task.cpus = Quantity::of(cpus);
  if (gpus > 0) request.shape.per_task.gpus = {{"", gpus}};
  return request;
}

TEST(StepFit, TakesTheWholeJobUnlessItSaysOtherwise) {
  Job job("n1:8:2:2 n2:8:2:2");
  EXPECT_EQ(job.fit(tasks(4)), "n1:0,1*2 n2:0,1*2");
  EXPECT_EQ(job.fit(tasks(1)), "waits");
  StepRequest over = tasks(1);
  over.overlap = true;
  EXPECT_EQ(job.fit(over), "n1:0,1*1");
  job.w.steps.at(0).ended = Time{};
  EXPECT_EQ(job.fit(tasks(1)), "n1:0,1*1");
}

TEST(StepFit, FillsNodesInOrderWithOneTaskEachAtLeast) {
  Job job("n1:8:0:1 n2:8:0:1 n3:8:0:1");
  EXPECT_EQ(job.fit(exact(4, 1)), "n1:*2 n2:*1 n3:*1");
  Job two("n1:3:0:1 n2:3:0:1");
  EXPECT_EQ(two.fit(exact(4, 1)), "n1:*3 n2:*1");
}

TEST(StepFit, ManySmallStepsRunBesideEachOther) {
  Job job("n1:4:4:4");
  for (const char* want : {"n1:0*1", "n1:1*1", "n1:2*1", "n1:3*1", "waits"})
    EXPECT_EQ(job.fit(exact(1, 1, 1)), want);
}

TEST(StepFit, NodesByNameCountAndPosition) {
  Job job("n1:8:0:1 n2:8:0:1 n3:8:0:1");
  StepRequest named = exact(1, 1);
  named.nodes = {"n3"};
  EXPECT_EQ(job.fit(named), "n3:*1");
  StepRequest one_node = exact(3, 1);
  one_node.shape.nodes_max = 1;
  EXPECT_EQ(job.fit(one_node), "n1:*3");
  StepRequest second = exact(1, 1);
  second.relative = 1;
  EXPECT_EQ(job.fit(second), "n2:*1");
  StepRequest without = exact(2, 1);
  without.shape.excluded_nodes = {"n1"};
  EXPECT_EQ(job.fit(without), "n2:*1 n3:*1");
}

TEST(StepFit, NeverIsSaidAtOnce) {
  Job job("n1:4:2:2 n2:4:0:1");
  EXPECT_EQ(job.fit(exact(9, 1)), "never");
  EXPECT_EQ(job.fit(exact(1, 1, 3)), "never");
  EXPECT_EQ(job.fit(exact(1, 5)), "never");
  StepRequest nodes = exact(3, 1);
  nodes.shape.nodes_min = 3;
  EXPECT_EQ(job.fit(nodes), "never");
  StepRequest unknown = exact(1, 1);
  unknown.nodes = {"n9"};
  EXPECT_EQ(job.fit(unknown), "never");
  EXPECT_EQ(job.fit(tasks(0)), "never");
}

TEST(StepFit, MoreNodesThanItNamesAreFilledUpInOrder) {
  StepRequest request = tasks(2);
  request.shape.nodes_min = request.shape.nodes_max = 2;
  request.nodes = {"n3"};
  EXPECT_EQ(Job("n1:2:0:2 n2:2:0:2 n3:2:0:2").fit(request), "n1:*1 n3:*1");
  request.nodes = {"n3", "n2"};
  EXPECT_EQ(Job("n1:2:0:2 n2:2:0:2 n3:2:0:2").fit(request), "n2:*1 n3:*1");
  request.shape.excluded_nodes = {"n3"};
  EXPECT_EQ(Job("n1:2:0:2 n2:2:0:2 n3:2:0:2").fit(request), "never");
}

// Golden srun/N2 and srun/cyclic: 3 and 1 tasks on two nodes.
TEST(StepFit, RanksFillNodesOrGoRoundThem) {
  struct Case {
    const char* job;
    std::int64_t tasks;
    bool cyclic;
    std::vector<std::vector<std::int64_t>> ranks;
  };
  const Case cases[] = {
      {"n5:3:0:3 n6:1:0:1", 4, false, {{0, 1, 2}, {3}}},
      {"n5:3:0:3 n6:1:0:1", 4, true, {{0, 2, 3}, {1}}},
      {"n5:8:0:8 n6:8:0:8", 4, false, {{0, 1, 2}, {3}}},
      {"n5:8:0:8 n6:8:0:8", 4, true, {{0, 2}, {1, 3}}},
      {"n5:1:0:1 n6:8:0:8", 4, true, {{0}, {1, 2, 3}}},
  };
  for (const Case& c : cases) {
    Job job(c.job);
    StepRequest request = tasks(c.tasks);
    request.shape.nodes_min = 2;
    request.cyclic = c.cyclic;
    const auto fit = fit_step(job.w, job.nodes, request);
    ASSERT_TRUE(fit.ok()) << c.job;
    std::vector<std::vector<std::int64_t>> ranks;
    for (const StepShare& share : fit->shares) ranks.push_back(share.ranks);
    EXPECT_EQ(ranks, c.ranks) << c.job << (c.cyclic ? " cyclic" : "");
  }
}

TEST(StepFit, MemoryIsTheJobsUnlessItIsAskedFor) {
  constexpr std::int64_t kGibi = std::int64_t{1} << 30;
  Job job("n1:8:0:8");  // 16 GiB
  StepRequest asks = exact(2, 1);
  asks.shape.per_node.memory = 10 * kGibi;
  EXPECT_EQ(job.fit(asks), "n1:*2");
  EXPECT_EQ(job.w.steps.at(0).shares.front().memory, 10 * kGibi);
  EXPECT_EQ(job.fit(asks), "waits");
  EXPECT_EQ(job.fit(exact(2, 1)), "n1:*2");  // shares what there is
  asks.shape.per_node.memory = 17 * kGibi;
  const auto never = fit_step(job.w, job.nodes, asks);
  ASSERT_FALSE(never.ok());
  EXPECT_EQ(never.error().message,
            "Memory required by task is not available: the step asks for 17408 MiB on a node, the "
            "job has 16384 there");
  job.w.current->shares.front().memory = 0;  // no amount that it is held to: the node's is there
  EXPECT_EQ(job.fit(asks), "n1:*2");
  asks.shape.per_node.memory = 33 * kGibi;
  EXPECT_EQ(job.fit(asks), "never");
}

TEST(StepFit, NamesTheNodeThatIsNotTheJobs) {
  Job job("n1:8:0:8 n2:8:0:8");
  StepRequest elsewhere = tasks(1);
  elsewhere.nodes = {"n2", "n9"};
  const auto never = fit_step(job.w, job.nodes, elsewhere);
  ASSERT_FALSE(never.ok());
  EXPECT_EQ(never.error().message,
            "Requested node configuration is not available: node n9 is not one of the job's: n1, "
            "n2");
}

TEST(StepFit, DevicesByTypeAndInAll) {
  Job job("n1:8:4:2 n2:8:4:2");
  StepRequest typed = exact(1, 1);
  typed.shape.per_task.gpus = {{"H100", 2}};
  EXPECT_EQ(job.fit(typed), "n1:1,3*1");
  StepRequest in_all = exact(2, 1);
  in_all.shape.gpus_in_all = {{"", 3}};
  EXPECT_EQ(job.fit(in_all), "n1:0,2*1 n2:0*1");
}

TEST(StepFit, SaysWhoHoldsWhat) {
  Job job("n1:4:2:2");
  EXPECT_EQ(job.fit(exact(1, 1, 2)), "n1:0,1*1");
  const auto fit = fit_step(job.w, job.nodes, exact(1, 1, 1));
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit->waiting,
            "step 7.0 holds 1 cpus and 2 gpus on n1; use --overlap to share, or ask for less");
}

}  // namespace
}  // namespace phalanx::place
