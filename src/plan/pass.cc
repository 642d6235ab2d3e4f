#include "plan/pass.h"

#include <algorithm>
#include <utility>

#include "base/codec.h"

namespace phalanx::plan {
namespace {

constexpr std::int64_t kLook = 1;      // units of work: one candidate tried now
constexpr std::int64_t kPromise = 16;  // one walk along the timeline

// Requests that fit or do not fit alike: the same group, partition and length, nothing of their own
// to avoid.
std::string class_of(const Candidate& c) {
  std::string key = c.spec->partition + '\n';
  codec::encode_to(key, c.limit);
  codec::encode_to(key, c.group());
  if (c.workload && !c.workload->avoid.empty()) codec::encode_to(key, c.workload->avoid);
  return key;
}

Time whole_second(Time t) {
  return t == kNever ? t : Time(std::chrono::ceil<seconds>(t.time_since_epoch()));
}

}  // namespace

Pass::Pass(const State& state, Time now)
    : state_(state),
      now_(now),
      timeline_(state, now),
      empty_(state),
      promises_left_(state.config.policy.promises) {
  outlook_->sequence = state.sequence;
  outlook_->at = now;
  for (const WorkloadId id : state.pending) {
    const auto c = candidate(state, id);
    if (!c) continue;
    const Item item{turn(state, now, *c), id};
    if (auto reason = not_eligible(state, now, *c)) {
      wakeup_ = std::min(wakeup_, eligible_again(state, now, *c));
      if (const auto& before = *c->promise; before && before->start != kNever)
        withdrawn_.push_back(PromiseProposal{id, kNever, sentence(*reason, "other work")});
      wait(item, std::move(*reason));
    } else {
      queue_.push_back(item);
    }
  }
  std::sort(queue_.begin(), queue_.end(),
            [](const Item& a, const Item& b) { return queue::before(a.turn, b.turn); });
}

bool Pass::go_on(std::int64_t budget, std::vector<Proposal>& proposals) {
  for (Proposal& withdrawn : std::exchange(withdrawn_, {}))
    proposals.push_back(std::move(withdrawn));
  while (budget > 0 && cursor_ < queue_.size()) budget -= consider(queue_[cursor_++], proposals);
  return cursor_ == queue_.size();
}

std::shared_ptr<const Outlook> Pass::finish() { return outlook_; }

void Pass::wait(const Item& item, Reason reason) {
  outlook_->waits[item.id] = {std::move(reason), 0, item.turn.priority};
}

// Tries one candidate; returns the units it cost.
std::int64_t Pass::consider(const Item& item, std::vector<Proposal>& proposals) {
  const auto c = candidate(state_, item.id);
  if (!c || not_eligible(state_, now_, *c))
    return kLook;  // something happened since the pass began
  if (c->workload && array_full(*c)) {
    Reason reason;
    reason.code = ReasonCode::array_limit;
    wait(item, reason);
    return kLook;
  }
  if (c->array) {
    static const std::optional<Promise> kNone;
    const std::size_t before = proposals.size();
    const std::int64_t cost = start_elements(*c, proposals);
    if (outlook_->waits.contains(item.id)) return cost;
    Candidate rest = *c;
    if (proposals.size() > before) rest.promise = &kNone;  // it was for an index that starts now
    return cost + block(rest, item, proposals);
  }
  const bool may_start =
      head_.empty() || state_.config.policy.backfill || !head_.contains(c->spec->partition);
  if (may_start && start(*c, std::nullopt, proposals)) return kLook;
  return kLook + block(*c, item, proposals);
}

bool Pass::array_full(const Candidate& c) const {
  const Array* array = c.of_array(state_);
  if (!array || array->at_once == 0) return false;
  const auto it = started_.find(array->id);
  return array->busy + (it == started_.end() ? 0 : it->second) >= array->at_once;
}

// Starts indexes of an array, in order, until one does not fit. An array that is used up or at its
// %limit needs no further look: it has its reason then, or none.
std::int64_t Pass::start_elements(const Candidate& c, std::vector<Proposal>& proposals) {
  std::int64_t cost = 0;
  for (const std::uint32_t index : c.array->pending) {
    if (array_full(c)) {
      Reason reason;
      reason.code = ReasonCode::array_limit;
      wait({turn(state_, now_, c), c.id}, reason);
      return cost + kLook;
    }
    cost += kLook;
    if (!start(c, index, proposals)) return cost;
  }
  outlook_->waits[c.id] = {Reason{}, 0,
                           0};  // all of it starts: a reason only until that is decided
  return cost;
}

bool Pass::start(const Candidate& c, std::optional<std::uint32_t> index,
                 std::vector<Proposal>& proposals) {
  if (blocked_classes_.contains(class_of(c))) return false;
  auto shares = timeline_.fit_now(c.scope(state_), c.group(), c.limit);
  if (!shares) return false;
  timeline_.start(c.id, *shares, later(later(now_, c.limit), state_.config.timers.over_time_limit));
  proposals.push_back(PlaceProposal{c.id, index, std::move(*shares)});
  if (const Array* array = c.of_array(state_)) ++started_[array->id];
  return true;
}

// It cannot start: promises it a date if its turn is near enough, and says why it waits.
std::int64_t Pass::block(const Candidate& c, const Item& item, std::vector<Proposal>& proposals) {
  const std::uint32_t position = ++position_[c.spec->partition];
  const auto settle = [&](Reason reason, std::int64_t cost) {
    outlook_->waits[item.id] = {std::move(reason), position, item.turn.priority};
    return cost;
  };
  const std::string kind = class_of(c);
  const bool promised = c.promise->has_value() || promises_left_ > 0;
  if (const auto known = blocked_classes_.find(kind);
      known != blocked_classes_.end() && !promised) {
    Reason reason = known->second;
    if (reason.code ==
        ReasonCode::resources) {  // the first of the class is in line before this one
      reason.code = ReasonCode::priority;
      reason.other = head_.at(c.spec->partition);
    }
    return settle(std::move(reason), kLook);
  }
  Reason reason;
  if (auto never = cannot_run(state_, c, empty_)) {
    withdraw(c, proposals);
    blocked_classes_.emplace(kind, *never);
    return settle(std::move(*never), kLook);
  }
  const place::Shortage shortage =
      place::shortage(timeline_.now_board(), c.scope(state_), c.group());
  reason.needed = shortage.needed;
  reason.free = shortage.free;
  if (const auto other = timeline_.in_the_way(c.scope(state_), c.group(), c.limit)) {
    reason.code = ReasonCode::would_delay;
    reason.other = *other;
  } else if (const auto head = head_.find(c.spec->partition); head != head_.end()) {
    reason.code = ReasonCode::priority;
    reason.other = head->second;
  } else {
    reason.code = ReasonCode::resources;
  }
  head_.emplace(c.spec->partition, c.id);
  blocked_classes_.emplace(kind, reason);  // without the date, which is this one's alone
  if (promised) reason.earliest = promise(c, proposals);
  return settle(std::move(reason), promised ? kPromise : kLook);
}

// Reserves the earliest opening on the timeline and, if the date differs from what was said before,
// says so.
std::optional<Time> Pass::promise(const Candidate& c, std::vector<Proposal>& proposals) {
  if (promises_left_ > 0) --promises_left_;
  auto opening = timeline_.earliest(c.scope(state_), c.group(), c.limit, now_);
  if (!opening) {
    withdraw(c, proposals);
    return std::nullopt;
  }
  const Time start = whole_second(opening->start);
  timeline_.promise(c.id, std::move(opening->shares), opening->start,
                    later(opening->start, c.limit));
  wakeup_ = std::min(wakeup_, start > now_ ? start : now_ + seconds(1));
  const std::optional<Promise>& before = *c.promise;
  if (!before || start < before->start) {
    proposals.push_back(PromiseProposal{c.id, start, ""});
  } else if (start > before->start) {
    proposals.push_back(PromiseProposal{c.id, start, why_later(state_, now_, *before, c.id)});
  }
  return start;
}

// No start can be foreseen any more: what was promised is taken back, and why is recorded.
void Pass::withdraw(const Candidate& c, std::vector<Proposal>& proposals) const {
  const std::optional<Promise>& before = *c.promise;
  if (!before || before->start == kNever) return;
  proposals.push_back(PromiseProposal{c.id, kNever, why_later(state_, now_, *before, c.id)});
}

}  // namespace phalanx::plan
