#include "cluster/invariants.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cluster/cluster.h"
#include "cluster/deadline.h"

namespace phalanx::cluster {
namespace {

using Found = std::vector<std::string>;

template <class Map>
void compare(Found& found, const char* what, const Map& kept, const Map& counted) {
  if (kept != counted)
    found.push_back(format("{} differs from the rows: {} entries kept, {} counted", what,
                           kept.size(), counted.size()));
}

bool shows_work(Phase phase) { return phase == Phase::placed || phase == Phase::running; }

// --- one owner for every device; NodeUse is the sum of unreleased shares
void check_use(Found& found, const State& s) {
  std::map<NodeId, NodeUse> counted;
  for (const auto& [id, node] : s.nodes)
    counted[id].device_owner.resize(s.use.contains(id) ? s.use.at(id).device_owner.size() : 0);
  for (const auto& [id, w] : s.workloads) {
    if (!w.current) continue;
    for (const NodeShare& share : w.current->shares) {
      if (w.current->released.contains(share.node)) continue;
      NodeUse& use = counted[share.node];
      use.cpus += share.cpus;
      use.memory += share.memory;
      use.holders.insert(id);
      for (const DeviceIndex d : share.gpus) {
        if (d >= use.device_owner.size()) {
          found.push_back(format("workload {} holds device {} that node {} does not have", id.value,
                                 d, share.node.value));
          continue;
        }
        if (use.device_owner[d])
          found.push_back(format("device {} of node {} has two owners: {} and {}", d,
                                 share.node.value, use.device_owner[d].value, id.value));
        use.device_owner[d] = id;
      }
    }
  }
  for (const auto& [id, use] : s.use) {
    const Node* node = find_node(s, id);
    if (!(use == counted[id]))
      found.push_back(format("the use of node {} is not the sum of its shares", id.value));
    if (node && node->health == NodeHealth::up && use.memory > node->spec.memory)
      found.push_back(format("node {} has given away more memory than it has", id.value));
  }
}

// Who may be to blame for a failed launch is open while the workload goes on avoiding the node.
void check_blame(Found& found, const State& s) {
  for (const auto& [id, node] : s.nodes)
    for (const auto& [failed, number] : node.launch_failures) {
      const Workload* w = find_workload(s, failed);
      if (!w || w->phase == Phase::ended || !w->avoid.contains(id))
        found.push_back(
            format("node {} is accused by {}, which does not avoid it", id.value, failed.value));
    }
}

// --- one workload
void check_attempt(Found& found, const Workload& w) {
  const auto bad = [&](const char* what) {
    found.push_back(format("workload {}: {}", w.id.value, what));
  };
  if (shows_work(w.phase) && !w.current) return bad("is placed or running without an attempt");
  if (!w.current) return;
  const Attempt& a = *w.current;
  if (a.number != w.attempts) bad("its attempt is not the last one");
  if (a.shares.empty()) bad("its attempt holds nothing");
  if (a.released.size() >= a.shares.size())
    bad("its attempt is released everywhere and still kept");
  if (shows_work(w.phase) && !a.released.empty()) bad("a part of a live gang is released");
  if ((w.phase == Phase::running) && !a.launched) bad("runs without having been launched");
  if (w.phase == Phase::placed && a.launched) bad("is launched and not running");
  std::int64_t tasks = 0;
  for (const NodeShare& share : a.shares) tasks += share.tasks;
  const auto nodes = static_cast<std::int64_t>(a.shares.size());
  if (tasks != tasks_of(w.spec->groups.front(), nodes)) bad("its gang is not whole");
}

bool is_amount(const Used& used) {
  return used.user_ms.value_or(0) >= 0 && used.system_ms.value_or(0) >= 0 &&
         used.memory_peak.value_or(0) >= 0;
}

// What was measured belongs to a node that ran it.
template <class Share>
bool measured_there(const std::map<NodeId, Used>& used, const std::vector<Share>& shares) {
  return std::all_of(used.begin(), used.end(), [&](const auto& entry) {
    return is_amount(entry.second) &&
           std::any_of(shares.begin(), shares.end(),
                       [&](const Share& share) { return share.node == entry.first; });
  });
}

void check_used(Found& found, const Workload& w) {
  bool right = true;
  if (w.current) right = measured_there(w.current->used, w.current->shares);
  for (const PastAttempt& past : w.past) right = right && measured_there(past.used, past.shares);
  for (const auto& [number, step] : w.steps)
    right = right && measured_there(step.used, step.shares);
  if (!right) found.push_back(format("workload {}: was measured where it did not run", w.id.value));
}

void check_workload(Found& found, const State& s, const Workload& w) {
  const auto bad = [&](const char* what) {
    found.push_back(format("workload {}: {}", w.id.value, what));
  };
  check_attempt(found, w);
  check_used(found, w);
  AttemptNumber last = 0;
  for (const PastAttempt& past : w.past) {
    if (past.number <= last) bad("attempt numbers do not grow");
    last = past.number;
  }
  if (last > w.attempts) bad("a past attempt has a higher number than the last");
  if ((w.phase == Phase::pending) != s.pending.contains(w.id)) bad("the pending index is wrong");
  if ((w.phase == Phase::placed) != s.preparing.contains(w.id)) bad("the preparing index is wrong");
  if (finished(w) != s.unarchived.contains(w.id)) bad("the unarchived index is wrong");
  if (w.phase == Phase::ended && w.end.cause == EndCause::none) bad("ended without a cause");
  Usage sum;
  for (const PastAttempt& past : w.past) sum.node_ms += past.usage.node_ms;
  if (!shows_work(w.phase) && sum.node_ms != w.charged.node_ms)
    bad("its attempts do not add up to what was charged");
  if (w.number != 0) {
    const auto it = s.by_number.find(w.number);
    if (it == s.by_number.end() || it->second != w.id) bad("is not found by its number");
  }
  if (w.array && s.arrays.contains(w.array) && !s.arrays.at(w.array).elements.contains(w.id))
    bad("its array does not know it");
}

// --- arrays: an index is pending, a live element, or gone
void check_array(Found& found, const State& s, const Array& a) {
  const auto bad = [&](const char* what) {
    found.push_back(format("array {}: {}", a.id.value, what));
  };
  std::set<std::uint32_t> seen = a.pending;
  std::uint32_t busy = 0, standing = 0;
  for (const WorkloadId id : a.elements) {
    const Workload* w = find_workload(s, id);
    if (!w || w->array != a.id) {
      bad("lists an element that is not there");
      continue;
    }
    busy += w->current ? 1 : 0;
    standing += w->stands_for;
    if (!seen.insert(w->array_index).second) bad("an index is there twice");
  }
  if (a.pending.empty() && a.elements.empty()) bad("is over and still kept");
  if (a.pending.empty() == s.pending.contains(a.id)) bad("the pending index is wrong");
  if (busy != a.busy) bad("counts its busy elements wrongly");
  if (a.at_once > 0 && busy > a.at_once) bad("more elements than its limit hold devices");
  if (a.pending.size() + standing + a.ended_ok + a.ended_not_ok != a.size)
    bad("its indexes do not add up");
}

// --- indexes beside the rows
struct Counted {
  std::map<std::uint32_t, std::set<WorkloadId>> by_owner;
  std::map<std::pair<std::uint32_t, std::string>, std::set<WorkloadId>> by_name;
  std::map<WorkloadId, std::set<WorkloadId>> dependents;
  std::set<std::pair<Time, WorkloadId>> deadlines;
  std::map<std::string, std::int64_t> blob_uses;
};

void count(Counted& c, const WorkloadSpec& spec, WorkloadId id, bool live, bool depends) {
  c.by_owner[spec.owner.uid].insert(id);
  if (live) c.by_name[{spec.owner.uid, spec.name}].insert(id);
  for (const Dependency& d : spec.dependencies)
    if (depends && d.on) c.dependents[d.on].insert(id);
}

void count_blobs(Counted& c, const WorkloadSpec& spec) {
  for (const std::string* hash : {&spec.launch.script, &spec.launch.environment})
    if (!hash->empty()) ++c.blob_uses[*hash];
}

void check_indexes(Found& found, const State& s) {
  Counted c;
  for (const auto& [id, w] : s.workloads) {
    count(c, *w.spec, id, w.phase != Phase::ended, w.phase != Phase::ended && !w.array);
    count_blobs(c, *w.spec);
    if (const Time t = deadline_of(s.config.timers, w); t != kNever) c.deadlines.insert({t, id});
  }
  for (const auto& [id, a] : s.arrays) {
    count(c, *a.spec, id, !a.pending.empty(), true);
    count_blobs(c, *a.spec);
  }
  for (const auto& [key, object] : s.objects) {
    if (const auto* job = std::get_if<Completions>(&object.meaning); job && job->pod)
      count_blobs(c, *job->pod);
    if (!s.object_version.contains(key))
      found.push_back(format("object {} has no version", to_string(key)));
  }
  compare(found, "by_owner", s.by_owner, c.by_owner);
  compare(found, "by_name", s.by_name, c.by_name);
  compare(found, "dependents", s.dependents, c.dependents);
  compare(found, "deadlines", s.deadlines, c.deadlines);
  compare(found, "blob_uses", s.blob_uses, c.blob_uses);
  if (s.object_version.size() != s.objects.size())
    found.emplace_back("versions are kept of objects that are gone");
}

void check_ids(Found& found, const State& s) {
  const auto taken = [&](std::uint64_t id) {
    if (id >= s.next_id) found.push_back(format("id {} was never given", id));
  };
  for (const auto& [id, w] : s.workloads) {
    taken(id.value);
    if (s.arrays.contains(id))
      found.push_back(format("id {} is a workload and an array", id.value));
  }
  for (const auto& [id, a] : s.arrays) taken(id.value);
  for (const auto& [id, node] : s.nodes) {
    taken(id.value);
    const auto it = s.node_by_name.find(node.spec.name);
    if (it == s.node_by_name.end() || it->second != id)
      found.push_back(format("node {} is not found by its name", id.value));
  }
  for (const auto& [number, id] : s.by_number) {
    if (number >= s.next_number) found.push_back(format("number {} was never given", number));
    if (!s.workloads.contains(id) && !s.arrays.contains(id))
      found.push_back(format("number {} leads nowhere", number));
  }
  for (const WorkloadId id : s.pending)
    if (!s.workloads.contains(id) && !s.arrays.contains(id))
      found.push_back(format("{} waits and is not there", id.value));
  for (const auto* index : {&s.unarchived, &s.preparing})
    for (const WorkloadId id : *index)
      if (!s.workloads.contains(id))
        found.push_back(format("{} is in an index and not there", id.value));
}

void check_memory(Found& found, const State& s) {
  if (s.key_order.size() != s.keys.size())
    found.emplace_back("the order of keys is not that of the keys");
  for (const auto& [at, key] : s.key_order) {
    const auto it = s.keys.find(key);
    if (it == s.keys.end() || it->second.at != at)
      found.emplace_back("the order of keys names another key");
  }
  for (const auto& [ended, id] : s.remembered_order)
    if (!s.remembered.contains(id))
      found.push_back(format("{} is to be forgotten and not remembered", id.value));
  for (const auto& [on, who] : s.dependents)
    if (!s.workloads.contains(on) && !s.arrays.contains(on) && !s.remembered.contains(on))
      found.push_back(format("{} is forgotten though something depends on it", on.value));
}

// What was charged to accounts is what the rows in State and those that left it were charged.
void check_ledger(Found& found, const State& s) {
  std::map<std::pair<std::string, std::string>, std::int64_t> rows;
  for (const auto& [id, w] : s.workloads)
    rows[{w.spec->account, w.spec->owner.user}] += w.charged.node_ms;
  for (const auto& [who, node_ms] : rows) {
    const auto account = s.charged.find(who.first);
    const std::int64_t sum = account != s.charged.end() && account->second.contains(who.second)
                                 ? account->second.at(who.second).node_ms
                                 : 0;
    if (node_ms > sum) found.push_back(format("{} was charged less than its work", who.second));
  }
}

}  // namespace

std::vector<std::string> violations(const State& state) {
  Found found;
  check_use(found, state);
  check_blame(found, state);
  for (const auto& [id, w] : state.workloads) check_workload(found, state, w);
  for (const auto& [id, a] : state.arrays) check_array(found, state, a);
  check_indexes(found, state);
  check_ids(found, state);
  check_memory(found, state);
  check_ledger(found, state);
  return found;
}

}  // namespace phalanx::cluster
