// salloc: gets nodes, runs a command beside them, and gives them back.
#pragma once

namespace phalanx::cli {

int run_salloc(int argc, char** argv);

}  // namespace phalanx::cli
