// Finds out which hierarchies are mounted, where this process may create groups in them, and what
// is missing. Everything that Cgroups::open() decides is decided here, once.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>

#include "agent/cgroup.h"
#include "agent/cgroup_hierarchy.h"
#include "agent/kernel_file.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

constexpr int kMakeAttempts = 8;
constexpr const char* kProbe = "device-filter-probe";

struct ControllerName {
  CgroupController controller;
  std::string_view word;
};
constexpr ControllerName kControllers[] = {
    {kCpu, "cpu"},   {kCpuAcct, "cpuacct"}, {kCpuset, "cpuset"},  {kMemory, "memory"},
    {kPids, "pids"}, {kDevices, "devices"}, {kFreezer, "freezer"}};

unsigned controllers_in(std::string_view words, char separator) {
  unsigned bits = 0;
  for (std::string_view word : split(words, separator))
    for (const ControllerName& name : kControllers)
      if (word == name.word) bits |= name.controller;
  return bits;
}

struct Mount {
  bool unified = false;
  unsigned controllers = 0;
  std::string root;   // the part of the hierarchy that is mounted; "/" outside of containers
  std::string point;  // where
};

// "31 23 0:28 /root /point opts … - type source superopts"
std::vector<Mount> mounted() {
  std::vector<Mount> mounts;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto before = split_blanks(std::string_view(line).substr(0, dash));
    const auto after = split_blanks(std::string_view(line).substr(dash + 3));
    if (before.size() < 5 || after.size() < 3) continue;
    Mount mount{.unified = after[0] == "cgroup2",
                .controllers = 0,
                .root = std::string(before[3]),
                .point = std::string(before[4])};
    if (after[0] == "cgroup") mount.controllers = controllers_in(after[2], ',');
    if (mount.unified || mount.controllers != 0) mounts.push_back(std::move(mount));
  }
  return mounts;
}

// The directory of this process in the mounted hierarchy; empty if it lies outside of what is
// mounted.
std::string own_directory(const Mount& mount) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view words = std::string_view(line).substr(first + 1, second - first - 1);
    const bool same =
        mount.unified ? words.empty() : (controllers_in(words, ',') & mount.controllers) != 0;
    if (!same) continue;
    std::string path = line.substr(second + 1);
    if (mount.root != "/") {
      if (!path.starts_with(mount.root)) return {};
      path = path.substr(mount.root.size());
    }
    return path == "/" ? mount.point : mount.point + path;
  }
  return {};
}

bool may_write(const std::string& dir) {
  return ::access(dir.c_str(), W_OK) == 0 && ::access((dir + "/cgroup.procs").c_str(), W_OK) == 0;
}

// root works from the top, outside of every service that may be restarted. Others take the highest
// group above their own that was delegated to them: only from there may they move processes.
std::string base_in(const Mount& mount) {
  if (::geteuid() == 0) return may_write(mount.point) ? mount.point : std::string();
  std::string dir = own_directory(mount);
  if (dir.empty() || !may_write(dir)) return {};
  while (dir.size() > mount.point.size()) {
    std::string parent = dir.substr(0, dir.rfind('/'));
    if (!may_write(parent)) break;
    dir = std::move(parent);
  }
  return dir;
}

// The major number of nvidia-caps is given out when the driver is loaded.
int character_major(std::string_view driver) {
  std::ifstream file("/proc/devices");
  for (std::string line; std::getline(file, line) && !line.starts_with("Block");) {
    const auto words = split_blanks(line);
    if (words.size() == 2 && words[1] == driver)
      return static_cast<int>(parse_int(words[0]).value_or(-1));
  }
  return -1;
}

}  // namespace

class CgroupFinder {
 public:
  explicit CgroupFinder(Cgroups::Options options) : options_(std::move(options)) {
    std::ranges::replace(options_.node, '/', '_');
  }

  Cgroups find() {
    for (const Mount& mount : mounted())
      if (wanted(mount)) use(mount);
    choose_backend();
    if (cgroups_.backend_ == CgroupBackend::None) {
      warn(CgroupWarning::Kind::NoCgroups,
           "no control groups may be used: jobs are not limited, GPUs are not fenced and only "
           "process "
           "groups hold a job together; run the agent as root, or as a systemd unit with "
           "Delegate=yes");
      return std::move(cgroups_);
    }
    find_fence();
    tell_what_is_missing();
    return std::move(cgroups_);
  }

 private:
  void warn(CgroupWarning::Kind kind, std::string text) {
    cgroups_.warnings_.push_back({kind, std::move(text)});
  }

  [[nodiscard]] bool wanted(const Mount& mount) const {
    // A hierarchy that is mounted twice is used once.
    for (const CgroupHierarchy& h : cgroups_.hierarchies_)
      if (h.unified == mount.unified && (h.unified || (h.controllers & mount.controllers)))
        return false;
    if (!options_.only || *options_.only == CgroupBackend::Hybrid) return true;
    return *options_.only == (mount.unified ? CgroupBackend::V2 : CgroupBackend::V1);
  }

  // phalanx/ is shared: another agent that ends may remove it, when empty, under our hands.
  void use(const Mount& mount) {
    const std::string base = base_in(mount);
    for (int attempt = 0; !base.empty() && attempt < kMakeAttempts; ++attempt) {
      CgroupHierarchy h{.unified = mount.unified,
                        .controllers = mount.unified ? available_in(base) : mount.controllers,
                        .base = base,
                        .root = format("{}/phalanx/{}", base, options_.node)};
      if (make_root(h)) {
        cgroups_.hierarchies_.push_back(std::move(h));
        return;
      }
      give_up(h);
    }
  }

