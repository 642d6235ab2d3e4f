// A small cluster for tests of this room: real step(), invariants after every event, a trivial
// placer instead of plan/, and agents that say what a test tells them to say.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/codec.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "cluster/invariants.h"

namespace phalanx::cluster {

inline Identity user(const std::string& name) {
  Identity who;
  who.uid = 1000 + static_cast<std::uint32_t>(name.front());
  who.gid = who.uid;
  who.user = who.group = name;
  return who;
}

inline Identity admin() {
  Identity who = user("root");
  who.uid = 0;
  who.operator_ = true;
  return who;
}

// "2x1": two tasks with one GPU and one CPU each; at least one node.
inline WorkloadSpec job(std::string_view shape, const std::string& owner = "anna") {
  const auto part = split(shape, 'x');
  WorkloadSpec spec;
  spec.name = "train";
  spec.owner = user(owner);
  spec.account = "research";
  spec.limit = hours(1);
  TaskGroup& group = spec.groups.front();
  group.tasks = parse_int(part[0]).value_or(1);
  group.per_task.cpus = Quantity::of(1);
  group.per_task.memory = std::int64_t{1} << 30;
  const std::int64_t gpus = part.size() > 1 ? parse_int(part[1]).value_or(0) : 0;
  if (gpus > 0) group.per_task.gpus = {{"", gpus}};
  spec.launch.script = "blob-of-the-script";
  return spec;
}

// A gang on so many nodes, one task on each.
inline WorkloadSpec gang(int nodes, const std::string& owner = "anna") {
  WorkloadSpec spec = job(format("{}x1", nodes), owner);
  spec.groups.front().nodes_min = nodes;
  spec.groups.front().tasks_per_node = 1;
  return spec;
}

class World {
 public:
  // "n1:2 n2:2": nodes with so many GPUs, 8 CPUs and 64 GiB each; all have joined.
  explicit World(std::string_view nodes,
                 const std::function<void(ClusterConfig&)>& change = nullptr) {
    config.first_job = 1;
    Partition partition;
    partition.name = "main";
    partition.is_default = true;
    for (const std::string_view word : split_blanks(nodes)) {
      const auto part = split(word, ':');
      NodeSpec spec;
      spec.name = std::string(part[0]);
      spec.cpus = 8;
      spec.memory = std::int64_t{64} << 30;
      for (std::int64_t i = 0; i < parse_int(part[1]).value_or(0); ++i) {
        Device device;
        device.type = "gpu";
        device.minor = static_cast<std::int32_t>(i);
        spec.devices.push_back(device);
      }
      partition.nodes.push_back(spec.name);
      config.nodes.push_back(spec);
    }
    config.partitions.push_back(partition);
    if (change) change(config);
    give(Configure{"c1", config});
    for (const NodeSpec& spec : config.nodes) connect(spec.name);
  }

  Reply give(InputKind what, const Identity& who = system_identity()) {
    const Batch batch = step(state, heard, {now, who, std::move(what)},
                             [&](const State& after, const Event& event) {
                               events.push_back(event);
                               for (const std::string& violation : violations(after))
                                 ADD_FAILURE() << violation << "\nafter " << codec::encode(event);
                             });
    effects = batch.effects;
    keep_blobs(batch);
    return batch.reply;
  }

  // What a store would keep is what State uses, no more and no less.
  void keep_blobs(const Batch& batch) {
    for (const auto& [hash, uses] : state.blob_uses) stored.insert(hash);
    for (const std::string& hash : batch.unused_blobs) stored.erase(hash);
    EXPECT_EQ(stored.size(), state.blob_uses.size());
  }

  // --- users
  Reply submit(WorkloadSpec spec, const std::string& key = "", const std::string& content = "") {
    Submit input;
    const Identity owner = spec.owner;
    input.spec = std::make_shared<WorkloadSpec>(std::move(spec));
    input.key = key;
    input.content = content;
    return give(std::move(input), owner);
  }
  Reply submit_array(WorkloadSpec spec, std::set<std::uint32_t> indexes,
                     std::uint32_t at_once = 0) {
    Submit input;
    const Identity owner = spec.owner;
    input.spec = std::make_shared<WorkloadSpec>(std::move(spec));
    input.array.emplace();
    input.array->pending = std::move(indexes);
    input.array->at_once = at_once;
    return give(std::move(input), owner);
  }
  static Target target(JobNumber number, std::vector<std::uint32_t> indexes = {}) {
    Target t;
    t.number = number;
    t.indexes = std::move(indexes);
    return t;
  }
  Reply cancel(Target t, const Identity& who = user("anna")) {
    Cancel input;
    input.target = std::move(t);
    return give(std::move(input), who);
  }

