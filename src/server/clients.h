// The clients of allocations: a salloc, or an srun on its own, stays as long as it keeps a stream
// of /slurm/v1/wait open. One that is away for `client_timeout` (InactiveLimit) is given up, and
// the core hears ClientGone, which ends the allocation. A client that was killed needs no last word
// for that, and one that lost its controller comes again before the time is up.
//
// Memory only: after a restart every client is awaited anew. Loop thread; what it is given must
// outlive it.
#pragma once

#include <map>

#include "net/net.h"
#include "server/core.h"

namespace phalanx::server {

class Clients {
 public:
  Clients(net::Loop& loop, Core& core) : loop_(loop), core_(core) {}

  void catch_up();             // the clients of all allocations are awaited
  void expect(WorkloadId id);  // it was submitted: its client should come soon
  void came(WorkloadId id);
  void left(WorkloadId id);

 private:
  struct Client {
    int streams = 0;
    net::Timer patience;  // runs while there is no stream
  };
  void wait_for(WorkloadId id, Client& client);
  void give_up(WorkloadId id, Duration patience);

  net::Loop& loop_;
  Core& core_;
  std::map<WorkloadId, Client> clients_;
};

}  // namespace phalanx::server
