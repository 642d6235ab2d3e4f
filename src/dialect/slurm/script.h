// The #SBATCH reader: a batch script's text to the option words of its directives, one list a
// component of a heterogeneous job. The body of the script is never interpreted. What a reader can
// see and a user would miss is a warning (a directive behind the first command, "# SBATCH", a word
// cut by '#'); what Slurm refuses is an error, in Slurm's order and with the words that clients
// look for.
//
// Pure; a script of megabytes is read in one pass. Tokens carry file, line and column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "dialect/slurm/token.h"

namespace phalanx::slurm {

struct Script {
  std::vector<std::vector<Token>> components;  // at least one
  int first_command_line = 0;                  // where reading stopped; 0: no command at all
};

// `name` is what diagnostics call the file: its path, or "sbatch" for standard input.
Parsed<Script> read_script(std::string_view text, std::string_view name);

}  // namespace phalanx::slurm
