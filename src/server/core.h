// The loop around the core: inputs in order of arrival → decide → apply at once → one batch → disk
// → then, and only then, replies, effects and the copy for readers, in journal order.
//
// State may run ahead of the disk; nobody else does. A batch ends when no input is waiting, or at
// 512 events or 512 KB; the journal thread appends it while the next one is decided. If an append
// fails, State is thrown away and rebuilt from the journal, and everybody who waited gets the
// error.
//
// All methods belong to the loop thread. The journal, the archive and the loop must outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "cluster/cluster.h"
#include "net/net.h"
#include "plan/plan.h"
#include "store/store.h"

namespace phalanx::server {

// Events that are on disk, as readers get them. `outlook` is the newest at that moment.
struct Committed {
  std::uint64_t last_sequence = 0;
  std::shared_ptr<const std::vector<Event>> events;
  std::shared_ptr<const Outlook> outlook;
  std::size_t bytes = 0;  // of the events, as written
};

class Core {
 public:
  using Done = std::function<void(const Reply& reply, std::uint64_t sequence)>;  // after the commit

  struct Outside {  // what the world is told, on the loop thread, after the commit
    std::function<void(const Effect&)> effect;
    std::function<void(const Committed&)> committed;
    std::function<void(const Error&)>
        rebuilt;  // State was thrown away: tell everybody to come again
  };

  Core(net::Loop& loop, store::Journal& journal, Outside outside);
  ~Core();

  // Loads the newest snapshot and the events after it. To be called once, before anything else.
  Status recover();
  struct Recovered {  // how much there was to read
    std::uint64_t snapshot = 0, events = 0, bytes = 0;
    std::vector<std::string> warnings = {};  // snapshots that were passed over
  };
  [[nodiscard]] const Recovered& recovered() const { return recovered_; }

  // Queues an input; `done` may be empty. Blobs that State then uses are stored in the same commit
  // as its events; those that it uses no more are dropped in the commit that says so. Beyond 10,000
  // waiting inputs, or with too little disk, submissions are answered "try again".
  void put(Identity who, InputKind what, Done done = {}, std::vector<store::Blob> blobs = {});

  // From now on submissions and new objects are answered "try again", with the reason; "" takes
  // them again. Completions, cancels and deletions are always taken.
  void refuse_work(std::string why) { refused_because_ = std::move(why); }

  // Calls `done` when everything decided so far is on disk, or (with an error) lost.
  void after_commit(Done done);

  // As decided so far: for translating submissions and for orders to an agent that connects, never
  // for readers.
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] std::shared_ptr<const Outlook> outlook() const { return planner_.outlook(); }
  // For /readyz: why nothing that waits can start, as of `at`; empty: it can.
  [[nodiscard]] std::string standstill(Time at) const;
  [[nodiscard]] bool failed() const {
    return failed_;
  }  // the journal could not be read back: give up
  [[nodiscard]] Time now();

  struct Counters {
    std::uint64_t inputs = 0, batches = 0, events = 0, passes = 0, rebuilds = 0;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Waiting {
    Input input;
    Done done;
    std::vector<store::Blob> blobs;
  };
  struct Held {  // a batch on its way to the disk, and who waits for it
    std::vector<std::pair<Done, Reply>> replies;
    std::vector<Effect> effects;
    std::shared_ptr<std::vector<Event>> events = std::make_shared<std::vector<Event>>();
    std::shared_ptr<const Outlook> outlook;
    std::uint64_t last_sequence = 0;
    std::size_t bytes = 0;
    Time sent{};  // to the journal
  };
  void sort_blobs();
  void wake();
  void turn();
  void decide_one(Waiting& waiting);
  void plan();
  void flush();
  void settled(const Status& status);
  void rebuild(const Error& why);
  void set_timer();
  bool refuse_when_full(const Waiting& waiting);

  net::Loop& loop_;
  store::Journal& journal_;
  Outside outside_;
  State state_;
  Heard heard_;
  plan::Planner planner_;
  std::deque<Waiting> inputs_;
  std::unique_ptr<Held> open_;  // being decided
  store::Batch batch_;          // its bytes
  std::size_t batch_bytes_ = 0;
  std::deque<std::unique_ptr<Held>> on_the_way_;
  std::unique_ptr<store::JournalThread> writer_;
  net::Timer timer_;
  bool turn_posted_ = false;
  bool failed_ = false;
  std::uint64_t generation_ = 0;  // of State: outcomes of batches before a rebuild are old news
  Time wants_since_{};            // the planner, without finishing a pass
  std::shared_ptr<const Outlook> last_outlook_;
  std::string refused_because_;
  Recovered recovered_;
  Counters counters_;
};

}  // namespace phalanx::server
