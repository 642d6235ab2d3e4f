// sinfo: partitions and nodes.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/sinfo_fields.h"

namespace phalanx::slurm {
namespace {

using V = Flag::Value;
using H = Flag::Handling;
constexpr Flag kFlags[] = {
    {"all", 'a'},
    {"clusters", 'M', V::required},
    {"dead", 'd'},
    {"exact", 'e', V::none, H::ignored},
    {"federation", 0, V::none, H::ignored},
    {"format", 'o', V::required},
    {"Format", 'O', V::required},
    {"help", 0},
    {"hide", 0, V::none, H::ignored},
    {"iterate", 'i', V::required, H::refused},
    {"json", 0, V::optional, H::refused},
    {"list-reasons", 'R'},
    {"local", 0, V::none, H::ignored},
    {"long", 'l'},
    {"Node", 'N'},
    {"noconvert", 0, V::none, H::ignored},
    {"nodes", 'n', V::required},
    {"noheader", 'h'},
    {"partition", 'p', V::required},
    {"reservation", 'T'},
    {"responding", 'r'},
    {"sort", 'S', V::required},
    {"states", 't', V::required},
    {"summarize", 's'},
    {"usage", 0},
    {"verbose", 'v', V::none, H::ignored},
    {"yaml", 0, V::optional, H::refused},
};

constexpr std::string_view kUsage =
    "Usage: sinfo [-adhlNRrsT] [-n nodes] [-o format] [-O fields] [-p partitions] [-S "
    "sort_fields]\n"
    "             [-t states]\n";

constexpr std::string_view kStates[] = {
    "unknown",    "down",  "idle",    "allocated", "alloc",      "mixed",    "mix",
    "future",     "drain", "drained", "draining",  "drng",       "reserved", "resv",
    "completing", "comp",  "fail",    "maint",     "no_respond", "planned",  "plnd"};

struct Query {
  const View& view;
  const Ask& ask;
  Arguments arguments;
  Moments moments;
  std::vector<std::string> states, partitions, nodes;
  Said said;
};

bool passes(const Query& q, const NodeRow& row) {
  if (!q.nodes.empty() && !is_in(q.nodes, row.node().spec.name)) return false;
  if (q.arguments.has("list-reasons") && row.reason().empty()) return false;
  const bool silent = row.is("no_respond");
  if ((q.arguments.has("dead") && !silent) || (q.arguments.has("responding") && silent))
    return false;
  return q.states.empty() || std::any_of(q.states.begin(), q.states.end(),
                                         [&](const std::string& s) { return row.is(s); });
}

bool shows(const Query& q, const Partition& partition) {
  if (!q.partitions.empty()) return is_in(q.partitions, partition.name);
  return !partition.hidden || q.arguments.has("all") || q.view.who.operator_;
}

// --- layouts
// ----------------------------------------------------------------------------------------------

std::size_t widest_partition(const Query& q) {
  std::size_t width = 9;
  for (const Partition& p : q.view.state.config.partitions)
    if (shows(q, p)) width = std::max(width, p.name.size() + (p.is_default ? 1 : 0));
  return width;
}

std::size_t widest_node(const Query& q) {
  std::size_t width = 9;
  for (const auto& [id, node] : q.view.state.nodes) width = std::max(width, node.spec.name.size());
  return width;
}

std::string default_format(const Query& q) {
  const bool is_long = q.arguments.has("long");
  const std::size_t partition = widest_partition(q);
  if (q.arguments.has("list-reasons"))
    return is_long ? "%20E %12U %19H %6t %N" : "%20E %9u %19H %N";
  if (q.arguments.has("summarize")) return format("%{}P %.5a %.10l %.16F %N", partition);
  if (q.arguments.has("Node"))
    return is_long ? format("%{}N %.6D %.{}P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E",
                            widest_node(q), partition)
                   : format("%{}N %.6D %.{}P %6t", widest_node(q), partition);
  return is_long ? format("%{}P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N", partition)
                 : format("%{}P %.5a %.10l %.6D %.6t %N", partition);
}

Layout layout_of(Query& q) {
  const Arguments& a = q.arguments;
  const std::string environment = environment_of(q.ask, "SINFO_FORMAT");
  const bool plain = !a.has("long") && !a.has("Node") && !a.has("summarize") &&
                     !a.has("list-reasons") && !environment.empty();
  std::string letters = a.value("format", plain ? environment : default_format(q));
  if (iequals(letters, "%all")) letters = every_letter(info_fields());
  Layout layout =
      a.has("Format") && !a.has("format") ? parse_names(a.value("Format")) : parse_letters(letters);
  std::erase_if(layout.columns, [&](const Column& column) {
    if (info_field(column)) return false;
    layout.bad.push_back(column.written);
    return true;
  });
  for (const std::string& bad : layout.bad)
    q.said.err += "sinfo: error: Invalid job format specification: " + printable(bad) + "\n";
  return layout;
}

// --- lines
// -----------------------------------------------------------------------------------------------

bool has_about(const Layout& layout, InfoField::About about) {
  return std::any_of(layout.columns.begin(), layout.columns.end(),
                     [&](const Column& c) { return info_field(c)->about == about; });
}

// Nodes with equal texts in all columns about nodes share a line.
std::vector<NodeGroup> grouped(const Query& q, const Layout& layout, const NodeGroup& all) {
  std::map<std::pair<int, std::vector<std::string>>, NodeGroup> lines;
  const bool by_state = has_about(layout, InfoField::About::node);
  for (const NodeRow& row : all.nodes) {
    const NodeGroup alone{all.view, all.partition, {row}};
    std::pair<int, std::vector<std::string>> key{by_state ? -row.rank() : 0, {}};
    for (const Column& column : layout.columns)
      if (const InfoField* field = info_field(column); field->about == InfoField::About::node)
        key.second.push_back(field->text(alone, q.moments));
    NodeGroup& line = lines[key];
    line.view = all.view;
    line.partition = all.partition;
    line.nodes.push_back(row);
  }
  std::vector<NodeGroup> out;
  out.reserve(lines.size());
  for (auto& [key, line] : lines) out.push_back(std::move(line));
  return out;
}

NodeGroup members(const Query& q, const Partition& partition) {
  NodeGroup group{&q.view, &partition, {}};
  for (const std::string& name : partition.nodes)
    if (const Node* node = find_node(q.view.state, name))
      if (const NodeRow row(q.view, *node); passes(q, row)) group.nodes.push_back(row);
  return group;
}

// One line a node and partition, in the order of the nodes' names.
std::vector<NodeGroup> node_lines(const Query& q) {
  std::vector<NodeGroup> out;
  for (const Partition& partition : q.view.state.config.partitions) {
    if (!shows(q, partition)) continue;
    for (const NodeRow& row : members(q, partition).nodes)
      out.push_back({&q.view, &partition, {row}});
  }
  std::stable_sort(out.begin(), out.end(), [](const NodeGroup& a, const NodeGroup& b) {
    return host_before(a.nodes[0].node().spec.name, b.nodes[0].node().spec.name);
  });
  return out;
}

// All nodes once, for layouts that say nothing about partitions.
NodeGroup whole_cluster(const Query& q) {
  NodeGroup group{&q.view, nullptr, {}};
  for (const auto& [name, id] : q.view.state.node_by_name) {
    const bool shown =
        q.partitions.empty() ||
        std::any_of(q.view.state.config.partitions.begin(), q.view.state.config.partitions.end(),
                    [&](const Partition& p) { return shows(q, p) && is_in(p.nodes, name); });
    if (const NodeRow row(q.view, q.view.state.nodes.at(id)); shown && passes(q, row))
      group.nodes.push_back(row);
  }
  return group;
}

std::vector<NodeGroup> lines_of(const Query& q, const Layout& layout) {
  if (q.arguments.has("Node")) return node_lines(q);
  if (!has_about(layout, InfoField::About::partition)) return grouped(q, layout, whole_cluster(q));
  const bool empty_too = !q.arguments.has("list-reasons");
  std::vector<NodeGroup> out;
  for (const Partition& partition : q.view.state.config.partitions) {
    if (!shows(q, partition)) continue;
    const NodeGroup all = members(q, partition);
    if (all.nodes.empty() && empty_too) out.push_back(all);
    for (NodeGroup& line : grouped(q, layout, all)) out.push_back(std::move(line));
  }
  return out;
}

void sort_lines(const Query& q, std::vector<NodeGroup>& lines) {
  const std::vector<std::string> keys = split_list(q.arguments.value("sort"));
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    const bool down = (*key)[0] == '-';
    std::string letter = *key;
    std::erase_if(letter, [](char c) { return c == '-' || c == '+' || c == '#'; });
    const InfoField* field = info_field({letter, letter});
    if (!field) continue;
    std::stable_sort(lines.begin(), lines.end(), [&](const NodeGroup& a, const NodeGroup& b) {
      const std::string x = field->text(a, q.moments);
      const std::string y = field->text(b, q.moments);
      return down ? host_before(y, x) : host_before(x, y);
    });
  }
}

void print(Query& q) {
  const Layout layout = layout_of(q);
  std::vector<NodeGroup> lines = lines_of(q, layout);
  sort_lines(q, lines);
  if (q.arguments.has("long") && !q.arguments.has("noheader"))
    q.said.out += date_line(q.view.now, q.ask.zone);
  if (!q.arguments.has("noheader"))
    q.said.out += line_of(layout, 0, [](const Column& column, int) {
      return std::string(info_field(column)->header);
    });
  for (const NodeGroup& line : lines)
    q.said.out += line_of(layout, line, [&](const Column& column, const NodeGroup& group) {
      return info_field(column)->text(group, q.moments);
    });
}

void read_states(Query& q) {
  q.states = q.arguments.list("states");
  for (const std::string& state : q.states) {
    const std::string word = to_lower(state);
    if (std::find(std::begin(kStates), std::end(kStates), word) != std::end(kStates)) continue;
    q.said = {"", format("sinfo: error: Bad state string: \"{}\"\n", printable(state)), 1};
    std::string all;
    for (const std::string_view name : kStates) all += (all.empty() ? "" : ",") + std::string(name);
    q.said.err += "sinfo: error: valid states: " + all + "\n";
    return;
  }
}

}  // namespace

Answer sinfo(const View& view, const Ask& ask) {
  Query q{view,
          ask,
          read_arguments("sinfo", kFlags, ask.args, view.state.config.name,
                         environment_of(ask, "SLURM_CLUSTERS")),
          moments_of(ask),
          {},
          {},
          {},
          {}};
  q.said = q.arguments.error;
  if (q.said.code != 0) return {q.said, {}, {}};
  if (q.arguments.has("help") || q.arguments.has("usage"))
    return {{std::string(kUsage), "", 0}, {}, {}};
  if (q.arguments.has("reservation")) return {{"No reservations in the system\n", "", 0}, {}, {}};
  q.partitions = list_or_environment(q.arguments, ask, "partition", "SINFO_PARTITION");
  if (q.arguments.has("nodes")) {
    const auto nodes = expand_hosts(q.arguments.value("nodes"));
    if (!nodes.ok()) return {failed("sinfo", nodes.error().message), {}, {}};
    q.nodes = *nodes;
  }
  read_states(q);
  if (q.said.code == 0) print(q);
  return {q.said, {}, {}};
}

}  // namespace phalanx::slurm
