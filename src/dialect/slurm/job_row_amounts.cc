// Times, places and amounts of a JobRow.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/job_row.h"
#include "dialect/slurm/translate.h"

namespace phalanx::slurm {
namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;

const PastAttempt* last_attempt(const Workload& w) {
  return w.past.empty() ? nullptr : &w.past.back();
}

using GpuCounts = std::map<std::string, std::int64_t>;  // by type; "" is any

void count(GpuCounts& sum, const std::vector<GpuRequest>& list, std::int64_t times) {
  for (const GpuRequest& gpu : list) sum[gpu.type] += gpu.count * times;
}

std::string gres_text(const std::vector<GpuRequest>& list) {
  std::string out;
  for (const GpuRequest& gpu : list) {
    if (gpu.count == 0) continue;
    if (!out.empty()) out += ',';
    out += gpu.type.empty() ? format("gres:gpu:{}", gpu.count)
                            : format("gres:gpu:{}:{}", gpu.type, gpu.count);
  }
  return out;
}

std::int64_t asked_nodes(const TaskGroup& group) {
  const std::int64_t by_tasks =
      group.tasks_per_node > 0 ? (group.tasks + group.tasks_per_node - 1) / group.tasks_per_node
                               : 1;
  return std::max(group.nodes_min, by_tasks);
}

}  // namespace

std::int64_t to_mbytes(std::int64_t bytes) { return (bytes + kMib - 1) / kMib; }

Duration ran(const PastAttempt& attempt) {
  if (attempt.launched == Time{}) return Duration{};
  return std::max(attempt.ended - attempt.launched, Duration{});
}

Duration ran(const View& view, const Workload& work) {
  const PastAttempt* last = last_attempt(work);
  if (last && (!work.current || work.current->number == last->number)) return ran(*last);
  if (!work.current || !work.current->launched) return Duration{};
  return std::max(view.now - *work.current->launched, Duration{});
}

std::string exact_seconds(Wide ms) {
  const Wide size = ms < 0 ? -ms : ms;
  return format("{}{}.{:03}", ms < 0 ? "-" : "", static_cast<std::int64_t>(size / 1000),
                static_cast<std::int64_t>(size % 1000));
}

std::string node_name(const State& state, NodeId id) {
  const Node* node = find_node(state, id);
  return node ? node->spec.name : "";
}

std::string tres_text(std::int64_t cpus, std::int64_t memory_mb, std::int64_t nodes,
                      const GpuCounts& gpus) {
  std::string out = format("cpu={}", cpus);
  if (memory_mb > 0) out += ",mem=" + print_mbytes(memory_mb);
  if (nodes > 0) out += format(",node={}", nodes);
  out += format(",billing={}", cpus);
  std::int64_t all = 0;
  for (const auto& [type, n] : gpus) all += n;
  if (all > 0) out += format(",gres/gpu={}", all);
  for (const auto& [type, n] : gpus)
    if (!type.empty() && type != "gpu" && n > 0) out += format(",gres/gpu:{}={}", type, n);
  return out;
}

// --- times
// -----------------------------------------------------------------------------------------------

Time JobRow::submitted() const { return workload_ ? workload_->submitted : array_->submitted; }

Time JobRow::eligible() const {
  Time t = std::max(submitted(), spec_->begin);
  if (workload_ && pending()) t = std::max(t, workload_->not_before);
  return t;
}

Time JobRow::start() const {
  if (!workload_ || workload_->phase == Phase::pending) return Time{};
  if (workload_->current) return workload_->current->launched.value_or(workload_->current->placed);
  const PastAttempt* last = last_attempt(*workload_);
  if (!last) return Time{};
  return last->launched != Time{} ? last->launched : last->placed;
}

Time JobRow::expected_start() const {
  const auto& promise = workload_ ? workload_->promise : array_->promise;
  const Reason reason = why();
  if (reason.code == ReasonCode::held_by_user || reason.code == ReasonCode::held_by_admin)
    return Time{};
  if (reason.earliest && *reason.earliest != kNever) return *reason.earliest;
  if (promise && promise->start != kNever) return promise->start;
  return eligible() > view_->now ? eligible() : Time{};
}

Time JobRow::end() const {
  if (over()) return workload_->ended;
  const Time begin = pending() ? expected_start() : start();
  if (begin == Time{} || limit() == kForever) return Time{};
  const Time end = later(begin, limit());
  return end == kNever ? Time{} : end;
}

Duration JobRow::elapsed() const {
  const Time begin = start();
  if (begin == Time{}) return Duration{};
  const Time until = over() ? workload_->ended : view_->now;
  return std::max(until - begin, Duration{});
}

