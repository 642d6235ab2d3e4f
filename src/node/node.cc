#include "node/node.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

#include "base/text.h"

namespace phalanx::node {
namespace {

constexpr Duration kKillAgain =
    seconds(2);  // a process in uninterruptible sleep may need a second kill
constexpr Duration kGiveUpAfter = seconds(10);  // what cannot be killed
constexpr std::size_t kRememberReleased = 20'000;

void keep(Used& known, const Used& now) {
  if (now.user_ms) known.user_ms = now.user_ms;
  if (now.system_ms) known.system_ms = now.system_ms;
  if (now.memory_peak) known.memory_peak = now.memory_peak;
}

struct Attempt {
  LaunchOrder order;
  AttemptReport report;
  bool go = false;        // Go was received
  bool making = false;    // MakeRoom is under way
  bool room = false;      // its room exists
  bool starting = false;  // StartBatch is under way
  bool late = false;      // … or MakeRoom, for longer than it may take: it is being killed
  bool stopping = false;
  bool releasing = false;
  bool cleaning = false;  // CleanUp is under way
  Time kill_at = kNever;
  Time ready_by = kNever;           // when what is under way must be done
  Time stopped_at = kNever;         // when somebody stopped it
  std::optional<Time> began, over;  // of the script; else of Go, and of the last unit
  std::set<StepNumber> units;       // live
  std::map<StepNumber, Time> step_ends;
  [[nodiscard]] bool runs_by_itself() const {
    return order.first_node && order.kind != WorkloadKind::allocation;
  }
  // When its limit has passed (what ends at that very moment has ended in time); kNever: nothing
  // runs, or it is being stopped.
  [[nodiscard]] Time expires() const {
    const bool runs = began && !over && !stopping && !releasing;
    return runs ? later(later(*began, order.limit), milliseconds(1)) : kNever;
  }
  [[nodiscard]] std::string why_late() const {
    return format("not {} within {}", room ? "started" : "prepared",
                  to_string(order.prepare_limit));
  }
  [[nodiscard]] AttemptReport report_at(Time now) const {
    AttemptReport out = report;
    out.limit = order.limit;
    if (began) out.began_ago = std::max(now - *began, Duration(0));
    if (began && over) out.ran = std::max(*over - *began, Duration(0));
    for (StepExit& step : out.steps)
      step.ended_ago = std::max(now - step_ends.at(step.step), Duration(0));
    out.running_steps.clear();
    for (const StepNumber unit : units)
      if (unit != kBatchStep) out.running_steps.push_back(unit);
    return out;
  }
};

}  // namespace

struct Node::Machine {
  std::string boot, cluster;
  Time now{};  // of this call
  std::map<Fence, Attempt> attempts;
  std::map<WorkloadId, AttemptNumber> highest;   // seen
  std::map<WorkloadId, AttemptNumber> released;  // up to this one: never again
  std::vector<Action> out;

  void tell(const Attempt& a) { out.push_back(Tell{a.report_at(now)}); }
  void enter(Attempt& a, AttemptPhase phase, std::string detail) {
    a.report.phase = phase;
    a.report.detail = std::move(detail);
    tell(a);
  }
  // Says something of an attempt that it does not keep.
  void answer(const Fence& fence, AttemptPhase phase, std::string detail) {
    AttemptReport report;
    report.fence = fence;
    report.phase = phase;
    report.detail = std::move(detail);
    out.push_back(Tell{std::move(report)});
  }
  Attempt* find(const Fence& fence) {
    const auto it = attempts.find(fence);
    return it == attempts.end() ? nullptr : &it->second;
  }
  bool was_released(const Fence& fence) const {
    const auto it = released.find(fence.workload);
    return it != released.end() && fence.attempt <= it->second;
  }

