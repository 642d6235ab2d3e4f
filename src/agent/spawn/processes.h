// The processes of this machine as /proc shows them at one moment, and signals that cannot hit a
// stranger who got the same pid in between. Values; no state, no threads; a process that vanishes
// while it is read is left out.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace phalanx::agent::spawn {

struct Process {
  pid_t pid = 0, parent = 0, group = 0, session = 0;
  char state = '?';         // Z: a zombie
  std::uint64_t start = 0;  // clock ticks since boot; with the pid it names one process
};

std::vector<Process> scan_processes();  // zombies left out
// Children of `root`, their children and so on; `root` itself is left out.
std::vector<Process> descendants(const std::vector<Process>& all, pid_t root);
// What is left of a unit whose supervisor died: processes whose environment holds `marker`, those
// of the sessions of its tasks that were reparented to `reaper` or init, and what descends from
// them.
std::vector<Process> leftovers(const std::vector<Process>& all, const std::string& marker,
                               const std::vector<pid_t>& sessions, uid_t uid, pid_t reaper);
bool send_signal(const Process& process, int signal);  // false: it is gone

// One round against a tree that may be forking: `find` is asked again until nothing new appears,
// each new process is stopped, and then all are killed. Returns how many.
template <class Find>
std::size_t kill_round(Find find) {
  constexpr int kPasses = 16;
  std::vector<Process> stopped;
  for (int pass = 0; pass < kPasses; ++pass) {
    bool found = false;
    for (const Process& process : find()) {
      bool known = false;
      for (const Process& other : stopped) known = known || other.pid == process.pid;
      if (known) continue;
      found = true;
      constexpr int kStop = 19;
      send_signal(process, kStop);
      stopped.push_back(process);
    }
    if (!found) break;
  }
  constexpr int kKill = 9;
  for (const Process& process : stopped) send_signal(process, kKill);
  return stopped.size();
}

}  // namespace phalanx::agent::spawn
