// The live shell: a controller. Opens the journal, replays it, answers on its sockets, and runs
// until told to stop; running tasks do not notice either.
//
// Threads: the loop (everything that decides), the journal's, the reader's. run() blocks the
// calling thread as the loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/config.h"

namespace phalanx::server {

struct ServerOptions {
  std::string state_dir;                  // journal, archive, keys: private to the owner
  std::string socket;                     // unix socket for everybody on this machine
  std::string tcp_host = "127.0.0.1";     // loopback only, until there is TLS
  std::optional<std::uint16_t> tcp_port;  // for kubectl; 0: any, written to <state_dir>/port
  ClusterConfig config;    // becomes Configured if it differs from what the journal says
  std::string ready_file;  // created when it answers; empty: none
};

// Until SIGTERM or SIGINT. An error if it could not start, or had to give up.
int run_controller(const ServerOptions& options);

}  // namespace phalanx::server
