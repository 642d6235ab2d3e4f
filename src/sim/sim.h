// The front door of sim/: the other shell around the core. It plays scenarios, which are tests and
// answers to "why did my job wait?" alike, and random ones by the thousand (the swarm).
//
//   phalanx sim play FILE…                plays, prints each file's story, fails if it differs
//   phalanx sim play --rewrite FILE…      writes the story into the file
//   phalanx sim swarm [--seed N] [--seeds K] [--work M]   K random scenarios in chaos
//
// One thread; virtual time; nothing outside of the given files is touched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace phalanx::sim {

struct Replayed {
  std::string text;                   // the file as it should be: the scenario and its story
  std::vector<std::string> problems;  // what must hold and does not
};
// `text` is the whole file; the error quotes every diagnostic of its parser.
Result<Replayed> play_file(std::string_view text, const std::string& file);

struct Flight {
  std::string scenario;  // its text
  std::vector<std::string> problems;
  std::vector<std::string> journal;
  std::size_t promises_kept = 0, scripts_begun = 0;
  int restarts = 0;
};
Flight fly(std::uint64_t seed, int work);

// The verb; returns the exit code. `args` come after "sim".
int main_verb(const std::vector<std::string>& args);

}  // namespace phalanx::sim
