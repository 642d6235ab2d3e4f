#include "dialect/slurm/sinfo_fields.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"

namespace phalanx::slurm {
namespace {

using Group = const NodeGroup&;
using When = const Moments&;
using About = InfoField::About;

std::string number(std::int64_t n) { return std::to_string(n); }
std::string slashes(std::span<const std::int64_t> parts) {
  std::string out;
  for (const std::int64_t part : parts) out += (out.empty() ? "" : "/") + std::to_string(part);
  return out;
}

// --- of partitions
std::string partition_name(Group g, When) { return g.partition ? g.partition->name : ""; }
std::string partition_mark(Group g, When) {
  if (!g.partition) return "";
  return g.partition->name + (g.partition->is_default ? "*" : "");
}
std::string available(Group g, When) { return partition_state(g.partition->state); }
std::string time_limit(Group g, When) { return time_or_infinite(g.partition->max_time); }
std::string default_time(Group g, When) {
  return g.partition->default_time == kForever ? "n/a" : print_time(g.partition->default_time);
}
std::string size(Group g, When) {
  const std::int64_t least = std::max<std::int64_t>(g.partition->min_nodes, 1);
  if (g.partition->max_nodes == 0) return format("{}-infinite", least);
  if (g.partition->max_nodes == least) return number(least);
  return format("{}-{}", least, g.partition->max_nodes);
}
std::string root_only(Group g, When) { return g.partition->root_only ? "yes" : "no"; }
std::string shared(Group g, When) { return g.partition->exclusive ? "EXCLUSIVE" : "NO"; }
std::string groups(Group g, When) {
  return g.partition->allow_groups.empty() ? "all" : join(g.partition->allow_groups, ",");
}
std::string tier(Group g, When) { return number(g.partition->priority_tier); }
std::string factor(Group g, When) { return number(g.partition->priority_job_factor); }
std::string max_cpus(Group, When) { return "UNLIMITED"; }
std::string off(Group, When) { return "OFF"; }
std::string all(Group, When) { return "all"; }

// --- of like nodes
template <auto Print>
std::string of_node(Group g, When) {
  return g.nodes.empty() ? "n/a" : Print(g.nodes.front());
}
std::string or_none(const std::string& text, std::string_view none) {
  return text.empty() ? std::string(none) : text;
}
std::string cpus(const NodeRow& n) { return number(n.cpus()); }
std::string memory(const NodeRow& n) { return number(n.memory_mb()); }
std::string memory_taken(const NodeRow& n) { return number(n.memory_taken_mb()); }
std::string features(const NodeRow& n) { return or_none(n.features(), "(null)"); }
std::string gres(const NodeRow& n) { return or_none(n.gres(), "(null)"); }
std::string gres_used(const NodeRow& n) { return or_none(n.gres_used(), "(null)"); }
std::string reason(const NodeRow& n) { return or_none(n.reason(), "none"); }
std::string user(const NodeRow& n) {
  return n.reason().empty() ? "Unknown" : or_none(n.node().reason_by, "Unknown");
}
std::string name(const NodeRow& n) { return n.node().spec.name; }
std::string address(const NodeRow& n) {
  return n.node().spec.address.empty() ? n.node().spec.name : n.node().spec.address;
}
std::string state(const NodeRow& n) { return n.state(); }
std::string compact(const NodeRow& n) { return n.compact(); }
std::string flagged(const NodeRow& n) { return n.flagged(); }
std::string weight(const NodeRow& n) { return number(n.node().spec.weight); }
std::string sockets(const NodeRow& n) { return number(n.node().spec.sockets); }
std::string cores(const NodeRow& n) { return number(n.node().spec.cores_per_socket); }
std::string threads(const NodeRow& n) { return number(n.node().spec.threads_per_core); }
std::string shape(const NodeRow& n) {
  return format("{}:{}:{}", n.node().spec.sockets, n.node().spec.cores_per_socket,
                n.node().spec.threads_per_core);
}
std::string zero(const NodeRow&) { return "0"; }
std::string load(const NodeRow& n) { return n.load(); }
std::string free_memory(const NodeRow& n) { return n.free_mb(); }
std::string null(const NodeRow&) { return "(null)"; }
std::string version(const NodeRow&) { return std::string(kVersion); }
std::string reason_time(Group g, When when) {
  if (g.nodes.empty()) return "n/a";
  const Node& node = g.nodes.front().node();
  return when.print(node.reason.empty() ? Time{} : node.reason_at, "Unknown");
}

// --- sums
std::string node_list(Group g, When) {
  std::vector<std::string> names;
  names.reserve(g.nodes.size());
  for (const NodeRow& n : g.nodes) names.push_back(n.node().spec.name);
  return fold_hosts_sorted(names);
}
std::string node_count(Group g, When) { return number(static_cast<std::int64_t>(g.nodes.size())); }
struct NodeCounts {
  std::int64_t allocated = 0, idle = 0, other = 0;
  explicit NodeCounts(Group g) {
    for (const NodeRow& n : g.nodes) ++(n.busy() ? allocated : n.usable() ? idle : other);
  }
};
std::string nodes_ai(Group g, When) {
  const NodeCounts n(g);
  return slashes(std::array{n.allocated, n.idle});
}
std::string nodes_aiot(Group g, When) {
  const NodeCounts n(g);
  return slashes(std::array{n.allocated, n.idle, n.other, n.allocated + n.idle + n.other});
}
std::string cpus_aiot(Group g, When) {
  std::int64_t allocated = 0;
  std::int64_t idle = 0;
  std::int64_t other = 0;
  for (const NodeRow& n : g.nodes) {
    allocated += n.cpus_taken();
    (n.usable() ? idle : other) += n.cpus() - n.cpus_taken();
  }
  return slashes(std::array{allocated, idle, other, allocated + idle + other});
}
std::string cluster(Group g, When) { return g.view->state.config.name; }

constexpr InfoField kFields[] = {
    {'a', "available", "AVAIL", About::partition, available},
    {'A', "nodeai", "NODES(A/I)", About::count, nodes_ai},
    {'b', "featuresact", "ACTIVE_FEATURES", About::node, of_node<features>},
    {'B', "maxcpuspernode", "MAX_CPUS_PER_NODE", About::partition, max_cpus},
    {'c', "cpus", "CPUS", About::node, of_node<cpus>},
    {'C', "cpusstate", "CPUS(A/I/O/T)", About::count, cpus_aiot},
    {'d', "disk", "TMP_DISK", About::node, of_node<zero>},
    {'D', "nodes", "NODES", About::count, node_count},
    {'e', "freemem", "FREE_MEM", About::node, of_node<free_memory>},
    {'E', "reason", "REASON", About::node, of_node<reason>},
    {'f', "features", "AVAIL_FEATURES", About::node, of_node<features>},
    {'F', "nodeaiot", "NODES(A/I/O/T)", About::count, nodes_aiot},
    {'g', "groups", "GROUPS", About::partition, groups},
    {'G', "gres", "GRES", About::node, of_node<gres>},
    {'h', "oversubscribe", "OVERSUBSCRIBE", About::partition, shared},
    {'H', "timestamp", "TIMESTAMP", About::node, reason_time},
    {'I', "priorityjobfactor", "PRIO_JOB_FACTOR", About::partition, factor},
    {'l', "time", "TIMELIMIT", About::partition, time_limit},
    {'L', "defaulttime", "DEFAULTTIME", About::partition, default_time},
    {'m', "memory", "MEMORY", About::node, of_node<memory>},
    {'M', "preemptmode", "PREEMPT_MODE", About::partition, off},
    {'n', "nodehost", "HOSTNAMES", About::node, of_node<name>},
    {'N', "nodelist", "NODELIST", About::count, node_list},
    {'o', "nodeaddr", "NODE_ADDR", About::node, of_node<address>},
    {'O', "cpusload", "CPU_LOAD", About::node, of_node<load>},
    {'p', "prioritytier", "PRIO_TIER", About::partition, tier},
    {'P', "partition", "PARTITION", About::partition, partition_mark},
    {'r', "root", "ROOT", About::partition, root_only},
    {'R', "partitionname", "PARTITION", About::partition, partition_name},
    {'s', "size", "JOB_SIZE", About::partition, size},
    {'S', "allocnodes", "ALLOCNODES", About::partition, all},
    {'t', "statecompact", "STATE", About::node, of_node<compact>},
    {'T', "statelong", "STATE", About::node, of_node<state>},
    {'u', "user", "USER", About::node, of_node<user>},
    {'U', "userlong", "USER", About::node, of_node<user>},
    {'v', "version", "VERSION", About::node, of_node<version>},
    {'V', "cluster", "CLUSTER", About::count, cluster},
    {'w', "weight", "WEIGHT", About::node, of_node<weight>},
    {'X', "sockets", "SOCKETS", About::node, of_node<sockets>},
    {'Y', "cores", "CORES", About::node, of_node<cores>},
    {'Z', "threads", "THREADS", About::node, of_node<threads>},
    {'z', "socketcorethread", "S:C:T", About::node, of_node<shape>},
    {0, "allocmem", "ALLOCMEM", About::node, of_node<memory_taken>},
    {0, "comment", "COMMENT", About::node, of_node<null>},
    {0, "extra", "EXTRA", About::node, of_node<null>},
    {0, "gresused", "GRES_USED", About::node, of_node<gres_used>},
    {0, "port", "PORT", About::node, of_node<zero>},
    {0, "statecomplete", "STATECOMPLETE", About::node, of_node<flagged>},
};

}  // namespace

std::string time_or_infinite(Duration limit) {
  return limit == kForever ? "infinite" : print_time(limit);
}

std::span<const InfoField> info_fields() { return kFields; }

const InfoField* info_field(const Column& column) {
  const bool letter = column.written.size() == 1;
  for (const InfoField& field : kFields) {
    if (letter && field.letter == column.written[0]) return &field;
    if (letter) continue;
    for (const std::string_view name : split_blanks(field.names))
      if (name == column.field) return &field;
  }
  return nullptr;
}

}  // namespace phalanx::slurm
