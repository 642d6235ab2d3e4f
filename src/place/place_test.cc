#include "place/place.h"

#include <gtest/gtest.h>

#include "place/testing.h"

namespace phalanx::place {
namespace {

using phalanx::testing::cluster;
using phalanx::testing::gang;
using phalanx::testing::to_text;

std::string placed(const State& state, const TaskGroup& group) {
  const Scope scope{&state.config.partitions[0], nullptr, 0};
  const auto shares = fit(Board::now(state), scope, group);
  return shares ? to_text(state, *shares) : "-";
}

void take(State& state, std::string_view node, const std::vector<DeviceIndex>& gpus) {
  NodeUse& use = state.use.at(state.node_by_name.at(std::string(node)));
  use.holders.insert(WorkloadId{99});
  for (const DeviceIndex i : gpus) use.device_owner[i] = WorkloadId{99};
}

TEST(Fit, AGangIsPlacedWholeOrNotAtAll) {
  const State state = cluster("n1:8 n2:4 n3:8");
  EXPECT_EQ(placed(state, gang("2x8")), "n1:0,1,2,3,4,5,6,7*1 n3:0,1,2,3,4,5,6,7*1");
  EXPECT_EQ(placed(state, gang("3x8")), "-");
  EXPECT_EQ(placed(state, gang("20x1")), "n1:0,1,2,3,4,5,6,7*8 n2:0,1,2,3*4 n3:0,1,2,3,4,5,6,7*8");
  EXPECT_EQ(placed(state, gang("21x1")), "-");
}

TEST(Fit, WholeNodesStayWhole) {
  State state = cluster("n1:8 n2:8");
  take(state, "n2", {0, 1, 2, 3});
  EXPECT_EQ(placed(state, gang("1x2")), "n2:4,5*1");
  EXPECT_EQ(placed(state, gang("1x8")), "n1:0,1,2,3,4,5,6,7*1");
}

TEST(Fit, AsFewNodesAsPossible) {
  const State state = cluster("n1:2 n2:2 n3:4");
  EXPECT_EQ(placed(state, gang("4x1")), "n3:0,1,2,3*4");
}

// The first host name of the job's list is where rank 0 is, whichever agent joined first.
TEST(Fit, RanksFollowTheConfiguredOrderOfNodes) {
  State state = cluster("n2:2 n1:2");
  state.config.partitions[0].nodes = {"n1", "n2"};
  EXPECT_EQ(placed(state, gang("2x2")), "n1:0,1*1 n2:0,1*1");
}

TEST(Fit, AmongEqualNodesTheConfiguredOrderDecides) {
  State state = cluster("n10:2 n3:2 n1:2 n2:2");
  state.config.partitions[0].nodes = {"n1", "n2", "n3", "n10"};
  EXPECT_EQ(placed(state, gang("1x2")), "n1:0,1*1");
  EXPECT_EQ(placed(state, gang("2x2")), "n1:0,1*1 n2:0,1*1");
  take(state, "n2", {0, 1});
  EXPECT_EQ(placed(state, gang("2x2")), "n1:0,1*1 n3:0,1*1");
}

std::string lacks(const State& state, const TaskGroup& group) {
  const Scope scope{&state.config.partitions[0], nullptr, 0};
  const Shortage lack = shortage(Board::now(state), scope, group);
  return lack.needed + ", " + lack.free + " free";
}

TEST(Shortage, NamesWhatIsShort) {
  State state = cluster("n1:4:4:h100 n2:4:4:a100");
  const std::int64_t gib = std::int64_t{1} << 30;
  TaskGroup group = gang("1x4");
  take(state, "n1", {0, 1, 2});
  take(state, "n2", {0});
  EXPECT_EQ(lacks(state, group), "4 gpus on one node, 3 free");
  EXPECT_EQ(lacks(state, gang("3x2")), "6 gpus, 4 free");
  group.per_task.gpus = {{"H100", 2}};
  EXPECT_EQ(lacks(state, group), "2 gpus of type H100, 1 free");
  group = gang("1x0");
  group.per_task.cpus = Quantity::of(9);
  EXPECT_EQ(lacks(state, group), "9 cpus, 8 free");
  group.per_task.cpus = Quantity::of(5);
  EXPECT_EQ(lacks(state, group), "5 cpus on one node, 4 free");
  group.per_task.cpus = Quantity::of(3);
  group.tasks = 2;
  group.nodes_max = 1;
  EXPECT_EQ(lacks(state, group), "6 cpus on one node, 4 free");
  group.nodes_max = 0;
  group.nodes_min = 2;
  state.use.at(state.node_by_name.at("n1")).cpus = Quantity::of(2);
  EXPECT_EQ(lacks(state, group), "2 nodes with 3 cpus on each, 1 free");
  group = gang("1x3");
  group.per_task.cpus = Quantity::of(1);
  state.use.at(state.node_by_name.at("n2")).cpus = Quantity::of(4);
  EXPECT_EQ(lacks(state, group), "1 node with 1 cpu and 3 gpus, 0 free");
  group = gang("1x0");
  group.per_task.memory = 600 * gib;
  EXPECT_EQ(lacks(state, group), "614400 MiB of memory on one node, 524288 MiB free");
  group.per_task.memory = 0;
  group.exclusive = true;
  EXPECT_EQ(lacks(state, group), "1 whole node, 0 free");
  state = cluster("n1:0:3 n2:0:3 n3:0:1");
  group = gang("3x0");
  group.per_task.cpus = Quantity::of(2);
  EXPECT_EQ(lacks(state, group), "room for 3 tasks with 2 cpus each, room for 2 free");
  group.required_nodes = {"n3"};
  EXPECT_EQ(lacks(state, group), "2 cpus on node n3, 0 free");
}

TEST(Fit, TasksPerNodeAndNodesAreKept) {
  const State state = cluster("n1:8 n2:8 n3:8");
  TaskGroup group = gang("4x1");
  group.tasks_per_node = 2;
  EXPECT_EQ(placed(state, group), "n1:0,1*2 n2:0,1*2");
  group.tasks_per_node = 0;
  group.nodes_min = group.nodes_max = 3;
  EXPECT_EQ(placed(state, group), "n1:0,1*2 n2:0*1 n3:0*1");
  group.nodes_min = group.nodes_max = 5;
  EXPECT_EQ(placed(state, group), "-");
}

TEST(Fit, NodeAndTaskDevicesAreSeparate) {
  const State state = cluster("n1:4 n2:4");
  TaskGroup group;
  group.tasks = 2;
  group.nodes_min = 2;
  group.per_task.cpus = Quantity::of(1);
  group.per_node.gpus = {{"", 4}};
  EXPECT_EQ(placed(state, group), "n1:0,1,2,3*1 n2:0,1,2,3*1");
  group.per_node.gpus = {{"", 5}};
  EXPECT_EQ(placed(state, group), "-");
}

TEST(Fit, TypesAreExact) {
  const State state = cluster("n1:4:64:h100 n2:4:64:A100");
  TaskGroup group = gang("1x0");
  group.per_task.gpus = {{"a100", 2}};
  EXPECT_EQ(placed(state, group), "n2:0,1*1");
  group.per_task.gpus = {{"h200", 1}};
  EXPECT_EQ(placed(state, group), "-");
}

TEST(Fit, GpusInAllAreSpreadWithOneOnEachNode) {
  const State state = cluster("n1:4 n2:4");
  TaskGroup group = gang("2x0");
  group.per_task.gpus.clear();
  group.gpus_in_all = {{"", 5}};
  EXPECT_EQ(placed(state, group), "n1:0,1,2,3*1 n2:0*1");
  group.gpus_in_all = {{"", 9}};
  EXPECT_EQ(placed(state, group), "-");
}

// `sbatch --gpus=10`: as few nodes as have them, one task on each.
TEST(Fit, WhereNobodySaysHowManyNodesTheGpusDecide) {
  State state = cluster("n1:8 n2:8 n3:8");
  TaskGroup group;
  group.per_task.cpus = Quantity::of(1);
  group.tasks = 0;
  struct Case {
    std::int64_t gpus, tasks_per_node, nodes_min, nodes_max;
    const char* shares;
  };
  const Case cases[] = {
      {3, 0, 1, 0, "n1:0,1,2*1"},
      {10, 0, 1, 0, "n1:0,1,2,3,4,5,6,7*1 n2:0,1*1"},
      {10, 2, 1, 0, "n1:0,1,2,3,4,5,6,7*2 n2:0,1*2"},
      {10, 0, 3, 0, "n1:0,1,2,3,4,5,6,7*1 n2:0*1 n3:0*1"},
      {10, 0, 1, 1, "-"},
      {25, 0, 1, 0, "-"},
  };
  for (const Case& c : cases) {
    group.gpus_in_all = {{"", c.gpus}};
    group.tasks_per_node = c.tasks_per_node;
    group.nodes_min = c.nodes_min;
    group.nodes_max = c.nodes_max;
    EXPECT_EQ(placed(state, group), c.shares) << c.gpus << " gpus";
  }
  group.gpus_in_all = {{"", 10}};
  group.tasks_per_node = 0;
  group.nodes_min = 1;
  group.nodes_max = 0;
  take(state, "n1", {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(placed(state, group), "n1:6,7*1 n2:0,1,2,3,4,5,6,7*1");
}

TEST(Fit, TypesOfGpusInAllAreCountedEachForItself) {
  const State state = cluster("n1:8:64:a100 n2:8:64:v100 n3:8:64:a100");
  TaskGroup group;
  group.per_task.cpus = Quantity::of(1);
  group.tasks = 0;
  group.gpus_in_all = {{"a100", 10}};
  EXPECT_EQ(placed(state, group), "n1:0,1,2,3,4,5,6,7*1 n3:0,1*1");
  group.gpus_in_all = {{"a100", 4}, {"v100", 2}};
  EXPECT_EQ(placed(state, group), "n1:0,1,2,3*1 n2:0,1*1");
  group.gpus_in_all = {{"v100", 9}};
  EXPECT_EQ(placed(state, group), "-");
}

TEST(Fit, CpusAndMemoryCountPerTaskAndPerNode) {
  const State state = cluster("n1:0:4 n2:0:4");
  TaskGroup group = gang("6x0");
  group.per_task.gpus.clear();
  EXPECT_EQ(placed(state, group), "n1:*4 n2:*2");
  group.per_task.memory = std::int64_t{200} << 30;
  EXPECT_EQ(placed(state, group), "-");
  group.tasks = 4;
  EXPECT_EQ(placed(state, group), "n1:*2 n2:*2");
}

TEST(Fit, APartitionsLeastNodesAndMostMemoryHold) {
  State state = cluster("n1:8 n2:8 n3:8");
  Partition& partition = state.config.partitions.front();
  const auto placed = [&](const TaskGroup& group) {
    const Scope scope{&partition, nullptr, 0};
    const auto shares = fit(Board::now(state), scope, group);
    return shares ? testing::to_text(state, *shares) : "nowhere";
  };
  TaskGroup two = gang("2x1");
  EXPECT_EQ(placed(two), "n1:0,1*2");
  partition.min_nodes = 2;
  EXPECT_EQ(placed(two), "n1:0*1 n2:0*1");
  partition.min_nodes = 0;
  two.per_task.memory = std::int64_t{10} << 30;
  partition.max_memory_per_node = std::int64_t{15} << 30;
  EXPECT_EQ(placed(two), "n1:0*1 n2:0*1");
  two.per_task.memory *= 2;
  EXPECT_EQ(placed(two), "nowhere");
}

TEST(Fit, ExclusiveNeedsEmptyNodesAndTakesAllOfThem) {
  State state = cluster("n1:2:4 n2:2:4");
  take(state, "n1", {0});
  TaskGroup group = gang("1x0");
  group.per_task.gpus.clear();
  group.exclusive = true;
  const Scope scope{&state.config.partitions[0], nullptr, 0};
  const auto shares = fit(Board::now(state), scope, group);
  ASSERT_TRUE(shares);
  EXPECT_EQ(to_text(state, *shares), "n2:0,1*1");
  EXPECT_EQ(shares->front().cpus, Quantity::of(4));
}

TEST(Fit, FeaturesAlternativesAndNodeLists) {
  State state = cluster("n1:1 n2:1 n3:1");
  const auto feature = [&](const char* name, std::vector<std::string> list) {
    state.nodes.at(state.node_by_name.at(name)).spec.features = std::move(list);
  };
  feature("n1", {"a"});
  feature("n2", {"b"});
  feature("n3", {"b"});
  TaskGroup group = gang("2x1");
  group.constraint.any_of = {{"a"}, {"b"}};
  EXPECT_EQ(placed(state, group), "n1:0*1 n2:0*1");
  group.constraint.same_everywhere = true;
  EXPECT_EQ(placed(state, group), "n2:0*1 n3:0*1");
  group.constraint = {};
  group.required_nodes = {"n3"};
  EXPECT_EQ(placed(state, group), "n1:0*1 n3:0*1");
  group.excluded_nodes = {"n1"};
  EXPECT_EQ(placed(state, group), "n2:0*1 n3:0*1");
}

TEST(Fit, SickAndDrainedCapacityIsNotOffered) {
  State state = cluster("n1:2 n2:2");
  state.nodes.at(state.node_by_name.at("n1")).drained = true;
  state.nodes.at(state.node_by_name.at("n2")).spec.devices[0].health = DeviceHealth::busy_outside;
  EXPECT_EQ(placed(state, gang("1x1")), "n2:1*1");
  EXPECT_EQ(placed(state, gang("1x2")), "-");
}

// Work that runs until `end` on the given devices.
void run(State& state, std::uint64_t id, std::string_view node, std::vector<DeviceIndex> gpus,
         Time end) {
  auto spec = std::make_shared<WorkloadSpec>();
  spec->groups[0] = gang("1x0");
  Workload w;
  w.id = WorkloadId{id};
  w.spec = spec;
  w.phase = Phase::running;
  w.limit = end == kNever ? kForever : end - Time{};
  w.current =
      Attempt{1,      {{state.node_by_name.at(std::string(node)), "", 1, Quantity::of(1), 0, gpus}},
              0,      Time{},
              Time{}, {},
              false};
  NodeUse& use = state.use.at(state.node_by_name.at(std::string(node)));
  use.cpus += Quantity::of(1);
  use.holders.insert(w.id);
  for (const DeviceIndex i : gpus) use.device_owner[i] = w.id;
  state.workloads[w.id] = w;
}

constexpr Time kZero{};

TEST(Timeline, OpensWhenRunningWorkEnds) {
  State state = cluster("n1:4 n2:4");
  run(state, 50, "n1", {0, 1, 2, 3}, kZero + hours(2));
  run(state, 51, "n2", {0, 1}, kZero + hours(1));
  const Timeline timeline(state, kZero);
  const Scope scope{&state.config.partitions[0], nullptr, 0};
  EXPECT_EQ(timeline.earliest(scope, gang("1x2"), hours(1), kZero)->start, kZero);
  EXPECT_EQ(timeline.earliest(scope, gang("1x4"), hours(1), kZero)->start, kZero + hours(1));
  EXPECT_EQ(timeline.earliest(scope, gang("2x4"), hours(1), kZero)->start, kZero + hours(2));
  EXPECT_FALSE(timeline.earliest(scope, gang("3x4"), hours(1), kZero));
}

TEST(Timeline, WorkThatDoesNotGoIsExpectedLaterAndLaterButSeldom) {
  State state = cluster("n1:4");
  run(state, 50, "n1", {0, 1, 2, 3}, kZero + hours(1));
  const Scope scope{&state.config.partitions[0], nullptr, 0};
  const Time end = kZero + hours(1);
  const struct {
    Duration late, expected;
  } cases[] = {{seconds(0), seconds(1)}, {milliseconds(999), seconds(1)},
               {seconds(1), seconds(2)}, {seconds(3), seconds(4)},
               {seconds(4), seconds(8)}, {seconds(60), seconds(64)}};
  for (const auto& c : cases) {
    const Timeline timeline(state, end + c.late);
    EXPECT_EQ(timeline.earliest(scope, gang("1x4"), hours(1), end + c.late)->start,
              end + c.expected);
  }
}

TEST(Timeline, NothingMayTouchAPromise) {
  State state = cluster("n1:4 n2:4");
  run(state, 50, "n1", {0, 1, 2, 3}, kZero + hours(1));
  Timeline timeline(state, kZero);
  const Scope scope{&state.config.partitions[0], nullptr, 0};
  const auto opening = timeline.earliest(scope, gang("2x4"), hours(1), kZero);
  ASSERT_TRUE(opening);
  timeline.promise(WorkloadId{7}, opening->shares, opening->start, opening->start + hours(1));
  EXPECT_TRUE(timeline.fit_now(scope, gang("1x4"), hours(1)));
  EXPECT_FALSE(timeline.fit_now(scope, gang("1x1"), hours(1) + seconds(1)));
  EXPECT_EQ(timeline.in_the_way(scope, gang("1x1"), hours(2)), WorkloadId{7});
  EXPECT_EQ(timeline.earliest(scope, gang("1x1"), hours(2), kZero)->start, kZero + hours(2));
}

TEST(Timeline, CapacityThatComesBackIsCountedOnce) {
  State state = cluster("n1:4:8");
  run(state, 50, "n1", {0, 1, 2, 3}, kZero + hours(1));
  Timeline timeline(state, kZero);
  const Scope scope{&state.config.partitions[0], nullptr, 0};
  TaskGroup six = gang("6x0");
  six.per_task.gpus.clear();
  timeline.promise(WorkloadId{7}, {{state.node_by_name.at("n1"), "", 6, Quantity::of(6), 0, {}}},
                   kZero + hours(1), kZero + hours(2));
  TaskGroup two = gang("2x0");
  two.per_task.gpus.clear();
  EXPECT_TRUE(timeline.fit_now(scope, two, hours(5)));
  EXPECT_FALSE(timeline.fit_now(scope, gang("3x0"), hours(5)));
}

}  // namespace
}  // namespace phalanx::place
