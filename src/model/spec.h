// What the user sent, translated: the immutable part of a workload. Values, described for the
// codec.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/describe.h"
#include "base/quantity.h"
#include "base/time.h"
#include "model/identity.h"
#include "model/ids.h"
#include "model/request.h"

namespace phalanx {

// --- what the user sent, translated

enum class WorkloadKind {
  batch,       // a script, run once on the first node
  allocation,  // salloc, srun on its own: devices for steps; nothing runs by itself
  command,     // a container command as a host process (a Pod)
};
BOOST_DESCRIBE_ENUM(WorkloadKind, batch, allocation, command)

// aftercorr: an array's element waits for the success of the element with its own index.
enum class DependencyKind { after, afterok, afternotok, afterany, singleton, aftercorr };
BOOST_DESCRIBE_ENUM(DependencyKind, after, afterok, afternotok, afterany, singleton, aftercorr)

struct Dependency {
  DependencyKind kind = DependencyKind::afterany;
  WorkloadId on;     // a workload or a whole array; resolved at submission. None for singleton
  Duration delay{};  // after:ID+minutes
  bool any = false;  // this one or the next suffices ("?" in Slurm's list); else all are needed
  std::optional<std::uint32_t> index;  // of the array `on`: this one alone
  bool operator==(const Dependency&) const = default;
};
BOOST_DESCRIBE_STRUCT(Dependency, (), (kind, on, delay, any, index))

// A signal some time before the limit (--signal).
struct WarnSignal {
  std::int32_t signal = 0;  // 0: none
  Duration before = seconds(60);
  bool shell_only = false;  // B: the batch script alone; else all steps and not the script
  bool operator==(const WarnSignal&) const = default;
};
BOOST_DESCRIBE_STRUCT(WarnSignal, (), (signal, before, shell_only))

// How its processes start. Texts over 4 KB and everything secret are blobs, by SHA-256.
struct LaunchSpec {
  std::string script;                  // blob; batch only
  std::string environment;             // blob: NAME=value strings, each ended by NUL
  std::vector<std::string> arguments;  // of the script; or, for a command, the whole argv
  std::string work_dir;
  std::string std_in, std_out, std_err;  // patterns as the dialect wrote them; empty: its default
  bool append = false;
  std::uint32_t umask = 022;
  std::map<std::string, std::int64_t>
      limits;  // soft resource limits: "nofile": 1024; -1: unlimited
  WarnSignal warn;
  bool operator==(const LaunchSpec&) const = default;
};
BOOST_DESCRIBE_STRUCT(LaunchSpec, (),
                      (script, environment, arguments, work_dir, std_in, std_out, std_err, append,
                       umask, limits, warn))

// Immutable after submission, but for what Updated and Held change in the Workload beside it.
struct WorkloadSpec {
  WorkloadKind kind = WorkloadKind::batch;
  std::string dialect = "slurm";
  std::string name;
  Identity owner;
  std::string account, partition, qos, comment;
  std::vector<TaskGroup> groups{TaskGroup{}};
  Duration limit = kForever;  // wall-clock, as asked; kForever: the partition's default
  Time begin{};               // not before
  std::int64_t nice = 0;
  std::vector<Dependency> dependencies;
  bool end_if_never = false;  // when they can never come true: it ends instead of waiting for ever
  bool requeue = true;
  std::int64_t cpus_per_task =
      0;  // as written, for printing and for SLURM_CPUS_PER_TASK; 0: not given
  std::int64_t tasks_per_node = 0;  // as written
  bool tasks_given = false;
  LaunchSpec launch;
  std::vector<std::string> warnings;  // said at submission, kept for whoever asks later
  std::string object;                 // the key of the Object it was made for; empty: none
  std::string command;                // the script's path or the command line, for printing
  std::string submit_host;
  std::string submit_line;  // the whole command as typed, with its tool; a long one is cut
  // An allocation whose client stays connected: it ends when the client is gone for good.
  bool client_stays = false;
  std::map<std::string, std::string>
      asked;  // options as written, for scontrol and squeue: "gres": "gpu:8"
  std::string mail_type, mail_user;
  bool operator==(const WorkloadSpec&) const = default;
};
BOOST_DESCRIBE_STRUCT(WorkloadSpec, (),
                      (kind, dialect, name, owner, account, partition, qos, comment, groups, limit,
                       begin, nice, dependencies, end_if_never, requeue, cpus_per_task,
                       tasks_per_node, tasks_given, launch, warnings, object, command, submit_host,
                       submit_line, client_stays, asked, mail_type, mail_user))

}  // namespace phalanx
