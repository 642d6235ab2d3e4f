// Properties that hold in every run, whatever the scenario: promises are kept or moved with a
// recorded cause; work that would fit now without harm to a promise is never told to wait for its
// priority; and in the end nothing is left.
#pragma once

#include <map>

#include "sim/world.h"

namespace phalanx::sim {

class Checks {
 public:
  explicit Checks(World& world) : world_(world) {}
  void committed(const State& after, const Event& event);
  void settled();
  void restarted();
  // After everything was healed and all work has ended.
  void all_over();
  [[nodiscard]] std::size_t promises_kept() const { return kept_; }

 private:
  void check_wait(const State& s, WorkloadId id, const Outlook::Wait& wait);

  World& world_;
  std::map<WorkloadId, Time> promises_;
  std::size_t kept_ = 0;
};

}  // namespace phalanx::sim
