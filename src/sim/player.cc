#include "sim/player.h"

#include <algorithm>

#include "base/text.h"
#include "sim/checks.h"
#include "sim/story.h"
#include "sim/value.h"

namespace phalanx::sim {
namespace {

constexpr Duration kLongest = hours(24 * 60);  // virtual; a scenario without an end stops here
constexpr Duration kChaosLasts = hours(2);     // unless the scenario says until when
constexpr Duration kTimeToHeal = hours(24);

class Player {
 public:
  explicit Player(const Scenario& scenario)
      : scenario_(scenario),
        world_(programs(scenario), scenario.play.chaos),
        story_(scenario, world_),
        checks_(world_) {
    World::Audience audience;
    audience.committed = [this](const State& after, const Event& event) {
      story_.committed(after, event);
      checks_.committed(after, event);
      if (const auto* launched = std::get_if<Launched>(&event.what)) serve(after, *launched);
    };
    audience.settled = [this] {
      story_.settled();
      checks_.settled();
    };
    audience.restarted = [this] {
      story_.restarted();
      checks_.restarted();
    };
    world_.set_audience(std::move(audience));
  }

  Played run() {
    world_.ask(system_identity(), Configure{"sim", scenario_.config});
    for (const MachineRow& row : scenario_.machines) {
      world_.add_machine(row);
      world_.at(kStart + row.joins, [this, name = row.spec.name] { world_.power_on(name); });
    }
    for (const WorkRow& row : scenario_.work)
      world_.at(kStart + row.submit, [this, &row] { submit(row); });
    for (const Happening& h : scenario_.happenings)
      world_.at(kStart + h.at, [this, &h] { happen(h); });
    const Duration until = scenario_.play.until;
    if (scenario_.play.chaos) {
      world_.run(kStart + (until == kForever ? kChaosLasts : until));
      come_to_an_end();
    } else {
      world_.run(kStart + std::min(until, kLongest));
    }
    world_.check_replay();
    return result();
  }

 private:
  static std::map<std::string, Program> programs(const Scenario& scenario) {
    std::map<std::string, Program> out;
    for (const WorkRow& row : scenario.work) out[row.name] = row.program;
    return out;
  }

  // --- users
  void submit(const WorkRow& row) {
    auto spec = std::make_shared<WorkloadSpec>(row.spec);
    if (row.begin > Duration{}) spec->begin = kStart + row.begin;
    for (const AfterRow& a : row.after) {
      const auto on = ids_.find(a.on);
      spec->dependencies.push_back(
          {a.kind, on == ids_.end() ? WorkloadId{} : on->second, a.delay, a.any});
    }
    Submit input;
    input.spec = spec;
    input.array = row.array;
    input.hold = row.hold;
    input.priority = row.priority;
    input.key = input.content = row.name;
    world_.ask(row.priority ? identity_of("root") : spec->owner, std::move(input),
               [this, name = row.name](const Reply& reply) {
                 ids_[name] = reply.id;
                 numbers_[name] = reply.number;
                 if (reply.error) story_.refused("", name, reply.error->message);
               });
  }

  // An allocation serves as long as its row says; then its user gives it back.
  void serve(const State& after, const Launched& launched) {
    const Workload* w = find_workload(after, launched.id);
    if (!w || w->spec->kind != WorkloadKind::allocation) return;
    const WorkRow& row = row_of(w->spec->asked.at("row"));
    if (row.program.runs == kForever) return;
    world_.at(world_.now() + row.program.runs, [this, &row, id = launched.id] {
      Finish finish;
      finish.target.id = id;
      finish.exit_code = row.program.exit_code;
      world_.ask(row.spec.owner, finish);
    });
  }

  [[nodiscard]] const WorkRow& row_of(const std::string& name) const {
    return *std::find_if(scenario_.work.begin(), scenario_.work.end(),
                         [&](const WorkRow& row) { return row.name == name; });
  }

  // "A", "A_3", "A_[1-2]"; the name of the row comes first, whatever it contains.
  Target target(const std::string& subject) {
    Target t;
    std::string name = subject;
    if (!numbers_.contains(name)) {
      const std::size_t bar = subject.find('_');
      name = subject.substr(0, bar);
      std::string indexes = bar == std::string::npos ? "" : subject.substr(bar + 1);
      if (!indexes.starts_with('[')) indexes = "[" + indexes + "]";
      const auto list = expand_names(indexes);
      for (const std::string& index : list.ok() ? *list : std::vector<std::string>())
        t.indexes.push_back(static_cast<std::uint32_t>(parse_int(index).value_or(0)));
    }
    const auto number = numbers_.find(name);
    if (number != numbers_.end()) t.number = number->second;
    return t;
  }

  // The work of this row (and index) that has left State, as the archive has it.
  [[nodiscard]] std::shared_ptr<const Workload> gone(const std::string& row,
                                                     const Target& t) const {
    for (const Workload& w : world_.archive())
      if (w.spec->asked.at("row") == row &&
          (t.indexes.empty() || t.indexes.front() == w.array_index))
        return std::make_shared<const Workload>(w);
    return nullptr;
  }

