// Orders as requests to phalanx-spawn, and its refusals as sentences. Values only.
#pragma once

#include <string>
#include <vector>

#include "agent/spawn_protocol.h"
#include "model/step_wire.h"
#include "model/wire.h"

namespace phalanx::agent {

// What the agent adds to every task's environment.
struct LocalEnvironment {
  std::string node;
  std::string socket;  // PHALANX_SOCKET
  std::string commands_dir;
  bool commands_first = false;
};

// The unit of a batch script or command; `script_path` is where the script will lie.
spawn::Start batch_request(const LaunchOrder& order, const std::string& script_path,
                           const LocalEnvironment& local);
// The unit of a step's tasks on this node, in the order of the grant's ranks. Its size is that of
// the share: one stream set for all, or one for each.
Result<spawn::Start> step_request(const StepGrant& grant, const StepLaunch& launch,
                                  const LocalEnvironment& local);

// "cannot open /x/7.out for standard output: No such file or directory".
std::string sentence(spawn::Stage stage, int error, const std::string& detail);
// The submission's fault, not the node's: what it lacks, who it is for, its files, its program.
bool is_user_fault(spawn::Stage stage);

struct TaskEnd {
  int code = 0, signal = 0;
};
TaskEnd task_end(int wait_status);

// What a supervisor says, on the Node's clock: both are CLOCK_BOOTTIME.
Time moment(std::uint64_t boottime_ns);

}  // namespace phalanx::agent
