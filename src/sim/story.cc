// The story: one line for each fact that people care about.
#include "sim/story.h"

#include <boost/describe.hpp>

#include <algorithm>

#include "base/text.h"
#include "sim/words.h"

namespace phalanx::sim {
namespace {

std::string cause(EndCause c) { return boost::describe::enum_to_string(c, "?"); }

// "failed, exit 3", "timeout", "node_failed: node n1: no word…"
std::string how(const End& end) {
  std::string text = cause(end.cause);
  if (end.cause == EndCause::completed) text.clear();
  if (end.cause == EndCause::failed && end.exit_code != 0)
    text += format(", exit {}", end.exit_code);
  if (end.cause == EndCause::failed && end.exit_code == 0 && end.exit_signal != 0)
    text += format(", signal {}", end.exit_signal);
  if (!end.detail.empty()) text += (text.empty() ? "" : ": ") + end.detail;
  return text;
}

}  // namespace

Story::Story(const Scenario& scenario, const World& world) : scenario_(scenario), world_(world) {}

void Story::tell(Time at, std::string what, std::string who, std::string where,
                 const std::string& why) {
  lines_.push_back({at, std::move(what), std::move(who), std::move(where), in_words(why)});
}

std::string Story::label(WorkloadId id) const {
  const auto it = labels_.find(id);
  return it == labels_.end() ? format("workload {}", id.value) : it->second;
}

std::string Story::in_words(const std::string& text) const {
  return name_jobs(relative_times(text, kStart), by_number_);
}

// "n1:8 n2:8": GPUs; "n1:4c": CPUs, where there are none.
std::string Story::shares(const State& s, const std::vector<NodeShare>& list) const {
  std::string out;
  for (const NodeShare& share : list) {
    const Node* node = find_node(s, share.node);
    out += out.empty() ? "" : " ";
    out += format("{}:", node ? node->spec.name : "?");
    out += share.gpus.empty() ? to_string(share.cpus) + "c" : format("{}", share.gpus.size());
  }
  return out;
}

void Story::committed(const State& after, const Event& event) {
  std::visit([&](const auto& what) { on(after, event.at, what); }, event.what);
}

// --- work

void Story::on(const State&, Time at, const Submitted& e) {
  const auto row = e.spec->asked.find("row");
  labels_[e.id] = row == e.spec->asked.end() ? e.spec->name : row->second;
  by_number_[e.number] = labels_[e.id];
  if (!e.array) lives_[e.id].submitted = at;
}

void Story::on(const State&, Time at, const Separated& e) {
  labels_[e.id] = format("{}_{}", label(e.array), e.index);
  by_number_[e.number] = labels_[e.id];
  lives_[e.id].submitted = at;
  promised_.erase(e.array);  // the promise was for this index
}

void Story::on(const State&, Time at, const Placed& e) {
  ++lives_[e.id].attempts;
  said_.erase(e.id);
  promised_.erase(e.id);
  for (const NodeShare& share : e.shares)
    bars_.push_back({share.node, label(e.id), static_cast<std::int64_t>(share.gpus.size()), at,
                     std::nullopt, e.id});
}

void Story::on(const State& s, Time at, const Launched& e) {
  Life& life = lives_[e.id];
  if (!life.started) life.started = at;
  const Workload* w = find_workload(s, e.id);
  const std::vector<NodeShare> none;
  const auto& list = w && w->current ? w->current->shares : none;
  tell(at, "start", label(e.id), shares(s, list));
}

void Story::on(const State&, Time at, const Ended& e) {
  said_.erase(e.id);
  promised_.erase(e.id);
  if (!e.again) lives_[e.id].ended = at;
  std::string why = how(e.end);
  if (e.again) {
    const std::string next = !e.again->hold.empty() ? "held: " + e.again->hold
                             : e.again->not_before > at
                                 ? "tries again at " + to_rfc3339(e.again->not_before)
                                 : "waits again";
    why = e.end.cause == EndCause::none ? "requeued; " + next : why + "; " + next;
  }
  const std::string who = label(e.id);
  if (!lines_.empty() && lines_.back() == Line{at, "stop", who, "", lines_.back().why})
    lines_.pop_back();  // it stopped at once
  tell(at, e.again ? "again" : "end", who, "", why);
}

void Story::on(const State& s, Time at, const Released& e) {
  for (Bar& bar : bars_)
    if (bar.id == e.id && bar.node == e.node && !bar.to) bar.to = at;
  const Workload* w = find_workload(s, e.id);
  if (w && !w->past.empty() && at > w->past.back().ended)
    tell(at, "free", label(e.id), node_names_[e.node]);
}

void Story::on(const State&, Time at, const Revived& e) {
  lives_[e.row.id].ended.reset();
  tell(at, "again", label(e.row.id), "", "requeued after its end; waits again");
}

void Story::on(const State& s, Time at, const Cancelled& e) {
  if (!e.indexes.empty()) {
    const Workload* record = find_workload(s, e.record);
    labels_[e.record] = format("{}_[{}]", label(e.id), record ? record->array_rest : "");
    lives_[e.record].ended = at;
    tell(at, "end", labels_[e.record], "", "cancelled");
    return;
  }
  const Workload* w = find_workload(s, e.id);
  if (!w || w->phase != Phase::running) return;
  tell(at, "stop", label(e.id), "", e.again ? "to be requeued" : cause(e.cause));
}

void Story::on(const State&, Time at, const Held& e) {
  said_.erase(e.id);
  tell(at, e.hold ? "hold" : "release", label(e.id), "", e.by_admin ? "by an administrator" : "");
}

void Story::on(const State&, Time at, const Updated& e) {
  std::string what;
  if (e.limit) what += format(" limit {}", to_string(*e.limit));
  if (e.priority) what += format(" priority {}", *e.priority);
  if (e.nice) what += format(" nice {}", *e.nice);
  tell(at, "update", label(e.id), "", std::string(trim(what)));
}

// A first promise shows in the reason; a later date is worth a line, for it must have a cause.
void Story::on(const State&, Time at, const Promised& e) {
  const auto before = promised_.find(e.id);
  if (before != promised_.end() && e.start > before->second)
    tell(at, "promise", label(e.id), "",
         format("moves from {} to {}: {}", to_rfc3339(before->second), to_rfc3339(e.start),
                e.cause));
  promised_[e.id] = e.start;
}

void Story::on(const State&, Time at, const Warned& e) {
  tell(at, "warn", label(e.id), "", "its limit is near");
}

// --- nodes

void Story::node_unusable(NodeId node, Time at, const std::string& mark) {
  for (const Bar& bar : bars_)
    if (!bar.id && bar.node == node && !bar.to && bar.name == mark) return;
  bars_.push_back({node, mark, 0, at, std::nullopt, {}});
}

void Story::node_usable(const State& s, NodeId node, Time at) {
  const Node& n = s.nodes.at(node);
  for (Bar& bar : bars_) {
    const bool still = bar.name == "/" ? n.drained : n.health != NodeHealth::up;
    if (!bar.id && bar.node == node && !bar.to && !still) bar.to = at;
  }
}

void Story::on(const State& s, Time at, const NodeJoined& e) {
  const bool first = node_names_.emplace(e.node, e.spec.name).second;
  if (first) nodes_.push_back(e.node);
  if (first && at > kStart) bars_.push_back({e.node, "x", 0, kStart, at, {}});
  node_usable(s, e.node, at);
  std::string why = e.note;
  if (!e.drain_reason.empty()) {
    why = "drained: " + e.drain_reason;
    node_unusable(e.node, at, "/");
  }
  if (!first || at > kStart || !why.empty()) tell(at, "join", e.spec.name, "", why);
}

void Story::on(const State&, Time at, const NodeChanged& e) {
  const auto usable =
      std::count_if(e.spec.devices.begin(), e.spec.devices.end(),
                    [](const Device& d) { return d.health == DeviceHealth::usable; });
  tell(at, "change", node_names_[e.node], "",
       format("{} of {} gpus usable", usable, e.spec.devices.size()));
}

void Story::on(const State&, Time at, const NodeSuspected& e) {
  node_unusable(e.node, at, "x");
  tell(at, "suspect", node_names_[e.node], "", e.why);
}

void Story::on(const State&, Time at, const NodeLost& e) {
  node_unusable(e.node, at, "x");
  tell(at, "lost", node_names_[e.node], "", e.why);
}

void Story::on(const State& s, Time at, const NodeReturned& e) {
  node_usable(s, e.node, at);
  tell(at, "return", node_names_[e.node]);
}

void Story::on(const State&, Time at, const NodeDrained& e) {
  node_unusable(e.node, at, "/");
  tell(at, "drain", node_names_[e.node], "", e.reason);
}

void Story::on(const State& s, Time at, const NodeUndrained& e) {
  node_usable(s, e.node, at);
  tell(at, "resume", node_names_[e.node]);
}

// --- moments

void Story::restarted() { tell(world_.now(), "restart", "controller"); }

void Story::refused(const std::string& what, const std::string& name, const std::string& why) {
  tell(world_.now(), "refuse", name, "", what.empty() ? why : what + ": " + why);
}

// At rest: who prepares still, and what is new about those who wait.
void Story::settled() {
  if (!world_.controller_up()) return;
  const State& s = world_.state();
  for (const WorkloadId id : s.preparing) {
    const Workload* w = find_workload(s, id);
    if (w && w->current && prepares_told_.emplace(id, w->current->number).second)
      tell(world_.now(), "prepare", label(id), shares(s, w->current->shares));
  }
  const auto outlook = world_.outlook();
  for (const WorkloadId id : s.pending) {
    const Reason reason = reason_of(*outlook, id);
    if (reason.code == ReasonCode::not_yet_considered) continue;
    std::string why = in_words(sentence(reason, reason.other ? label(reason.other) : ""));
    if (std::exchange(said_[id], why) != why) tell(world_.now(), "wait", label(id), "", why);
  }
}

}  // namespace phalanx::sim
