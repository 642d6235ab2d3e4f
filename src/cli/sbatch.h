// sbatch: submits a script; with --wait, returns what it returned.
#pragma once

namespace phalanx::cli {

int run_sbatch(int argc, char** argv);

}  // namespace phalanx::cli
