#include "plan/plan.h"

#include <gtest/gtest.h>

#include "base/codec.h"
#include "place/testing.h"

namespace phalanx::plan {
namespace {

using phalanx::testing::cluster;
using phalanx::testing::gang;
using phalanx::testing::to_text;

constexpr Time kZero = from_unix_ms(1'000'000'000);

struct Fixture : ::testing::Test {
  State state;
  Planner planner;
  std::vector<Proposal> proposals;

  void nodes(std::string_view text) { state = cluster(text); }

  Workload& submit(std::uint64_t id, std::string_view shape, Duration limit,
                   std::int64_t priority = 10) {
    auto spec = std::make_shared<WorkloadSpec>();
    spec->groups[0] = gang(shape);
    spec->partition = "main";
    Workload w;
    w.id = WorkloadId{id};
    w.number = static_cast<JobNumber>(id);
    w.spec = spec;
    w.limit = limit;
    w.priority = priority;
    w.submitted = kZero;
    state.pending.insert(w.id);
    return state.workloads[w.id] = w;
  }
  // Takes what was proposed as decided.
  void start(const PlaceProposal& p, Time now) {
    Workload& w = state.workloads.at(p.id);
    w.phase = Phase::running;
    w.current = Attempt{1, p.shares, 0, now, now, {}, false};
    state.pending.erase(p.id);
    for (const NodeShare& share : p.shares) {
      NodeUse& use = state.use.at(share.node);
      use.cpus += share.cpus;
      use.holders.insert(p.id);
      for (const DeviceIndex i : share.gpus) use.device_owner[i] = p.id;
    }
  }
  std::string pass(Time now, std::int64_t budget = 1000) {
    planner = Planner();
    proposals.clear();
    for (;;) {
      Steps steps = planner.step(state, now, budget);
      proposals.insert(proposals.end(), steps.proposals.begin(), steps.proposals.end());
      if (steps.pass_complete) break;
    }
    std::string out;
    for (const Proposal& proposal : proposals) {
      if (!out.empty()) out += "; ";
      if (const auto* place = std::get_if<PlaceProposal>(&proposal))
        out +=
            format("{}{} -> {}", place->id.value, place->index ? format("_{}", *place->index) : "",
                   to_text(state, place->shares));
      else
        out += format("{} at +{}", std::get<PromiseProposal>(proposal).id.value,
                      to_string(std::get<PromiseProposal>(proposal).start - kZero));
    }
    return out;
  }
  Reason why(std::uint64_t id) { return reason_of(*planner.outlook(), WorkloadId{id}); }
};
using PlannerTest = Fixture;

TEST_F(PlannerTest, HigherPriorityFirst) {
  nodes("n1:8");
  submit(100, "1x8", hours(1), 5);
  submit(101, "1x8", hours(1), 50);
  EXPECT_EQ(pass(kZero), "101 -> n1:0,1,2,3,4,5,6,7*1; 100 at +1h");
  EXPECT_EQ(why(100).code, ReasonCode::resources);
}

TEST_F(PlannerTest, BackfillMustNotMoveThePromise) {
  nodes("n1:8 n2:8");
  submit(100, "1x8", hours(1), 90);
  pass(kZero);
  start(std::get<PlaceProposal>(proposals[0]), kZero);
  submit(101, "2x8", minutes(30), 50);
  submit(102, "1x8", minutes(50), 5);
  submit(103, "1x4", minutes(80), 5);
  EXPECT_EQ(pass(kZero), "101 at +1h; 102 -> n2:0,1,2,3,4,5,6,7*1");
  EXPECT_EQ(why(103).code, ReasonCode::priority);
  state.workloads.erase(WorkloadId{102});
  state.pending.erase(WorkloadId{102});
  EXPECT_EQ(pass(kZero), "101 at +1h");
  EXPECT_EQ(why(103).code, ReasonCode::would_delay);
  EXPECT_EQ(why(103).other, WorkloadId{101});
}

TEST_F(PlannerTest, ADateBelongsToTheOneWhoWasPromisedIt) {
  nodes("n1:8");
  submit(100, "1x8", hours(1), 90);
  pass(kZero);
  start(std::get<PlaceProposal>(proposals[0]), kZero);
  submit(101, "1x8", hours(1), 50);
  submit(102, "1x8", hours(1), 5);  // alike, but behind
  EXPECT_EQ(pass(kZero), "101 at +1h");
  EXPECT_EQ(why(101).earliest, kZero + hours(1));
  EXPECT_FALSE(why(102).earliest);
}

TEST_F(PlannerTest, APromiseThatCannotBeKeptIsTakenBackWithACause) {
  nodes("n1:8 n2:8");
  submit(100, "1x8", hours(1), 90);
  pass(kZero);
  start(std::get<PlaceProposal>(proposals[0]), kZero);
  Workload& gang = submit(101, "2x8", hours(1), 50);
  gang.promise = Promise{kZero + hours(1), kZero, ""};
  Node& node = state.nodes.at(state.node_by_name.at("n2"));
  node.drained = true;
  node.reason_at = kZero + minutes(1);
  pass(kZero + minutes(1));
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(std::get<PromiseProposal>(proposals[0]).start, kNever);
  EXPECT_TRUE(std::get<PromiseProposal>(proposals[0]).cause.starts_with("n2 cannot be used since"));
  node.drained = false;
  gang.held_by_user = true;
  pass(kZero + minutes(2));
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_TRUE(std::get<PromiseProposal>(proposals[0]).cause.starts_with("is held"));
  gang.promise->start = kNever;
  EXPECT_EQ(pass(kZero + minutes(2)), "");  // once
}

TEST_F(PlannerTest, WhatNeverFitsSaysSoAndBlocksNobody) {
  nodes("n1:8");
  submit(100, "1x9", hours(1), 90);
  submit(101, "1x8", hours(1), 5);
  EXPECT_EQ(pass(kZero), "101 -> n1:0,1,2,3,4,5,6,7*1");
  EXPECT_EQ(why(100).code, ReasonCode::constraints);
  EXPECT_FALSE(could_ever_run(state, *state.workloads.at(WorkloadId{100}).spec).ok());
}

TEST_F(PlannerTest, DrainedNodesAreNamed) {
  nodes("n1:8 n2:4");
  state.nodes.at(state.node_by_name.at("n1")).drained = true;
  submit(100, "1x8", hours(1));
  EXPECT_EQ(pass(kZero), "");
  EXPECT_EQ(why(100).code, ReasonCode::nodes_unavailable);
  EXPECT_EQ(why(100).nodes, std::vector<std::string>{"n1"});
}

TEST_F(PlannerTest, UnusableNodesAreNamedInOrderAndWithTheirCause) {
  nodes("n3:8 n1:8 n2:8");
  state.config.partitions[0].nodes = {"n1", "n2", "n3"};
  for (auto& [id, node] : state.nodes) node.drained = true;
  submit(100, "1x8", hours(1));
  pass(kZero);
  EXPECT_EQ(sentence(why(100), ""), "would fit, but n1, n2, n3 cannot be used now: drained");
  state.nodes.at(state.node_by_name.at("n1")).down = true;
  state.nodes.at(state.node_by_name.at("n2")).health = NodeHealth::lost;
  pass(kZero);
  EXPECT_EQ(sentence(why(100), ""),
            "would fit, but n1, n2, n3 cannot be used now: n1 down, n2 not answering, n3 drained");
}

TEST_F(PlannerTest, NodesThatNeverJoinedAreWaitedFor) {
  nodes("n1:4");
  state.config.partitions[0].nodes.emplace_back("n2");
  submit(100, "1x8", hours(1));
  EXPECT_TRUE(could_ever_run(state, *state.workloads.at(WorkloadId{100}).spec).ok());
  EXPECT_EQ(pass(kZero), "");
  EXPECT_EQ(why(100).code, ReasonCode::nodes_unavailable);
  EXPECT_EQ(why(100).nodes, std::vector<std::string>{"n2"});
}

// A row of the configuration knows only the file: memory, GPU types and features come with the
// agent.
TEST_F(PlannerTest, OfANodeThatNeverJoinedNothingIsKnown) {
  nodes("n1:8");
  Node& node = state.nodes.at(state.node_by_name.at("n1"));
  node.health = NodeHealth::absent;
  node.spec.memory = 0;
  WorkloadSpec spec;
  spec.partition = "main";
  spec.groups[0] = gang("1x1");
  spec.groups[0].per_node.memory = 1 << 30;
  spec.groups[0].constraint.any_of = {{"emulated"}};
  EXPECT_TRUE(could_ever_run(state, spec).ok());
  node.health = NodeHealth::up;
  EXPECT_FALSE(could_ever_run(state, spec).ok());
}

TEST_F(PlannerTest, AmountsThatNoClusterHasAreNotMultiplied) {
  nodes("n1:8");
  WorkloadSpec spec;
  spec.partition = "main";
  spec.groups[0] = gang("8x4611686018427387904");
  EXPECT_FALSE(could_ever_run(state, spec).ok());
  spec.groups[0] = gang("2147483647x1");
  spec.groups[0].per_task.cpus = Quantity::of(2147483647);
  EXPECT_FALSE(could_ever_run(state, spec).ok());
}

TEST_F(PlannerTest, WhatIsNotThereIsNamed) {
  nodes("n1:8 n2:8");
  state.nodes.at(state.node_by_name.at("n1")).spec.features = {"a100", "ib"};
  struct Case {
    std::vector<std::string> required, excluded, features;
    const char* said;
    std::int64_t cpus = 1;
  };
  const Case cases[] = {
      {{"nosuch"}, {}, {}, "Invalid node name specified: this cluster has no node 'nosuch'"},
      {{}, {"nosuch"}, {}, "Invalid node name specified: this cluster has no node 'nosuch'"},
      {{},
       {"n1", "n2"},
       {},
       "Requested node configuration is not available: every node of partition main is excluded"},
      {{},
       {},
       {"ib", "h100"},
       "Invalid feature specification: no node has 'h100'; there are: a100, ib"},
      {{"n1"}, {"n2"}, {"ib"}, ""},
      {{"n1", "n2"},
       {"n2"},
       {},
       "Requested node configuration is not available: node n2 is asked for and excluded"},
      {{},
       {},
       {},
       "Requested node configuration is not available: needs 65 cpus on one node, but the largest "
       "of partition main has 64",
       65},
  };
  for (const Case& c : cases) {
    WorkloadSpec spec;
    spec.partition = "main";
    spec.groups[0] = gang("1x1");
    spec.groups[0].per_task.cpus = Quantity::of(c.cpus);
    spec.groups[0].required_nodes = c.required;
    spec.groups[0].excluded_nodes = c.excluded;
    if (!c.features.empty()) spec.groups[0].constraint.any_of = {c.features};
    const Status status = could_ever_run(state, spec);
    EXPECT_EQ(status.ok() ? "" : status.error().message, c.said);
  }
  state.config.partitions[0].nodes.emplace_back("n3");  // may have anything when it joins
  WorkloadSpec spec;
  spec.partition = "main";
  spec.groups[0] = gang("1x1");
  spec.groups[0].required_nodes = {"n3"};
  spec.groups[0].constraint.any_of = {{"h100"}};
  EXPECT_TRUE(could_ever_run(state, spec).ok());
}

TEST_F(PlannerTest, WhatNoNodeIsLargeEnoughForIsNamed) {
  nodes("n1:4:2:emulated n2:4:2:emulated n3:4:2:emulated n4:4:2:emulated");
  struct Case {
    std::int64_t tasks, cpus, nodes_max, per_node;  // GPUs for each node
    std::string type;
    std::int64_t mebi;  // of memory for each node
    const char* said;
    std::vector<std::string> excluded = {};
    std::int64_t tasks_per_node = 0;
  };
  const Case cases[] = {
      {2, 2, 1, 0, "", 0, "needs 4 cpus on one node, but the largest of partition main has 2"},
      {4, 1, 1, 4, "", 0, "needs 4 cpus on one node, but the largest of partition main has 2"},
      {9, 1, 0, 0, "", 0, "needs 9 cpus, but partition main has 8"},
      {1, 1, 0, 5, "", 0, "needs 5 gpus on one node, but the largest of partition main has 4"},
      {1, 1, 0, 1, "h200", 0,
       "needs 1 gpu of type h200, but partition main has none; there are: emulated"},
      {1, 1, 0, 5, "emulated", 0,
       "needs 5 gpus of type emulated on one node, but the largest of partition main has 4"},
      {1, 1, 0, 0, "", 600 << 10,
       "needs 614400 MiB of memory on one node, but the largest of partition main has 524288 MiB"},
      {1,
       3,
       0,
       0,
       "",
       0,
       "needs 3 cpus on one node, but the largest of partition main that may serve it has 2",
       {"n1"}},
      {7,
       1,
       0,
       0,
       "",
       0,
       "needs 7 cpus, but those of partition main that may serve it have 6",
       {"n1"}},
      {9, 1, 2, 0, "", 0, "9 tasks are more than 4 on each of 2 nodes", {}, 4},
      {2, 2, 0, 4, "emulated", 1 << 10, ""},
  };
  for (const Case& c : cases) {
    WorkloadSpec spec;
    spec.partition = "main";
    TaskGroup& group = spec.groups[0];
    group = gang("1x0");
    group.per_task.gpus.clear();
    group.tasks = c.tasks;
    group.tasks_per_node = c.tasks_per_node;
    group.per_task.cpus = Quantity::of(c.cpus);
    group.nodes_max = c.nodes_max;
    if (c.per_node > 0) group.per_node.gpus = {{c.type, c.per_node}};
    group.per_node.memory = c.mebi << 20;
    group.excluded_nodes = c.excluded;
    const Status status = could_ever_run(state, spec);
    const std::string said = *c.said ? "Requested node configuration is not available: " : "";
    EXPECT_EQ(status.ok() ? "" : status.error().message, said + c.said);
  }
}

TEST_F(PlannerTest, AStartThatNeverComesIsNotForeseen) {
  nodes("n1:8 n2:8");
  state.config.partitions[0].max_time = hours(4);
  WorkloadSpec spec;
  spec.partition = "main";
  spec.groups[0] = gang("1x1");
  EXPECT_EQ(would_start(state, kZero, spec)->start, kZero);
  spec.limit = hours(5);
  EXPECT_EQ(would_start(state, kZero, spec).error().message,
            "Requested time limit is invalid (missing or exceeds some limit): 5h asked, 4h allowed "
            "by partition main");
  spec.limit = hours(1);
  spec.groups[0].tasks = spec.groups[0].nodes_min = 9;
  EXPECT_EQ(would_start(state, kZero, spec).error().message,
            "Requested node configuration is not available: 9 asked, 2 allowed by partition main");
}

TEST_F(PlannerTest, APromiseThatMovesLaterSaysWhy) {
  nodes("n1:8");
  submit(100, "1x8", hours(1), 90);
  pass(kZero);
  start(std::get<PlaceProposal>(proposals[0]), kZero);
  Workload& w = submit(101, "1x8", hours(1));
  w.promise = Promise{kZero + hours(1), kZero, ""};
  EXPECT_EQ(pass(kZero + minutes(10)), "");
  state.workloads.at(WorkloadId{100}).limit = hours(2);
  EXPECT_EQ(pass(kZero + minutes(10)), "101 at +2h");
  EXPECT_EQ(std::get<PromiseProposal>(proposals[0]).cause, "the limit of job 100 was raised");
}

TEST_F(PlannerTest, EveryEligibleIndexOfAnArrayStarts) {
  nodes("n1:4");
  auto spec = std::make_shared<WorkloadSpec>();
  spec->groups[0] = gang("1x1");
  spec->partition = "main";
  Array array;
  array.id = WorkloadId{100};
  array.spec = spec;
  array.limit = hours(1);
  array.pending = {1, 3, 5};
  array.at_once = 2;
  state.arrays[array.id] = array;
  state.pending.insert(array.id);
  EXPECT_EQ(pass(kZero), "100_1 -> n1:0*1; 100_3 -> n1:1*1");
  EXPECT_EQ(why(100).code, ReasonCode::array_limit);
}

TEST_F(PlannerTest, HoldsTimesAndPartitionsAreRespected) {
  nodes("n1:8");
  submit(100, "1x1", hours(1)).held_by_user = true;
  submit(101, "1x1", hours(1)).not_before = kZero + seconds(4);
  submit(102, "1x1", hours(3));
  state.config.partitions[0].max_time = hours(2);
  EXPECT_EQ(pass(kZero), "");
  EXPECT_EQ(why(100).code, ReasonCode::held_by_user);
  EXPECT_EQ(why(101).code, ReasonCode::backoff);
  EXPECT_EQ(why(102).code, ReasonCode::partition_time);
  EXPECT_EQ(planner.next_wakeup(state, kZero), kZero + seconds(4));
}

TEST_F(PlannerTest, ASmallBudgetFindsTheSame) {
  nodes("n1:8 n2:8");
  for (std::uint64_t i = 0; i < 12; ++i)
    submit(100 + i, i % 3 == 0 ? "2x8" : "1x2", minutes(10 + static_cast<int>(i)),
           static_cast<std::int64_t>(i));
  const std::string whole = pass(kZero);
  EXPECT_EQ(pass(kZero, 1), whole);
  EXPECT_FALSE(whole.empty());
}

TEST_F(PlannerTest, SaysWhenSomethingWouldStart) {
  nodes("n1:8");
  submit(100, "1x8", hours(1));
  pass(kZero);
  start(std::get<PlaceProposal>(proposals[0]), kZero);
  WorkloadSpec spec;
  spec.partition = "main";
  spec.groups[0] = gang("1x1");
  EXPECT_EQ(would_start(state, kZero, spec)->start, kZero + hours(1));
}

}  // namespace
}  // namespace phalanx::plan
