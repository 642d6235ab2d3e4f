// NodeName, NodeSet and DownNodes lines.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "dialect/slurm/conf_draft.h"
#include "dialect/slurm/conf_value.h"
#include "dialect/slurm/hostlist.h"

namespace phalanx::slurm {
namespace {

constexpr std::size_t kMaxNodes = 100'000;
constexpr std::int64_t kMaxCpus = 1'000'000;  // a node's; keeps products of its parts small

// A member of NodeConf as if it were NodeDraft's.
template <auto Member>
Status to_conf(NodeDraft& draft, std::string_view text) {
  using Value = std::remove_reference_t<decltype(draft.conf.*Member)>;
  if constexpr (std::is_same_v<Value, std::int64_t>)
    draft.conf.*Member = TRY(parse_number(text));
  else if constexpr (std::is_same_v<Value, Words>)
    draft.conf.*Member = parse_words(text);
  else
    draft.conf.*Member = std::string(text);
  return {};
}

Status set_megabytes(std::int64_t& into, std::string_view text) {
  into = TRY(parse_megabytes(text));
  return {};
}

const Binding<NodeDraft> kNode[] = {
    {"Boards", &NodeDraft::boards},
    {"CPUs", &NodeDraft::cpus},
    {"CoreSpecCount", to_conf<&NodeConf::core_spec_count>},
    {"CoresPerSocket", &NodeDraft::cores_per_socket},
    {"Feature", to_conf<&NodeConf::features>},
    {"Gres",
     [](NodeDraft& n, std::string_view text) -> Status {
       n.conf.gres = TRY(parse_node_gres(text));
       return {};
     }},
    {"MemSpecLimit",
     [](NodeDraft& n, std::string_view text) {
       return set_megabytes(n.conf.mem_spec_limit_mb, text);
     }},
    {"NodeAddr", &NodeDraft::addrs},
    {"NodeHostname", &NodeDraft::hostnames},
    {"NodeName", &NodeDraft::names},
    {"RealMemory",
     [](NodeDraft& n, std::string_view text) {
       return set_megabytes(n.conf.real_memory_mb, text);
     }},
    {"Reason", to_conf<&NodeConf::reason>},
    {"Sockets", &NodeDraft::sockets},
    {"SocketsPerBoard", &NodeDraft::sockets_per_board},
    {"State",
     [](NodeDraft& n, std::string_view text) -> Status {
       n.conf.state = TRY(parse_node_state(text));
       return {};
     }},
    {"ThreadsPerCore", &NodeDraft::threads_per_core},
    {"TmpDisk",
     [](NodeDraft& n, std::string_view text) { return set_megabytes(n.conf.tmp_disk_mb, text); }},
    {"Weight", to_conf<&NodeConf::weight>},
};

std::optional<std::string> topology_fault(const NodeDraft& n) {
  const std::pair<std::string_view, std::optional<std::int64_t>> parts[] = {
      {"CPUs", n.cpus},
      {"Boards", n.boards},
      {"Sockets", n.sockets},
      {"SocketsPerBoard", n.sockets_per_board},
      {"CoresPerSocket", n.cores_per_socket},
      {"ThreadsPerCore", n.threads_per_core}};
  for (const auto& [name, value] : parts)
    if (value && (*value < 1 || *value > kMaxCpus))
      return format("{}={} is out of bounds: it is between 1 and {}", name, *value, kMaxCpus);
  const std::int64_t sockets = n.sockets.value_or(n.sockets_per_board.value_or(1));
  std::int64_t product = n.boards.value_or(1);
  for (std::int64_t factor :
       {sockets, n.cores_per_socket.value_or(1), n.threads_per_core.value_or(1)}) {
    product *= factor;
    if (product > kMaxCpus) return format("a node of more than {} CPUs is not possible", kMaxCpus);
  }
  return std::nullopt;
}

// As Slurm documents: Sockets beside Boards are sockets of one board; CPUs may count threads, cores
// or sockets and are the number of threads where not given; a CPUs that is none of these gives way
// to the parts.
void derive_cpus(ConfDraft& draft, const NodeDraft& n, NodeConf& out, Position at) {
  const bool on_boards = n.boards.has_value() || n.sockets_per_board.has_value();
  out.boards = n.boards.value_or(1);
  out.cores_per_socket = n.cores_per_socket.value_or(1);
  out.threads_per_core = n.threads_per_core.value_or(1);
  const std::int64_t threads_of_socket = out.cores_per_socket * out.threads_per_core;
  const std::optional<std::int64_t> given = n.sockets ? n.sockets : n.sockets_per_board;
  if (given)
    out.sockets = on_boards ? out.boards * *given : *given;
  else  // CPUs alone, or with cores and threads
    out.sockets = std::max(out.boards, n.cpus.value_or(1) / threads_of_socket);
  const std::int64_t cores = out.sockets * out.cores_per_socket;
  const std::int64_t threads = cores * out.threads_per_core;
  out.cpus = n.cpus.value_or(threads);
  if (out.cpus == threads || out.cpus == cores || out.cpus == out.sockets) return;
  warn(draft.out.diagnostics, std::move(at),
       format("CPUs={} is neither the {} threads nor the {} cores nor the {} sockets of the node; "
              "{} CPUs are "
              "taken",
              out.cpus, threads, cores, out.sockets, threads));
  out.cpus = threads;
}

// One value for each of `count` nodes: a list of as many, or one for all.
Result<Words> paired(std::string_view text, std::size_t count) {
  Words values = TRY(expand_hosts(text));
  if (values.size() == count) return values;
  if (values.size() == 1) return Words(count, values[0]);
  return invalid(
      format("{} names for {} nodes; give one for each, or one for all", values.size(), count));
}

void add_nodes(ConfDraft& draft, const NodeDraft& n, const ConfPair& name_pair) {
  std::vector<Diagnostic>& to = draft.out.diagnostics;
  const Result<Words> names = expand_hosts(n.names);
  if (!names) return bad_value(to, name_pair, names.error().message);
  std::vector<NodeConf>& nodes = draft.out.value.nodes;
  if (names->size() + nodes.size() > kMaxNodes)
    return bad_value(to, name_pair, format("more than {} nodes are not possible", kMaxNodes));
  if (const auto fault = topology_fault(n)) return bad_value(to, name_pair, *fault);
  const Result<Words> hosts = paired(n.hostnames.empty() ? n.names : n.hostnames, names->size());
  if (!hosts) return bad_value(to, name_pair, "NodeHostname: " + hosts.error().message);
  const Result<Words> addrs = n.addrs.empty() ? hosts : paired(n.addrs, names->size());
  if (!addrs) return bad_value(to, name_pair, "NodeAddr: " + addrs.error().message);

  NodeConf node = n.conf;
  node.at = name_pair.at;
  derive_cpus(draft, n, node, name_pair.at);
  if (node.core_spec_count >= node.sockets * node.cores_per_socket && node.core_spec_count > 0)
    warn(to, name_pair.at, "CoreSpecCount leaves no core for jobs");
  for (std::size_t i = 0; i < names->size(); ++i) {
    node.name = (*names)[i];
    node.hostname = (*hosts)[i];
    node.addr = (*addrs)[i];
    const auto [first, fresh] = draft.node_at.emplace(node.name, node.at);
    if (!fresh) {
      bad_value(to, name_pair,
                format("node {} is defined twice; the first time in line {}", node.name,
                       first->second.line));
      return;
    }
    nodes.push_back(node);
  }
}

}  // namespace

Result<NodeState> parse_node_state(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, NodeState>, 10> states = {{
      {"UNKNOWN", NodeState::Unknown},
      {"IDLE", NodeState::Unknown},
      {"UP", NodeState::Unknown},
      {"RESUME", NodeState::Unknown},
      {"DOWN", NodeState::Down},
      {"DRAIN", NodeState::Drain},
      {"FAIL", NodeState::Fail},
      {"FAILING", NodeState::Failing},
      {"FUTURE", NodeState::Future},
      {"CLOUD", NodeState::Cloud},
  }};
  for (const auto& [name, state] : states)
    if (iequals(name, text)) return state;
  return invalid("expected UNKNOWN, DOWN, DRAIN, FAIL, FAILING, FUTURE or CLOUD");
}

void read_node(ConfDraft& draft, const ConfRecord& record) {
  NodeDraft node = draft.node_default;
  std::set<std::string_view> seen;
  std::vector<Diagnostic>& to = draft.out.diagnostics;
  for (const ConfPair& pair : record.pairs) {
    const ConfKey* key = accept(to, ConfSection::Node, pair);
    if (key == nullptr) continue;
    if (!seen.insert(key->name).second)
      warn(to, pair.at, format("{} is given twice on this line; the last one holds", key->name));
    const Binding<NodeDraft>* binding = find_binding<NodeDraft>(kNode, key->name);
    if (binding == nullptr) continue;
    if (const Status status = store(node, *binding, key->kind, pair.value); !status)
      bad_value(to, pair, status.error().message);
  }
  // Sockets and SocketsPerBoard are one thing: what the line says replaces what DEFAULT said of the
  // other.
  if (seen.contains("SocketsPerBoard") && !seen.contains("Sockets")) node.sockets.reset();
  if (seen.contains("Sockets") && !seen.contains("SocketsPerBoard")) node.sockets_per_board.reset();
  if (iequals(node.names, "DEFAULT")) {
    draft.node_default = std::move(node);
    draft.node_default.names.clear();
    return;
  }
  if (!node.names.empty()) add_nodes(draft, node, record.pairs.front());
}

void read_node_set(ConfDraft& draft, const ConfRecord& record) {
  NodeSetDraft set;
  set.at = record.pairs.front().at;
  for (const ConfPair& pair : record.pairs) {
    const ConfKey* key = accept(draft.out.diagnostics, ConfSection::NodeSet, pair);
    if (key == nullptr) continue;
    if (key->name == "NodeSet") set.name = pair.value;
    if (key->name == "Nodes") set.nodes = pair.value;
    if (key->name == "Feature") set.feature = pair.value;
  }
  if (!set.name.empty()) draft.node_sets.push_back(std::move(set));
}

void read_down_nodes(ConfDraft& draft, const ConfRecord& record) {
  DownNodesDraft down;
  down.at = record.pairs.front().at;
  for (const ConfPair& pair : record.pairs) {
    const ConfKey* key = accept(draft.out.diagnostics, ConfSection::DownNodes, pair);
    if (key == nullptr) continue;
    if (key->name == "DownNodes") down.nodes = pair.value;
    if (key->name == "Reason") down.reason = pair.value;
    if (key->name != "State") continue;
    const Result<NodeState> state = parse_node_state(pair.value);
    if (state)
      down.state = *state;
    else
      bad_value(draft.out.diagnostics, pair, state.error().message);
  }
  if (!down.nodes.empty()) draft.down_nodes.push_back(std::move(down));
}

}  // namespace phalanx::slurm
