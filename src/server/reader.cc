#include "server/reader.h"

namespace phalanx::server {
namespace {

constexpr std::size_t kRing = 100'000;

}  // namespace

Reader::Reader(State state, store::Archive& archive) : archive_(archive), state_(std::move(state)) {
  thread_ = std::thread([this] { run(); });
}

Reader::~Reader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Reader::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || !work_.empty(); });
    if (work_.empty()) return;
    const std::function<void()> next = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    next();
    lock.lock();
  }
}

void Reader::publish(const Committed& committed) {
  const std::lock_guard lock(mutex_);
  work_.push_back([this, committed] { take(committed); });
  wake_.notify_one();
}

void Reader::replace(State state) {
  const std::lock_guard lock(mutex_);
  work_.push_back([this, state = std::move(state)]() mutable {
    state_ = std::move(state);
    ring_.clear();
  });
  wake_.notify_one();
}

void Reader::hear(const std::string& node, std::optional<Heartbeat> vitals) {
  const std::lock_guard lock(mutex_);
  work_.push_back([this, node, vitals] {
    if (vitals)
      vitals_[node] = *vitals;
    else
      vitals_.erase(node);
  });
  wake_.notify_one();
}

void Reader::ask(std::uint64_t at_least, Question question) {
  const std::lock_guard lock(mutex_);
  work_.push_back([this, at_least, question = std::move(question)] {
    if (state_.sequence >= at_least)
      question(view());
    else
      waiting_.emplace(at_least, question);
  });
  wake_.notify_one();
}

std::uint64_t Reader::watch(std::uint64_t since, Watcher watcher, std::function<void()> expired) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = next_watch_++;
  work_.push_back(
      [this, number, since, watcher = std::move(watcher), expired = std::move(expired)] {
        const std::uint64_t oldest = ring_.empty() ? state_.sequence + 1 : ring_.front().sequence;
        if (since != 0 && since + 1 < oldest) return expired();
        watchers_.emplace(number, watcher);
        if (since == 0) return;
        for (const Entry& entry : ring_)
          if (entry.sequence > since) watcher(view(), entry.event, entry.keys, entry.sequence);
      });
  wake_.notify_one();
  return number;
}

void Reader::unwatch(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  work_.push_back([this, number] { watchers_.erase(number); });
  wake_.notify_one();
}

View Reader::view() {
  return {state_, *outlook_, archive_, std::max(state_.now, net::wall_now()), vitals_};
}

void Reader::take(const Committed& committed) {
  if (committed.outlook) outlook_ = committed.outlook;
  for (const Event& event : *committed.events) {
    cluster::apply(state_, event);
    ring_.push_back({state_.sequence, event, cluster::touched(state_, event)});
    if (ring_.size() > kRing) ring_.pop_front();
    for (const auto& [number, watcher] : watchers_)
      watcher(view(), ring_.back().event, ring_.back().keys, state_.sequence);
  }
  while (!waiting_.empty() && waiting_.begin()->first <= state_.sequence) {
    const Question question = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    question(view());
  }
}

}  // namespace phalanx::server
