// What a cgroup v1 directory understands.
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "agent/cgroup_hierarchy.h"
#include "agent/kernel_file.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

constexpr int kDeviceMinors =
    256;  // of NVIDIA's major; of nvidia-caps the driver uses about 150 per GPU
constexpr int kCapabilityMinors = 4096;

// The kernel refuses a memory limit above the one of memory with swap, and that one below the
// former: in either direction one of the two orders works.
Status limit_memory(const std::string& dir, std::int64_t bytes) {
  const std::string text = format("{}", bytes);
  const std::string memory = dir + "/memory.limit_in_bytes";
  const std::string with_swap = dir + "/memory.memsw.limit_in_bytes";
  if (!exists(with_swap)) return write_text(memory, text);
  if (write_errno(memory, text) == 0) return write_text(with_swap, text);
  TRY(write_text(with_swap, text));
  return write_text(memory, text);
}

// A new cpuset is empty and takes no process: it begins with what its parent has.
Status inherit(const std::string& dir, const char* file) {
  const std::string path = format("{}/{}", dir, file);
  const std::optional<std::string> own = read_text(path);
  if (own && !own->empty()) return {};
  const std::string parent = format("{}/{}", dir.substr(0, dir.rfind('/')), file);
  const std::optional<std::string> theirs = read_text(parent);
  if (!theirs || theirs->empty())
    return unavailable(format("{} is empty: no CPU or memory node to hand down", parent));
  return write_text(path, *theirs);
}

bool is_allowed(const DeviceRules& rules, DeviceNumber device) {
  return std::ranges::find(rules.allowed, device) != rules.allowed.end();
}

// v1 cannot cut a hole into "195:*": where some minors are allowed, each of the others is denied by
// name.
Status deny_major(const std::string& dir, const DeviceRules& rules, int major, bool fresh) {
  const std::string deny = dir + "/devices.deny";
  const auto same_major = [&](DeviceNumber d) { return d.major == major; };
  if (std::ranges::none_of(rules.allowed, same_major))
    return write_text(deny, format("c {}:* rwm", major));
  const int minors = major == kNvidiaMajor ? kDeviceMinors : kCapabilityMinors;
  std::vector<std::string> others;
  for (int minor = 0; minor < minors; ++minor)
    if (!is_allowed(rules, {major, minor})) others.push_back(format("c {}:{} rwm", major, minor));
  TRY(write_lines(deny, others));
  // A group that exists may still deny the whole major, or a minor that it has now been given.
  const std::string allow = dir + "/devices.allow";
  if (!fresh) TRY(write_text(allow, format("c {}:* rwm", major)));
  for (const DeviceNumber& d : rules.allowed)
    if (!fresh && d.major == major) TRY(write_text(allow, format("c {}:{} rwm", major, d.minor)));
  return {};
}

}  // namespace

Status prepare_v1(const std::string& dir, unsigned controllers) {
  if (controllers & kCpuset) {
    TRY(inherit(dir, "cpuset.cpus"));
    TRY(inherit(dir, "cpuset.mems"));
  }
  // Old kernels count a group's children only if told so; new ones always do and may lack the file.
  if (controllers & kMemory) (void)write_errno(dir + "/memory.use_hierarchy", "1");
  return {};
}

Status limit_v1(const std::string& dir, unsigned controllers, const CgroupLimits& limits) {
  if ((controllers & kMemory) && limits.memory_bytes) TRY(limit_memory(dir, *limits.memory_bytes));
  if ((controllers & kCpu) && limits.cpu_weight_milli) {
    const std::int64_t shares = *limits.cpu_weight_milli * 1024 / 1000;
    TRY(write_text(dir + "/cpu.shares",
                   format("{}", std::clamp<std::int64_t>(shares, 2, 262'144))));
  }
  if ((controllers & kCpu) && limits.cpu_quota_milli) {
    const std::int64_t quota = *limits.cpu_quota_milli * kPeriodUs / 1000;
    TRY(write_text(dir + "/cpu.cfs_period_us", format("{}", kPeriodUs)));
    TRY(write_text(dir + "/cpu.cfs_quota_us", format("{}", std::max(quota, kLeastQuotaUs))));
  }
  if ((controllers & kCpuset) && !limits.cpus.empty())
    TRY(write_text(dir + "/cpuset.cpus", limits.cpus));
  if ((controllers & kPids) && limits.pids_max)
    TRY(write_text(dir + "/pids.max", format("{}", *limits.pids_max)));
  return {};
}

Status fence_v1(const std::string& dir, const DeviceRules& rules, bool fresh) {
  for (int major : rules.denied_majors) TRY(deny_major(dir, rules, major, fresh));
  for (const DeviceNumber& d : rules.denied)
    TRY(write_text(dir + "/devices.deny", format("c {}:{} rwm", d.major, d.minor)));
  return {};
}

Status freeze_v1(const std::string& dir, bool frozen) {
  const std::string path = dir + "/freezer.state";
  TRY(write_text(path, frozen ? "FROZEN" : "THAWED"));
  if (!frozen) return {};
  for (int look = 0; look < kFreezeLooks; ++look) {
    if (read_text(path) == "FROZEN") return {};
    ::sched_yield();
  }
  return unavailable(format("{} is still freezing: a process is in an uninterruptible call", dir));
}

namespace {

// cpuacct.stat counts in ticks: it only says how the exact time is divided.
void divide_cpu_time(const std::string& dir, CgroupCounters& out) {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  const std::string times = read_text(dir + "/cpuacct.stat").value_or("");
  const auto user = find_key(times, "user");
  const auto system = find_key(times, "system");
  if (!out.cpu_ns || !user || !system) return;
  const std::int64_t ms = *out.cpu_ns / kNsPerMs,
                     ticks = std::max<std::int64_t>(*user + *system, 1);
  out.system_ms = ms / ticks * *system + ms % ticks * *system / ticks;
  out.user_ms = ms - *out.system_ms;
}

}  // namespace

void count_v1(const std::string& dir, unsigned controllers, CgroupCounters& out) {
  if (controllers & kCpuAcct) out.cpu_ns = read_number(dir + "/cpuacct.usage");
  if (controllers & kCpuAcct && !out.user_ms) divide_cpu_time(dir, out);
  if (!(controllers & kMemory)) return;
  out.memory_bytes = read_number(dir + "/memory.usage_in_bytes");
  out.memory_peak_bytes = read_number(dir + "/memory.max_usage_in_bytes");
  out.oom_kills = oom_kills_v1(dir);
}

// v1 counts a kill in the group of the victim only, not in those above it.
std::optional<std::int64_t> oom_kills_v1(const std::string& dir) {
  std::optional<std::int64_t> sum = read_key(dir + "/memory.oom_control", "oom_kill");
  for (const std::string& name : subdirectories(dir))
    if (const auto below = oom_kills_v1(dir + "/" + name)) sum = sum.value_or(0) + *below;
  return sum;
}

}  // namespace phalanx::agent
