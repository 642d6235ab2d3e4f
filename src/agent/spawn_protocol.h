// What the agent says to phalanx-spawn (<rundir>/spawn.sock) and to the supervisor of each unit
// (<rundir>/units/<unit>/sock), and what they answer. A unit is one (workload, attempt, step) on
// this node; its supervisor outlives both the agent and phalanx-spawn and is forgotten only by
// Release.
//
// What is guaranteed:
// - Events. The supervisor appends each *history* message to <rundir>/units/<unit>/state before it
//   sends it. Every new connection gets Welcome, the whole history, StdinTaken for each open stdin,
//   Replayed, then live messages. One client at a time: a newer connection replaces the older one.
// - Output. A stream is a sequence of bytes with offsets from 0. The supervisor keeps each byte
// until
//   Ack covers it and sends a new client everything from the last Ack on: nothing is lost over a
//   crash of the agent, and what was sent but not acknowledged comes again with its old offset. It
//   holds at most `window` bytes a stream, then leaves the rest in the pipe and the task waits.
// - OutputEof is sent when the last writer is gone, or, if the task has exited but a process that
// it
//   left behind still holds the pipe, `drain_grace_ms` later, after what the pipe held then
//   (`forced`). It is independent of TaskExited and UnitEmpty: who wants all output waits for both.
// - Stdin. At most kStdinWindow bytes beyond StdinTaken.written may be in flight; an offset already
//   received is ignored, so a returning client repeats from StdinTaken.received. Without a client
//   stdin stays open.
// - UnitEmpty: no process of the unit's tree exists (supervisors are subreapers), sent once.
// - Files are opened for the whole unit before any task is started: one that cannot be opened
// refuses
//   the unit (UnitRefused). A task that cannot be executed is TaskFailed; the others go on.
// Times are CLOCK_BOOTTIME in nanoseconds. libc and STL only: the static supervisor includes this.
#pragma once

#include <cstdint>
#include <string>

#include "agent/spawn_codec.h"
#include "agent/spawn_request.h"

namespace phalanx::agent::spawn {

struct Welcome {
  std::uint32_t version = kProtocolVersion;
  PHALANX_MESSAGE(Welcome, s.version)
};
struct Replayed {
  PHALANX_MESSAGE(Replayed)
};
struct Output {
  std::uint32_t task = 0;
  std::uint8_t stream = 1;  // 1 or 2
  std::uint64_t offset = 0;
  std::string bytes;
  PHALANX_MESSAGE(Output, s.task, s.stream, s.offset, s.bytes)
};
struct OutputEof {
  std::uint32_t task = 0;
  std::uint8_t stream = 1;
  std::uint64_t offset = 0;  // the stream's length
  bool forced = false;
  PHALANX_MESSAGE(OutputEof, s.task, s.stream, s.offset, s.forced)
};
struct StdinTaken {
  std::uint32_t task = 0;
  std::uint64_t received = 0;  // by the supervisor
  std::uint64_t written = 0;   // to the task
  bool closed = false;         // nobody reads it any more
  PHALANX_MESSAGE(StdinTaken, s.task, s.received, s.written, s.closed)
};
struct SignalReply {
  std::uint64_t tag = 0;
  std::uint32_t signalled = 0;  // processes or groups
  std::int32_t error = 0;       // ESRCH: none
  PHALANX_MESSAGE(SignalReply, s.tag, s.signalled, s.error)
};
struct ReleaseReply {
  std::int32_t error = 0;
  PHALANX_MESSAGE(ReleaseReply, s.error)
};

struct UnitInfo {
  std::string unit;
  std::int32_t pid = 0;  // the supervisor's
  std::uint32_t uid = 0, tasks = 0;
  std::uint64_t time = 0;
  PHALANX_MESSAGE(UnitInfo, s.unit, s.pid, s.uid, s.tasks, s.time)
};
struct UnitRefused {
  Stage stage = Stage::Request;
  std::int32_t error = 0;
  std::string detail;
  PHALANX_MESSAGE(UnitRefused, s.stage, s.error, s.detail)
};
// Executed: the program runs.
struct TaskStarted {
  std::uint32_t task = 0;
  std::int32_t pid = 0;  // also its process group and session
  std::uint64_t time = 0;
  PHALANX_MESSAGE(TaskStarted, s.task, s.pid, s.time)
};
struct TaskFailed {
  std::uint32_t task = 0;
  Stage stage = Stage::Exec;
  std::int32_t error = 0;
  std::string detail;
  PHALANX_MESSAGE(TaskFailed, s.task, s.stage, s.error, s.detail)
};
// Started, but not quite as asked: Directory (runs in /tmp), Limit, Priority, Affinity,
// ArgumentSpace (stack limit raised).
struct TaskWarning {
  std::uint32_t task = 0;
  Stage stage = Stage::Directory;
  std::int32_t error = 0;
  std::string detail;
  PHALANX_MESSAGE(TaskWarning, s.task, s.stage, s.error, s.detail)
};
struct Usage {
  std::uint64_t user_us = 0, system_us = 0, max_rss_kb = 0, minor_faults = 0, major_faults = 0,
                blocks_in = 0, blocks_out = 0, voluntary_switches = 0, involuntary_switches = 0;
  PHALANX_FIELDS(s.user_us, s.system_us, s.max_rss_kb, s.minor_faults, s.major_faults, s.blocks_in,
                 s.blocks_out, s.voluntary_switches, s.involuntary_switches)
};
struct TaskExited {
  std::uint32_t task = 0;
  std::int32_t status = 0;  // as from wait(2)
  std::uint64_t time = 0;
  Usage usage;  // of the task and the children that it waited for
  PHALANX_MESSAGE(TaskExited, s.task, s.status, s.time, s.usage)
};
struct AllExited {
  PHALANX_MESSAGE(AllExited)
};  // every task exited or failed; others may be left
struct UnitEmpty {
  std::uint64_t time = 0;
  Usage usage;  // of everything that the supervisor reaped
  PHALANX_MESSAGE(UnitEmpty, s.time, s.usage)
};

}  // namespace phalanx::agent::spawn
