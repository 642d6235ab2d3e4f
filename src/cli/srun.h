// srun: runs tasks in a job, or gets itself a job for them first.
#pragma once

namespace phalanx::cli {

int run_srun(int argc, char** argv);

}  // namespace phalanx::cli
