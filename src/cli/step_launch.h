// What srun tells each node's agent to start, and where the streams of the tasks go: --output,
// --error and --input with their patterns, --pty, --export, --chdir.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "cli/step_run.h"

namespace phalanx::cli {

// Opens the files that srun itself reads and writes: those whose names are the same for all tasks.
// Files with a name for each task or node are opened there.
Result<StepSetup> make_step(const Session& session, const slurm::JobOptions& options,
                            slurm::StepReply step);

}  // namespace phalanx::cli
