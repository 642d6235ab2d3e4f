#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "model/input.h"

namespace phalanx {

Identity system_identity() {
  Identity who;
  who.kind = IdentityKind::system;
  who.uid = 0;
  who.gid = 0;
  who.user = "system";
  who.operator_ = true;
  return who;
}

std::int64_t tasks_of(const TaskGroup& group, std::int64_t nodes) {
  return group.tasks > 0 ? group.tasks : nodes * std::max<std::int64_t>(group.tasks_per_node, 1);
}

std::int64_t gpus_asked(const TaskGroup& group) {
  const auto sum = [](const std::vector<GpuRequest>& list) {
    std::int64_t n = 0;
    for (const GpuRequest& g : list) n += g.count;
    return n;
  };
  return std::max(sum(group.gpus_in_all), sum(group.per_task.gpus) * group.tasks +
                                              sum(group.per_node.gpus) * group.nodes_min);
}

bool finished(const Workload& w) { return w.phase == Phase::ended && !w.current; }
bool completing(const Workload& w) { return w.phase == Phase::ended && w.current.has_value(); }

std::string to_string(const ObjectKey& key) {
  return fmt::format("{}/{}/{}/{}", key.group, key.resource, key.space, key.name);
}

ObjectKey parse_object_key(std::string_view text) {
  const auto parts = split(text, '/');
  const auto part = [&](std::size_t i) {
    return i < parts.size() ? std::string(parts[i]) : std::string();
  };
  return {part(0), part(1), part(2), part(3)};
}

const Workload* find_workload(const State& s, WorkloadId id) {
  const auto it = s.workloads.find(id);
  return it == s.workloads.end() ? nullptr : &it->second;
}

const Array* find_array(const State& s, WorkloadId id) {
  const auto it = s.arrays.find(id);
  return it == s.arrays.end() ? nullptr : &it->second;
}

const Node* find_node(const State& s, NodeId id) {
  const auto it = s.nodes.find(id);
  return it == s.nodes.end() ? nullptr : &it->second;
}

const Node* find_node(const State& s, std::string_view name) {
  const auto it = s.node_by_name.find(std::string(name));
  return it == s.node_by_name.end() ? nullptr : find_node(s, it->second);
}

const Partition* find_partition(const ClusterConfig& c, std::string_view name) {
  for (const Partition& p : c.partitions)
    if (name.empty() ? p.is_default : p.name == name) return &p;
  return nullptr;
}

const Workload* find_job(const State& s, JobNumber number) {
  const auto it = s.by_number.find(number);
  return it == s.by_number.end() ? nullptr : find_workload(s, it->second);
}

const Workload* find_element(const State& s, JobNumber array, std::uint32_t index) {
  const auto it = s.by_number.find(array);
  if (it == s.by_number.end()) return nullptr;
  const Array* a = find_array(s, it->second);
  if (!a) {  // the last element bears the array's number once the array is used up
    const Workload* w = find_workload(s, it->second);
    if (!w || w->array_number != array) return nullptr;
    a = find_array(s, w->array);
    if (!a) return w->array_index == index ? w : nullptr;
  }
  for (const WorkloadId id : a->elements)
    if (const Workload* w = find_workload(s, id); w && w->array_index == index) return w;
  return nullptr;
}

Reason reason_of(const Outlook& outlook, WorkloadId id) {
  const auto it = outlook.waits.find(id);
  return it == outlook.waits.end() ? Reason{} : it->second.reason;
}

namespace {

std::string when(const Reason& r) {
  return r.earliest ? fmt::format("; expected to start at {}", to_rfc3339(*r.earliest))
                    : std::string();
}

}  // namespace

std::string sentence(const Reason& r, const std::string& other) {
  const auto nodes = [&] { return fmt::format("{}", fmt::join(r.nodes, ", ")); };
  switch (r.code) {
    case ReasonCode::not_yet_considered:
      return "was just submitted or changed; the planner looks at it next";
    case ReasonCode::held_by_user:
      return "is held by its owner: `scontrol release` lets it go";
    case ReasonCode::held_by_admin:
      return "is held by an administrator";
    case ReasonCode::held_by_cluster:
      return "is held: " + r.detail;
    case ReasonCode::begin_time:
      return "asked to begin later" + when(r);
    case ReasonCode::backoff:
      return fmt::format("waits before it tries again ({}){}", r.detail, when(r));
    case ReasonCode::dependency:
      return fmt::format("waits for {}", other.empty() ? r.detail : other);
    case ReasonCode::dependency_never:
      return fmt::format("waits for {}, which ended in a way that can never satisfy it",
                         other.empty() ? r.detail : other);
    case ReasonCode::array_limit:
      return "its array runs as many elements at once as it allows";
    case ReasonCode::partition_down:
      return fmt::format("its partition is not up ({})", r.detail);
    case ReasonCode::partition_nodes:
      return "asks for more nodes than its partition allows or has: " + r.detail;
    case ReasonCode::partition_time:
      return "asks for more time than its partition allows: " + r.detail;
    case ReasonCode::constraints:
      return "fits on no configured node: " + r.detail;
    case ReasonCode::nodes_unavailable:
      if (r.nodes.empty()) return "would fit, but " + r.detail;
      return fmt::format("would fit, but {} cannot be used now{}{}", nodes(),
                         r.detail.empty() ? "" : ": " + r.detail, when(r));
    case ReasonCode::resources:
      return fmt::format("needs {}, {} free{}", r.needed, r.free, when(r));
    case ReasonCode::priority:
      return fmt::format("{} comes first{}", other.empty() ? "other work" : other, when(r));
    case ReasonCode::would_delay:
      return fmt::format("would delay {}{}", other, when(r));
    case ReasonCode::cleaning:
      return fmt::format("its last attempt is not yet gone from {}", nodes());
    case ReasonCode::unconfirmed:
      return fmt::format("its last attempt may still run on {}, which cannot be reached", nodes());
  }
  return "";
}

}  // namespace phalanx
