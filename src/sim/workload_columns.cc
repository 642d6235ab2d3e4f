// The columns of the table `workloads`: one line each, name and meaning.
#include <algorithm>

#include "base/text.h"
#include "sim/scenario.h"
#include "sim/value.h"

namespace phalanx::sim {
namespace {

constexpr std::int64_t kMostTasks = 100'000;

Identity person(std::string_view name) {
  Identity who;
  who.user = who.group = std::string(name);
  who.uid = 1000;
  for (const char c : name)
    who.uid = 1000 + (who.uid * 31 + static_cast<unsigned char>(c)) % 50'000;
  if (name == "root") who.uid = 0;
  who.gid = who.uid;
  who.operator_ = name == "root";
  return who;
}

Status set_nodes(TaskGroup& group, std::string_view text) {
  const std::size_t dash = text.find('-');
  group.nodes_min = TRY(parse_count(text.substr(0, dash), 1));
  group.nodes_max = group.nodes_min;
  if (dash == std::string_view::npos) return {};
  const std::string_view most = text.substr(dash + 1);
  group.nodes_max = most.empty() ? 0 : TRY(parse_count(most, group.nodes_min));
  return {};
}

Status set_gpus(std::vector<GpuRequest>& gpus, std::string_view text) {
  const TypedCount count = TRY(parse_typed_count(text));
  if (count.count > 0) gpus = {{count.type, count.count}};
  return {};
}

// "1-9%2", "1,4,7-9", "0-8:2"
Status set_array(WorkRow& w, std::string_view text) {
  Array& array = w.array.emplace();
  const auto parts = split(text, '%');
  if (parts.size() > 1) array.at_once = static_cast<std::uint32_t>(TRY(parse_count(parts[1], 1)));
  for (const std::string_view piece : split(parts[0], ',')) {
    const auto by = split(piece, ':');
    const std::size_t dash = by[0].find('-');
    const std::int64_t first = TRY(parse_count(by[0].substr(0, dash)));
    const std::int64_t last =
        dash == std::string_view::npos ? first : TRY(parse_count(by[0].substr(dash + 1), first));
    const std::int64_t step = by.size() > 1 ? TRY(parse_count(by[1], 1)) : 1;
    if (last - first > 10'000) return invalid("an array has at most 10,000 indexes here");
    for (std::int64_t i = first; i <= last; i += step)
      array.pending.insert(static_cast<std::uint32_t>(i));
  }
  return {};
}

// "0", "3", "signal:9", "oom", "cannot-start"
Status set_exit(Program& program, std::string_view text) {
  if (text == "oom") {
    program.out_of_memory = true;
    program.exit_signal = 9;
  } else if (text == "cannot-start") {
    program.cannot_start = true;
  } else if (text.starts_with("signal:")) {
    program.exit_signal = static_cast<std::int32_t>(TRY(parse_count(text.substr(7), 1)));
  } else {
    program.exit_code = static_cast<std::int32_t>(TRY(parse_count(text)));
  }
  return {};
}

Status set_term(Program& program, std::string_view text) {
  program.after_term = text == "ignores" ? kForever : TRY(parse_duration(text));
  return {};
}

// "a&b|c": (a and b) or c; "[a|b]": the same one on all nodes.
Status set_constraint(Constraint& constraint, std::string_view text) {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
    constraint.same_everywhere = true;
    text = text.substr(1, text.size() - 2);
  }
  for (const std::string_view alternative : split(text, '|')) {
    std::vector<std::string> all;
    for (const std::string_view feature : split(alternative, '&')) {
      if (feature.empty()) return invalid(format("'{}' is no constraint: write a&b|c", text));
      all.emplace_back(feature);
    }
    constraint.any_of.push_back(std::move(all));
  }
  return {};
}

// "afterok:A,afterany:B": all; "afterok:A?afterok:B": one of them; "after:A+5m"; "singleton".
Status set_after(WorkRow& w, std::string_view text) {
  const struct {
    std::string_view word;
    DependencyKind kind;
  } kinds[] = {{"after", DependencyKind::after},
               {"afterok", DependencyKind::afterok},
               {"afternotok", DependencyKind::afternotok},
               {"afterany", DependencyKind::afterany}};
  const bool any = text.find('?') != std::string_view::npos;
  for (const std::string_view piece : split(text, any ? '?' : ',')) {
    AfterRow row;
    row.any = any;
    const auto parts = split(piece, ':');
    const auto kind = std::find_if(std::begin(kinds), std::end(kinds),
                                   [&](const auto& k) { return k.word == parts[0]; });
    if (piece == "singleton") {
      row.kind = DependencyKind::singleton;
    } else if (kind == std::end(kinds) || parts.size() != 2) {
      return invalid(
          format("'{}' is no dependency: write afterok:NAME, afterany:, afternotok:, "
                 "after:NAME+5m or singleton",
                 piece));
    } else {
      const std::size_t plus = parts[1].find('+');
      row.kind = kind->kind;
      row.on = parts[1].substr(0, plus);
      if (plus != std::string_view::npos)
        row.delay = TRY(parse_duration(parts[1].substr(plus + 1)));
    }
    w.after.push_back(std::move(row));
  }
  return {};
}

Status set_warn(WarnSignal& warn, std::string_view text) {
  const auto parts = split(text, '@');
  warn.signal = static_cast<std::int32_t>(TRY(parse_count(parts[0], 1)));
  if (parts.size() > 1) warn.before = TRY(parse_duration(parts[1]));
  return {};
}

Status set_kind(WorkloadKind& kind, std::string_view text) {
  if (text != "batch" && text != "allocation")
    return invalid(format("'{}' is neither batch nor allocation", text));
  kind = text == "batch" ? WorkloadKind::batch : WorkloadKind::allocation;
  return {};
}

template <class T, class U>
Status put(T& to, Result<U> from) {
  to = static_cast<T>(TRY(std::move(from)));
  return {};
}

TaskGroup& group(WorkRow& w) { return w.spec.groups.front(); }

struct Column {
  std::string_view name;
  Status (*set)(WorkRow& w, std::string_view text);
};
using Row = WorkRow;
using Text = std::string_view;
constexpr Column kColumns[] = {
    {"submit", [](Row& w, Text t) { return put(w.submit, parse_duration(t)); }},
    {"user", [](Row& w, Text t) { return w.spec.owner = person(t), Status(); }},
    {"account", [](Row& w, Text t) { return w.spec.account = t, Status(); }},
    {"partition", [](Row& w, Text t) { return w.spec.partition = t, Status(); }},
    {"kind", [](Row& w, Text t) { return set_kind(w.spec.kind, t); }},
    {"job-name", [](Row& w, Text t) { return w.spec.name = t, Status(); }},
    {"tasks",
     [](Row& w, Text t) {
       w.tasks_given = true;
       return put(group(w).tasks, parse_count(t, 1));
     }},
    {"nodes", [](Row& w, Text t) { return set_nodes(group(w), t); }},
    {"tasks/node", [](Row& w, Text t) { return put(group(w).tasks_per_node, parse_count(t, 1)); }},
    {"gpus/task", [](Row& w, Text t) { return set_gpus(group(w).per_task.gpus, t); }},
    {"gpus/node", [](Row& w, Text t) { return set_gpus(group(w).per_node.gpus, t); }},
    {"gpus", [](Row& w, Text t) { return set_gpus(group(w).gpus_in_all, t); }},
    {"cpus/task", [](Row& w, Text t) { return put(group(w).per_task.cpus, Quantity::parse(t)); }},
    {"mem/task", [](Row& w, Text t) { return put(group(w).per_task.memory, parse_bytes(t)); }},
    {"mem/node", [](Row& w, Text t) { return put(group(w).per_node.memory, parse_bytes(t)); }},
    {"exclusive", [](Row& w, Text t) { return put(group(w).exclusive, parse_yes(t)); }},
    {"constraint", [](Row& w, Text t) { return set_constraint(group(w).constraint, t); }},
    {"on", [](Row& w, Text t) { return put(group(w).required_nodes, expand_names(t)); }},
    {"not-on", [](Row& w, Text t) { return put(group(w).excluded_nodes, expand_names(t)); }},
    {"limit", [](Row& w, Text t) { return put(w.spec.limit, parse_duration(t)); }},
    {"runs",
     [](Row& w, Text t) {
       w.runs_given = true;
       return put(w.program.runs, parse_duration(t));
     }},
    {"exit", [](Row& w, Text t) { return set_exit(w.program, t); }},
    {"term", [](Row& w, Text t) { return set_term(w.program, t); }},
    {"warn", [](Row& w, Text t) { return set_warn(w.spec.launch.warn, t); }},
    {"prio", [](Row& w, Text t) { return put(w.priority.emplace(), parse_count(t)); }},
    {"nice", [](Row& w, Text t) { return put(w.spec.nice, parse_count(t)); }},
    {"array", [](Row& w, Text t) { return set_array(w, t); }},
    {"after", [](Row& w, Text t) { return set_after(w, t); }},
    {"begin", [](Row& w, Text t) { return put(w.begin, parse_duration(t)); }},
    {"hold", [](Row& w, Text t) { return put(w.hold, parse_yes(t)); }},
    {"requeue", [](Row& w, Text t) { return put(w.spec.requeue, parse_yes(t)); }},
};

}  // namespace

Status set_work_cell(WorkRow& row, std::string_view column, std::string_view text) {
  for (const Column& c : kColumns)
    if (c.name == column) return c.set(row, text);
  return invalid(format("there is no column '{}'", column));
}

std::vector<std::string_view> work_columns() {
  std::vector<std::string_view> names;
  for (const Column& c : kColumns) names.push_back(c.name);
  return names;
}

// What follows from several cells together, and what a workload has that says nothing.
void finish_work_row(WorkRow& row) {
  WorkloadSpec& spec = row.spec;
  TaskGroup& g = group(row);
  if (spec.owner.user.empty()) spec.owner = person("anna");
  if (spec.name.empty()) spec.name = row.name;
  if (spec.account.empty()) spec.account = "lab";
  const bool any_nodes = !g.gpus_in_all.empty() && g.nodes_min != g.nodes_max;
  // As with sbatch: one task on each node, be there as many as the GPUs need.
  if (!row.tasks_given) g.tasks = any_nodes ? 0 : g.nodes_min;
  if (!row.tasks_given && g.nodes_min > 1 && g.tasks_per_node == 0) g.tasks_per_node = 1;
  g.tasks = std::min(g.tasks, kMostTasks);
  if (g.per_task.cpus == Quantity()) g.per_task.cpus = Quantity::of(1);
  spec.launch.script = row.name;  // the program that a simulated machine looks up
  spec.asked["row"] = row.name;
  if (!row.runs_given) row.program.runs = spec.limit;
}

Identity identity_of(const std::string& user) { return person(user); }

}  // namespace phalanx::sim
