// The agent: the shell around node::Node on one machine, or for one emulated node. It announces
// what the machine has, keeps a link to the controller, carries out what the Node says with
// supervisors (phalanx-spawn) and control groups, and lets srun start steps.
//
// It may be stopped and started again at any time: tasks go on below their supervisors, and what
// the agent must know of them is in its run directory before anything is started:
//   <run_dir>/attempts/<room>.json   fence, order, whether it was told to go (mode 0600)
//   <run_dir>/spawn/                 phalanx-spawn's: units and their supervisors (mode 0700)
//   <run_dir>/agent.sock             where srun speaks to it: anybody may connect, tokens decide
//   <spool_dir>/jobs/<room>/         the batch script; on a file system that allows execution
//
// One thread. Errors: run_agent prints them and returns 1; everything later is told to the
// controller.
#pragma once

#include <optional>
#include <string>

#include "agent/discover.h"  // IWYU pragma: export
#include "model/node.h"

namespace phalanx::agent {

struct AgentOptions {
  std::string name;        // of the node
  std::string controller;  // its endpoint: "unix:/run/phalanx/controller.sock"
  std::string token_file;  // the join token
  std::string run_dir;     // gone after a boot
  std::string spool_dir;
  std::string spawn_program;         // phalanx-spawn
  std::string commands_dir;          // where srun is: added to every task's PATH, at its end
  bool commands_first = false;       // … at its beginning
  std::string address;               // by which other nodes reach this one; empty: its name
  std::optional<NodeSpec> emulated;  // figures instead of what the machine has
  bool ephemeral = false;            // when it is told to stop, everything that runs here ends
};

int run_agent(const AgentOptions& options);

}  // namespace phalanx::agent