  void prepare(const Prepare& order);
  void make_room(Attempt& a);
  void give_up(Attempt& a);
  void refuse(Attempt& a, std::string why);
  void release_earlier(const Fence& fence);
  void go(Attempt& a);
  void signal(Attempt& a, const SignalOrder& order);
  void stop(Attempt& a, Duration grace);
  void leave(Attempt& a, Time at, std::string detail);
  void expire(Attempt& a);
  void set_limit(Attempt& a, Duration limit);
  void release(Attempt& a);
  void clean(Attempt& a);
  static void measured(Attempt& a, StepNumber step, const Used& used);
  void room_made(Attempt& a, const RoomMade& result);
  void batch_started(Attempt& a, const BatchStarted& result);
  void unit_exited(Attempt& a, const UnitExited& result);
  void forget(const Fence& fence);
};

void Node::Machine::prepare(const Prepare& order) {
  const Fence& fence = order.fence;
  if (Attempt* known = find(fence)) {
    if (order.go)
      go(*known);
    else
      tell(*known);
    return;
  }
  if (was_released(fence)) return answer(fence, AttemptPhase::gone, "it was released here");
  AttemptNumber& highest_seen = highest[fence.workload];
  if (fence.attempt < highest_seen)
    return answer(fence, AttemptPhase::refused,
                  format("attempt {} came here before", highest_seen));
  highest_seen = fence.attempt;
  release_earlier(fence);
  Attempt& a = attempts[fence];
  a.order = order.order;
  a.go = order.go;
  a.report.fence = fence;
  enter(a, AttemptPhase::preparing, "making room");
  make_room(a);
}

void Node::Machine::make_room(Attempt& a) {
  a.making = true;
  a.ready_by = later(now, a.order.prepare_limit);
  out.push_back(MakeRoom{a.report.fence, a.order});
}

// What it waits for takes too long: it is killed. If that does not help either, a room in the
// making is given up, for nothing of the work itself can be running in it; what is starting is not,
// before it is known that it did not start.
void Node::Machine::give_up(Attempt& a) {
  a.ready_by = kNever;
  if (a.late) return refuse(a, a.why_late());
  a.late = true;
  if (a.making) a.ready_by = now + kGiveUpAfter;
  a.kill_at = now;
}

// Nothing of it runs here, or will.
void Node::Machine::refuse(Attempt& a, std::string why) {
  enter(a, AttemptPhase::refused, std::move(why));
  release(a);
}

// An earlier attempt must not live beside this one, nor start when this one is over.
void Node::Machine::release_earlier(const Fence& fence) {
  for (auto& [other, a] : attempts)
    if (other.workload == fence.workload && other.attempt < fence.attempt && !a.releasing)
      release(a);
}

void Node::Machine::go(Attempt& a) {
  a.go = true;
  if (a.report.phase != AttemptPhase::prepared || a.stopping || a.releasing || a.starting)
    return tell(a);
  if (!a.runs_by_itself()) {
    a.began = now;
    return enter(a, AttemptPhase::running, "");
  }
  a.starting = true;
  a.ready_by = later(now, a.order.prepare_limit);
  out.push_back(StartBatch{a.report.fence, a.order});
}

void Node::Machine::signal(Attempt& a, const SignalOrder& order) {
  for (const StepNumber unit : a.units) {
    const bool shell = unit == kBatchStep;
    if (order.step ? unit != *order.step
                   : (order.target == SignalTarget::steps && shell) ||
                         (order.target == SignalTarget::shell && !shell))
      continue;
    // A step's signal goes to all its processes; the shell's to the shell alone, unless its
    // children are meant too.
    out.push_back(SendSignal{
        {a.report.fence, unit}, order.signal, shell && order.target == SignalTarget::shell});
  }
}

void Node::Machine::stop(Attempt& a, Duration grace) {
  const bool nothing_here = !a.room && !a.making;
  if (a.stopping || a.releasing || nothing_here) return tell(a);
  a.stopping = true;
  a.stopped_at = now;
  a.kill_at = now + grace;
  for (const StepNumber unit : a.units) {
    out.push_back(SendSignal{{a.report.fence, unit}, SIGCONT, false});
    out.push_back(SendSignal{{a.report.fence, unit}, SIGTERM, false});
  }
  if (a.units.empty() && !a.starting && a.room) leave(a, now, "stopped");
}

// Nothing of it runs any more.
void Node::Machine::leave(Attempt& a, Time at, std::string detail) {
  if (a.began && !a.over) a.over = at;
  enter(a, AttemptPhase::exited, std::move(detail));
}

// The controller is away or late: the limit is kept here.
void Node::Machine::expire(Attempt& a) {
  out.push_back(Expired{a.report.fence});
  a.report.timed_out = true;
  tell(a);
  stop(a, a.order.grace);
}

void Node::Machine::set_limit(Attempt& a, Duration limit) {
  a.order.limit = limit;
  tell(a);
}

void Node::Machine::release(Attempt& a) {
  a.releasing = true;
  a.ready_by = kNever;
  a.stopped_at = std::min(a.stopped_at, now);
  if (a.report.phase == AttemptPhase::gone) return tell(a);
  if (!a.room && !a.cleaning && !a.making) return enter(a, AttemptPhase::gone, "");
  if (a.cleaning) return;        // RoomGone comes and goes on from there
  a.kill_at = now + kKillAgain;  // while a room is being made: its prolog; RoomMade goes on
  out.push_back(KillAll{a.report.fence});
}

void Node::Machine::clean(Attempt& a) {
  a.cleaning = true;
  a.kill_at = a.ready_by = kNever;
  out.push_back(CleanUp{a.report.fence});
}

void Node::Machine::room_made(Attempt& a, const RoomMade& result) {
  const std::string error = a.late ? a.why_late() : result.error;
  a.making = false;
  a.room = true;
  a.ready_by = kNever;
  if (a.releasing) return clean(a);
  if (!error.empty()) {
    enter(a, AttemptPhase::refused, error);
    return clean(a);
  }
  if (a.stopping) return enter(a, AttemptPhase::exited, "stopped before it began");
  enter(a, AttemptPhase::prepared, "prepared");
  if (a.go) go(a);
}

void Node::Machine::batch_started(Attempt& a, const BatchStarted& result) {
  if (a.report.phase == AttemptPhase::refused) return;  // it was late, and is killed
  a.starting = false;
  a.ready_by = kNever;
  if (!result.error.empty()) {
    a.report.user_fault = result.user_fault && !a.late;
    return refuse(a, a.late ? a.why_late() : result.error);
  }
  a.units.insert(kBatchStep);
  a.began = result.at.value_or(now);
  enter(a, AttemptPhase::running, "");
  if (a.releasing) {
    out.push_back(KillAll{a.report.fence});
  } else if (a.stopping) {  // the stop came while it was starting
    out.push_back(SendSignal{{a.report.fence, kBatchStep}, SIGCONT, false});
    out.push_back(SendSignal{{a.report.fence, kBatchStep}, SIGTERM, false});
  }
}

// Kept by step; what is not measured now may have been measured before.
void Node::Machine::measured(Attempt& a, StepNumber step, const Used& used) {
  if (used == Used{}) return;
  auto& list = a.report.steps_used;
  auto it = std::lower_bound(list.begin(), list.end(), step,
                             [](const StepUsed& s, StepNumber n) { return s.step < n; });
  if (it == list.end() || it->step != step) it = list.insert(it, {step, {}});
  keep(it->used, used);
}

void Node::Machine::unit_exited(Attempt& a, const UnitExited& result) {
  const bool started = result.unit.step != kBatchStep || !a.starting;
  if (a.units.erase(result.unit.step) == 0 && (started || !result.supervisor_lost)) return;
  measured(a, result.unit.step, result.used);
  a.report.out_of_memory =
      a.report.out_of_memory || (result.out_of_memory && result.unit.step == kBatchStep);
  // What was killed because it started too late has not come to an end of its own.
  a.report.supervisor_lost = a.report.supervisor_lost || result.supervisor_lost || a.late;
  if (result.unit.step == kBatchStep) {
    a.starting = false;
    a.ready_by = kNever;
    a.report.exit_code = result.exit_code;
    a.report.exit_signal = result.exit_signal;
    const Time at = result.at.value_or(now);
    a.report.by_itself = !a.report.supervisor_lost && at < a.stopped_at;
    if (a.report.by_itself) a.report.timed_out = false;
    return leave(a, at,
                 a.late                   ? a.why_late()
                 : result.supervisor_lost ? "its supervisor died"
                                          : "");
  }
  a.step_ends[result.unit.step] = result.at.value_or(now);
  a.report.steps.push_back(
      {result.unit.step, result.exit_code, result.exit_signal, result.out_of_memory, std::nullopt});
  if (a.stopping && a.units.empty() && a.report.phase == AttemptPhase::running &&
      !a.runs_by_itself())
    return leave(a, result.at.value_or(now), "stopped");
  tell(a);
}

void Node::Machine::forget(const Fence& fence) {
  const auto it = attempts.find(fence);
  if (it != attempts.end() && it->second.report.phase != AttemptPhase::gone) return;
  AttemptNumber& upto = released[fence.workload];
  upto = std::max(upto, fence.attempt);
  if (it != attempts.end()) attempts.erase(it);
  highest.erase(fence.workload);
  for (const auto& [other, a] : attempts)
    highest[other.workload] = std::max(highest[other.workload], other.attempt);
  while (released.size() > kRememberReleased) released.erase(released.begin());
}

Node::Node(std::string boot, std::string cluster) : machine_(std::make_unique<Machine>()) {
  machine_->boot = std::move(boot);
  machine_->cluster = std::move(cluster);
}
Node::~Node() = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(Node&&) noexcept = default;

const std::string& Node::cluster() const { return machine_->cluster; }

std::vector<Action> Node::order(Time now, const Order& order) {
  Machine& m = *machine_;
  m.now = now;
  m.out.clear();
  const Fence fence = std::visit([](const auto& o) { return o.fence; }, order);
  if (m.cluster.empty()) m.cluster = fence.cluster;
  if (fence.cluster != m.cluster || fence.boot != m.boot) {
    m.answer(fence, AttemptPhase::refused,
             fence.boot != m.boot ? "this machine has booted since"
                                  : "this node serves another cluster");
    return std::move(m.out);
  }
  if (const auto* prepare = std::get_if<Prepare>(&order)) {
    m.prepare(*prepare);
    return std::move(m.out);
  }
  if (std::holds_alternative<Forget>(order)) {
    m.forget(fence);
    return std::move(m.out);
  }
  Attempt* a = m.find(fence);
  if (!a) {  // nothing of it is here, and whoever still wants it to run must be told
    const bool over = std::holds_alternative<Release>(order) ||
                      std::holds_alternative<Stop>(order) || m.was_released(fence);
    if (over) {
      m.released[fence.workload] = std::max(m.released[fence.workload], fence.attempt);
      m.release_earlier(fence);
    }
    m.answer(fence, over ? AttemptPhase::gone : AttemptPhase::refused, "it is not on this node");
  } else if (std::holds_alternative<Go>(order)) {
    m.go(*a);
  } else if (const auto* signal = std::get_if<SignalOrder>(&order)) {
    m.signal(*a, *signal);
  } else if (const auto* stop = std::get_if<Stop>(&order)) {
    m.stop(*a, stop->grace);
  } else if (const auto* set = std::get_if<SetLimit>(&order)) {
    m.set_limit(*a, set->limit);
  } else {
    m.release(*a);
  }
  return std::move(m.out);
}

std::vector<Action> Node::os(Time now, const OsResult& result) {
  Machine& m = *machine_;
  m.now = now;
  m.out.clear();
  const Fence fence = std::visit(
      [](const auto& r) {
        if constexpr (requires { r.unit; })
          return r.unit.fence;
        else
          return r.fence;
      },
      result);
  Attempt* a = m.find(fence);
  if (!a) return {};
  if (const auto* made = std::get_if<RoomMade>(&result)) {
    m.room_made(*a, *made);
  } else if (const auto* started = std::get_if<BatchStarted>(&result)) {
    m.batch_started(*a, *started);
  } else if (const auto* began = std::get_if<StepBegan>(&result)) {
    a->units.insert(began->unit.step);
    m.tell(*a);
    if (a->stopping || a->releasing) m.out.push_back(SendSignal{began->unit, SIGTERM, false});
  } else if (const auto* exited = std::get_if<UnitExited>(&result)) {
    m.unit_exited(*a, *exited);
  } else if (const auto* now_used = std::get_if<Measured>(&result)) {
    keep(a->report.used, now_used->all);
    for (const StepUsed& unit : now_used->units)
      if (a->units.contains(unit.step)) m.measured(*a, unit.step, unit.used);
    if (a->report.phase == AttemptPhase::running) m.tell(*a);
  } else if (std::holds_alternative<RoomEmpty>(result)) {
    if (a->late && a->starting && !a->releasing) m.refuse(*a, a->why_late());
    if (a->releasing && !a->cleaning && a->room) m.clean(*a);
  } else if (const auto* gone = std::get_if<RoomGone>(&result)) {
    a->room = false;
    a->kill_at = kNever;
    if (a->began && !a->over) a->over = now;
    a->units.clear();
    keep(a->report.used, gone->used);
    const bool refused = a->report.phase == AttemptPhase::refused && !a->releasing;
    if (refused)
      m.tell(*a);  // stays refused until it is released
    else
      m.enter(*a, AttemptPhase::gone, "");
    a->cleaning = false;
  }
  return std::move(m.out);
}

std::vector<Action> Node::tick(Time now) {
  Machine& m = *machine_;
  m.now = now;
  m.out.clear();
  for (auto& [fence, a] : m.attempts) {
    if (now >= a.expires()) m.expire(a);
    if (now >= a.ready_by) m.give_up(a);
    if (now < a.kill_at) continue;
    a.kill_at = now + kKillAgain;
    m.out.push_back(KillAll{fence});
  }
  return std::move(m.out);
}

Time Node::next_deadline() const {
  Time next = kNever;
  for (const auto& [fence, a] : machine_->attempts)
    next = std::min({next, a.kill_at, a.ready_by, a.expires()});
  return next;
}

std::vector<AttemptReport> Node::reports(Time now) const {
  std::vector<AttemptReport> reports;
  for (const auto& [fence, a] : machine_->attempts) reports.push_back(a.report_at(now));
  return reports;
}

std::string Node::refuse_step(const StepGrant& grant) const {
  const auto it = machine_->attempts.find(grant.fence);
  if (it == machine_->attempts.end())
    return "the job does not run on this node, or no longer in this attempt";
  const Attempt& a = it->second;
  if (a.stopping || a.releasing) return "the job is being stopped";
  if (!a.go ||
      (a.report.phase != AttemptPhase::running && a.report.phase != AttemptPhase::prepared))
    return a.report.phase == AttemptPhase::preparing ? "the job is not ready on this node yet"
                                                     : "the job is over on this node";
  return "";
}

const LaunchOrder* Node::launch_order(const Fence& fence) const {
  const auto it = machine_->attempts.find(fence);
  return it == machine_->attempts.end() ? nullptr : &it->second.order;
}

std::vector<Action> Node::restore(Time now, const std::vector<Found>& found) {
  Machine& m = *machine_;
  m.now = now;
  m.out.clear();
  for (const Found& f : found) {
    Attempt& a = m.attempts[f.fence];
    a.order = f.order;
    a.go = f.went;
    a.report.fence = f.fence;
    a.room = true;
    a.units.insert(f.live_units.begin(), f.live_units.end());
    AttemptNumber& highest_seen = m.highest[f.fence.workload];
    highest_seen = std::max(highest_seen, f.fence.attempt);
    if (m.cluster.empty()) m.cluster = f.fence.cluster;
    if (!f.went) {  // rooms are made again: making one is idempotent
      a.report.phase = AttemptPhase::preparing;
      m.make_room(a);
      continue;
    }
    a.report.phase = AttemptPhase::running;
    if (!a.runs_by_itself()) a.began = f.went_at;
    // A batch script whose supervisor is not there any more is over: its intent says that it began.
    if (a.runs_by_itself() && !a.units.contains(kBatchStep)) {
      a.units.insert(kBatchStep);
      m.unit_exited(a, {{f.fence, kBatchStep}, 0, SIGKILL, false, true, {}});
    }
  }
  return std::move(m.out);
}

}  // namespace phalanx::node
