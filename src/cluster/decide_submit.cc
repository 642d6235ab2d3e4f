#include <algorithm>

#include "base/text.h"
#include "cluster/access.h"
#include "cluster/decide.h"
#include "cluster/feasible.h"
#include "cluster/index_text.h"
#include "place/place.h"
#include "plan/plan.h"

namespace phalanx::cluster {
namespace {

std::string partition_names(const ClusterConfig& config) {
  std::vector<std::string> names;
  for (const Partition& p : config.partitions)
    if (!p.hidden) names.push_back(p.name);
  return names.empty() ? "none is configured" : "there are: " + join(names, ", ");
}

Result<const Partition*> partition_of(const ClusterConfig& config, const WorkloadSpec& spec) {
  if (const Partition* p = find_partition(config, spec.partition)) return p;
  if (spec.partition.empty())
    return invalid("No partition specified and there is no default partition; " +
                   partition_names(config));
  return invalid(format("Invalid partition name specified: '{}'; {}", spec.partition,
                        partition_names(config)));
}

// What is queued already may start in a partition that drains; nothing new is queued.
Status takes_new_work(const Partition& p) {
  if (p.state != PartitionState::drain && p.state != PartitionState::inactive) return {};
  return invalid(format("Required partition not available (inactive or drain): {} is {}", p.name,
                        p.state == PartitionState::drain ? "DRAIN" : "INACTIVE"));
}

Status check_shape(const WorkloadSpec& spec) {
  if (spec.groups.size() != 1)
    return invalid("heterogeneous jobs are not supported: submit one job per component");
  const TaskGroup& group = spec.groups.front();
  if (group.tasks < (group.gpus_in_all.empty() ? 1 : 0))
    return invalid("it needs at least one task");
  if (group.nodes_min < 1 || (group.nodes_max > 0 && group.nodes_max < group.nodes_min))
    return invalid("the number of nodes must be at least 1, and a range must not be empty");
  if (group.per_task.cpus < Quantity() || group.per_task.memory < 0 || group.per_node.memory < 0)
    return invalid("an amount must not be negative");
  TRY(place::amounts_are_possible(group));
  if (spec.limit <= Duration(0))
    return invalid(
        "Requested time limit is invalid (missing or exceeds some limit): it must be longer than "
        "0");
  return {};
}

Status check_dependencies(const State& state, const WorkloadSpec& spec) {
  for (const Dependency& d : spec.dependencies) {
    if (!d.on) continue;  // of a singleton; or what it was on has left and can never satisfy it
    if (!state.workloads.contains(d.on) && !state.arrays.contains(d.on) &&
        !state.remembered.contains(d.on))
      return invalid("Job dependency problem: it names a job that is not known here (any more)");
  }
  return {};
}

Status check_privileges(const Draft& d, const Submit& input) {
  if (is_operator(d.state.config, d.who)) return {};
  if (input.priority)
    return denied(
        "Access/permission denied: only operators may set a priority; use --nice to wait longer");
  if (input.spec->nice < 0)
    return denied("Access/permission denied: only operators may use a negative --nice");
  return {};
}

// The record as it enters State, from the indexes and the limit that were asked for.
Result<Array> array_record(const ClusterConfig& config, const Array& asked) {
  if (asked.pending.empty()) return invalid("Invalid job array specification: it has no index");
  if (*asked.pending.rbegin() >= config.max_array_size)
    return invalid(
        format("Invalid job array specification: index {} is not below MaxArraySize ({})",
               *asked.pending.rbegin(), config.max_array_size));
  const std::vector<std::uint32_t> indexes(asked.pending.begin(), asked.pending.end());
  Array array;
  array.pending = asked.pending;
  array.size = static_cast<std::uint32_t>(indexes.size());
  array.first = indexes.front();
  array.last = indexes.back();
  array.stride = stride_of(indexes);
  array.at_once = asked.at_once;
  array.written = index_text(indexes);
  if (asked.at_once > 0) array.written += format("%{}", asked.at_once);
  return array;
}

// What this key stood for before: the same answer, or a conflict.
std::optional<Result<KeyRecord>> seen_before(const Draft& d, const Submit& input) {
  if (input.key.empty()) return std::nullopt;
  const auto it = d.state.keys.find({input.spec->owner.uid, input.key});
  if (it == d.state.keys.end() || later(it->second.at, d.state.config.timers.idempotency) <= d.now)
    return std::nullopt;
  if (it->second.content != input.content)
    return conflict("this idempotency key was used for another submission: use a fresh key");
  return it->second;
}

Duration limit_in_force(const WorkloadSpec& spec, const Partition& p) {
  if (spec.limit != kForever) return spec.limit;
  return p.default_time != kForever ? p.default_time : p.max_time;
}

// Each element waits for its own match: they are workloads of their own from the start.
void separate_if_matched(Draft& d, const Submitted& e) {
  const auto& list = e.spec->dependencies;
  const bool matched = std::any_of(list.begin(), list.end(), [](const Dependency& dependency) {
    return dependency.kind == DependencyKind::aftercorr;
  });
  if (!e.array || !matched) return;
  Array array = *e.array;
  array.id = e.id;
  array.number = e.number;
  for (const std::uint32_t index : array.pending) d.separate(array, index);
}

// Checks everything and says Submitted; the error is the reply.
Status submit(Draft& d, const Submit& input) {
  const State& state = d.state;
  TRY(check_shape(*input.spec));
  const Partition& partition = *TRY(partition_of(state.config, *input.spec));
  auto spec = input.spec;
  if (spec->partition.empty()) {
    auto named = std::make_shared<WorkloadSpec>(*spec);
    named->partition = partition.name;
    spec = std::move(named);
  }
  TRY(may_submit(state.config, d.who, *spec, partition));
  TRY(takes_new_work(partition));
  TRY(check_privileges(d, input));
  TRY(check_dependencies(state, *spec));
  std::optional<Array> array;
  if (input.array) array = TRY(array_record(state.config, *input.array));
  if (state.config.enforce_limits)
    TRY(plan::within_limits(state, *spec, limit_in_force(*spec, partition)));
  TRY(feasible(state, *spec));
  d.out.reply.warnings = spec->warnings;
  if (input.test_only) {
    d.out.reply.would_start = TRY(would_start(state, *spec, d.now));
    return {};
  }
  const auto rows = static_cast<std::int64_t>(state.workloads.size() + state.arrays.size());
  if (rows >= state.config.max_jobs)
    return unavailable(format(
        "temporarily unable to accept job: {} are known (MaxJobCount); try again later", rows));
  Submitted event;
  event.id = d.fresh_id();
  event.number = d.fresh_number();
  event.limit = limit_in_force(*spec, partition);
  event.spec = std::move(spec);
  event.priority = input.priority;
  event.held = input.hold;
  event.array = std::move(array);
  event.key = input.key;
  event.content = input.content;
  d.out.reply.id = event.id;
  d.out.reply.number = event.number;
  const Submitted submitted = event;
  d.say(std::move(event));
  separate_if_matched(d, submitted);
  return {};
}

}  // namespace

void decide_one(Draft& d, const Submit& input) {
  if (!input.spec) return d.refuse(invalid("there is nothing to submit"));
  if (d.state.cluster.empty())
    return d.refuse(unavailable("the cluster is not configured yet; try again later"));
  if (!input.test_only) {
    if (auto before = seen_before(d, input)) {
      if (!before->ok()) return d.refuse(before->error());
      d.out.reply.id = (*before)->id;
      d.out.reply.number = (*before)->number;
      d.out.reply.warnings = input.spec->warnings;
      return;
    }
  }
  d.accept(submit(d, input));
}

}  // namespace phalanx::cluster
