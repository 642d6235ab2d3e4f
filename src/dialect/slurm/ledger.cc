// phalanx ledger: GPU-, CPU- and memory-seconds by account and user, and what became of the rest:
// of every node's capacity since it was first seen, allocated + reserved + down + idle is the
// whole, to the millisecond. Reserved: held while nothing of its job runs, before its start and
// after its end.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/query.h"
#include "model/usage.h"

namespace phalanx::slurm {
namespace {

using V = Flag::Value;
constexpr Flag kFlags[] = {
    {"help", 'h'}, {"user", 'u', V::required}, {"account", 'A', V::required}};

// GPUs, CPUs and MiB of memory, each times milliseconds.
struct Sum {
  Wide gpu = 0, cpu = 0, memory = 0;

  Sum() = default;
  explicit Sum(const Usage& u) : gpu(u.gpu_ms), cpu(u.cpu_ms), memory(u.memory_mb_ms) {}
  Sum& operator+=(const Sum& more) {
    gpu += more.gpu;
    cpu += more.cpu;
    memory += more.memory;
    return *this;
  }
  Sum& operator-=(const Sum& less) {
    gpu -= less.gpu;
    cpu -= less.cpu;
    memory -= less.memory;
    return *this;
  }
};

using ByUser = std::map<std::pair<std::string, std::string>, Sum>;

struct Open {
  Sum ran, held;
};

// What is held now, and how much of that its job has run.
Open open_of(const View& view, const Workload& w) {
  Open sum;
  if (!w.current) return sum;
  const Duration time = ran(view, w);
  for (const NodeShare& share : w.current->shares) {
    if (w.current->released.contains(share.node)) continue;
    sum.ran += Sum(usage_of(share, time));
    sum.held += Sum(usage_of(share, view.now - w.current->placed));
  }
  return sum;
}

ByUser allocated(const View& view) {
  ByUser sums;
  for (const auto& [account, users] : view.state.charged)
    for (const auto& [user, usage] : users) sums[{account, user}] += Sum(usage);
  for (const auto& [id, w] : view.state.workloads)
    sums[{w.spec->account, w.spec->owner.user}] += open_of(view, w).ran;
  return sums;
}

Sum reserved(const View& view) {
  Sum sum(view.state.reserved);
  for (const auto& [id, w] : view.state.workloads) {
    const Open open = open_of(view, w);
    sum += open.held;
    sum -= open.ran;
  }
  return sum;
}

// When each node was first seen: it joined, or work that is still known was placed there.
std::map<NodeId, Time> first_seen(const View& view) {
  std::map<NodeId, Time> seen;
  for (const auto& [id, node] : view.state.nodes)
    if (node.joined != Time{}) seen[id] = node.joined;
  const auto attempt = [&](const std::vector<NodeShare>& shares, Time placed) {
    for (const NodeShare& share : shares)
      if (const auto it = seen.find(share.node); it != seen.end())
        it->second = std::min(it->second, placed);
  };
  const auto workload = [&](const Workload& w) {
    for (const PastAttempt& past : w.past) attempt(past.shares, past.placed);
    if (w.current) attempt(w.current->shares, w.current->placed);
  };
  for (const auto& [id, w] : view.state.workloads) workload(w);
  for (const Workload& w : view.past({})) workload(w);
  return seen;
}

struct Capacity {
  Sum all, down;
};

Sum whole(const NodeSpec& spec, Duration time) {
  return Sum(usage_of(Quantity::of(spec.cpus), spec.memory, spec.devices.size(), time));
}

// What is held on the node all the same, since `gone`.
Sum held_on(const View& view, NodeId node, Time gone) {
  Sum sum;
  const auto use = view.state.use.find(node);
  if (use == view.state.use.end()) return sum;
  for (const WorkloadId holder : use->second.holders) {
    const Workload* w = find_workload(view.state, holder);
    if (!w || !w->current || w->current->released.contains(node)) continue;
    for (const NodeShare& share : w->current->shares)
      if (share.node == node)
        sum += Sum(usage_of(share, view.now - std::max(gone, w->current->placed)));
  }
  return sum;
}

Capacity capacity(const View& view) {
  Capacity sum;
  for (const auto& [id, since] : first_seen(view)) {
    const Node& node = view.state.nodes.at(id);
    sum.all += whole(node.spec, view.now - since);
    if (node.health == NodeHealth::up) continue;
    // While it is away it is down, except for what is held all the same.
    const Time gone = std::max(node.since, since);
    sum.down += whole(node.spec, view.now - gone);
    sum.down -= held_on(view, id, gone);
  }
  return sum;
}

std::string columns(std::string_view account, std::string_view user, std::string_view gpu,
                    std::string_view cpu, std::string_view memory) {
  return format("{} {} {} {} {}\n", pad_right(account, 16), pad_right(user, 16), pad_left(gpu, 16),
                pad_left(cpu, 16), pad_left(memory, 20));
}

std::string line(std::string_view account, std::string_view user, const Sum& sum) {
  return columns(account, user, exact_seconds(sum.gpu), exact_seconds(sum.cpu),
                 exact_seconds(sum.memory));
}

}  // namespace

Answer ledger(const View& view, const Ask& ask) {
  const Arguments a = read_arguments("phalanx ledger", kFlags, ask.args);
  if (a.error.code != 0) return {a.error, {}, {}};
  if (a.has("help"))
    return {{"Usage: phalanx ledger [--user NAMES] [--account NAMES]\n", "", 0}, {}, {}};
  const std::vector<std::string> users = a.list("user");
  const std::vector<std::string> accounts = a.list("account");
  std::string out = columns("ACCOUNT", "USER", "GPU-SECONDS", "CPU-SECONDS", "MEMORY-MIB-SECONDS");
  Sum total;
  for (const auto& [who, sum] : allocated(view)) {
    total += sum;
    if (!users.empty() && !is_in(users, who.second)) continue;
    if (!accounts.empty() && !is_in(accounts, who.first)) continue;
    out += line(who.first.empty() ? "-" : who.first, who.second, sum);
  }
  if (!users.empty() || !accounts.empty()) return {{out, "", 0}, {}, {}};
  const Capacity of_nodes = capacity(view);
  const Sum held = reserved(view);
  Sum idle = of_nodes.all;
  for (const Sum& part : {of_nodes.down, total, held}) idle -= part;
  out += "\n" + line("allocated", "", total) + line("reserved", "", held) +
         line("down", "", of_nodes.down) + line("idle", "", idle) +
         line("capacity x time", "", of_nodes.all);
  return {{out, "", 0}, {}, {}};
}

}  // namespace phalanx::slurm
