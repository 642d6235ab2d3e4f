// Back ends that carry effects out. native/ is ours: it completes orders for our agents with what
// the core leaves out, the contents of blobs and what the dialect makes of them (environment, file
// names). Bridges to existing Slurm and Kubernetes clusters will live beside it.
#pragma once

#include "model/input.h"
#include "store/store.h"

namespace phalanx::target {

// Fills script_text, environment and the expanded file names. A blob that cannot be read leaves its
// field empty; the agent then refuses the launch and the reason is kept with the job.
void complete(const State& state, store::Journal& journal, Prepare& prepare);

}  // namespace phalanx::target
