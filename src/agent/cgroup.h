// Control groups: the walls around a job and its steps on this node. One interface over cgroup v1,
// the hybrid (v1 controllers with a cgroup v2 mount beside them), v2, and nothing at all.
//
// Every group lives below phalanx/<node> of each hierarchy that is mounted and writable. A group's
// name is a path such as "job_4711_a3/step_0". In v2 a group that has groups below it may not hold
// processes: put processes only into leaves (job_4711_a3/step_batch), never into the job's own
// group.
//
// Ownership: the groups belong to the kernel and outlive this object; an agent that starts again
// finds them with groups(). Threads: one at a time. Units: bytes, nanoseconds of CPU, thousandths
// of a CPU. Errors: opening never fails: what the machine lacks becomes a warning to show and is
// not enforced. An operation that the kernel refuses is a Result with the file and the reason.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/cgroup_bpf.h"
#include "agent/fd.h"
#include "base/result.h"
#include "base/time.h"

namespace phalanx::agent {

enum class CgroupBackend { None, V1, Hybrid, V2 };
std::string_view to_string(CgroupBackend backend);

struct CgroupWarning {
  enum class Kind {
    NoCgroups,  // back end None: the supervisor's process groups are all there is
    NoMemory,
    NoSwapLimit,
    NoCpu,
    NoCpuset,
    NoPids,
    NoDeviceFence,
    NoFreezer,  // killing is a race that is repeated until the group is empty
  };
  Kind kind = Kind::NoCgroups;
  std::string text;  // what is missing, what follows from it, what to do
};

// Which GPUs the processes of a group may open. Every other minor of the fenced majors is denied.
struct DeviceFence {
  std::vector<int> gpu_minors;            // /dev/nvidia<minor>; any opens nvidiactl and modeset too
  std::vector<int> capability_minors;     // /dev/nvidia-caps/nvidia-cap<minor>: MIG instances
  std::vector<DeviceNumber> also_denied;  // other devices of the node that this group was not given
};

struct CgroupLimits {
  std::optional<std::int64_t> memory_bytes;      // of memory and swap together
  std::optional<std::int64_t> cpu_weight_milli;  // share under contention: the CPUs asked for
  std::optional<std::int64_t> cpu_quota_milli;   // hard ceiling
  std::string cpus;                              // "0-3,8"; empty: the parent's
  std::optional<std::int64_t> pids_max;
  // Absent: a top group may open no GPU, a nested one what its parent may.
  std::optional<DeviceFence> devices;
};

// Absent means that nobody measured it.
struct CgroupCounters {
  std::optional<std::int64_t> cpu_ns;
  std::optional<std::int64_t> user_ms, system_ms;  // what cpu_ns is made of, less finely
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> memory_peak_bytes;
  std::optional<std::int64_t> oom_kills;
};

// The rhythm of asking again where the kernel offers no notification: `first`, doubled up to
// `most`.
struct PollSpacing {
  Duration first{5};
  Duration most{200};
};

// One mounted hierarchy that we may use. v1 machines have one per controller or pair of
// controllers.
struct CgroupHierarchy {
  bool unified = false;      // cgroup v2
  unsigned controllers = 0;  // bits of CgroupController
  std::string base;          // the directory in which we created phalanx/
  std::string root;          // base/phalanx/<node>
};
enum CgroupController : unsigned {
  kCpu = 1,
  kCpuAcct = 2,
  kCpuset = 4,
  kMemory = 8,
  kPids = 16,
  kDevices = 32,
  kFreezer = 64,
};

class Cgroups {
 public:
  struct Options {
    std::string node = "node";            // several agents on one machine have different names
    std::optional<CgroupBackend> only;    // use this back end or none; absent: the best one
    std::optional<int> capability_major;  // of nvidia-caps; absent: as /proc/devices says
  };
  static Cgroups open(const Options& options);

  [[nodiscard]] CgroupBackend backend() const { return backend_; }
  [[nodiscard]] const std::vector<CgroupWarning>& warnings() const { return warnings_; }

  // Creates the group, and missing groups above it without limits; a group that exists gets the
  // limits. If it fails, what it created is gone again.
  Status create(std::string_view group, const CgroupLimits& limits);
  // Changes the limits of a group; what is absent in `limits` stays as it is. A v1 controller that
  // the group was created without cannot be added (Conflict).
  Status update(std::string_view group, const CgroupLimits& limits);
  // The files into which a child writes "0" to enter the group, while it may still write them.
  [[nodiscard]] std::vector<std::string> procs_files(std::string_view group) const;
  // The group's directory in v2, for clone3(CLONE_INTO_CGROUP); empty where there is none.
  [[nodiscard]] std::string unified_dir(std::string_view group) const;

  // Kills everything in the group and below it. True: it is empty already; false: the kernel is
  // still at it (wait, then ask again; a process in an uninterruptible call can take long).
  Result<bool> kill(std::string_view group);
  // Sends `signal` to every process in the group and below it; returns to how many.
  Result<int> signal_all(std::string_view group, int signal);
  Status freeze(std::string_view group, bool frozen);
  [[nodiscard]] Result<std::vector<pid_t>> processes(std::string_view group) const;
  // Whether a living process is in the group or below it. A group that does not exist has none.
  [[nodiscard]] Result<bool> populated(std::string_view group) const;
  // A descriptor that becomes readable when populated() may have changed (inotify; read it empty).
  // v1 has nothing of the kind: Unavailable, and the caller polls populated().
  [[nodiscard]] Result<Fd> watch(std::string_view group) const;
  // Blocks until the group is empty (true) or `timeout` has passed (false).
  [[nodiscard]] Result<bool> wait_empty(std::string_view group, Duration timeout,
                                        PollSpacing spacing) const;

  // Read them before remove(): they go with the group. Those of v1 include groups below only as
  // long as these exist, as far as oom_kills is concerned.
  [[nodiscard]] CgroupCounters counters(std::string_view group) const;
  [[nodiscard]] bool oom_killed(std::string_view group) const;

  // Removes the group and all below it. Unavailable while processes are left.
  Status remove(std::string_view group);
  // What exists below our root, parents before children: what an earlier agent left behind.
  [[nodiscard]] std::vector<std::string> groups() const;
  // Removes phalanx/<node> itself when nothing is left in it.
  void remove_root();

 private:
  Cgroups() = default;
  friend class CgroupFinder;

  [[nodiscard]] const CgroupHierarchy* with(CgroupController controller) const;
  [[nodiscard]] const CgroupHierarchy* primary() const;
  [[nodiscard]] Result<std::string> directory(std::string_view group) const;
  [[nodiscard]] bool needs(const CgroupHierarchy& hierarchy, const CgroupLimits& limits) const;
  Status apply(std::string_view group, const CgroupLimits& limits, bool fresh);
  Status apply_fence(std::string_view group, const DeviceFence& fence, bool fresh);

  enum class FenceMeans { None, V1, Bpf };
  CgroupBackend backend_ = CgroupBackend::None;
  FenceMeans fence_means_ = FenceMeans::None;
  std::vector<CgroupHierarchy> hierarchies_;
  std::vector<CgroupWarning> warnings_;
  std::vector<int> fenced_majors_;
  int capability_major_ = -1;  // of nvidia-caps; -1: no such driver here
  DeviceFilters filters_;
};

}  // namespace phalanx::agent