  void ask_for(const Happening& h, InputKind what, const std::string& otherwise_by) {
    const std::string by = h.by.empty() ? otherwise_by : h.by;
    world_.ask(identity_of(by), std::move(what), [this, h](const Reply& reply) {
      if (reply.error)
        story_.refused(h.by.empty() ? "" : "by " + h.by, h.subject, reply.error->message);
    });
  }

  void happen(const Happening& h) {
    if (h.verb >= Verb::cancel) return happen_to_work(h);
    if (h.verb >= Verb::drain_node) return happen_to_cluster(h);
    happen_to_machine(h);
  }

  void happen_to_work(const Happening& h) {
    const std::string name =
        numbers_.contains(h.subject) ? h.subject : h.subject.substr(0, h.subject.find('_'));
    const std::string owner = row_of(name).spec.owner.user;
    const Target t = target(h.subject);
    switch (h.verb) {
      case Verb::cancel:
        return ask_for(h, Cancel{t}, owner);
      case Verb::hold:
        return ask_for(h, Hold{t, true}, owner);
      case Verb::release:
        return ask_for(h, Hold{t, false}, owner);
      case Verb::requeue:
        return ask_for(h, Requeue{t, false, gone(name, t)}, owner);
      case Verb::set_limit:
        return ask_for(h, Update{t, h.duration, {}, {}}, "root");
      default:
        return ask_for(h, Update{t, {}, h.number, {}}, "root");
    }
  }

  void happen_to_cluster(const Happening& h) {
    switch (h.verb) {
      case Verb::drain_node:
        return ask_for(h, Drain{h.subject, true, h.text}, "root");
      case Verb::resume_node:
        return ask_for(h, Drain{h.subject, false}, "root");
      case Verb::down_node:
        return ask_for(h, Drain{h.subject, true, h.text, true}, "root");
      case Verb::set_partition:
        return set_partition(h);
      default:
        world_.check_replay();
        world_.kill_controller(h.duration);
    }
  }

  void set_partition(const Happening& h) {
    Configure configure{"sim", world_.state().config};
    for (Partition& p : configure.config.partitions)
      if (p.name == h.subject) p.state = h.state;
    ask_for(h, std::move(configure), "root");
  }

  void happen_to_machine(const Happening& h) {
    const auto gpu = static_cast<std::size_t>(h.number);
    switch (h.verb) {
      case Verb::lose_node:
        return world_.power_off(h.subject);
      case Verb::return_node:
        return world_.power_on(h.subject);
      case Verb::cut_link:
        return world_.cut_link(h.subject);
      case Verb::mend_link:
        return world_.mend_link(h.subject);
      case Verb::slow_link:
        return world_.set_delay(h.subject, h.duration);
      case Verb::restart_agent:
        return world_.restart_agent(h.subject);
      case Verb::break_gpu:
        return world_.set_gpu(h.subject, gpu, false);
      case Verb::mend_gpu:
        return world_.set_gpu(h.subject, gpu, true);
      case Verb::refuse_prepare:
        return world_.set_habit(h.subject, PrepareHabit::refuse);
      case Verb::hang_prepare:
        return world_.set_habit(h.subject, PrepareHabit::hang);
      default:
        return world_.set_habit(h.subject, PrepareHabit::serve);
    }
  }

  // --- after chaos: everything must come to an end
  void come_to_an_end() {
    world_.heal();
    world_.run(world_.now() + minutes(1));
    for (const MachineRow& m : scenario_.machines)
      world_.ask(identity_of("root"), Drain{m.spec.name, false});
    std::vector<WorkloadId> all(world_.state().pending.begin(), world_.state().pending.end());
    for (const WorkloadId id : all) {
      Hold release{{}, false};
      release.target.id = id;
      world_.ask(identity_of("root"), release);
    }
    world_.run(world_.now() + kTimeToHeal);
    // What can never run is given up by its users.
    all.assign(world_.state().pending.begin(), world_.state().pending.end());
    for (const WorkloadId id : all) {
      Cancel cancel;
      cancel.target.id = id;
      world_.ask(identity_of("root"), cancel);
    }
    world_.run(world_.now() + kTimeToHeal);
    checks_.all_over();
  }

  Played result() {
    Played played;
    played.text = story_.text();
    played.journal = world_.journal();
    played.promises_kept = checks_.promises_kept();
    played.scripts_begun = world_.witness().scripts_begun();
    played.restarts = world_.restarts();
    for (const auto* list : {&world_.problems(), &world_.witness().problems()})
      played.problems.insert(played.problems.end(), list->begin(), list->end());
    for (std::string& broken : story_.broken_expectations())
      played.problems.push_back(std::move(broken));
    return played;
  }

  const Scenario& scenario_;
  World world_;
  Story story_;
  Checks checks_;
  std::map<std::string, WorkloadId> ids_;
  std::map<std::string, JobNumber> numbers_;
};

}  // namespace

Played play(const Scenario& scenario) { return Player(scenario).run(); }

}  // namespace phalanx::sim
