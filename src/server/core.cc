#include "server/core.h"

#include <algorithm>

#include "base/codec.h"
#include "server/snapshot.h"

namespace phalanx::server {
namespace {

constexpr std::size_t kBatchEvents = 512;
constexpr std::size_t kBatchBytes = std::size_t{512} << 10;
constexpr std::size_t kMostWaiting = 10'000;
constexpr std::size_t kMostOnTheWay = 32;
constexpr std::int64_t kPlanBudget = 4'000;  // units, about 2 ms
constexpr int kMostDecisions = 256;  // inputs decided before the loop looks at sockets again
constexpr Duration kStandstill = seconds(30);

// On disk, and nobody has been told.
void crash_points_of(const std::vector<Event>& events) {
  for (const Event& event : events) {
    if (std::holds_alternative<Submitted>(event.what)) store::crash_point("after-submitted");
    if (std::holds_alternative<Placed>(event.what)) store::crash_point("after-placed");
    if (std::holds_alternative<Launched>(event.what)) store::crash_point("after-launched");
    if (std::holds_alternative<Ended>(event.what)) store::crash_point("after-ended");
    if (std::holds_alternative<Released>(event.what)) store::crash_point("after-released");
  }
}

}  // namespace

Core::Core(net::Loop& loop, store::Journal& journal, Outside outside)
    : loop_(loop),
      journal_(journal),
      outside_(std::move(outside)),
      open_(std::make_unique<Held>()) {
  writer_ = std::make_unique<store::JournalThread>(
      journal_, [this](std::function<void()> f) { loop_.post(std::move(f)); });
}

Core::~Core() { writer_.reset(); }

Time Core::now() { return std::max(state_.now, net::wall_now()); }

Status Core::recover() {
  Replayed replayed = TRY(replay(journal_));
  state_ = std::move(replayed.state);
  recovered_ = {replayed.snapshot, replayed.events, replayed.bytes, std::move(replayed.warnings)};
  heard_ = Heard{};
  planner_ = plan::Planner();
  wants_since_ = now();
  wake();
  return {};
}

void Core::put(Identity who, InputKind what, Done done, std::vector<store::Blob> blobs) {
  Waiting waiting{{Time{}, std::move(who), std::move(what)}, std::move(done), std::move(blobs)};
  if (refuse_when_full(waiting)) return;
  inputs_.push_back(std::move(waiting));
  wake();
}

void Core::after_commit(Done done) {
  open_->replies.emplace_back(std::move(done), Reply{});
  wake();
}

// Completions and cancels are always taken; new work only while there is room.
bool Core::refuse_when_full(const Waiting& waiting) {
  const auto* put = std::get_if<PutObject>(&waiting.input.what);
  const bool adds = std::holds_alternative<Submit>(waiting.input.what) ||
                    (put && !state_.objects.contains(put->object.key));
  const bool busy = inputs_.size() >= kMostWaiting;
  if (!adds || (!busy && refused_because_.empty())) return false;
  Reply reply;
  reply.error = unavailable(format("{}: temporarily unable to accept job, try again",
                                   busy ? "the controller is busy" : refused_because_));
  if (waiting.done)
    loop_.post([done = waiting.done, reply, sequence = state_.sequence] { done(reply, sequence); });
  return true;
}

void Core::wake() {
  if (turn_posted_ || failed_) return;
  turn_posted_ = true;
  loop_.post([this] {
    turn_posted_ = false;
    turn();
  });
}

// One turn: what has arrived, then the planner, then the batch goes to disk.
void Core::turn() {
  if (failed_ || on_the_way_.size() >= kMostOnTheWay) return;
  for (int i = 0; i < kMostDecisions && !inputs_.empty() && batch_.events.size() < kBatchEvents &&
                  batch_bytes_ < kBatchBytes;
       ++i) {
    Waiting waiting = std::move(inputs_.front());
    inputs_.pop_front();
    decide_one(waiting);
  }
  if (cluster::next_deadline(state_, heard_) <= now()) {
    Waiting tick{{Time{}, system_identity(), Tick{}}, {}, {}};
    decide_one(tick);
  }
  plan();
  flush();
  if (!inputs_.empty()) wake();
  set_timer();
}

void Core::decide_one(Waiting& waiting) {
  waiting.input.now = now();
  ++counters_.inputs;
  cluster::Batch result = cluster::step(
      state_, heard_, waiting.input,
      [&](const State& after, const Event& event) { planner_.observe(after, event); });
  for (Event& event : result.events) {
    batch_.events.push_back(codec::encode(event));
    batch_bytes_ += batch_.events.back().size();
    open_->events->push_back(std::move(event));
  }
  for (std::string& hash : result.unused_blobs) batch_.dropped_blobs.push_back(std::move(hash));
  // A refused submission leaves nothing behind, its blobs neither.
  if (!result.events.empty())
    for (store::Blob& blob : waiting.blobs) {
      batch_bytes_ += blob.bytes.size();
      batch_.blobs.push_back(std::move(blob));
    }
  open_->effects.insert(open_->effects.end(), result.effects.begin(), result.effects.end());
  if (waiting.done) open_->replies.emplace_back(std::move(waiting.done), std::move(result.reply));
}

void Core::plan() {
  const Time at = now();
  if (!planner_.wants_step(state_, at)) {
    wants_since_ = at;
    return;
  }
  plan::Steps steps = planner_.step(state_, at, kPlanBudget);
  if (steps.pass_complete) {
    wants_since_ = at;
    ++counters_.passes;
  }
  if (!steps.proposals.empty()) {
    Waiting propose{{Time{}, system_identity(), Propose{std::move(steps.proposals)}}, {}, {}};
    decide_one(propose);
  }
  if (planner_.wants_step(state_, now())) wake();
}

// What the journal keeps after a batch is exactly what State uses after it, whatever came and went
// within.
void Core::sort_blobs() {
  const auto used = [this](const std::string& hash) { return state_.blob_uses.contains(hash); };
  std::erase_if(batch_.dropped_blobs, used);
  std::erase_if(batch_.blobs, [&](const store::Blob& blob) { return !used(blob.id); });
}

// Sends the open batch to the journal. Replies and effects without events wait for what is on the
// way, so that nobody hears of a fact before it is on disk.
void Core::flush() {
  const bool news = planner_.outlook() != last_outlook_;
  if (batch_.events.empty() && open_->replies.empty() && open_->effects.empty() && !news) return;
  last_outlook_ = planner_.outlook();
  open_->outlook = last_outlook_;
  open_->last_sequence = state_.sequence;
  open_->sent = now();
  sort_blobs();
  for (const std::string& event : batch_.events) open_->bytes += event.size();
  const bool empty = batch_.events.empty();
  batch_.first_seq = state_.sequence - batch_.events.size() + 1;
  on_the_way_.push_back(std::move(open_));
  open_ = std::make_unique<Held>();
  store::Batch batch = std::move(batch_);
  batch_ = {};
  batch_bytes_ = 0;
  if (empty) {
    if (on_the_way_.size() == 1) settled({});
    return;
  }
  ++counters_.batches;
  counters_.events += batch.events.size();
  const bool taken =
      writer_->enqueue(std::move(batch), [this, generation = generation_](const Status& status) {
        if (generation == generation_) settled(status);
      });
  if (!taken) rebuild(unavailable("the journal does not keep up"));
}

void Core::settled(const Status& status) {
  if (!status.ok()) return rebuild(status.error());
  // The batch at the front, and every empty one right behind it.
  bool first = true;
  while (!on_the_way_.empty() && (first || on_the_way_.front()->events->empty())) {
    first = false;
    const std::unique_ptr<Held> held = std::move(on_the_way_.front());
    on_the_way_.pop_front();
    crash_points_of(*held->events);
    outside_.committed({held->last_sequence, held->events, held->outlook, held->bytes});
    for (auto& [done, reply] : held->replies) {
      store::crash_point("before-reply");
      done(reply, held->last_sequence);
      store::crash_point("after-reply");
    }
    for (const Effect& effect : held->effects) {
      store::crash_point("before-effect");
      outside_.effect(effect);
      store::crash_point("after-effect");
    }
  }
  if (!inputs_.empty() || !batch_.events.empty()) wake();
}

void Core::rebuild(const Error& why) {
  ++counters_.rebuilds;
  ++generation_;
  std::vector<Done> waiting;
  for (const auto& held : on_the_way_)
    for (const auto& reply : held->replies) waiting.push_back(reply.first);
  for (const auto& reply : open_->replies) waiting.push_back(reply.first);
  on_the_way_.clear();
  open_ = std::make_unique<Held>();
  batch_ = {};
  batch_bytes_ = 0;
  Reply reply;
  reply.error = unavailable("not recorded: " + why.message + "; try again");
  for (const Done& done : waiting) done(reply, 0);
  writer_->resume();
  const Status status = recover();
  failed_ = !status.ok();
  outside_.rebuilt(failed_ ? status.error() : why);
}

void Core::set_timer() {
  const Time at = now();
  const Time next =
      std::min(cluster::next_deadline(state_, heard_), planner_.next_wakeup(state_, at));
  if (next == kNever) return timer_.cancel();
  const Duration delay = std::clamp<Duration>(next - at, milliseconds(1), minutes(1));
  timer_ = loop_.after(delay, [this] { wake(); });
}

std::string Core::standstill(Time at) const {
  if (failed_) return "the journal cannot be read";
  if (!on_the_way_.empty() && at - on_the_way_.front()->sent > kStandstill)
    return "the journal takes nothing: look at the disk of the state directory";
  if (planner_.wants_step(state_, at) && at - wants_since_ > kStandstill)
    return "waiting work is not being looked at";
  return "";
}

}  // namespace phalanx::server
