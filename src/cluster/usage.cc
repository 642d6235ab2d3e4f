#include "cluster/usage.h"

#include <algorithm>

#include "cluster/attempts.h"
#include "cluster/deadline.h"

namespace phalanx::cluster {
namespace {

constexpr Duration kReportEvery = minutes(5);

using Amount = std::optional<std::int64_t>;

// The larger of the two; nothing if that is what is known already, or no amount at all.
Amount more(const Amount& known, const Amount& said) {
  if (!said || *said < 0 || (known && *known >= *said)) return std::nullopt;
  return said;
}

Used news(const Used& known, const Used& said) {
  return {more(known.user_ms, said.user_ms), more(known.system_ms, said.system_ms),
          more(known.memory_peak, said.memory_peak)};
}

void raise(Used& known, const Used& said) {
  if (said.user_ms) known.user_ms = said.user_ms;
  if (said.system_ms) known.system_ms = said.system_ms;
  if (said.memory_peak) known.memory_peak = said.memory_peak;
}

Used known_of(const std::map<NodeId, Used>& used, NodeId node) {
  const auto it = used.find(node);
  return it == used.end() ? Used{} : it->second;
}

// What is known of a step there; nothing if it does not run there.
std::optional<Used> known_of_step(const Workload& w, NodeId node, StepNumber number) {
  if (number == kBatchStep) {
    const bool runs = w.current->shares.front().node == node;
    return runs ? std::optional(w.current->script_used) : std::nullopt;
  }
  const auto step = w.steps.find(number);
  if (step == w.steps.end()) return std::nullopt;
  const auto& shares = step->second.shares;
  const bool runs = std::any_of(shares.begin(), shares.end(),
                                [&](const StepShare& share) { return share.node == node; });
  return runs ? std::optional(known_of(step->second.used, node)) : std::nullopt;
}

}  // namespace

NodeUsed news_of(const Workload& w, NodeId node, const AttemptReport& report) {
  NodeUsed out{node, news(known_of(w.current->used, node), report.used), {}};
  std::map<StepNumber, Used> steps;  // said twice: the last word counts
  for (const StepUsed& step : report.steps_used) steps[step.step] = step.used;
  for (const auto& [number, said] : steps) {
    const std::optional<Used> known = known_of_step(w, node, number);
    if (!known) continue;
    const Used used = news(*known, said);
    if (!(used == Used{})) out.steps.push_back({number, used});
  }
  return out;
}

bool is_empty(const NodeUsed& used) { return used.all == Used{} && used.steps.empty(); }

void note_usage(Draft& d, const Workload& w) {
  if (w.phase != Phase::running || !w.current || !w.current->launched) return;
  if (later(std::max(w.current->used_at, *w.current->launched), kReportEvery) > d.now) return;
  UsageReported event{w.id, w.current->number, {}};
  for (const NodeShare& share : w.current->shares) {
    const auto* last = last_report(d.heard, w, share.node);
    if (!last || last->report.fence.boot != share.boot) continue;
    NodeUsed used = news_of(w, share.node, last->report);
    if (!is_empty(used)) event.nodes.push_back(std::move(used));
  }
  if (!event.nodes.empty()) d.say(std::move(event));
}

void take_usage(Workload& w, AttemptNumber attempt, const NodeUsed& used) {
  const auto take = [&](auto& row) {
    if (!(used.all == Used{})) raise(row.used[used.node], used.all);
    for (const StepUsed& step : used.steps)
      if (step.step == kBatchStep) raise(row.script_used, step.used);
  };
  if (w.current && w.current->number == attempt) take(*w.current);
  if (!w.past.empty() && w.past.back().number == attempt) take(w.past.back());
  if (w.attempts != attempt) return;
  for (const StepUsed& step : used.steps)
    if (const auto it = w.steps.find(step.step); it != w.steps.end())
      raise(it->second.used[used.node], step.used);
}

}  // namespace phalanx::cluster
