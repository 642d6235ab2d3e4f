// What a cgroup v2 directory understands.
#include <sched.h>

#include <algorithm>

#include "agent/cgroup_hierarchy.h"
#include "agent/kernel_file.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

// The same CPUs weigh the same in v1 and v2: shares of 2..262144 are mapped onto weights
// of 1..10000, as OCI runtimes do.
std::int64_t weight_of(std::int64_t milli) {
  const std::int64_t shares = std::clamp<std::int64_t>(milli * 1024 / 1000, 2, 262'144);
  return 1 + (shares - 2) * 9999 / 262'142;
}

}  // namespace

// Hands the controllers down to the groups below `dir`.
Status prepare_v2(const std::string& dir, unsigned controllers) {
  struct Name {
    CgroupController controller;
    const char* word;
  };
  constexpr Name kNames[] = {
      {kCpu, "+cpu"}, {kCpuset, "+cpuset"}, {kMemory, "+memory"}, {kPids, "+pids"}};
  // Only the true root, which has no type, may hold processes and hand controllers down. Asked for
  // a controller that can work by thread, the kernel would not refuse but turn the group into a
  // threaded one.
  const bool top = !exists(dir + "/cgroup.type");
  if (controllers != 0 && !top && read_text(dir + "/cgroup.procs") != "")
    return conflict(
        format("{} holds processes, so it cannot have groups with limits below it: start them in a "
               "group of their own",
               dir));
  for (const Name& name : kNames)
    if (controllers & name.controller) TRY(write_text(dir + "/cgroup.subtree_control", name.word));
  return {};
}

Status limit_v2(const std::string& dir, unsigned controllers, const CgroupLimits& limits) {
  if ((controllers & kMemory) && limits.memory_bytes) {
    TRY(write_text(dir + "/memory.max", format("{}", *limits.memory_bytes)));
    const std::string swap = dir + "/memory.swap.max";
    if (exists(swap)) TRY(write_text(swap, "0"));
  }
  if ((controllers & kCpu) && limits.cpu_weight_milli)
    TRY(write_text(dir + "/cpu.weight", format("{}", weight_of(*limits.cpu_weight_milli))));
  if ((controllers & kCpu) && limits.cpu_quota_milli) {
    const std::int64_t quota = std::max(*limits.cpu_quota_milli * kPeriodUs / 1000, kLeastQuotaUs);
    TRY(write_text(dir + "/cpu.max", format("{} {}", quota, kPeriodUs)));
  }
  if ((controllers & kCpuset) && !limits.cpus.empty())
    TRY(write_text(dir + "/cpuset.cpus", limits.cpus));
  if ((controllers & kPids) && limits.pids_max)
    TRY(write_text(dir + "/pids.max", format("{}", *limits.pids_max)));
  return {};
}

Status freeze_v2(const std::string& dir, bool frozen) {
  TRY(write_text(dir + "/cgroup.freeze", frozen ? "1" : "0"));
  if (!frozen) return {};
  for (int look = 0; look < kFreezeLooks; ++look) {
    if (read_key(dir + "/cgroup.events", "frozen") == 1) return {};
    ::sched_yield();
  }
  return unavailable(format("{} is still freezing: a process is in an uninterruptible call", dir));
}

void count_v2(const std::string& dir, unsigned controllers, CgroupCounters& out) {
  const std::string times = read_text(dir + "/cpu.stat").value_or("");
  if (const auto usec = find_key(times, "usage_usec")) out.cpu_ns = *usec * 1000;
  if (const auto usec = find_key(times, "user_usec")) out.user_ms = *usec / 1000;
  if (const auto usec = find_key(times, "system_usec")) out.system_ms = *usec / 1000;
  if (!(controllers & kMemory)) return;
  out.memory_bytes = read_number(dir + "/memory.current");
  out.memory_peak_bytes = read_number(dir + "/memory.peak");  // since Linux 5.19
  out.oom_kills = oom_kills_v2(dir);
}

std::optional<std::int64_t> oom_kills_v2(const std::string& dir) {
  return read_key(dir + "/memory.events", "oom_kill");
}

}  // namespace phalanx::agent
