// The live shell: a controller. Opens the journal, replays it, answers on its sockets, and runs
// until told to stop; running tasks do not notice either.
//
// Threads: the loop (everything that decides), the journal's, the reader's. run() blocks the
// calling thread as the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/config.h"

namespace phalanx::server {

// The configuration's files, read again.
struct Reread {
  ClusterConfig config;
  std::vector<std::string> warnings;
};

struct ServerOptions {
  std::string state_dir;               // journal, archive, keys: private to the owner
  std::string socket;                  // unix socket for everybody on this machine
  std::string tcp_host = "127.0.0.1";  // loopback only, until there is TLS
  std::optional<std::uint16_t>
      tcp_port;  // for kubectl; 0: that of its last start, else any; written to <state_dir>/port
  ClusterConfig config;  // becomes Configured if it differs from what the journal says
  std::function<Result<Reread>()> reread;  // for `scontrol reconfigure`; empty: there are no files
  std::string ready_file;                  // created when it answers; empty: none
  std::optional<std::uint64_t> compact_after;  // events between snapshots; absent: the default
  // With less free beside the journal no work is taken; absent: the default.
  std::optional<std::uint64_t> low_disk_bytes;
};

// Until SIGTERM or SIGINT. An error if it could not start, or had to give up.
int run_controller(const ServerOptions& options);

// `phalanx compact`: makes the next snapshot of a journal and deletes the events before the last
// but one.
struct CompactOptions {
  std::string state_dir;
  std::string socket;  // of the controller that has the journal open: it is asked to do it
  // What a controller tells its child: up to which event, and what the State must be. The child
  // deletes nothing.
  std::uint64_t at = 0;
  std::string expected;
};
constexpr int kCompactMismatch = 3;  // exit code: the replay came to another State
int run_compact(const CompactOptions& options);

}  // namespace phalanx::server
