// Networks of their own for emulated nodes, so that every node has its address, its ports and its
// name: one bridge, and for each node a network namespace with a cable to it, made with iproute2's
// `ip`. Names carry the process id of the `phalanx up` that made them. What a killed one left
// behind is removed by the next; what work still lives in stays, for the next of the same cluster.
//
// Root only. Errors say what failed; what was made until then is removed again.
#pragma once

#include <cstdint>
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

  // `run_dir`: of the cluster; it remembers there what it has made.
  Status make(const std::string& run_dir, const std::vector<std::string>& nodes);
  void remove();
  void keep() { made_ = false; }  // for work that goes on

  [[nodiscard]] std::string space(std::size_t node) const;    // of `ip netns`
  [[nodiscard]] std::string address(std::size_t node) const;  // "10.77.3.12"

 private:
  [[nodiscard]] bool adopt();
  Status build();
  std::string run_dir_;
  std::vector<std::string> nodes_;
  std::int64_t maker_ = 0;  // process id, in all names
  int subnet_ = 0;
  bool made_ = false;
};

// Whether an agent of the cluster keeps work, running or not yet cleaned up.
bool work_remains(const std::string& run_dir);

}  // namespace phalanx
