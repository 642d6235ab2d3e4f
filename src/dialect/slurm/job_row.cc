#include "dialect/slurm/job_row.h"

#include <algorithm>
#include <boost/describe/enum_to_string.hpp>
#include <tuple>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/translate.h"
#include "model/dependency.h"

namespace phalanx::slurm {
namespace {

bool before(const JobRow& a, const JobRow& b) {
  const auto key = [](const JobRow& row) {
    const bool rest = row.workload() == nullptr;
    const JobNumber number = row.array_number() != 0 ? row.array_number() : row.number();
    return std::tuple(number, rest, row.workload() ? row.workload()->array_index : 0,
                      row.workload() ? row.workload()->id : WorkloadId{});
  };
  return key(a) < key(b);
}

// A row for people to whom job numbers mean something: Pods have none.
bool has_number(const Workload& w) { return w.number != 0; }

void add_state(const View& view, const RowsWanted& wanted, JobRows& out) {
  for (const auto& [id, array] : view.state.arrays) {
    if (array.pending.empty()) continue;
    if (!wanted.each_index) {
      out.rows.emplace_back(view, array);
      continue;
    }
    for (const std::uint32_t index : array.pending) out.rows.emplace_back(view, array, index);
  }
  for (const auto& [id, w] : view.state.workloads)
    if (has_number(w)) out.rows.emplace_back(view, w);
}

void add_past(const View& view, const PastFilter& filter, JobRows& out) {
  for (Workload& w : view.past(filter))
    if (has_number(w) && w.spec && !view.state.workloads.contains(w.id))
      out.past.push_back(std::move(w));
  for (const Workload& w : out.past) out.rows.emplace_back(view, w);
}

}  // namespace

std::optional<JobName> parse_job_name(std::string_view text) {
  JobName name;
  if (const std::size_t dot = text.find('.'); dot != std::string_view::npos) {
    const std::string_view step = text.substr(dot + 1);
    const auto number = parse_uint(step);
    if (iequals(step, "batch"))
      name.step = kBatchStep;
    else if (number && *number < kBatchStep)
      name.step = static_cast<StepNumber>(*number);
    else
      return std::nullopt;
    text = text.substr(0, dot);
  }
  if (const std::size_t line = text.find('_'); line != std::string_view::npos) {
    const std::string_view indexes = text.substr(line + 1);
    if (indexes != "*") {
      const auto spec = parse_array(indexes);
      if (!spec.ok()) return std::nullopt;
      name.indexes = *spec;
    }
    text = text.substr(0, line);
  }
  const auto number = parse_uint(text);
  if (!number || *number == 0 || *number > 0xffffffff) return std::nullopt;
  name.number = static_cast<JobNumber>(*number);
  return name;
}

std::string step_name(StepNumber step) {
  return step == kBatchStep ? "batch" : std::to_string(step);
}

Target to_target(const JobName& name) {
  Target target;
  target.number = name.number;
  target.step = name.step;
  if (!name.indexes) return target;
  for (const IndexRange& range : name.indexes->ranges)
    for (std::uint64_t i = range.first; i <= range.last; i += std::max(range.step, 1U))
      target.indexes.push_back(static_cast<std::uint32_t>(i));
  return target;
}

JobRow::JobRow(const View& view, const Workload& workload)
    : view_(&view),
      workload_(&workload),
      array_(find_array(view.state, workload.array)),
      spec_(workload.spec.get()) {}

JobRow::JobRow(const View& view, const Array& array, std::optional<std::uint32_t> index)
    : view_(&view), array_(&array), spec_(array.spec.get()), index_(index) {}

// --- names
// -----------------------------------------------------------------------------------------------

JobNumber JobRow::number() const { return workload_ ? workload_->number : array_->number; }

JobNumber JobRow::array_number() const {
  return workload_ ? workload_->array_number : array_->number;
}

std::string JobRow::index_text(bool limit) const {
  if (workload_) {
    if (workload_->array_number == 0) return "";
    return workload_->array_rest.empty() ? std::to_string(workload_->array_index)
                                         : workload_->array_rest;
  }
  if (index_) return std::to_string(*index_);
  const std::vector<std::uint32_t> pending(array_->pending.begin(), array_->pending.end());
  return print_array({fold_indexes(pending), limit ? array_->at_once : 0});
}

std::string JobRow::id() const {
  if (array_number() == 0) return std::to_string(number());
  const bool several = workload_ ? !workload_->array_rest.empty() : !index_;
  return several ? format("{}_[{}]", array_number(), index_text())
                 : format("{}_{}", array_number(), index_text());
}

bool JobRow::is_named(const JobName& name) const {
  if (!name.indexes) {
    // Its own number, or its array's; an array's last element bears the array's.
    return number() == name.number || array_number() == name.number;
  }
  if (array_number() != name.number) return false;
  if (workload_)
    return workload_->array_rest.empty() && array_contains(*name.indexes, workload_->array_index);
  if (index_) return array_contains(*name.indexes, *index_);
  return std::any_of(array_->pending.begin(), array_->pending.end(),
                     [&](std::uint32_t i) { return array_contains(*name.indexes, i); });
}

// --- state
// -----------------------------------------------------------------------------------------------

std::string state_of(EndCause cause) {
  switch (cause) {
    case EndCause::none:
      return "PENDING";
    case EndCause::completed:
      return "COMPLETED";
    case EndCause::failed:
    case EndCause::launch_failed:
      return "FAILED";
    case EndCause::cancelled:
      return "CANCELLED";
    case EndCause::timeout:
      return "TIMEOUT";
    case EndCause::node_failed:
      return "NODE_FAIL";
    case EndCause::out_of_memory:
      return "OUT_OF_MEMORY";
    case EndCause::deadline:
      return "DEADLINE";
    case EndCause::preempted:
      return "PREEMPTED";
  }
  return "";
}

bool JobRow::pending() const { return !workload_ || workload_->phase == Phase::pending; }

bool JobRow::running() const {
  return workload_ && workload_->stop_since == Time{} &&
         (workload_->phase == Phase::running || workload_->phase == Phase::placed);
}

bool JobRow::over() const { return workload_ && workload_->phase == Phase::ended; }

std::string JobRow::base() const {
  if (pending()) return "PENDING";
  if (running()) return "RUNNING";
  return state_of(over() ? workload_->end.cause : workload_->stop_cause);
}

std::string JobRow::state() const {
  if (pending()) return "PENDING";
  if (running()) return workload_->phase == Phase::placed ? "CONFIGURING" : "RUNNING";
  return workload_->current ? "COMPLETING" : base();
}

std::string JobRow::compact() const {
  const auto name = find_job_state(state());
  return name ? std::string(name->compact) : state();
}

Reason JobRow::why() const {
  const bool user = workload_ ? workload_->held_by_user : array_->held_by_user;
  const bool admin = workload_ ? workload_->held_by_admin : array_->held_by_admin;
  Reason reason = reason_of(view_->outlook, workload_ ? workload_->id : array_->id);
  // Holds are facts of State; the planner's word may be older.
  if (workload_ && !workload_->held_why.empty()) {
    reason.code = ReasonCode::held_by_cluster;
    reason.detail = workload_->held_why;
  }
  if (user) reason.code = ReasonCode::held_by_user;
  if (admin) reason.code = ReasonCode::held_by_admin;
  return reason;
}

std::string JobRow::reason() const {
  if (pending()) {
    const Reason reason = why();
    const bool held =
        reason.code == ReasonCode::held_by_user || reason.code == ReasonCode::held_by_admin;
    if (held && workload_ && !workload_->past.empty()) return "job requeued in held state";
    return reason_word(reason);
  }
  if (!over()) return "None";
  const End& end = workload_->end;
  constexpr std::int32_t kCouldNotLaunch = 53;  // 0:53, as Slurm shows it
  switch (end.cause) {
    case EndCause::launch_failed:
      return "JobLaunchFailure";
    case EndCause::failed:
      return end.exit_signal == kCouldNotLaunch ? "JobLaunchFailure" : "NonZeroExitCode";
    case EndCause::timeout:
      return "TimeLimit";
    case EndCause::out_of_memory:
      return "OutOfMemory";
    case EndCause::node_failed:
      return "NodeDown";
    case EndCause::deadline:
      return "Deadline";
    default:
      return "None";
  }
}

std::string reason_word(const Reason& reason) {
  switch (reason.code) {
    case ReasonCode::not_yet_considered:
      return "None";
    case ReasonCode::held_by_user:
      return "JobHeldUser";
    case ReasonCode::held_by_admin:
      return "JobHeldAdmin";
    case ReasonCode::held_by_cluster:
      return "launch failed requeued held";
    case ReasonCode::begin_time:
    case ReasonCode::backoff:
      return "BeginTime";
    case ReasonCode::dependency:
      return "Dependency";
    case ReasonCode::dependency_never:
      return "DependencyNeverSatisfied";
    case ReasonCode::array_limit:
      return "JobArrayTaskLimit";
    case ReasonCode::partition_down:
      return "PartitionDown";
    case ReasonCode::partition_nodes:
      return "PartitionNodeLimit";
    case ReasonCode::partition_time:
      return "PartitionTimeLimit";
    case ReasonCode::constraints:
      return "BadConstraints";
    case ReasonCode::nodes_unavailable:
      return "ReqNodeNotAvail, UnavailableNodes:" + fold_hosts_sorted(reason.nodes);
    case ReasonCode::resources:
      return "Resources";
    case ReasonCode::priority:
    case ReasonCode::would_delay:
      return "Priority";
    case ReasonCode::cleaning:
      return "Cleaning";
    case ReasonCode::unconfirmed:
      return "NodeDown";
  }
  return "None";
}

std::string JobRow::reason_or_nodes() const {
  if (pending() || (over() && shares().empty())) return "(" + reason() + ")";
  return nodes();
}

std::int64_t JobRow::priority() const {
  const auto it = view_->outlook.waits.find(workload_ ? workload_->id : array_->id);
  const bool held = workload_ ? workload_->held_by_user || workload_->held_by_admin
                              : array_->held_by_user || array_->held_by_admin;
  if (pending() && held) return 0;
  const auto by_hand = workload_ ? workload_->priority : array_->priority;
  if (by_hand) return *by_hand;
  return it != view_->outlook.waits.end() ? it->second.priority : 1;
}

// The number of the job that a dependency is on, also when that has left State.
std::string dependency_name(const WorkloadSpec& spec, std::size_t index) {
  const auto it = spec.asked.find(kDependencyNames);
  if (it == spec.asked.end()) return "";
  const auto names = split(it->second, ',');
  return index < names.size() ? std::string(names[index]) : "";
}

std::string other_name(const State& state, WorkloadId id, const WorkloadSpec& waiting) {
  if (const Workload* w = find_workload(state, id)) {
    if (w->array_number != 0) return format("job {}_{}", w->array_number, w->array_index);
    return w->number != 0 ? format("job {}", w->number) : "pod " + w->spec->name;
  }
  if (const Array* array = find_array(state, id)) return format("job {}", array->number);
  for (std::size_t i = 0; i < waiting.dependencies.size(); ++i) {
    const phalanx::Dependency& d = waiting.dependencies[i];
    const std::string name = dependency_name(waiting, i);
    if (d.on == id && !name.empty()) return "job " + name;
  }
  return "";
}

std::string JobRow::one_dependency(std::size_t index) const {
  const phalanx::Dependency& d = spec_->dependencies[index];
  const WorkloadId self = workload_ ? workload_->id : array_->id;
  const Verdict verdict = dependence_on(view_->state, d, *spec_, self, view_->now).verdict;
  if (verdict == Verdict::satisfied) return "";
  std::string out = boost::describe::enum_to_string(d.kind, "");
  if (d.kind != phalanx::DependencyKind::singleton) {
    JobNumber on = 0;
    if (const Workload* w = find_workload(view_->state, d.on)) on = w->number;
    if (const Array* array = find_array(view_->state, d.on)) on = array->number;
    out += ":" + (on == 0 ? dependency_name(*spec_, index) : format("{}", on));
    if (on != 0 && d.index) out += format("_{}", *d.index);
  }
  if (d.kind == phalanx::DependencyKind::aftercorr) out += "_*";
  if (d.delay != Duration{})
    out += format("+{}", std::chrono::duration_cast<minutes>(d.delay).count());
  return out + (verdict == Verdict::never ? "(failed)" : "(unfulfilled)");
}

std::string JobRow::dependency() const {
  std::string out;
  const WorkloadId self = workload_ ? workload_->id : array_->id;
  if (!pending() ||
      dependence(view_->state, *spec_, self, view_->now).verdict == Verdict::satisfied)
    return out;
  for (std::size_t i = 0; i < spec_->dependencies.size(); ++i) {
    const std::string one = one_dependency(i);
    if (one.empty()) continue;
    if (!out.empty()) out += spec_->dependencies[i - 1].any ? '?' : ',';
    out += one;
  }
  return out;
}

ExitCode JobRow::exit_code() const {
  if (!over()) return {};
  return {workload_->end.exit_code, workload_->end.exit_signal};
}

std::string JobRow::output(const std::string& pattern, bool error_file) const {
  std::string name = pattern;
  if (name.empty() && error_file) return output(spec_->launch.std_out, false);
  if (name.empty()) name = array_number() != 0 ? "slurm-%A_%a.out" : "slurm-%j.out";
  PatternValues values;
  values.job_name = spec_->name;
  values.user = spec_->owner.user;
  values.node_name = first_node();
  values.job_id = number();
  values.array_job_id = array_number();
  if (array_number() != 0 && workload_) values.array_index = workload_->array_index;
  if (index_) values.array_index = index_;
  values.restarts = workload_ ? workload_->restarts : 0;
  name = expand_pattern(name, values);
  return name.starts_with('/') ? name : spec_->launch.work_dir + "/" + name;
}

// --- collections
// ----------------------------------------------------------------------------------------

JobRows job_rows(const View& view, const RowsWanted& wanted) {
  JobRows out;
  add_state(view, wanted, out);
  if (wanted.past) add_past(view, *wanted.past, out);
  std::sort(out.rows.begin(), out.rows.end(), before);
  return out;
}

JobRows find_jobs(const View& view, const std::vector<JobName>& names, bool with_past,
                  std::vector<JobName>& unknown) {
  RowsWanted wanted;
  if (with_past) {
    wanted.past.emplace();
    for (const JobName& name : names) wanted.past->numbers.push_back(name.number);
  }
  JobRows all = job_rows(view, wanted);
  std::vector<bool> seen(names.size(), false);
  std::erase_if(all.rows, [&](const JobRow& row) {
    bool named = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!row.is_named(names[i])) continue;
      named = true;
      seen[i] = true;
    }
    return !named;
  });
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!seen[i]) unknown.push_back(names[i]);
  return all;
}

}  // namespace phalanx::slurm
