#include "agent/cgroup.h"

#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "agent/cgroup_hierarchy.h"
#include "agent/kernel_file.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

constexpr int kNvidiaModesetMinor = 254;
constexpr int kNvidiaControlMinor = 255;
constexpr int kKillRounds = 16;
constexpr int kSignalRounds = 8;

Error no_cgroups() {
  return unavailable("no control groups on this node: use the supervisor's process group");
}

// Names are ours, made of ids: whatever could leave the tree or meet a file of the kernel's is a
// mistake.
Status check_name(std::string_view group) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  for (std::string_view part : split(group, '/')) {
    if (part.empty() || !std::ranges::all_of(part, fine))
      return invalid(
          format("\"{}\" is no name for a control group: use letters, digits, _ and -, and "
                 "one / between groups",
                 printable(group)));
  }
  return {};
}

std::string path_of(const CgroupHierarchy& hierarchy, std::string_view group) {
  return format("{}/{}", hierarchy.root, group);
}

// Makes the group and what is missing above it, each fit for the next.
Status make(const CgroupHierarchy& hierarchy, std::string_view group) {
  std::string dir = hierarchy.root;
  for (std::string_view part : split(group, '/')) {
    if (hierarchy.unified) TRY(prepare_v2(dir, hierarchy.controllers));
    dir += format("/{}", part);
    const bool made = ::mkdir(dir.c_str(), 0755) == 0;
    if (!made && errno != EEXIST)
      return unavailable(format("cannot create {}: {}", dir, std::strerror(errno)));
    // A cpuset may be left without CPUs by one who was killed right here.
    if (!hierarchy.unified && (made || (hierarchy.controllers & kCpuset)))
      TRY(prepare_v1(dir, hierarchy.controllers));
  }
  return {};
}

// Appends the ids in cgroup.procs of `dir` and of all below it.
void collect_processes(const std::string& dir, std::vector<pid_t>& out) {
  if (const std::optional<std::string> text = read_text(dir + "/cgroup.procs")) {
    for (std::string_view line : split(*text, '\n')) {
      // 0 stands for a process outside of our pid namespace, which we cannot signal.
      const std::optional<std::int64_t> pid = parse_int(line);
      if (pid && *pid > 0) out.push_back(static_cast<pid_t>(*pid));
    }
  }
  for (const std::string& name : subdirectories(dir)) collect_processes(dir + "/" + name, out);
}

Status remove_tree(const std::string& dir) {
  if (::rmdir(dir.c_str()) == 0 || errno == ENOENT) return {};
  for (const std::string& name : subdirectories(dir)) TRY(remove_tree(dir + "/" + name));
  if (::rmdir(dir.c_str()) == 0 || errno == ENOENT) return {};
  if (errno != EBUSY) return unavailable(format("cannot remove {}: {}", dir, std::strerror(errno)));
  std::vector<pid_t> left;
  collect_processes(dir, left);
  return unavailable(format("cannot remove {}: {} processes are still in it", dir, left.size()));
}

void list_groups(const std::string& dir, const std::string& prefix, std::set<std::string>& out) {
  for (const std::string& name : subdirectories(dir)) {
    out.insert(prefix + name);
    list_groups(dir + "/" + name, prefix + name + "/", out);
  }
}

// The uppermost group of the path that does not exist yet; empty if all do.
std::string first_missing(const CgroupHierarchy& hierarchy, std::string_view group) {
  std::string name;
  for (std::string_view part : split(group, '/')) {
    name += name.empty() ? std::string(part) : format("/{}", part);
    if (!is_directory(path_of(hierarchy, name))) return name;
  }
  return {};
}

void drain(int inotify) {
  alignas(inotify_event) char buffer[4096];
  while (::read(inotify, buffer, sizeof(buffer)) > 0) {
  }
}

}  // namespace

std::string_view to_string(CgroupBackend backend) {
  switch (backend) {
    case CgroupBackend::None:
      return "none";
    case CgroupBackend::V1:
      return "v1";
    case CgroupBackend::Hybrid:
      return "hybrid";
    case CgroupBackend::V2:
      return "v2";
  }
  return "none";
}

const CgroupHierarchy* Cgroups::with(CgroupController controller) const {
  for (const CgroupHierarchy& h : hierarchies_)
    if (h.controllers & controller) return &h;
  return nullptr;
}

// The hierarchy that says which processes are in a group: v2 if there is one, for its cgroup.kill
// and its notification, else the freezer, else any.
const CgroupHierarchy* Cgroups::primary() const {
  for (const CgroupHierarchy& h : hierarchies_)
    if (h.unified) return &h;
  if (const CgroupHierarchy* freezer = with(kFreezer)) return freezer;
  return hierarchies_.empty() ? nullptr : &hierarchies_.front();
}

Result<std::string> Cgroups::directory(std::string_view group) const {
  TRY(check_name(group));
  const CgroupHierarchy* where = primary();
  if (where == nullptr) return no_cgroups();
  return path_of(*where, group);
}

