// The other shell around the core: a virtual clock, a controller (State, Heard, Planner and a
// journal in memory), simulated machines, and links that are late, repeat themselves or break. It
// runs the same step(), planner and node machines as the daemons, in one thread and in an order
// that depends on nothing but its inputs: the same scenario gives the same journal, byte for byte.
//
// Like the live shell it lets nobody hear of a fact before it is in the journal. The controller can
// be killed at any point: before a batch is written, or between two effects of it; it comes back by
// replaying the journal. Times are virtual; kStart is second 0 of a scenario.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "plan/plan.h"
#include "sim/chaos.h"
#include "sim/machine.h"
#include "sim/witness.h"

namespace phalanx::sim {

inline constexpr Time kStart = from_unix_ms(946'684'800'000);  // 2000-01-01T00:00:00Z

class World {
 public:
  using Done = std::function<void(const Reply&)>;

  // Who looks on. `committed` sees facts once they are in the journal, in order; `settled` the
  // moments when nothing more is due.
  struct Audience {
    std::function<void(const State&, const Event&)> committed = [](const auto&, const auto&) {};
    std::function<void()> settled = [] {};
    std::function<void()> restarted = [] {};  // the controller is back
  };

  World(std::map<std::string, Program> programs, std::optional<std::uint64_t> chaos);
  ~World();
  void set_audience(Audience audience) { audience_ = std::move(audience); }

  void add_machine(const MachineRow& row);
  void at(Time t, std::function<void()> what);
  // Runs until nothing is due before `until` any more; false if it stopped because it went astray.
  bool run(Time until);

  // A client asks, and asks again if the controller dies before it answers.
  void ask(Identity who, InputKind what, Done done = {});

  void kill_controller(Duration down_for);
  void power_on(const std::string& machine);
  void power_off(const std::string& machine);
  void cut_link(const std::string& machine);
  void mend_link(const std::string& machine);
  void set_delay(const std::string& machine, Duration delay);
  void restart_agent(const std::string& machine);
  void set_gpu(const std::string& machine, std::size_t index, bool usable);
  void set_habit(const std::string& machine, PrepareHabit habit);
  // Nothing fails at random any more; machines are on, links are whole, habits are good.
  void heal();

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] bool controller_up() const { return up_; }
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] std::shared_ptr<const Outlook> outlook() const { return planner_.outlook(); }
  [[nodiscard]] const Witness& witness() const { return witness_; }
  [[nodiscard]] const std::vector<std::string>& journal() const { return journal_; }
  [[nodiscard]] const std::vector<Workload>& archive() const { return archive_; }
  [[nodiscard]] int restarts() const { return restarts_; }
  // What must never happen and did.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  void problem(const std::string& what);
  // Folds the journal and compares it with State.
  void check_replay();

 private:
  struct Request {
    Identity who;
    InputKind what;
    Done done;
  };
  struct Link {
    std::unique_ptr<Machine> machine;
    bool cut = false;
    bool connected = false;
    std::uint64_t connection = 0;  // messages of an earlier one are lost
    Duration delay{};
    Time last_up{}, last_down{};  // arrivals: messages of one connection do not overtake
  };

  void after(Duration d, std::function<void()> what) { at(now_ + d, std::move(what)); }
  void settle();
  bool decide(const Request& request);
  void commit(const std::vector<Event>& events);
  bool emit(const Effect& effect);
  void tick();
  void plan();
  void recover();
  void archive_row(WorkloadId id);
  void connect(const std::string& name);
  void disconnect(const std::string& name);
  void hello(const std::string& name, const NodeReport& report);
  void heard(const std::string& name, const Report& report);
  void send(const std::string& name, const Order& order);
  void travel(const std::string& name, bool up, const std::function<void()>& arrive);
  void watch_silence(const std::string& name);
  void silent(const std::string& name, std::uint64_t token);
  Link& link(const std::string& name) { return links_.at(name); }

  Time now_ = kStart;
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> due_;
  std::uint64_t next_due_ = 0;
  int same_instant_ = 0;

  bool up_ = true;
  State state_;
  Heard heard_;
  plan::Planner planner_;
  std::vector<std::string> journal_;
  std::deque<Request> waiting_;  // asked while the controller was down
  std::vector<Workload> archive_;
  std::set<WorkloadId> archived_;
  struct Silence {
    Time since{};
    std::uint64_t token = 0;
  };
  std::map<std::string, Silence> silence_;
  std::uint64_t next_token_ = 0;
  int restarts_ = 0;

  std::map<std::string, Program> programs_;
  Witness witness_;
  std::optional<Chaos> chaos_;
  std::map<std::string, Link> links_;
  Audience audience_;
  std::vector<std::string> problems_;
};

}  // namespace phalanx::sim
