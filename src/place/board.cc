#include <algorithm>
#include <set>

#include "base/assert.h"
#include "place/place.h"

namespace phalanx::place {
namespace {

NodeFree whole(const Node& node, bool healthy_only) {
  NodeFree free;
  free.node = &node;
  free.cpus = Quantity::of(node.spec.cpus);
  free.memory = node.spec.memory;
  ASSERT(node.spec.devices.size() <= kMaxDevices);
  for (std::size_t i = 0; i < node.spec.devices.size(); ++i)
    if (!healthy_only || node.spec.devices[i].health == DeviceHealth::usable)
      free.devices |= std::uint64_t{1} << i;
  return free;
}

std::uint64_t mask_of(const NodeShare& share) {
  std::uint64_t mask = 0;
  for (const DeviceIndex i : share.gpus) mask |= std::uint64_t{1} << i;
  return mask;
}

}  // namespace

Board Board::now(const State& state) {
  Board board;
  for (const auto& [id, node] : state.nodes) {
    if (node.health != NodeHealth::up || node.drained) continue;
    NodeFree free = whole(node, true);
    if (const auto it = state.use.find(id); it != state.use.end()) {
      free.cpus -= it->second.cpus;
      free.memory -= it->second.memory;
      free.holders = static_cast<std::int64_t>(it->second.holders.size());
      for (std::size_t i = 0; i < it->second.device_owner.size(); ++i)
        if (it->second.device_owner[i]) free.devices &= ~(std::uint64_t{1} << i);
    }
    board.nodes_.emplace_hint(board.nodes_.end(), id, free);
  }
  return board;
}

Board Board::empty(const State& state, bool all) {
  Board board;
  for (const auto& [id, node] : state.nodes)
    if (all || (node.health == NodeHealth::up && !node.drained))
      board.nodes_.emplace_hint(board.nodes_.end(), id, whole(node, !all));
  return board;
}

void Board::take(std::span<const NodeShare> shares) {
  for (const NodeShare& share : shares) {
    const auto it = nodes_.find(share.node);
    if (it == nodes_.end()) continue;
    it->second.cpus -= share.cpus;
    it->second.memory -= share.memory;
    it->second.devices &= ~mask_of(share);
    ++it->second.holders;
  }
}

void Board::give(std::span<const NodeShare> shares) {
  for (const NodeShare& share : shares) {
    const auto it = nodes_.find(share.node);
    if (it == nodes_.end()) continue;
    it->second.cpus += share.cpus;
    it->second.memory += share.memory;
    for (const DeviceIndex i : share.gpus)
      if (it->second.node->spec.devices[i].health == DeviceHealth::usable)
        it->second.devices |= std::uint64_t{1} << i;
    --it->second.holders;
  }
}

void Board::intersect(const Board& other) {
  for (auto& [id, free] : nodes_) {
    const auto it = other.nodes_.find(id);
    if (it == other.nodes_.end()) continue;
    free.cpus = std::min(free.cpus, it->second.cpus);
    free.memory = std::min(free.memory, it->second.memory);
    free.devices &= it->second.devices;
    free.holders = std::max(free.holders, it->second.holders);
  }
}

}  // namespace phalanx::place