  // --- the planner: first fit in order of id; returns what was placed
  std::size_t place() {
    std::size_t placed = 0;
    for (const WorkloadId id : std::set<WorkloadId>(state.pending)) {
      while (true) {
        PlaceProposal p{id, std::nullopt, {}};
        const Workload* w = find_workload(state, id);
        const Array* a = find_array(state, id);
        if (a && !a->pending.empty()) p.index = *a->pending.begin();
        if (!w && !p.index) break;
        p.shares = first_fit(w ? *w->spec : *a->spec, w ? w->avoid : std::set<NodeId>());
        const std::size_t before = events.size();
        if (!p.shares.empty()) give(Propose{{p}});
        if (events.size() == before) break;
        ++placed;
        if (w) break;
      }
    }
    return placed;
  }
  [[nodiscard]] std::vector<NodeShare> first_fit(const WorkloadSpec& spec,
                                                 const std::set<NodeId>& avoid) const;

  // --- agents
  Reply connect(const std::string& node, const std::string& boot = "",
                std::vector<AttemptReport> attempts = {}) {
    NodeReport report;
    report.name = node;
    report.boot =
        boot.empty() ? boots.try_emplace(node, "boot-" + node).first->second : boots[node] = boot;
    report.attempts = std::move(attempts);
    for (const NodeSpec& spec : config.nodes)
      if (spec.name == node) report.spec = spec;
    return give(AgentConnected{report});
  }
  [[nodiscard]] AttemptReport about(const std::string& node, JobNumber number,
                                    AttemptPhase phase) const {
    AttemptReport report;
    const Workload& w = work(number);
    report.fence = {state.cluster, w.id, w.attempts, boots.at(node)};
    report.phase = phase;
    if (w.limit != kForever) report.limit = w.limit + config.timers.over_time_limit;
    return report;
  }
  void say(const std::string& node, AttemptReport report) {
    give(AgentReported{node, std::move(report)});
  }
  void say(const std::string& node, JobNumber number, AttemptPhase phase) {
    say(node, about(node, number, phase));
  }
  void exits(const std::string& node, JobNumber number, int code, int signal = 0) {
    AttemptReport report = about(node, number, AttemptPhase::exited);
    report.exit_code = code;
    report.exit_signal = signal;
    say(node, report);
  }
  // The usual end of one-node work: exits, is released, is gone.
  void run_to_end(const std::string& node, JobNumber number, int code = 0) {
    exits(node, number, code);
    say(node, number, AttemptPhase::gone);
  }
  void silent(const std::string& node, Duration d) { give(AgentSilent{node, d}); }
  void archive() { give(ArchiveHas{{state.unarchived.begin(), state.unarchived.end()}}); }
  void tick() { give(Tick{}); }

  // --- what came of it
  [[nodiscard]] const Workload& work(JobNumber number) const {
    static const Workload kNone;
    const Workload* w = find_job(state, number);
    EXPECT_NE(w, nullptr) << "no job " << number;
    return w ? *w : kNone;
  }
  [[nodiscard]] const Workload* element(JobNumber array, std::uint32_t index) const {
    return find_element(state, array, index);
  }
  [[nodiscard]] const Node& node(const std::string& name) const { return *find_node(state, name); }
  // The last effects as text: "n1:Prepare n2:Go archive:7".
  [[nodiscard]] std::string said() const { return text(effects); }
  [[nodiscard]] std::string text(const std::vector<Effect>& list) const {
    std::string out;
    for (const Effect& effect : list) {
      if (!out.empty()) out += ' ';
      if (const auto* send = std::get_if<SendOrder>(&effect)) {
        const auto name = std::visit(
            [](const auto& o) { return std::decay_t<decltype(o)>::kTypeName; }, send->order);
        out += format("{}:{}", state.nodes.at(send->node).spec.name, name);
      } else {
        out += format("archive:{}", std::get<ArchiveRow>(effect).id.value);
      }
    }
    return out;
  }

  ClusterConfig config;
  State state;
  Heard heard;
  Time now = from_unix_ms(1'000'000'000'000);
  std::vector<Event> events;
  std::vector<Effect> effects;  // of the last input
  std::map<std::string, std::string> boots;
  std::set<std::string> stored;  // blobs
};

}  // namespace phalanx::cluster
