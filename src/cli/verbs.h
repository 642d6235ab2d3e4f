// The commands of the command line, one table: `phalanx squeue`, or a link named squeue to the
// binary. Each runs in this process, prints to its standard streams and returns the exit code; the
// verbs that start a shell (up, controller, agent) are main/'s.
#pragma once

#include <span>
#include <string_view>

namespace phalanx::cli {

struct Verb {
  std::string_view name;
  int (*run)(int argc, char** argv);  // argv[0] is the name that it was called by
  std::string_view help;              // one line
  bool slurm = false;                 // one of Slurm's names: has a link in bin/slurm/
};

std::span<const Verb> verbs();

}  // namespace phalanx::cli
