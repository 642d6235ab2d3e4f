#include <algorithm>

#include "place/place.h"

namespace phalanx::place {
namespace {

bool sooner(Time a_end, WorkloadId a, Time b_end, WorkloadId b) {
  return std::pair(a_end, a) < std::pair(b_end, b);
}

// Work past its limit is being stopped: it is expected to be gone soon, but not at once.
constexpr Duration kOverdue = seconds(1);

// Shares not yet confirmed gone.
std::vector<NodeShare> held(const Attempt& attempt) {
  std::vector<NodeShare> shares;
  for (const NodeShare& share : attempt.shares)
    if (!attempt.released.contains(share.node)) shares.push_back(share);
  return shares;
}

// The next of since + 1 s, 2 s, 4 s, …: promises behind work that does not go move that often, and
// no more.
Time next_guess(Time since, Time now) {
  Duration wait = kOverdue;
  while (since + wait <= now) wait *= 2;
  return since + wait;
}

// Since when it should be gone; kNever: it is not over.
Time over_since(const Workload& w) {
  if (w.phase == Phase::ended) return w.ended;
  if (w.phase == Phase::pending) return w.past.empty() ? Time{} : w.past.back().ended;
  return w.stop_since != Time{} ? w.stop_since : kNever;
}

Time expected_end(const State& state, const Workload& w, Time now) {
  if (const Time since = over_since(w); since != kNever) return next_guess(since, now);
  const Time end =
      later(later(w.current->launched.value_or(std::max(w.current->placed, now)), w.limit),
            state.config.timers.over_time_limit);
  return end > now ? end : next_guess(end, now);
}

}  // namespace

Timeline::Timeline(const State& state, Time now) : now_(now), board_(Board::now(state)) {
  std::set<WorkloadId> seen;
  for (const auto& [node, use] : state.use)
    for (const WorkloadId id : use.holders) {
      if (!seen.insert(id).second) continue;
      const Workload* w = find_workload(state, id);
      if (!w || !w->current) continue;
      const Time end = expected_end(state, *w, now);
      if (end != kNever) running_.push_back({id, held(*w->current), now, end});
    }
  std::sort(running_.begin(), running_.end(),
            [](const Hold& a, const Hold& b) { return sooner(a.end, a.id, b.end, b.id); });
}

void Timeline::start(WorkloadId id, std::vector<NodeShare> shares, Time end) {
  board_.take(shares);
  if (end == kNever) return;
  Hold hold{id, std::move(shares), now_, end};
  const auto at = std::upper_bound(
      running_.begin(), running_.end(), hold,
      [](const Hold& a, const Hold& b) { return sooner(a.end, a.id, b.end, b.id); });
  running_.insert(at, std::move(hold));
}

void Timeline::promise(WorkloadId id, std::vector<NodeShare> shares, Time start, Time end) {
  promised_.push_back({id, std::move(shares), start, end});
}

Board Timeline::at(Time t) const {
  Board board = board_;
  for (const Hold& hold : running_) {
    if (hold.end > t) break;
    board.give(hold.shares);
  }
  for (const Hold& hold : promised_)
    if (hold.start <= t && t < hold.end) board.take(hold.shares);
  return board;
}

// Between two starts of promised work, capacity only grows: the moments that count are t and those
// starts.
Board Timeline::over(Time t, Duration length) const {
  Board board = at(t);
  for (const Hold& hold : promised_)
    if (hold.start > t && hold.start < later(t, length)) board.intersect(at(hold.start));
  return board;
}

std::optional<std::vector<NodeShare>> Timeline::fit_now(const Scope& scope, const TaskGroup& group,
                                                        Duration length) const {
  if (promised_.empty()) return fit(board_, scope, group);
  return fit(over(now_, length), scope, group);
}

std::optional<WorkloadId> Timeline::in_the_way(const Scope& scope, const TaskGroup& group,
                                               Duration length) const {
  Board board = board_;
  if (!fit(board, scope, group)) return std::nullopt;
  for (const Hold& hold : promised_) {
    if (hold.start >= later(now_, length)) continue;
    board.intersect(at(std::max(hold.start, now_)));
    if (!fit(board, scope, group)) return hold.id;
  }
  return std::nullopt;
}

std::optional<Timeline::Opening> Timeline::earliest(const Scope& scope, const TaskGroup& group,
                                                    Duration length, Time not_before) const {
  // Something changes for the better only when running or promised work ends.
  std::vector<Time> moments{std::max(now_, not_before)};
  for (const Hold& hold : running_) moments.push_back(hold.end);
  for (const Hold& hold : promised_)
    if (hold.end != kNever) moments.push_back(hold.end);
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  for (const Time t : moments) {
    if (t < moments.front() || t < now_ || t < not_before) continue;
    if (auto shares = fit(over(t, length), scope, group)) return Opening{t, std::move(*shares)};
  }
  return std::nullopt;
}

}  // namespace phalanx::place
