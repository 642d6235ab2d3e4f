// A simulated machine: the node's own state machine (node/) on one side, pretended rooms and
// scripts on the other. It does what agent/ does on a real machine, in virtual time: rooms take
// time to make, scripts run as their Program says, an agent can die and come back and finds its
// scripts still running, the machine can lose power.
//
// One caller; `outside` must outlive it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/node.h"
#include "sim/chaos.h"
#include "sim/scenario.h"
#include "sim/witness.h"

namespace phalanx::sim {

enum class PrepareHabit { serve, refuse, hang };

class Machine {
 public:
  struct Outside {
    std::function<Time()> now;
    std::function<void(Duration, std::function<void()>)> after;
    std::function<void(const Report&)> tell;
    const std::map<std::string, Program>* programs = nullptr;
    Witness* witness = nullptr;
    Chaos* chaos = nullptr;  // null: nothing fails by itself
  };

  Machine(MachineRow row, Outside outside);

  void boot();           // with a fresh boot id and nothing running
  void die();            // power is lost
  void restart_agent();  // scripts go on meanwhile
  void order(const Order& order);
  std::vector<Device> set_gpu(std::size_t index, bool usable);

  [[nodiscard]] bool alive() const { return node_.has_value(); }
  [[nodiscard]] NodeReport hello() const;
  [[nodiscard]] const std::string& name() const { return row_.spec.name; }
  PrepareHabit habit = PrepareHabit::serve;

 private:
  struct Room {
    LaunchOrder order;
    bool made = false;
    bool go = false;                    // Go was received
    bool script = false, over = false;  // it was started; it has exited
    Time began{};                       // the script, or Go came
    node::UnitExited exit;
  };

  void carry_out(const std::vector<node::Action>& actions);
  void result(node::OsResult result);
  void make_room(const node::MakeRoom& action);
  void start_script(const node::StartBatch& action);
  void send_signal(const node::SendSignal& action);
  void kill_all(const node::KillAll& action);
  void clean_up(const node::CleanUp& action);
  void script_exits(const Fence& fence, std::int32_t code, std::int32_t signal, bool oom);
  void arm();
  // Runs `what` later, unless the agent (or the whole machine) has died by then.
  void agent_after(Duration d, std::function<void()> what);
  void power_after(Duration d, std::function<void()> what);
  [[nodiscard]] const Program& program(const LaunchOrder& order) const;

  MachineRow row_;
  Outside outside_;
  std::optional<node::Node> node_;  // the running agent
  std::string boot_;
  int boots_ = 0;
  std::uint64_t power_ = 0, agent_ = 0;  // grow with each death: callbacks of the dead are void
  std::map<Fence, Room> rooms_;
  Time armed_ = kNever;
};

}  // namespace phalanx::sim