Duration JobRow::limit() const {
  const Duration limit = workload_ ? workload_->limit : array_->limit;
  return limit >= kNoLimit ? kForever : limit;
}

Duration JobRow::time_left() const {
  return limit() == kForever ? kForever : std::max(limit() - elapsed(), Duration{});
}

// --- where and how much
// -----------------------------------------------------------------------------------

std::vector<Share> JobRow::shares() const {
  std::vector<Share> out;
  if (!workload_ || workload_->phase == Phase::pending) return out;
  if (workload_->current) {
    for (const NodeShare& share : workload_->current->shares)
      out.push_back({node_name(view_->state, share.node), &share});
    return out;
  }
  if (const PastAttempt* last = last_attempt(*workload_))
    for (std::size_t i = 0; i < last->shares.size(); ++i)
      out.push_back({i < last->nodes.size() ? last->nodes[i] : "", &last->shares[i]});
  return out;
}

std::string JobRow::nodes() const {
  std::vector<std::string> names;
  for (const Share& share : shares()) names.push_back(share.node);
  return fold_hosts_sorted(names);
}

std::string JobRow::first_node() const {
  const std::vector<Share> list = shares();
  return list.empty() ? "" : list.front().node;
}

std::int64_t JobRow::node_count() const {
  const std::size_t held = shares().size();
  return held > 0 ? static_cast<std::int64_t>(held) : asked_nodes(group());
}

std::int64_t JobRow::tasks() const { return tasks_of(group(), node_count()); }

std::int64_t JobRow::cpus() const {
  Quantity sum;
  const std::vector<Share> list = shares();
  for (const Share& share : list) sum += share.share->cpus;
  if (list.empty())
    sum = group().per_task.cpus * tasks() + group().per_node.cpus * asked_nodes(group());
  return std::max<std::int64_t>(sum.ceil(), 1);
}

std::int64_t JobRow::memory_mb() const {
  std::int64_t sum = 0;
  const std::vector<Share> list = shares();
  for (const Share& share : list) sum += share.share->memory;
  if (list.empty())
    sum = group().per_task.memory * tasks() + group().per_node.memory * asked_nodes(group());
  return to_mbytes(sum);
}

std::int64_t JobRow::gpus() const {
  const std::vector<Share> list = shares();
  if (list.empty()) return gpus_asked(group());
  std::int64_t sum = 0;
  for (const Share& share : list) sum += static_cast<std::int64_t>(share.share->gpus.size());
  return sum;
}

std::string JobRow::tres_asked() const {
  const TaskGroup& g = group();
  const std::int64_t nodes = asked_nodes(g);
  GpuCounts gpus;
  const std::int64_t tasks = tasks_of(g, nodes);
  count(gpus, g.per_task.gpus, tasks);
  count(gpus, g.per_node.gpus, nodes);
  count(gpus, g.gpus_in_all, 1);
  const std::int64_t cpus = (g.per_task.cpus * tasks + g.per_node.cpus * nodes).ceil();
  const std::int64_t memory = g.per_task.memory * tasks + g.per_node.memory * nodes;
  return tres_text(std::max<std::int64_t>(cpus, 1), to_mbytes(memory), nodes, gpus);
}

std::string JobRow::tres_held() const {
  const std::vector<Share> list = shares();
  if (list.empty()) return "";
  GpuCounts gpus;
  for (const Share& share : list) {
    const Node* node = find_node(view_->state, share.share->node);
    for (const DeviceIndex index : share.share->gpus)
      ++gpus[node && index < node->spec.devices.size() ? node->spec.devices[index].type : ""];
  }
  return tres_text(cpus(), memory_mb(), node_count(), gpus);
}

bool JobRow::emulated() const {
  for (const Share& share : shares()) {
    const Node* node = find_node(view_->state, share.share->node);
    for (const DeviceIndex index : share.share->gpus)
      if (node && index < node->spec.devices.size() && node->spec.devices[index].emulated)
        return true;
  }
  return false;
}

std::string JobRow::tres_per_node() const { return gres_text(group().per_node.gpus); }
std::string JobRow::tres_per_job() const { return gres_text(group().gpus_in_all); }
std::string JobRow::tres_per_task() const { return gres_text(group().per_task.gpus); }

bool JobRow::memory_is_per_cpu() const {
  return group().per_node.memory == 0 && !group().all_memory && group().per_task.memory > 0 &&
         group().per_task.cpus.floor() > 0;
}

std::string JobRow::min_memory() const {
  const TaskGroup& g = group();
  if (memory_is_per_cpu())
    return print_mbytes(to_mbytes(g.per_task.memory / g.per_task.cpus.ceil()));
  return g.per_node.memory == 0 ? "0" : print_mbytes(to_mbytes(g.per_node.memory));
}

}  // namespace phalanx::slurm
