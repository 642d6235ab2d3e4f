// Device filters for cgroup v2: small BPF programs, assembled here, that the kernel asks at each
// open() and mknod() of a device. A filter stays with its cgroup when its loader exits.
//
// Ownership: DeviceFilters keeps the programs that it loaded, so that groups with equal rules share
// one. Threads: one at a time. Errors: Unavailable, with the kernel's word (no CAP_BPF, an old
// kernel).
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "agent/fd.h"
#include "base/result.h"

namespace phalanx::agent {

inline constexpr int kNvidiaMajor = 195;  // nvidia0…, nvidiactl (minor 255), nvidia-modeset (254)

struct DeviceNumber {  // of a character device
  int major = 0;
  int minor = 0;
  auto operator<=>(const DeviceNumber&) const = default;
};

// Everything is allowed but the denied; what is listed as allowed is so even within a denied major.
struct DeviceRules {
  std::vector<DeviceNumber> allowed;
  std::vector<DeviceNumber> denied;
  std::vector<int> denied_majors;
  auto operator<=>(const DeviceRules&) const = default;
};

class DeviceFilters {
 public:
  // Makes `rules` the only filter of the v2 cgroup at `dir`; filters of groups above it hold
  // besides.
  Status set(const std::string& dir, const DeviceRules& rules);

 private:
  Result<int> program(const DeviceRules& rules);
  std::map<DeviceRules, Fd> loaded_;
};

}  // namespace phalanx::agent
