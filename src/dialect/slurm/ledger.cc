// phalanx ledger: GPU-seconds by account and user, and what became of the rest: of every node's
// capacity since it was first seen, allocated + reserved + down + idle is the whole, to the
// millisecond. Reserved: held while nothing of its job runs, before its start and after its end.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/query.h"

namespace phalanx::slurm {
namespace {

using V = Flag::Value;
constexpr Flag kFlags[] = {
    {"help", 'h'}, {"user", 'u', V::required}, {"account", 'A', V::required}};

using ByUser = std::map<std::pair<std::string, std::string>, std::int64_t>;  // GPU-ms

std::int64_t gpus(const NodeShare& share) { return static_cast<std::int64_t>(share.gpus.size()); }

struct Open {
  std::int64_t ran = 0, held = 0;  // GPU-ms
};

// What is held now, and how much of that its job has run.
Open open_ms(const View& view, const Workload& w) {
  Open sum;
  if (!w.current) return sum;
  const bool over = !w.past.empty() && w.past.back().number == w.current->number;
  const Time began = over ? w.past.back().launched : w.current->launched.value_or(Time{});
  const Time until = over ? w.past.back().ended : view.now;
  for (const NodeShare& share : w.current->shares) {
    if (w.current->released.contains(share.node)) continue;
    if (began != Time{})
      sum.ran += gpus(share) * std::max<std::int64_t>((until - began).count(), 0);
    sum.held += gpus(share) * std::max<std::int64_t>((view.now - w.current->placed).count(), 0);
  }
  return sum;
}

ByUser allocated(const View& view) {
  ByUser sums;
  for (const auto& [account, users] : view.state.charged)
    for (const auto& [user, usage] : users) sums[{account, user}] += usage.gpu_ms;
  for (const auto& [id, w] : view.state.workloads)
    sums[{w.spec->account, w.spec->owner.user}] += open_ms(view, w).ran;
  return sums;
}

std::int64_t reserved(const View& view) {
  std::int64_t sum = view.state.reserved.gpu_ms;
  for (const auto& [id, w] : view.state.workloads) {
    const Open open = open_ms(view, w);
    sum += open.held - open.ran;
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
  std::int64_t all = 0, down = 0;  // GPU-ms
};

Capacity capacity(const View& view) {
  Capacity sum;
  for (const auto& [id, since] : first_seen(view)) {
    const Node& node = view.state.nodes.at(id);
    const auto devices = static_cast<std::int64_t>(node.spec.devices.size());
    sum.all += devices * std::max<std::int64_t>((view.now - since).count(), 0);
    if (node.health == NodeHealth::up) continue;
    // While it is away it is down, except for devices that are held all the same.
    const Time gone = std::max(node.since, since);
    sum.down += devices * std::max<std::int64_t>((view.now - gone).count(), 0);
    const auto use = view.state.use.find(id);
    if (use == view.state.use.end()) continue;
    for (const WorkloadId holder : use->second.device_owner) {
      const Workload* w = find_workload(view.state, holder);
      if (w && w->current)
        sum.down -=
            std::max<std::int64_t>((view.now - std::max(gone, w->current->placed)).count(), 0);
    }
  }
  return sum;
}

std::string gpu_seconds(std::int64_t ms) {
  const std::int64_t size = ms < 0 ? -ms : ms;
  return format("{}{}.{:03}", ms < 0 ? "-" : "", size / 1000, size % 1000);
}

std::string line(std::string_view account, std::string_view user, std::int64_t ms) {
  return format("{} {} {}\n", pad_right(account, 16), pad_right(user, 16),
                pad_left(gpu_seconds(ms), 20));
}

}  // namespace

Answer ledger(const View& view, const Ask& ask) {
  const Arguments a = read_arguments("phalanx ledger", kFlags, ask.args);
  if (a.error.code != 0) return {a.error, {}, {}};
  if (a.has("help"))
    return {{"Usage: phalanx ledger [--user NAMES] [--account NAMES]\n", "", 0}, {}, {}};
  const std::vector<std::string> users = a.list("user");
  const std::vector<std::string> accounts = a.list("account");
  std::string out = format("{} {} {}\n", pad_right("ACCOUNT", 16), pad_right("USER", 16),
                           pad_left("GPU-SECONDS", 20));
  std::int64_t total = 0;
  for (const auto& [who, ms] : allocated(view)) {
    total += ms;
    if (!users.empty() && !is_in(users, who.second)) continue;
    if (!accounts.empty() && !is_in(accounts, who.first)) continue;
    out += line(who.first.empty() ? "-" : who.first, who.second, ms);
  }
  if (!users.empty() || !accounts.empty()) return {{out, "", 0}, {}, {}};
  const Capacity whole = capacity(view);
  const std::int64_t held = reserved(view);
  out += "\n" + line("allocated", "", total) + line("reserved", "", held) +
         line("down", "", whole.down) + line("idle", "", whole.all - whole.down - total - held) +
         line("capacity x time", "", whole.all);
  return {{out, "", 0}, {}, {}};
}

}  // namespace phalanx::slurm
