#include "cluster/blobs.h"

namespace phalanx::cluster {
namespace {

void add_blobs(std::vector<std::string>& out, const WorkloadSpec& spec) {
  for (const std::string* hash : {&spec.launch.script, &spec.launch.environment})
    if (!hash->empty()) out.push_back(*hash);
}

// What an object would no longer name if it went or were replaced.
void add_object(std::vector<std::string>& out, const State& s, const ObjectKey& key) {
  const auto it = s.objects.find(key);
  if (it == s.objects.end()) return;
  if (const auto* job = std::get_if<Completions>(&it->second.meaning); job && job->pod)
    add_blobs(out, *job->pod);
}

// The last element of an array takes the array with it, which has the same blobs.
void add(std::vector<std::string>& out, const State& s, const Archived& e) {
  for (const WorkloadId id : e.ids)
    if (const Workload* w = find_workload(s, id)) add_blobs(out, *w->spec);
}
void add(std::vector<std::string>& out, const State& s, const ObjectPut& e) {
  add_object(out, s, e.object.key);
}
void add(std::vector<std::string>& out, const State& s, const ObjectDeleted& e) {
  add_object(out, s, e.key);
}
// No other event ends a row.
template <class Other>
void add(std::vector<std::string>& /*out*/, const State& /*s*/, const Other& /*e*/) {}

}  // namespace

std::vector<std::string> blobs_let_go(const State& before, const Event& event) {
  std::vector<std::string> out;
  std::visit([&](const auto& what) { add(out, before, what); }, event.what);
  return out;
}

}  // namespace phalanx::cluster
