// From a Start request to running tasks: checks, the user's files, pipes and terminals, and the
// fork that becomes the task. Everything that can be refused for the whole unit is refused before
// the first fork. The caller owns the descriptors that come back.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/fd.h"
#include "agent/spawn_protocol.h"

namespace phalanx::agent::spawn {

struct Failure {
  Stage stage = Stage::Request;
  int error = 0;
  std::string detail;
};

// Says what is wrong with a request, as far as that shows without touching anything.
std::optional<Failure> check(const Start& start);

// One task's descriptors: `child` becomes 0, 1 and 2; `ours` are the supervisor's ends of pipes (of
// a terminal: both 0 and 1 are its master).
struct Plumbing {
  Fd child[3];
  Fd ours[3];
};

// Writes the script and opens every file, pipe and terminal of the unit, as the user.
std::optional<Failure> prepare(const Start& start, const std::string& script_path,
                               std::vector<Plumbing>& plumbing);

struct LaunchContext {
  std::string marker;       // the environment string that marks the unit's processes
  std::string script_path;  // empty: no script
  rlimit open_files{};      // what phalanx-spawn was started with, before it raised its own
};

// Forks a task. `status` yields ChildReports and then, when the program is executed or the child
// has given up, its end. A pid of -1 leaves the reason in errno.
struct Launched {
  pid_t pid = -1;
  Fd status;
};
Launched launch(const Start& start, std::size_t task, Plumbing& plumbing,
                const LaunchContext& context);

// What a child says before it executes the program; one that gave up exits after a fatal one.
struct ChildReport {
  Stage stage = Stage::Exec;
  bool fatal = true;
  int error = 0;
  unsigned index = 0;  // of the limit or cgroup file
};
std::string describe(const ChildReport& report, const Start& start, std::size_t task,
                     const LaunchContext& context);

}  // namespace phalanx::agent::spawn
