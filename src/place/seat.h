// What one node can do for a group: shared by the fit and by the words for what does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "place/place.h"

namespace phalanx::place {

// The devices of a type; an empty type is any.
std::uint64_t of_type(const Node& node, const std::string& type);
bool has_features(const Node& node, const std::vector<std::string>& all);
bool in_scope(const Node& node, const Scope& scope, const TaskGroup& group);
// The most tasks that find room there, devices counted exactly.
std::int64_t room_on(const NodeFree& free, const Scope& scope, const TaskGroup& group);

}  // namespace phalanx::place
