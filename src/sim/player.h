// Plays a scenario: makes its world, lets its users and faults act at their times, listens to the
// story and checks what must hold in every run.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario.h"

namespace phalanx::sim {

struct Played {
  std::string text;                   // what belongs below the line ----
  std::vector<std::string> problems;  // properties and expectations that do not hold
  std::vector<std::string> journal;   // the facts, encoded
  std::size_t promises_kept = 0, scripts_begun = 0;
  int restarts = 0;  // of the controller
};

Played play(const Scenario& scenario);

}  // namespace phalanx::sim
