// Daemons that `phalanx up` starts end with it, also when it is killed.
#pragma once

#include <cstdint>

namespace phalanx {

// From now on SIGTERM comes when the parent ends. False if `pid` is not the parent: it has ended
// already.
bool follow_parent(std::int64_t pid);

}  // namespace phalanx
