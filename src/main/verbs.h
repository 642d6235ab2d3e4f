// The verbs that start a shell. Each parses its own arguments (argv[0] is its name), runs until it
// is told to stop, and returns the exit code: 0, 1 where it could not start or gave up, 2 where the
// arguments make no sense.
#pragma once

namespace phalanx {

int up_verb(int argc, char** argv);
int controller_verb(int argc, char** argv);
int agent_verb(int argc, char** argv);
int compact_verb(int argc, char** argv);
int token_verb(int argc, char** argv);

}  // namespace phalanx