// Each directory costs the kernel and the starting child some microseconds: a v1 hierarchy from
// which nothing is asked is left out.
bool Cgroups::needs(const CgroupHierarchy& hierarchy, const CgroupLimits& limits) const {
  unsigned asked = kMemory | kCpuAcct;
  if (limits.cpu_weight_milli || limits.cpu_quota_milli) asked |= kCpu;
  if (!limits.cpus.empty()) asked |= kCpuset;
  if (limits.pids_max) asked |= kPids;
  if (limits.devices && fence_means_ == FenceMeans::V1) asked |= kDevices;
  return &hierarchy == primary() || (hierarchy.controllers & asked) != 0;
}

Status Cgroups::create(std::string_view group, const CgroupLimits& limits) {
  TRY(check_name(group));
  if (backend_ == CgroupBackend::None) return {};
  CgroupLimits effective = limits;
  const bool nested = group.find('/') != std::string_view::npos;
  if (!nested && !effective.devices) effective.devices = DeviceFence{};
  const std::string missing = first_missing(*primary(), group);
  // A group that was made on the way to a nested one starts, like every top group, without GPUs.
  if (nested && missing.size() < group.size() && missing.find('/') == std::string::npos &&
      !missing.empty())
    TRY(create(missing, {}));
  const auto all = [&]() -> Status {
    for (const CgroupHierarchy& h : hierarchies_)
      if (needs(h, effective)) TRY(make(h, group));
    return apply(group, effective, !missing.empty());
  };
  Status done = all();
  if (!done && !missing.empty()) (void)remove(missing);
  return done;
}

Status Cgroups::update(std::string_view group, const CgroupLimits& limits) {
  TRY(check_name(group));
  if (backend_ == CgroupBackend::None) return {};
  for (const CgroupHierarchy& h : hierarchies_) {
    if (needs(h, limits) && !is_directory(path_of(h, group)))
      return conflict(
          format("{} was created without such a limit, which cannot be added while it runs",
                 path_of(h, group)));
  }
  return apply(group, limits, /*fresh=*/false);
}

Status Cgroups::apply(std::string_view group, const CgroupLimits& limits, bool fresh) {
  for (const CgroupHierarchy& h : hierarchies_) {
    if (!needs(h, limits)) continue;
    const std::string dir = path_of(h, group);
    TRY(h.unified ? limit_v2(dir, h.controllers, limits) : limit_v1(dir, h.controllers, limits));
  }
  return limits.devices ? apply_fence(group, *limits.devices, fresh) : Status();
}

Status Cgroups::apply_fence(std::string_view group, const DeviceFence& fence, bool fresh) {
  if (fence_means_ == FenceMeans::None) return {};  // said at open()
  DeviceRules rules{.allowed = {}, .denied = fence.also_denied, .denied_majors = fenced_majors_};
  for (int minor : fence.gpu_minors) rules.allowed.push_back({kNvidiaMajor, minor});
  if (!fence.gpu_minors.empty()) {
    rules.allowed.push_back({kNvidiaMajor, kNvidiaModesetMinor});
    rules.allowed.push_back({kNvidiaMajor, kNvidiaControlMinor});
  }
  if (capability_major_ >= 0)
    for (int minor : fence.capability_minors) rules.allowed.push_back({capability_major_, minor});
  std::ranges::sort(rules.allowed);
  std::ranges::sort(rules.denied);
  if (fence_means_ == FenceMeans::Bpf) return filters_.set(path_of(*primary(), group), rules);
  return fence_v1(path_of(*with(kDevices), group), rules, fresh);
}

std::vector<std::string> Cgroups::procs_files(std::string_view group) const {
  std::vector<std::string> files;
  if (!check_name(group)) return files;
  for (const CgroupHierarchy& h : hierarchies_) {
    // A step has no directory where only its job has limits: the nearest one above it counts.
    std::string_view name = group;
    while (!name.empty() && !is_directory(path_of(h, name))) {
      const std::size_t slash = name.rfind('/');
      name = slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
    }
    if (!name.empty()) files.push_back(path_of(h, name) + "/cgroup.procs");
  }
  return files;
}

std::string Cgroups::unified_dir(std::string_view group) const {
  const CgroupHierarchy* where = primary();
  if (where == nullptr || !where->unified || !check_name(group)) return {};
  return path_of(*where, group);
}

Result<bool> Cgroups::kill(std::string_view group) {
  const std::string dir = TRY(directory(group));
  if (!is_directory(dir)) return true;
  if (primary()->unified) {
    const int error = write_errno(dir + "/cgroup.kill", "1");
    if (error == 0) return !TRY(populated(group));
    if (error != ENOENT)
      return unavailable(format("cannot kill {}: {}", dir, std::strerror(error)));
  }
  // Frozen processes cannot fork away from us; they die when they are thawed. Where nothing
  // freezes, or a process does not yet, the next round finds who was born meanwhile.
  for (int round = 0; round < kKillRounds; ++round) {
    if (!TRY(populated(group))) return true;
    (void)freeze(group, true);
    for (pid_t pid : TRY(processes(group))) (void)::kill(pid, SIGKILL);
    (void)freeze(group, false);
  }
  return !TRY(populated(group));
}

