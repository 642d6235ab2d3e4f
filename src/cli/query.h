// squeue, sinfo, scontrol, sacct, scancel, and Phalanx's why, top and ledger: the command line goes
// to the controller as it is, and what comes back is printed. What needs no controller is answered
// here.
#pragma once

namespace phalanx::cli {

// argv[0] names the tool.
int run_query(int argc, char** argv);

}  // namespace phalanx::cli
