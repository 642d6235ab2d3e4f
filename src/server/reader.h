// The readers' own State, on a thread of its own: the same committed events are applied a second
// time, so that a thousand users who poll never delay a decision. All GETs, watches and printed
// answers come from here.
//
// A question names the sequence number it must not be older than (its own last write); it is
// answered once the thread has applied that far. Watches hear of each batch after it was applied.
// Kept in the ring: the last 100,000 events, for watches that go on from a sequence number; older
// ones must list again.
//
// What nodes say of their load is heard here and nowhere else: it is no fact, and nothing waits for
// it.
//
// publish(), hear(), ask() and watch() are thread-safe and return at once; the callbacks run on the
// reader's thread and must not block. The archive must outlive it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cluster/cluster.h"
#include "server/core.h"

namespace phalanx::server {

// What a reader sees: valid only inside the callback.
struct View {
  const State& state;
  const Outlook& outlook;
  store::Archive& archive;
  Time now;
  const std::map<std::string, Heartbeat>& vitals;  // by name; of the nodes that are connected
};

class Reader {
 public:
  using Question = std::function<void(const View&)>;
  // One event that was applied and what it touches; `view` is the State after it.
  using Watcher = std::function<void(const View&, const Event&, const std::vector<cluster::Key>&,
                                     std::uint64_t sequence)>;

  Reader(State state, store::Archive& archive);
  ~Reader();

  void publish(const Committed& committed);
  void replace(State state);                                            // after a rebuild
  void hear(const std::string& node, std::optional<Heartbeat> vitals);  // none: it is silent
  void ask(std::uint64_t at_least, Question question);

  // Hears of every event after `since` (0: from now on), first those in the ring. `expired` is
  // called instead if the ring does not go back that far. The number ends it.
  std::uint64_t watch(std::uint64_t since, Watcher watcher, std::function<void()> expired);
  void unwatch(std::uint64_t number);

 private:
  struct Entry {
    std::uint64_t sequence = 0;
    Event event;
    std::vector<cluster::Key> keys;
  };
  void run();
  void take(const Committed& committed);
  View view();

  store::Archive& archive_;
  State state_;
  std::shared_ptr<const Outlook> outlook_ = std::make_shared<Outlook>();
  std::map<std::string, Heartbeat> vitals_;
  std::deque<Entry> ring_;
  std::multimap<std::uint64_t, Question> waiting_;  // by the sequence they wait for
  std::map<std::uint64_t, Watcher> watchers_;

  std::mutex mutex_;  // guards the two below
  std::deque<std::function<void()>> work_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::uint64_t next_watch_ = 1;
  std::thread thread_;
};

}  // namespace phalanx::server
