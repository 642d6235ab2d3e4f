// The cluster on which real Slurm's answers were recorded, as far as the query tools see it: eight
// nodes, its partitions and some of its jobs, built by hand. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "dialect/slurm/view.h"

namespace phalanx::slurm {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;

class QueryWorld {
 public:
  State state;
  Outlook outlook;
  std::vector<Workload> archive;
  Time now = from_unix_ms(1796025980'000);  // 2026-11-30T08:06:20
  Identity who = person("alice", 1001);

  QueryWorld() {
    for (int i = 1; i <= 8; ++i) add_node(i);
    state.config.name = "bench";
    add_partition("train", {1, 6}, hours(48));
    add_partition("interactive", {1, 2}, hours(4));
    add_partition("cpu", {7, 8}, kForever);
    add_partition("low", {1, 8}, hours(24));
    add_partition("maint", {8, 8}, kForever);
    state.config.partitions[0].is_default = true;
    state.config.partitions[0].default_time = hours(1);
    state.config.partitions[1].max_nodes = 1;
    state.config.partitions[4].state = phalanx::PartitionState::down;
    drain(6, "bad fan", NodeHealth::up);
    drain(8, "disk", NodeHealth::lost);
  }

  static Identity person(const std::string& name, std::uint32_t uid) {
    Identity who;
    who.uid = who.gid = uid;
    who.user = who.group = name;
    return who;
  }

  NodeId node(int i) const { return state.node_by_name.at(format("n{}", i)); }

  static std::shared_ptr<WorkloadSpec> spec(const std::string& name) {
    auto spec = std::make_shared<WorkloadSpec>();
    spec->name = name;
    spec->owner = person("alice", 1001);
    spec->account = "physics";
    spec->partition = "train";
    spec->groups[0].per_task.cpus = Quantity::of(1);
    spec->groups[0].per_task.memory = 1000 * kMiB;
    spec->launch.work_dir = "/home/alice/proj";
    spec->launch.std_out = "/dev/null";
    return spec;
  }

  Workload& add(JobNumber number, const std::shared_ptr<WorkloadSpec>& spec, Duration limit) {
    Workload w;
    w.id = WorkloadId{state.next_id++};
    w.number = number;
    w.spec = spec;
    w.submitted = from_unix_ms(1796025968'000);  // 08:06:08
    w.limit = limit;
    state.by_number[number] = w.id;
    return state.workloads[w.id] = w;
  }

  // Runs since 08:06:08 with so many CPUs and GPUs on each of the nodes.
  void run(Workload& w, const std::vector<int>& nodes, std::int64_t cpus, std::int64_t memory_mb,
           const std::vector<DeviceIndex>& gpus = {}) {
    Attempt attempt;
    attempt.number = 1;
    attempt.placed = w.submitted;
    attempt.launched = w.submitted;
    for (const int i : nodes) {
      attempt.shares.push_back({node(i), "b", 1, Quantity::of(cpus), memory_mb * kMiB, gpus});
      NodeUse& use = state.use[node(i)];
      use.cpus += Quantity::of(cpus);
      use.memory += memory_mb * kMiB;
      use.holders.insert(w.id);
      for (const DeviceIndex g : gpus) use.device_owner[g] = w.id;
    }
    w.phase = Phase::running;
    w.current = attempt;
  }

  // Over at `at`, everything released.
  static void end(Workload& w, EndCause cause, std::int32_t code, Time at) {
    PastAttempt past;
    past.number = 1;
    past.placed = past.launched = w.current->placed;
    past.ended = at;
    past.shares = w.current->shares;
    for (std::size_t i = 0; i < past.shares.size(); ++i) past.nodes.push_back("n5");
    past.end.cause = cause;
    past.end.exit_code = code;
    w.current.reset();
    w.phase = Phase::ended;
    w.ended = at;
    w.end = past.end;
    w.past.push_back(past);
  }

  void wait(WorkloadId id, ReasonCode code) { outlook.waits[id] = {{code}, 1, 100}; }

  [[nodiscard]] View view() const {
    return {state, outlook, [this](const PastFilter&) { return archive; }, now, who};
  }
  [[nodiscard]] Answer ask(const std::string& tool, const std::vector<std::string>& args,
                           std::map<std::string, std::string> environment = {}) const {
    Ask ask;
    ask.tool = tool;
    ask.args = args;
    ask.environment = std::move(environment);
    return answer(view(), ask);
  }
  [[nodiscard]] std::string out(const std::string& tool,
                                const std::vector<std::string>& args) const {
    const Said said = ask(tool, args).said;
    EXPECT_EQ(said.err, "");
    EXPECT_EQ(said.code, 0);
    return said.out;
  }

 private:
  void add_node(int i) {
    Node node;
    node.id = NodeId{state.next_id++};
    node.health = NodeHealth::up;
    node.spec.name = format("n{}", i);
    node.spec.cpus = i > 6 ? 32 : 16;
    node.spec.sockets = 2;
    node.spec.cores_per_socket = 8;
    node.spec.threads_per_core = i > 6 ? 2 : 1;
    node.spec.memory = (i > 6 ? 128000 : 64000) * kMiB;
    node.spec.weight = i <= 4 ? 10 : i <= 6 ? 5 : 1;
    node.spec.arch = "x86_64";
    node.spec.features = i <= 4   ? std::vector<std::string>{"ib", "h100", "rack1"}
                         : i <= 6 ? std::vector<std::string>{"ib", "a100", "rack2"}
                                  : std::vector<std::string>{"cpu", "rack2"};
    const int gpus = i <= 4 ? 8 : i <= 6 ? 4 : 0;
    for (int g = 0; g < gpus; ++g) {
      Device device;
      device.type = i <= 4 ? "h100" : "a100";
      node.spec.devices.push_back(device);
    }
    state.use[node.id].device_owner.resize(node.spec.devices.size());
    state.node_by_name[node.spec.name] = node.id;
    state.nodes[node.id] = node;
  }

  void add_partition(const std::string& name, std::pair<int, int> nodes, Duration max_time) {
    Partition p;
    p.name = name;
    p.max_time = max_time;
    p.default_memory_per_cpu = 1000 * kMiB;
    for (int i = nodes.first; i <= nodes.second; ++i) p.nodes.push_back(format("n{}", i));
    state.config.partitions.push_back(p);
  }

  void drain(int i, const std::string& reason, NodeHealth health) {
    Node& n = state.nodes[node(i)];
    n.drained = true;
    n.health = health;
    n.reason = reason;
    n.reason_by = "root";
    n.reason_at = from_unix_ms(1796025968'000);
  }
};

// The recorded jobs 242 to 265 that the tests ask about.
inline QueryWorld recorded() {
  QueryWorld w;
  auto run1 = QueryWorld::spec("run1");
  run1->groups[0].nodes_min = 2;
  run1->groups[0].tasks = 2;
  w.run(w.add(242, run1, hours(1)), {1, 5}, 1, 1000);

  auto gpu2 = QueryWorld::spec("gpu2");
  gpu2->account = "chem";
  gpu2->cpus_per_task = 2;
  gpu2->groups[0].tasks = 2;
  gpu2->groups[0].per_task.cpus = Quantity::of(2);
  gpu2->groups[0].per_task.memory = 2000 * kMiB;
  gpu2->groups[0].per_node.gpus = {{"h100", 2}};
  w.run(w.add(243, gpu2, hours(2)), {1}, 4, 4000, {0, 1});

  Array arr;
  arr.id = WorkloadId{w.state.next_id++};
  arr.number = 245;
  arr.spec = QueryWorld::spec("arr");
  arr.at_once = 2;
  arr.limit = minutes(5);
  arr.submitted = from_unix_ms(1796025968'000);
  for (std::uint32_t i = 2; i <= 9; ++i) arr.pending.insert(i);
  for (std::uint32_t i = 0; i < 2; ++i) {
    Workload& element = w.add(265 + i, QueryWorld::spec("arr"), minutes(5));
    element.array = arr.id;
    element.array_number = 245;
    element.array_index = i;
    arr.elements.insert(element.id);
    w.run(element, {5}, 1, 1000);
  }
  w.state.by_number[245] = arr.id;
  w.state.arrays[arr.id] = arr;
  w.wait(arr.id, ReasonCode::array_limit);

  w.add(246, QueryWorld::spec("held"), hours(1)).held_by_user = true;
  auto bobjob = QueryWorld::spec("bobjob");
  bobjob->owner = QueryWorld::person("bob", 1002);
  bobjob->account = "chem";
  bobjob->partition = "cpu";
  bobjob->groups[0].tasks = 2;
  bobjob->groups[0].per_task.memory = 500 * kMiB;
  w.run(w.add(254, bobjob, minutes(20)), {7}, 2, 1000);
  return w;
}

// "a=1 b=2 …" as a map; blanks in values are not supported.
inline std::map<std::string, std::string> pairs_of(std::string_view text) {
  std::map<std::string, std::string> out;
  for (const std::string_view line : split(text, '\n'))
    for (const std::string_view word : split_blanks(line))
      if (const std::size_t equals = word.find('='); equals != std::string_view::npos)
        out[std::string(word.substr(0, equals))] = std::string(word.substr(equals + 1));
  return out;
}

}  // namespace phalanx::slurm
