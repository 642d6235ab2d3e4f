#include "cluster/cluster.h"

namespace phalanx::cluster {
namespace {

void add_work(std::vector<Key>& keys, const State& s, WorkloadId id) {
  keys.emplace_back(id);
  const Workload* w = find_workload(s, id);
  if (w && w->array) keys.emplace_back(w->array);
  if (w && !w->spec->object.empty()) keys.emplace_back(parse_object_key(w->spec->object));
}

void touched_by(std::vector<Key>& keys, const State& s, const Configured& /*e*/) {
  for (const auto& [id, node] : s.nodes) keys.emplace_back(id);
}
void touched_by(std::vector<Key>& keys, const State& s, const Separated& e) {
  add_work(keys, s, e.id);
}
void touched_by(std::vector<Key>& keys, const State& s, const Cancelled& e) {
  add_work(keys, s, e.indexes.empty() ? e.id : e.record);
}
void touched_by(std::vector<Key>& keys, const State& s, const Revived& e) {
  add_work(keys, s, e.row.id);
}
void touched_by(std::vector<Key>& keys, const State& s, const Placed& e) {
  add_work(keys, s, e.id);
  for (const NodeShare& share : e.shares) keys.emplace_back(share.node);
}
void touched_by(std::vector<Key>& keys, const State& s, const Ended& e) {
  add_work(keys, s, e.id);
  if (e.at_fault) keys.emplace_back(e.at_fault);
}
void touched_by(std::vector<Key>& keys, const State& s, const Released& e) {
  add_work(keys, s, e.id);
  keys.emplace_back(e.node);
}
void touched_by(std::vector<Key>& keys, const State& s, const Archived& e) {
  for (const WorkloadId id : e.ids) add_work(keys, s, id);
}
void touched_by(std::vector<Key>& keys, const State& /*s*/, const ObjectPut& e) {
  keys.emplace_back(e.object.key);
}
void touched_by(std::vector<Key>& keys, const State& /*s*/, const ObjectDeleted& e) {
  keys.emplace_back(e.key);
}

// The rest is about one node or one workload.
template <class Other>
void touched_by(std::vector<Key>& keys, const State& s, const Other& e) {
  if constexpr (requires { e.node; })
    keys.emplace_back(e.node);
  else
    add_work(keys, s, e.id);
}

}  // namespace

std::vector<Key> touched(const State& after, const Event& event) {
  std::vector<Key> keys;
  std::visit([&](const auto& what) { touched_by(keys, after, what); }, event.what);
  return keys;
}

}  // namespace phalanx::cluster
