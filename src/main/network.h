// Networks of their own for emulated nodes, so that every node has its address, its ports and its
// name: one bridge, and for each node a network namespace with a cable to it, made with iproute2's
// `ip`. Names carry our process id; what a killed `phalanx up` left behind is removed by the next.
//
// Root only. Errors say what failed; what was made until then is removed again.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace phalanx {

class EmulatedNetwork {
 public:
  EmulatedNetwork() = default;
  ~EmulatedNetwork() { remove(); }
  EmulatedNetwork(const EmulatedNetwork&) = delete;
  EmulatedNetwork& operator=(const EmulatedNetwork&) = delete;

  Status make(const std::vector<std::string>& nodes);
  void remove();

  [[nodiscard]] std::string space(std::size_t node) const;    // of `ip netns`
  [[nodiscard]] std::string address(std::size_t node) const;  // "10.77.3.12"
  static void sweep();                                        // of processes that are gone

 private:
  Status build();
  std::vector<std::string> nodes_;
  int subnet_ = 0;
  bool made_ = false;
};

}  // namespace phalanx
