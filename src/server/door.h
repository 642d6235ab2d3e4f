// The door: who asks, and which endpoint answers. Every request gets an Identity here or is
// refused; endpoints (slurm_api, kube_api, plain_api) see only identified requests.
//
//   unix socket   the kernel names the uid (SO_PEERCRED)
//   agent         a bearer token of role "agent" plus On-Behalf-Of: it may vouch for uids that hold
//   an attempt on its
//                 node now, and never gives them an operator's rights
//   TCP           a user's bearer token (`phalanx token`); without one 401
//
// Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/net.h"
#include "server/agents.h"
#include "server/clients.h"
#include "server/compactor.h"
#include "server/core.h"
#include "server/disk_guard.h"
#include "server/reader.h"
#include "server/server.h"

namespace phalanx::server {

struct Door {
  net::Loop& loop;
  Core& core;
  Reader& reader;
  store::Journal& journal;  // blobs, for those who may read them
  Agents& agents;
  Clients& clients;
  Compactor& compactor;
  DiskGuard& disk;
  const net::TokenKey& key;
  std::string state_dir;
  std::uint32_t own_uid = 0;
  std::function<Result<Reread>()> reread;  // for `scontrol reconfigure`; empty: there are no files
};

using Answer = std::shared_ptr<net::Responder>;
using Endpoint = std::function<void(const Identity& who, net::Request request, Answer answer)>;

class Router {
 public:
  // "/slurm/v1/submit" exactly, or everything below "/api/" (a prefix ends in a slash).
  void add(std::string path, Endpoint endpoint) {
    routes_.emplace_back(std::move(path), std::move(endpoint));
  }
  // Without an identity: health, metrics.
  void add_open(std::string path, Endpoint endpoint) {
    open_.emplace_back(std::move(path), std::move(endpoint));
  }
  void handle(Door& door, net::Request request, Answer answer) const;

 private:
  using Routes = std::vector<std::pair<std::string, Endpoint>>;
  static const Endpoint* find(const Routes& routes, const std::string& path);
  Routes routes_, open_;
};

// Denied (401): no or a bad token. Names and groups come from the system's database.
Result<Identity> identify(const Door& door, const net::Request& request);
// The identity of a local user; NotFound if the system does not know the uid (it still gets a name:
// the number).
Identity identity_of(std::uint32_t uid, std::uint32_t gid, const ClusterConfig& config,
                     std::uint32_t own_uid);

// {"error": "…"} with the status that fits the code.
void refuse(const Answer& answer, const Error& error);
int http_status(Error::Code code);

// A token for a user, or (role "agent") for agents to join with.
std::string make_token(const Door& door, const std::string& role, std::uint32_t uid,
                       const std::string& user, Duration life);

// The key that signs the tokens by which srun speaks to agents; agents fetch it from
// /agent/v1/step-key.
Result<net::TokenKey> step_key(const net::TokenKey& key);

void plain_routes(Router& router, Door& door);  // /readyz /metrics /v1/… /agent/v1
void slurm_routes(Router& router, Door& door);  // /slurm/v1/…
void kube_routes(Router& router, Door& door);   // /api /apis /version /openapi

}  // namespace phalanx::server
