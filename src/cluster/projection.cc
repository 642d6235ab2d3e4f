// Owners, order and ledger as text, one fact a line: what two versions must agree on when they
// replay one journal, whatever else State holds by then.
#include "base/codec.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "cluster/index_text.h"

namespace phalanx::cluster {
namespace {

void add_owners(std::string& out, const State& s) {
  for (const auto& [id, use] : s.use) {
    const Node* node = find_node(s, id);
    out += format("node {} cpus={} memory={}", node ? node->spec.name : "?", to_string(use.cpus),
                  use.memory);
    for (std::size_t d = 0; d < use.device_owner.size(); ++d)
      if (use.device_owner[d]) out += format(" {}:{}", d, use.device_owner[d].value);
    out += '\n';
  }
}

void add_order(std::string& out, const State& s) {
  for (const auto& [id, w] : s.workloads) {
    const char* phase = boost::describe::enum_to_string(w.phase, "?");
    const char* cause = boost::describe::enum_to_string(w.end.cause, "?");
    out += format("work {} number={} phase={} attempt={} end={} code={}:{}\n", id.value, w.number,
                  phase, w.attempts, cause, w.end.exit_code, w.end.exit_signal);
  }
  for (const auto& [id, a] : s.arrays)
    out += format("array {} number={} pending={}\n", id.value, a.number,
                  index_text({a.pending.begin(), a.pending.end()}));
  for (const auto& [key, object] : s.objects)
    out += format("object {} uid={} succeeded={} failed={}\n", to_string(key), object.uid,
                  object.succeeded, object.failed);
}

void add_ledger(std::string& out, const State& s) {
  for (const auto& [account, users] : s.charged)
    for (const auto& [user, u] : users)
      out += format("charged {}/{} gpu_ms={} cpu_ms={} memory_mb_ms={} node_ms={}\n", account, user,
                    u.gpu_ms, u.cpu_ms, u.memory_mb_ms, u.node_ms);
}

}  // namespace

std::string projection(const State& state) {
  std::string out = format("cluster {} next_id={} next_number={}\n", state.cluster, state.next_id,
                           state.next_number);
  add_owners(out, state);
  add_order(out, state);
  add_ledger(out, state);
  return out;
}

}  // namespace phalanx::cluster
