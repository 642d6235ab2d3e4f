// What the agent asks of phalanx-spawn and of supervisors; the first half of spawn_protocol.h,
// which says what it all means. Values only; libc and STL only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/spawn_codec.h"

namespace phalanx::agent::spawn {

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr std::uint32_t kAllTasks = 0xFFFFFFFF;
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
inline constexpr std::size_t kStdinWindow = 64 * 1024;
inline constexpr std::size_t kMaxUnitFrame = 1024 * 1024;         // on a unit's socket
inline constexpr std::size_t kMaxStartFrame = 256 * 1024 * 1024;  // environments are big
inline constexpr std::size_t kMaxUnitName = 80;
// In every task's environment: the unit's folder. It marks the unit's processes.
inline constexpr char kUnitVariable[] = "PHALANX_UNIT=";

enum class Type : std::uint8_t {
  // on spawn.sock
  Hello = 1,
  Start,
  StartReply,
  KillLost,
  Forget,
  Stop,
  Done,
  // to a supervisor
  Signal = 20,
  Stdin,
  StdinEof,
  Resize,
  Ack,
  Kill,
  Release,
  // from a supervisor
  Welcome = 40,
  Replayed,
  Output,
  OutputEof,
  StdinTaken,
  SignalReply,
  ReleaseReply,
  // its history: kept in the state file and replayed
  UnitInfo = 60,
  UnitRefused,
  TaskStarted,
  TaskFailed,
  TaskWarning,
  TaskExited,
  AllExited,
  UnitEmpty,
};

// What was being done when something failed.
enum class Stage : std::uint8_t {
  Request,
  Intent,
  Folder,
  Fork,
  Identity,
  Script,
  Stdin,
  Stdout,
  Stderr,
  Pty,
  Cgroup,
  Priority,
  Limit,
  Affinity,
  Directory,
  Exec,
  ArgumentSpace,
};

enum class StreamKind : std::uint8_t { Null, File, Stream, Stdout };  // Stdout: stderr joins stdout

struct StreamSpec {
  StreamKind kind = StreamKind::Null;
  bool append = false;  // else an output file is truncated; both write at its end
  std::string path;     // absolute
  PHALANX_FIELDS(s.kind, s.append, s.path)
};

struct Limit {
  std::int32_t resource = 0;  // RLIMIT_*
  std::uint64_t soft = kUnlimited, hard = kUnlimited;
  PHALANX_FIELDS(s.resource, s.soft, s.hard)
};

struct TaskSpec {
  std::vector<std::string> argv;          // empty: the unit's
  std::vector<std::string> env;           // added to the unit's, or replacing by name
  std::vector<std::string> cgroup_procs;  // empty: the unit's
  std::vector<std::uint32_t> cpus;        // affinity; empty: unchanged
  StreamSpec in, out, err;
  bool pty = false;  // instead of the three: a terminal; its output is stream 1
  std::uint16_t rows = 24, columns = 80;
  PHALANX_FIELDS(s.argv, s.env, s.cgroup_procs, s.cpus, s.in, s.out, s.err, s.pty, s.rows,
                 s.columns)
};

struct Start {
  std::string unit;    // [A-Za-z0-9._+=@-]{1,80}, no leading dot
  std::string intent;  // path of the fence, created before anything is started; empty: none
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups;  // supplementary
  std::uint32_t umask = 022;
  std::int32_t nice = 0;
  std::vector<Limit> limits;
  std::string cwd;  // absolute; /tmp with a line on stderr if it cannot be entered
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string script;  // of a batch job: written to script_path, executed in place of argv[0]
  // Empty: <rundir>/units/<unit>/script, which only the agent's own user can reach. Must be on a
  // file system that allows execution (Debian mounts /run with noexec); a missing parent is
  // created.
  std::string script_path;
  std::vector<std::string> cgroup_procs;  // files into which each task writes itself before exec
  std::uint32_t drain_grace_ms = 500;
  std::uint32_t window = 128 * 1024;
  std::vector<TaskSpec> tasks;
  PHALANX_MESSAGE(Start, s.unit, s.intent, s.uid, s.gid, s.groups, s.umask, s.nice, s.limits, s.cwd,
                  s.argv, s.env, s.script, s.script_path, s.cgroup_procs, s.drain_grace_ms,
                  s.window, s.tasks)
};

enum class Verdict : std::uint8_t {
  Accepted,  // the supervisor runs; what becomes of the tasks it says itself
  Exists,    // this unit has a living supervisor already: attach to it
  Gone,      // it was started before and its supervisor is dead: never again
  Refused,   // nothing was started
};

struct StartReply {
  std::string unit;
  Verdict verdict = Verdict::Refused;
  std::int32_t pid = 0;  // the supervisor's
  Stage stage = Stage::Request;
  std::int32_t error = 0;  // errno
  std::string detail;      // a path or a sentence
  PHALANX_MESSAGE(StartReply, s.unit, s.verdict, s.pid, s.stage, s.error, s.detail)
};
// First on every connection to spawn.sock, in both directions; first to a supervisor.
struct Hello {
  std::uint32_t version = kProtocolVersion;
  PHALANX_MESSAGE(Hello, s.version)
};
// Kills what a unit without a supervisor left behind; answered by Done when nothing of it is left.
struct KillLost {
  std::string unit;
  PHALANX_MESSAGE(KillLost, s.unit)
};
// Deletes the folder of a unit without a supervisor.
struct Forget {
  std::string unit;
  PHALANX_MESSAGE(Forget, s.unit)
};
// phalanx-spawn ends; its supervisors stay.
struct Stop {
  PHALANX_MESSAGE(Stop)
};
struct Done {
  std::string unit;
  Type request = Type::Stop;
  std::int32_t error = 0;  // EBUSY: the supervisor lives
  PHALANX_MESSAGE(Done, s.unit, s.request, s.error)
};

// Process: the task's first process. Group: its process group. Tree: all its processes, with
// kAllTasks everything that the unit started.
enum class Scope : std::uint8_t { Process, Group, Tree };
struct Signal {
  std::uint32_t task = kAllTasks;
  std::int32_t signal = 0;
  Scope scope = Scope::Process;
  std::uint64_t tag = 0;  // returned in the reply
  PHALANX_MESSAGE(Signal, s.task, s.signal, s.scope, s.tag)
};
struct Stdin {
  std::uint32_t task = 0;
  std::uint64_t offset = 0;
  std::string bytes;
  PHALANX_MESSAGE(Stdin, s.task, s.offset, s.bytes)
};
struct StdinEof {
  std::uint32_t task = 0;
  PHALANX_MESSAGE(StdinEof, s.task)
};
struct Resize {
  std::uint32_t task = 0;
  std::uint16_t rows = 0, columns = 0;
  PHALANX_MESSAGE(Resize, s.task, s.rows, s.columns)
};
struct Ack {
  std::uint32_t task = 0;
  std::uint8_t stream = 1;
  std::uint64_t offset = 0;  // everything before it is taken care of
  PHALANX_MESSAGE(Ack, s.task, s.stream, s.offset)
};
// SIGKILL to every process of the unit, again and again until UnitEmpty.
struct Kill {
  PHALANX_MESSAGE(Kill)
};
// The supervisor deletes the unit's folder and ends; output not acknowledged is dropped. EBUSY
// before UnitEmpty.
struct Release {
  PHALANX_MESSAGE(Release)
};

}  // namespace phalanx::agent::spawn