Result<int> Cgroups::signal_all(std::string_view group, int signal) {
  std::set<pid_t> reached;
  for (int round = 0; round < kSignalRounds; ++round) {
    bool news = false;
    for (pid_t pid : TRY(processes(group))) {
      if (!reached.insert(pid).second) continue;
      news = true;
      if (::kill(pid, signal) != 0 && errno == EPERM)
        return denied(format("process {} may not be signalled", pid));
    }
    if (!news) break;
  }
  return static_cast<int>(reached.size());
}

Status Cgroups::freeze(std::string_view group, bool frozen) {
  const std::string dir = TRY(directory(group));
  if (!is_directory(dir)) return not_found(format("{} does not exist", dir));
  if (primary()->unified) return freeze_v2(dir, frozen);
  if (with(kFreezer) == nullptr) return unavailable("no freezer controller on this node");
  return freeze_v1(dir, frozen);
}

Result<std::vector<pid_t>> Cgroups::processes(std::string_view group) const {
  const std::string dir = TRY(directory(group));
  std::vector<pid_t> pids;
  collect_processes(dir, pids);
  std::ranges::sort(pids);
  const auto repeated = std::ranges::unique(pids);
  pids.erase(repeated.begin(), repeated.end());
  return pids;
}

Result<bool> Cgroups::populated(std::string_view group) const {
  const std::string dir = TRY(directory(group));
  if (primary()->unified) {
    if (const auto value = read_key(dir + "/cgroup.events", "populated")) return *value != 0;
    if (!is_directory(dir)) return false;
    return unavailable(format("{}/cgroup.events cannot be read", dir));
  }
  return !TRY(processes(group)).empty();
}

Result<Fd> Cgroups::watch(std::string_view group) const {
  const std::string dir = TRY(directory(group));
  if (!primary()->unified) return unavailable("cgroup v1 does not notify: poll populated()");
  Fd inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify) return unavailable(format("inotify: {}", std::strerror(errno)));
  const std::string events = dir + "/cgroup.events";
  if (::inotify_add_watch(inotify.get(), events.c_str(), IN_MODIFY) < 0)
    return unavailable(format("cannot watch {}: {}", events, std::strerror(errno)));
  return inotify;
}

Result<bool> Cgroups::wait_empty(std::string_view group, Duration timeout,
                                 PollSpacing spacing) const {
  using Clock = std::chrono::steady_clock;
  // The watch begins before the first look, so that no change falls between the two.
  Fd inotify;
  if (Result<Fd> watched = watch(group)) inotify = std::move(*watched);
  const bool bounded = timeout != kForever;
  const Clock::time_point end = Clock::now() + (bounded ? timeout : Duration(0));
  Duration pause = spacing.first;
  while (TRY(populated(group))) {
    const auto left = std::chrono::ceil<Duration>(end - Clock::now());
    if (bounded && left <= Duration(0)) return false;
    if (inotify) {
      pollfd waiting{.fd = inotify.get(), .events = POLLIN, .revents = 0};
      constexpr Duration kMost = std::chrono::hours(1);
      (void)::poll(&waiting, 1,
                   static_cast<int>((bounded ? std::min(left, kMost) : kMost).count()));
      drain(inotify.get());
      continue;
    }
    std::this_thread::sleep_for(bounded ? std::min(left, pause) : pause);
    pause = std::min(pause * 2, spacing.most);
  }
  return true;
}

CgroupCounters Cgroups::counters(std::string_view group) const {
  CgroupCounters out;
  if (!check_name(group)) return out;
  // v2 first: in a hybrid its CPU time is replaced by the finer one of cpuacct.
  for (bool unified : {true, false})
    for (const CgroupHierarchy& h : hierarchies_) {
      if (h.unified != unified || !is_directory(path_of(h, group))) continue;
      const std::string dir = path_of(h, group);
      unified ? count_v2(dir, h.controllers, out) : count_v1(dir, h.controllers, out);
    }
  return out;
}

bool Cgroups::oom_killed(std::string_view group) const {
  const CgroupHierarchy* memory = with(kMemory);
  if (memory == nullptr || !check_name(group)) return false;
  const std::string dir = path_of(*memory, group);
  return (memory->unified ? oom_kills_v2(dir) : oom_kills_v1(dir)).value_or(0) > 0;
}

Status Cgroups::remove(std::string_view group) {
  TRY(check_name(group));
  for (const CgroupHierarchy& h : hierarchies_) TRY(remove_tree(path_of(h, group)));
  return {};
}

std::vector<std::string> Cgroups::groups() const {
  std::set<std::string> names;
  for (const CgroupHierarchy& h : hierarchies_) list_groups(h.root, "", names);
  return {names.begin(), names.end()};
}

void Cgroups::remove_root() {
  for (const CgroupHierarchy& h : hierarchies_) {
    (void)::rmdir(h.root.c_str());
    (void)::rmdir((h.base + "/phalanx").c_str());  // stays while another agent's node is in it
  }
}

}  // namespace phalanx::agent
