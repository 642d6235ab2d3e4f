// Work that asked to end when its dependencies can never come true. Internal to reconcile/.
#pragma once

#include <vector>

#include "model/input.h"

namespace phalanx::reconcile {

// Cancels for what has become hopeless by this event.
std::vector<InputKind> end_hopeless(const State& after, const Event& event);

}  // namespace phalanx::reconcile
