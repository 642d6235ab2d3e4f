// What srun and an agent say to each other about one step on one node, over a WebSocket that srun
// opens at the agent's agent_url, path /step/v1, with `Authorization: Bearer <token>`; the token's
// claims are a StepGrant (model/wire.h) and `exp`.
//
// An agent that is not ready for the step yet answers the request 503: srun tries again for
// kStepReconnect. Any other refusal is final.
//
// srun's first frame is Launch, or Attach when it comes back after the connection or the agent was
// lost. A Launch of a step that runs already is an Attach. Text frames are the variants below.
// Binary frames carry the standard streams:
//
//   [u8 stream: 0 in, 1 out, 2 err][u32 rank, big-endian][u64 offset, big-endian][bytes]
//
// `offset` counts the bytes of that stream before this frame. Nothing is lost over a reconnect: the
// agent keeps output until Received covers it and repeats the rest with its old offsets; srun drops
// what it has. For input the rank is kAllRanks: it goes to every task of the node whose `in` is
// stream. srun sends input once a task has started, has at most kStepWindow bytes in flight, and
// after a reconnect waits for StdinTaken and repeats input from `taken` on.
//
// Ended is the last frame: every task has exited and all output was sent. srun then closes with
// 1000, which acknowledges everything. If srun is gone for kStepReconnect the agent ends the step
// (TERM, later KILL).
//
// A task's environment is Launch.environment, then StepGrant.environment, then its list in
// StepGrant.per_task: later ones win, and an entry without '=' removes the variable.
// GPU numbers in it count the devices that the job has on the node, from 0: the step's cgroup
// allows all of the job's devices, and tasks are told apart by their variables alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/describe.h"
#include "base/time.h"
#include "model/wire.h"

namespace phalanx {

inline constexpr std::uint32_t kAllRanks = 0xffffffff;
inline constexpr std::size_t kStepWindow = 64 * 1024;
inline constexpr std::size_t kStepFrameHead = 13;
inline constexpr Duration kStepReconnect = seconds(60);

// none: /dev/null. with_output: standard error joins standard output, wherever that goes.
enum class StepStreamKind { none, stream, file, with_output };
BOOST_DESCRIBE_ENUM(StepStreamKind, none, stream, file, with_output)

struct StepStream {
  StepStreamKind kind = StepStreamKind::stream;
  std::string path;  // absolute, expanded
  bool append = false;
  bool operator==(const StepStream&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepStream, (), (kind, path, append))

struct StepStreams {
  StepStream in, out, err;
  bool operator==(const StepStreams&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepStreams, (), (in, out, err))

// --- srun to agent

struct StepWindow {
  PHALANX_NAMED(Window);
  std::uint32_t rank = 0;
  std::uint16_t rows = 24, columns = 80;
  bool operator==(const StepWindow&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepWindow, (), (rank, rows, columns))
struct StepLaunch {
  PHALANX_NAMED(Launch);
  std::vector<std::string> argv;
  std::string work_dir;
  std::vector<std::string> environment;
  std::uint32_t umask = 022;
  std::map<std::string, std::int64_t> limits;  // as in LaunchSpec
  std::vector<StepStreams> streams;  // in the order of the share's ranks; one: for all of them
  std::optional<StepWindow>
      terminal;  // rank 0 runs in a terminal of this size; its output is stream 1
  bool operator==(const StepLaunch&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepLaunch, (),
                      (argv, work_dir, environment, umask, limits, streams, terminal))
struct StepAttach {
  PHALANX_NAMED(Attach);
  bool operator==(const StepAttach&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepAttach, (), ())
struct StepSignal {  // to every task of the node, with the processes that they started
  PHALANX_NAMED(Signal);
  std::int32_t signal = 0;
  bool operator==(const StepSignal&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepSignal, (), (signal))
struct StepStdinEof {  // after all input that was sent
  PHALANX_NAMED(StdinEof);
  bool operator==(const StepStdinEof&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepStdinEof, (), ())
struct StepReceived {  // output up to `bytes` is taken care of
  PHALANX_NAMED(Received);
  std::uint32_t rank = 0;
  std::uint8_t stream = 1;
  std::uint64_t bytes = 0;
  bool operator==(const StepReceived&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepReceived, (), (rank, stream, bytes))
using StepCommand =
    std::variant<StepLaunch, StepAttach, StepSignal, StepWindow, StepStdinEof, StepReceived>;

// --- agent to srun

struct StepTaskStarted {
  PHALANX_NAMED(Started);
  std::uint32_t rank = 0;
  std::int32_t pid = 0;
  bool operator==(const StepTaskStarted&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepTaskStarted, (), (rank, pid))
struct StepTaskExited {
  PHALANX_NAMED(Exited);
  std::uint32_t rank = 0;
  std::int32_t code = 0;
  std::int32_t signal = 0;
  bool out_of_memory = false;
  bool operator==(const StepTaskExited&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepTaskExited, (), (rank, code, signal, out_of_memory))
struct StepStdinTaken {  // input up to `taken` has been written to every task that reads it
  PHALANX_NAMED(StdinTaken);
  std::uint64_t taken = 0;
  bool closed = false;  // nobody reads any more
  bool operator==(const StepStdinTaken&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepStdinTaken, (), (taken, closed))
struct StepSaid {  // a line for the user's standard error
  PHALANX_NAMED(Said);
  std::string text;
  bool operator==(const StepSaid&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepSaid, (), (text))
struct StepRefused {  // nothing was started on this node, and why; Ended follows
  PHALANX_NAMED(Refused);
  std::string why;
  bool operator==(const StepRefused&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepRefused, (), (why))
struct StepNodeEnded {
  PHALANX_NAMED(Ended);
  bool operator==(const StepNodeEnded&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepNodeEnded, (), ())
using StepNotice = std::variant<StepTaskStarted, StepTaskExited, StepStdinTaken, StepSaid,
                                StepRefused, StepNodeEnded>;

// One binary frame, taken apart; nothing where it is too short.
struct StepBytes {
  std::uint8_t stream = 0;
  std::uint32_t rank = 0;
  std::uint64_t offset = 0;
  std::string_view bytes;
};
std::string step_frame(std::uint8_t stream, std::uint32_t rank, std::uint64_t offset,
                       std::string_view bytes);
std::optional<StepBytes> read_step_frame(std::string_view frame);

}  // namespace phalanx
