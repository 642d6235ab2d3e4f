#include "sim/world.h"

#include "base/codec.h"
#include "base/text.h"

namespace phalanx::sim {
namespace {

constexpr int kMostAtOneInstant = 20'000;  // more means that something chases its own tail
constexpr std::size_t kMostProblems = 20;
constexpr int kMostInstants = 400'000;

}  // namespace

World::World(std::map<std::string, Program> programs, std::optional<std::uint64_t> chaos)
    : programs_(std::move(programs)) {
  if (chaos) chaos_.emplace(*chaos);
}
World::~World() = default;

void World::problem(const std::string& what) {
  if (problems_.size() < kMostProblems)
    problems_.push_back(format("{}: {}", to_string(now_ - kStart), what));
}

void World::at(Time t, std::function<void()> what) {
  due_.emplace(std::pair(std::max(t, now_), next_due_++), std::move(what));
}

// --- the loop

bool World::run(Time until) {
  for (int instants = 0; instants < kMostInstants; ++instants) {
    same_instant_ = 0;
    settle();
    audience_.settled();
    if (!problems_.empty() && problems_.size() >= kMostProblems) return false;
    Time next = due_.empty() ? kNever : due_.begin()->first.first;
    if (up_) {
      next = std::min(next, cluster::next_deadline(state_, heard_));
      next = std::min(next, planner_.next_wakeup(state_, now_));
    }
    if (next == kNever || next > until) return true;
    now_ = std::max(next, now_);
  }
  problem("the world does not come to rest");
  return false;
}

// Everything that is due now: what arrived first, then deadlines, then the planner, as in the
// controller's own turn.
void World::settle() {
  for (;;) {
    if (++same_instant_ > kMostAtOneInstant) return problem("one instant never ends");
    if (!due_.empty() && due_.begin()->first.first <= now_) {
      const auto what = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      what();
    } else if (up_ && cluster::next_deadline(state_, heard_) <= now_) {
      tick();
    } else if (up_ && planner_.wants_step(state_, now_)) {
      plan();
    } else {
      return;
    }
  }
}

void World::tick() {
  const std::size_t before = journal_.size();
  decide({system_identity(), Tick{}, {}});
  if (up_ && journal_.size() == before) {
    problem("a deadline has passed and a tick decides nothing");
    same_instant_ = kMostAtOneInstant;
  }
}

void World::plan() {
  plan::Steps steps =
      planner_.step(state_, now_, chaos_ ? chaos_->planner_budget() : std::int64_t{4'000});
  if (!steps.proposals.empty())
    decide({system_identity(), Propose{std::move(steps.proposals)}, {}});
}

// --- the controller

void World::ask(Identity who, InputKind what, Done done) {
  Request request{std::move(who), std::move(what), std::move(done)};
  if (!up_ || !decide(request)) waiting_.push_back(std::move(request));
}

// False: the controller died before anything of it was written.
bool World::decide(const Request& request) {
  const cluster::Batch batch =
      cluster::step(state_, heard_, {now_, request.who, request.what},
                    [&](const State& after, const Event& event) {
                      planner_.observe(after, event);
                      for (const std::string& violation : cluster::violations(after))
                        problem(format("{} (after {})", violation, codec::encode(event)));
                    });
  if (chaos_ && !batch.events.empty() && chaos_->kills_before_commit()) {
    kill_controller(chaos_->controller_down_for());
    return false;
  }
  commit(batch.events);
  if (request.done) request.done(batch.reply);
  for (const Effect& effect : batch.effects)
    if (!emit(effect)) break;
  return true;
}

void World::commit(const std::vector<Event>& events) {
  for (const Event& event : events) journal_.push_back(codec::encode(event));
  for (const Event& event : events) {
    if (const auto* released = std::get_if<Released>(&event.what)) {
      const Node& node = state_.nodes.at(released->node);
      if (node.health == NodeHealth::lost)
        witness_.presumed_gone(node.spec.name, released->id, released->attempt);
    }
    audience_.committed(state_, event);
  }
}

// False: the controller died, and the effects after this one are never told.
bool World::emit(const Effect& effect) {
  if (const auto* row = std::get_if<ArchiveRow>(&effect)) {
    archive_row(row->id);
  } else if (const auto* order = std::get_if<SendOrder>(&effect)) {
    send(state_.nodes.at(order->node).spec.name, order->order);
  }
  if (!chaos_ || !chaos_->kills_after_effect()) return true;
  kill_controller(chaos_->controller_down_for());
  return false;
}

void World::archive_row(WorkloadId id) {
  const Workload* w = find_workload(state_, id);
  if (!w) return;
  if (archived_.insert(id).second)
    archive_.push_back(*w);
  else  // it was requeued after an earlier end
    *std::ranges::find(archive_, id, &Workload::id) = *w;
  after(Duration{}, [this, id] {
    if (up_) decide({system_identity(), ArchiveHas{{id}}, {}});
  });
}

void World::kill_controller(Duration down_for) {
  if (!up_) return;
  up_ = false;
  ++restarts_;
  state_ = State{};
  heard_ = Heard{};
  planner_ = plan::Planner();
  silence_.clear();
  for (auto& [name, l] : links_) {
    l.connected = false;
    ++l.connection;
  }
  after(down_for, [this] { recover(); });
}

void World::recover() {
  State state;
  for (const std::string& bytes : journal_) {
    auto event = codec::decode<Event>(bytes);
    if (!event.ok()) return problem("the journal cannot be read: " + event.error().message);
    cluster::apply(state, *event);
  }
  state_ = std::move(state);
  up_ = true;
  for (const auto& [id, node] : state_.nodes)
    if (node.health != NodeHealth::absent) watch_silence(node.spec.name);
  for (const auto& [name, l] : links_)
    after(chaos_ ? chaos_->reconnects_after() : Duration{}, [this, n = name] { connect(n); });
  for (const WorkloadId id : state_.unarchived) archive_row(id);
  audience_.restarted();
  for (Request& request : std::exchange(waiting_, {}))
    after(Duration{}, [this, r = std::move(request)] { ask(r.who, r.what, r.done); });
}

void World::check_replay() {
  if (!up_) return;
  State replayed;
  for (const std::string& bytes : journal_) {
    const auto event = codec::decode<Event>(bytes);
    if (!event.ok()) return problem("the journal cannot be read: " + event.error().message);
    cluster::apply(replayed, *event);
  }
  if (codec::encode(replayed) != codec::encode(state_))
    problem("the journal replays to another State");
}

// --- machines and links

void World::add_machine(const MachineRow& row) {
  const std::string name = row.spec.name;
  Link& l = links_[name];
  l.delay = row.link;
  l.machine = std::make_unique<Machine>(
      row, Machine::Outside{[this] { return now_; },
                            [this](Duration d, std::function<void()> f) { after(d, std::move(f)); },
                            [this, name](const Report& report) {
                              if (link(name).connected)
                                travel(name, true, [this, name, report] { heard(name, report); });
                            },
                            &programs_, &witness_, chaos_ ? &*chaos_ : nullptr});
}

void World::power_on(const std::string& name) {
  if (link(name).machine->alive()) return;
  link(name).machine->boot();
  connect(name);
}

void World::power_off(const std::string& name) {
  if (!link(name).machine->alive()) return;
  link(name).machine->die();
  disconnect(name);
}

void World::cut_link(const std::string& name) {
  link(name).cut = true;
  disconnect(name);
}

void World::mend_link(const std::string& name) {
  link(name).cut = false;
  connect(name);
}

void World::set_delay(const std::string& name, Duration delay) { link(name).delay = delay; }

void World::restart_agent(const std::string& name) {
  disconnect(name);
  link(name).machine->restart_agent();
  connect(name);
}

void World::set_gpu(const std::string& name, std::size_t index, bool usable) {
  std::vector<Device> devices = link(name).machine->set_gpu(index, usable);
  if (link(name).connected)
    travel(name, true, [this, name, d = std::move(devices)] { heard(name, DevicesReport{d}); });
}

void World::set_habit(const std::string& name, PrepareHabit habit) {
  link(name).machine->habit = habit;
}

void World::heal() {
  if (chaos_) chaos_->calm();
  for (auto& [name, l] : links_) {
    l.cut = false;
    l.delay = Duration{};
    l.machine->habit = PrepareHabit::serve;
    if (l.machine->alive())
      connect(name);
    else
      power_on(name);
  }
}

void World::connect(const std::string& name) {
  Link& l = link(name);
  if (l.cut || l.connected || !up_ || !l.machine->alive()) return;
  l.connected = true;
  ++l.connection;
  l.last_up = l.last_down = now_;
  travel(name, true, [this, name, report = l.machine->hello()] { hello(name, report); });
}

void World::disconnect(const std::string& name) {
  Link& l = link(name);
  ++l.connection;
  if (std::exchange(l.connected, false) && up_) watch_silence(name);
}

// The agent's first word. It is told all that it should do or stop before anything else.
void World::hello(const std::string& name, const NodeReport& report) {
  silence_.erase(name);
  const Done told = [&](const Reply& reply) {
    const Node* node = find_node(state_, name);
    if (reply.error || !node) return disconnect(name);
    for (const Order& order : cluster::orders(state_, node->id, report)) send(name, order);
  };
  decide({system_identity(), AgentConnected{report}, told});
}

void World::heard(const std::string& name, const Report& report) {
  if (const auto* attempt = std::get_if<AttemptReport>(&report))
    decide({system_identity(), AgentReported{name, *attempt}, {}});
  if (const auto* devices = std::get_if<DevicesReport>(&report))
    decide({system_identity(), DevicesReported{name, devices->devices}, {}});
}

void World::send(const std::string& name, const Order& order) {
  const auto it = links_.find(name);
  if (it == links_.end() || !it->second.connected) return;  // it hears of it when it comes back
  travel(name, false, [this, name, order] {
    Machine& machine = *link(name).machine;
    machine.order(order);
    if (!chaos_) return;
    if (chaos_->restarts_agent()) restart_agent(name);
    if (chaos_->kills_machine()) {
      power_off(name);
      after(chaos_->machine_down_for(), [this, name] { power_on(name); });
    }
  });
}

// One message on a connection: late, perhaps repeated, never overtaking; lost if the connection
// breaks before it arrives.
void World::travel(const std::string& name, bool up, const std::function<void()>& arrive) {
  Link& l = link(name);
  Time& last = up ? l.last_up : l.last_down;
  last = std::max(last, now_ + l.delay + (chaos_ ? chaos_->delay() : Duration{}));
  const int times = chaos_ && chaos_->repeats() ? 2 : 1;
  for (int i = 0; i < times; ++i)
    at(last, [this, name, connection = l.connection, arrive] {
      if (up_ && link(name).connected && link(name).connection == connection) arrive();
    });
  if (!chaos_ || !chaos_->cuts_link()) return;
  cut_link(name);
  after(chaos_->cut_for(), [this, name] { mend_link(name); });
}

// The core is told of a silent node at once, and again when a limit has passed.
void World::watch_silence(const std::string& name) {
  const std::uint64_t token = ++next_token_;
  silence_[name] = {now_, token};
  const Timers& timers = state_.config.timers;
  for (const Duration d :
       {Duration{}, timers.suspect_after, timers.prepare_timeout, timers.node_timeout})
    at(later(now_, d), [this, name, token] { silent(name, token); });
}

void World::silent(const std::string& name, std::uint64_t token) {
  const auto it = silence_.find(name);
  if (!up_ || it == silence_.end() || it->second.token != token) return;
  decide({system_identity(), AgentSilent{name, now_ - it->second.since}, {}});
}

}  // namespace phalanx::sim
