#include "server/clients.h"

namespace phalanx::server {
namespace {

bool needs_client(const State& state, WorkloadId id) {
  const Workload* w = find_workload(state, id);
  return w && w->spec->client_stays && w->phase != Phase::ended;
}

}  // namespace

void Clients::catch_up() {
  for (const auto& [id, w] : core_.state().workloads) expect(id);
}

void Clients::expect(WorkloadId id) {
  if (!needs_client(core_.state(), id)) return;
  const auto [it, fresh] = clients_.try_emplace(id);
  if (fresh) wait_for(id, it->second);
}

void Clients::came(WorkloadId id) {
  Client& client = clients_[id];
  ++client.streams;
  client.patience.cancel();
}

void Clients::left(WorkloadId id) {
  const auto it = clients_.find(id);
  if (it == clients_.end() || --it->second.streams > 0) return;
  if (needs_client(core_.state(), id))
    wait_for(id, it->second);
  else
    clients_.erase(it);
}

void Clients::wait_for(WorkloadId id, Client& client) {
  const Duration patience = core_.state().config.timers.client_timeout;
  if (patience == Duration::zero()) return;
  client.patience = loop_.after(patience, [this, id, patience] { give_up(id, patience); });
}

void Clients::give_up(WorkloadId id, Duration patience) {
  clients_.erase(id);
  if (!needs_client(core_.state(), id)) return;
  core_.put(system_identity(), ClientGone{id, patience},
            [this, id](const Reply& reply, std::uint64_t) {
              if (reply.error) expect(id);  // it could not be written down
            });
}

}  // namespace phalanx::server
