// What exists on this machine for each attempt: its record, its folder, its control group and its
// units. Carries out what node::Node says (make, start, signal, kill, clean) and tells what came of
// it; every step of a cleaning may be repeated, so that an agent that died in the middle can go on.
//
// One thread. Results are told from the loop, never from within a call. Killing and cleaning look
// again, at growing distances, until nothing is left: there is no time-out, a device must not be
// given away earlier.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/agent.h"
#include "agent/cgroup.h"
#include "agent/launch.h"
#include "agent/record.h"
#include "agent/unit.h"
#include "net/net.h"
#include "node/node.h"

namespace phalanx::agent {

class Rooms {
 public:
  using Tell = std::function<void(node::OsResult)>;
  using OnStart = std::function<void(Result<spawn::StartReply>)>;

  Rooms(net::Loop& loop, const AgentOptions& options, const NodeSpec& spec, Tell tell);
  ~Rooms();

  Status open();  // starts or finds phalanx-spawn
  // Attempts of an earlier agent, with their units attached. To be called once, after open().
  std::vector<node::Node::Found> restore();

  void make(const Fence& fence, const LaunchOrder& order);
  void went(const Fence& fence, Time at);  // noted before anything of it is started
  void set_limit(const Fence& fence, Duration limit);
  void start_batch(const Fence& fence);
  void signal(const node::UnitKey& key, int signal, bool shell_only);
  void kill(const Fence& fence);
  void clean(const Fence& fence);

  // Starts the tasks of a step in their own control group; `handler` then hears of the unit. A unit
  // that runs already is attached to.
  void start_step(const StepGrant& grant, spawn::Start request, Unit::Handler handler,
                  OnStart done);
  [[nodiscard]] Unit* unit(const node::UnitKey& key);
  // A step whose end was told and whose output was taken: deletes what is left of it.
  void drop_step(const node::UnitKey& key);
  // Told for steps of an earlier agent, whose srun may come back.
  std::function<Unit::Handler(const node::UnitKey&)> adopt_step;

  [[nodiscard]] bool oom_killed(const node::UnitKey& key) const;
  // What a unit whose tasks have exited used; `reaped`: as its supervisor counted it.
  [[nodiscard]] Used used_by(const node::UnitKey& key, const spawn::Usage& reaped) const;
  [[nodiscard]] std::vector<node::Measured> measure() const;  // of all that lives
  [[nodiscard]] bool fenced() const;                          // there are control groups
  [[nodiscard]] bool nobody_in_group(const std::string& name) const;
  [[nodiscard]] bool empty() const { return rooms_.empty(); }
  [[nodiscard]] std::vector<int> processes() const;  // of all attempts, sorted
  [[nodiscard]] const LocalEnvironment& local() const { return local_; }
  [[nodiscard]] std::vector<std::string> warnings() const;
  // Ends phalanx-spawn and removes what is ours of the machine; for an agent that leaves nothing.
  void leave(std::function<void()> done);

 private:
  struct Room {
    AttemptRecord record;
    std::string name;
    std::map<StepNumber, std::unique_ptr<Unit>> units;
    int starting = 0;  // units on their way
    bool killing = false, cleaning = false;
    Duration pause{};
    net::Timer poll;
  };

  Room* find(const Fence& fence);
  void launch(Room& room, StepNumber step, const CgroupLimits& limits, spawn::Start request,
              Unit::Handler handler, OnStart done);
  void ask_spawn(const std::shared_ptr<spawn::Start>& request, int tries, const OnStart& done);
  void attach(Room& room, StepNumber step, Unit::Handler handler);
  Unit::Handler batch_handler(const Fence& fence);
  void batch_heard(const Fence& fence, const UnitEvent& event);
  void look(const Fence& fence);        // is it empty yet
  void clean_more(const Fence& fence);  // one thing after the other
  void tell(node::OsResult result);
  CgroupLimits job_limits(const LaunchOrder& order) const;
  Status prepare(Room& room) const;
  [[nodiscard]] std::string folder(const Room& room) const;
  [[nodiscard]] std::string intent(const std::string& unit) const;
  [[nodiscard]] static std::string group_of(const Room& room, StepNumber step);

  net::Loop& loop_;
  const AgentOptions& options_;
  const NodeSpec& spec_;
  Tell tell_;
  LocalEnvironment local_;
  std::string spawn_dir_;
  AttemptRecords records_;
  mutable Cgroups cgroups_;
  SpawnClient spawn_;
  std::map<Fence, Room> rooms_;
};

}  // namespace phalanx::agent
