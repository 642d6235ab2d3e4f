#include "sim/witness.h"

#include <algorithm>

#include "base/text.h"

namespace phalanx::sim {
namespace {

std::string name(const Fence& fence) {
  return format("attempt {} of workload {}", fence.attempt, fence.workload.value);
}

}  // namespace

void Witness::room_made(const std::string& machine, const Fence& fence, const NodeShare& share) {
  for (const auto& [place, gpus] : rooms_) {
    if (place.first != machine || place.second == fence) continue;
    if (place.second.workload == fence.workload)
      problems_.push_back(
          format("{} has rooms of {} and of {} at once", machine, name(place.second), name(fence)));
    for (const DeviceIndex g : gpus)
      if (std::find(share.gpus.begin(), share.gpus.end(), g) != share.gpus.end())
        problems_.push_back(format("gpu {} of {} is given to {} while {} holds it", g, machine,
                                   name(fence), name(place.second)));
  }
  rooms_[{machine, fence}] = share.gpus;
}

void Witness::room_gone(const std::string& machine, const Fence& fence) {
  if (scripts_.contains({machine, fence}))
    problems_.push_back(
        format("{} cleans up after {} while its script runs", machine, name(fence)));
  rooms_.erase({machine, fence});
  presumed_.erase({machine, fence});
}

void Witness::script_began(const std::string& machine, const Fence& fence) {
  ++begun_;
  if (++starts_[{fence.workload, fence.attempt}] > 1)
    problems_.push_back(
        format("the script of {} starts a second time, on {}", name(fence), machine));
  for (const Place& place : scripts_)
    if (place.second.workload == fence.workload && !presumed_.contains(place))
      problems_.push_back(format("{} starts on {} while {} runs on {}", name(fence), machine,
                                 name(place.second), place.first));
  scripts_.insert({machine, fence});
}

void Witness::script_ended(const std::string& machine, const Fence& fence) {
  scripts_.erase({machine, fence});
}

void Witness::machine_died(const std::string& machine) {
  std::erase_if(rooms_, [&](const auto& room) { return room.first.first == machine; });
  std::erase_if(scripts_, [&](const Place& place) { return place.first == machine; });
  std::erase_if(presumed_, [&](const Place& place) { return place.first == machine; });
}

void Witness::presumed_gone(const std::string& machine, WorkloadId id, AttemptNumber attempt) {
  for (const auto& [place, gpus] : rooms_)
    if (place.first == machine && place.second.workload == id && place.second.attempt == attempt)
      presumed_.insert(place);
}

std::vector<std::string> Witness::leftovers() const {
  std::vector<std::string> out;
  out.reserve(scripts_.size() + rooms_.size());
  for (const Place& place : scripts_)
    out.push_back(format("the script of {} still runs on {}", name(place.second), place.first));
  for (const auto& [place, gpus] : rooms_)
    out.push_back(format("{} still has a room of {}", place.first, name(place.second)));
  return out;
}

}  // namespace phalanx::sim