  bool make_root(CgroupHierarchy& h) {
    std::string dir = h.base;
    for (const std::string& name : {std::string("phalanx"), options_.node}) {
      if (h.unified) h.controllers = hand_down(dir, h.controllers);
      dir += "/" + name;
      if (::mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST) return false;
      if (!h.unified && !prepare_v1(dir, h.controllers)) return false;
    }
    // The node's own directory holds phalanx/ in place from here on.
    if (h.unified) h.controllers = hand_down(dir, h.controllers);
    return is_directory(dir);
  }

  static void give_up(const CgroupHierarchy& h) {
    (void)::rmdir(h.root.c_str());
    (void)::rmdir((h.base + "/phalanx").c_str());
  }

  // A v2 hierarchy beside v1 has no controllers worth the name.
  static unsigned available_in(const std::string& dir) {
    const unsigned usable = kCpu | kCpuset | kMemory | kPids;
    return controllers_in(read_text(dir + "/cgroup.controllers").value_or(""), ' ') & usable;
  }

  // One by one: a controller that stays behind must not keep the others. Returns those that came
  // along.
  unsigned hand_down(const std::string& dir, unsigned controllers) {
    unsigned enabled = 0;
    for (const ControllerName& name : kControllers) {
      if (!(controllers & name.controller)) continue;
      if (Status done = prepare_v2(dir, name.controller))
        enabled |= name.controller;
      else
        refusals_[name.controller] = done.error().message;
    }
    return enabled;
  }

  void choose_backend() {
    bool v1 = false, v2 = false;
    for (const CgroupHierarchy& h : cgroups_.hierarchies_) (h.unified ? v2 : v1) = true;
    cgroups_.backend_ = v1 && v2 ? CgroupBackend::Hybrid
                        : v1     ? CgroupBackend::V1
                        : v2     ? CgroupBackend::V2
                                 : CgroupBackend::None;
  }

  // A filter of v2 is one program for all groups with equal rules, and can make exceptions; the
  // list of v1 must name each device that is denied.
  void find_fence() {
    cgroups_.fenced_majors_.push_back(kNvidiaMajor);
    cgroups_.capability_major_ =
        options_.capability_major ? *options_.capability_major : character_major("nvidia-caps");
    if (cgroups_.capability_major_ >= 0)
      cgroups_.fenced_majors_.push_back(cgroups_.capability_major_);
    std::ranges::sort(cgroups_.fenced_majors_);
    std::string why = "no devices controller";
    if (cgroups_.primary()->unified) {
      Status works = try_filter();
      if (works) {
        cgroups_.fence_means_ = Cgroups::FenceMeans::Bpf;
        return;
      }
      why = works.error().message;
    }
    if (cgroups_.with(kDevices) != nullptr) {
      cgroups_.fence_means_ = Cgroups::FenceMeans::V1;
      return;
    }
    warn(CgroupWarning::Kind::NoDeviceFence,
         format("jobs may open every GPU of the node: {}; run the agent as root on a kernel with "
                "CONFIG_CGROUP_BPF",
                why));
  }

  Status try_filter() {
    const std::string dir = cgroups_.primary()->root + "/" + kProbe;
    if (::mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST)
      return unavailable(format("cannot create {}: {}", dir, std::strerror(errno)));
    Status set = cgroups_.filters_.set(
        dir, {.allowed = {}, .denied = {}, .denied_majors = cgroups_.fenced_majors_});
    (void)::rmdir(dir.c_str());
    return set;
  }

  void missing(CgroupController controller, CgroupWarning::Kind kind, std::string_view name,
               std::string_view consequence) {
    if (cgroups_.with(controller) != nullptr) return;
    const auto refused = refusals_.find(controller);
    warn(kind, refused == refusals_.end()
                   ? format("no {} controller: {}", name, consequence)
                   : format("no {} controller: {} ({})", name, consequence, refused->second));
  }

  void tell_what_is_missing() {
    using Kind = CgroupWarning::Kind;
    missing(kMemory, Kind::NoMemory, "memory", "memory is neither limited nor measured per job");
    missing(kCpu, Kind::NoCpu, "cpu", "CPU time is neither shared out nor limited");
    missing(kCpuset, Kind::NoCpuset, "cpuset", "CPUs are not fenced");
    missing(kPids, Kind::NoPids, "pids", "the number of processes is not limited");
    if (!cgroups_.primary()->unified)
      missing(kFreezer, Kind::NoFreezer, "freezer",
              "killing a job that forks quickly takes several tries");
    const CgroupHierarchy* memory = cgroups_.with(kMemory);
    if (memory == nullptr) return;
    const char* swap = memory->unified ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes";
    if (!exists(memory->root + swap))
      warn(
          Kind::NoSwapLimit,
          "swap is not counted: a job may swap beyond its memory limit; boot with swapaccount=1 or "
          "turn swap off");
  }

  Cgroups::Options options_;
  Cgroups cgroups_;
  std::map<CgroupController, std::string> refusals_;
};

Cgroups Cgroups::open(const Options& options) { return CgroupFinder(options).find(); }

}  // namespace phalanx::agent
