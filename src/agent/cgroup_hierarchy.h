// What is done to a directory of one cgroup hierarchy, in the manner of its version. Private to
// Cgroups. Units and errors as in agent/cgroup.h; `controllers` are bits of CgroupController.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/cgroup.h"
#include "base/result.h"

namespace phalanx::agent {

inline constexpr std::int64_t kPeriodUs = 100'000;    // of CPU quotas
inline constexpr std::int64_t kLeastQuotaUs = 1'000;  // the kernel takes no less
inline constexpr int kFreezeLooks = 1000;             // for a freeze to come about

// `dir` has just been made, or is there: makes it fit to hold processes and groups.
Status prepare_v1(const std::string& dir, unsigned controllers);
Status prepare_v2(const std::string& dir, unsigned controllers);
// Sets what `limits` asks of these controllers.
Status limit_v1(const std::string& dir, unsigned controllers, const CgroupLimits& limits);
Status limit_v2(const std::string& dir, unsigned controllers, const CgroupLimits& limits);
Status fence_v1(const std::string& dir, const DeviceRules& rules, bool fresh);
Status freeze_v1(const std::string& dir, bool frozen);
Status freeze_v2(const std::string& dir, bool frozen);
void count_v1(const std::string& dir, unsigned controllers, CgroupCounters& out);
void count_v2(const std::string& dir, unsigned controllers, CgroupCounters& out);
// In the group and below it; nothing if nobody counted.
std::optional<std::int64_t> oom_kills_v1(const std::string& dir);
std::optional<std::int64_t> oom_kills_v2(const std::string& dir);

}  // namespace phalanx::agent
