// What really happens on the simulated machines, seen from outside: rooms that are made, scripts
// that run, devices they hold. The witness believes no State: a script that runs twice at once or a
// device in two hands is a problem whatever the controller thinks.
//
// A script on a node whose loss was presumed may still run when its successor starts: that is what
// presuming means (NodeLost without confirmation), and no problem between two nodes. On the node
// itself its devices stay its own until it is gone.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/wire.h"

namespace phalanx::sim {

class Witness {
 public:
  void room_made(const std::string& machine, const Fence& fence, const NodeShare& share);
  void room_gone(const std::string& machine, const Fence& fence);
  void script_began(const std::string& machine, const Fence& fence);
  void script_ended(const std::string& machine, const Fence& fence);
  void machine_died(const std::string& machine);
  // Its node's loss is presumed: the workload may start elsewhere.
  void presumed_gone(const std::string& machine, WorkloadId id, AttemptNumber attempt);

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  // What is still alive or in use, as sentences: nothing, when all is over.
  [[nodiscard]] std::vector<std::string> leftovers() const;
  [[nodiscard]] std::size_t scripts_begun() const { return begun_; }

 private:
  using Place = std::pair<std::string, Fence>;
  std::map<Place, std::vector<DeviceIndex>> rooms_;
  std::set<Place> scripts_;
  std::set<Place> presumed_;
  std::map<std::pair<WorkloadId, AttemptNumber>, int> starts_;
  std::vector<std::string> problems_;
  std::size_t begun_ = 0;
};

}  // namespace phalanx::sim
