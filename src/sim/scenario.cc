#include "sim/scenario.h"

#include <boost/describe.hpp>

#include <algorithm>

#include "base/text.h"
#include "sim/value.h"

namespace phalanx::sim {
namespace {

constexpr std::size_t kMostNodes = 1'000;
constexpr std::int64_t kPlentyOfCpus = 128;
constexpr std::int64_t kPlentyOfMemory = std::int64_t{1} << 40;

template <class Row>
struct Column {
  std::string_view name;
  Status (*set)(Row& row, std::string_view text);
};

template <class T, class U>
Status put(T& to, Result<U> from) {
  to = static_cast<T>(TRY(std::move(from)));
  return {};
}

using Text = std::string_view;

// "8", "h100:8" or "h100:4,a100:2"
Status set_devices(MachineRow& m, Text text) {
  for (const Text piece : split(text, ',')) {
    const TypedCount gpus = TRY(parse_typed_count(piece));
    if (gpus.count > 64) return invalid("a node has at most 64 gpus");
    for (std::int64_t i = 0; i < gpus.count; ++i) {
      Device device;
      device.type = gpus.type.empty() ? "gpu" : gpus.type;
      device.minor = static_cast<std::int32_t>(m.spec.devices.size());
      device.emulated = true;
      m.spec.devices.push_back(std::move(device));
    }
  }
  if (m.spec.devices.size() > 64) return invalid("a node has at most 64 gpus");
  return {};
}

Status set_features(MachineRow& m, Text text) {
  for (const Text feature : split(text, ',')) m.spec.features.emplace_back(feature);
  return {};
}

constexpr Column<MachineRow> kNodeColumns[] = {
    {"gpus", set_devices},
    {"cpus", [](MachineRow& m, Text t) { return put(m.spec.cpus, parse_count(t, 1)); }},
    {"mem", [](MachineRow& m, Text t) { return put(m.spec.memory, parse_bytes(t)); }},
    {"features", set_features},
    {"weight", [](MachineRow& m, Text t) { return put(m.spec.weight, parse_count(t)); }},
    {"joins", [](MachineRow& m, Text t) { return put(m.joins, parse_duration(t)); }},
    {"prepare", [](MachineRow& m, Text t) { return put(m.prepare, parse_duration(t)); }},
    {"cleanup", [](MachineRow& m, Text t) { return put(m.cleanup, parse_duration(t)); }},
    {"link", [](MachineRow& m, Text t) { return put(m.link, parse_duration(t)); }},
};

Status set_partition_state(Partition& p, Text text) {
  if (!boost::describe::enum_from_string(std::string(text).c_str(), p.state))
    return invalid(format("'{}' is no state of a partition: up, down, drain or inactive", text));
  return {};
}

constexpr Column<Partition> kPartitionColumns[] = {
    {"nodes", [](Partition& p, Text t) { return put(p.nodes, expand_names(t)); }},
    {"tier", [](Partition& p, Text t) { return put(p.priority_tier, parse_count(t)); }},
    {"max-time", [](Partition& p, Text t) { return put(p.max_time, parse_duration(t)); }},
    {"default-time", [](Partition& p, Text t) { return put(p.default_time, parse_duration(t)); }},
    {"max-nodes", [](Partition& p, Text t) { return put(p.max_nodes, parse_count(t, 1)); }},
    {"default", [](Partition& p, Text t) { return put(p.is_default, parse_yes(t)); }},
    {"root-only", [](Partition& p, Text t) { return put(p.root_only, parse_yes(t)); }},
    {"allow-accounts", [](Partition& p, Text t) { return put(p.allow_accounts, expand_names(t)); }},
    {"state", set_partition_state},
};

constexpr Column<ClusterConfig> kPolicy[] = {
    {"promises", [](ClusterConfig& c, Text t) { return put(c.policy.promises, parse_count(t)); }},
    {"backfill", [](ClusterConfig& c, Text t) { return put(c.policy.backfill, parse_yes(t)); }},
    {"weight-age",
     [](ClusterConfig& c, Text t) { return put(c.policy.weight_age, parse_count(t)); }},
    {"max-age", [](ClusterConfig& c, Text t) { return put(c.policy.max_age, parse_duration(t)); }},
    {"kill-wait",
     [](ClusterConfig& c, Text t) { return put(c.timers.kill_wait, parse_duration(t)); }},
    {"node-timeout",
     [](ClusterConfig& c, Text t) { return put(c.timers.node_timeout, parse_duration(t)); }},
    {"suspect-after",
     [](ClusterConfig& c, Text t) { return put(c.timers.suspect_after, parse_duration(t)); }},
    {"prepare-timeout",
     [](ClusterConfig& c, Text t) { return put(c.timers.prepare_timeout, parse_duration(t)); }},
    {"over-time-limit",
     [](ClusterConfig& c, Text t) { return put(c.timers.over_time_limit, parse_duration(t)); }},
    {"confirm-loss",
     [](ClusterConfig& c, Text t) { return put(c.node_lost_confirm, parse_yes(t)); }},
};

Status set_show(Play& p, Text text) {
  p.show.clear();
  for (const Text part : split(text, ',')) {
    if (part != "story" && part != "gantt" && part != "ledger")
      return invalid(format("'{}' cannot be shown: story, gantt or ledger", part));
    p.show.emplace(part);
  }
  return {};
}

constexpr Column<Play> kPlay[] = {
    {"until", [](Play& p, Text t) { return put(p.until, parse_duration(t)); }},
    {"step", [](Play& p, Text t) { return put(p.step, parse_duration(t)); }},
    {"show", set_show},
    {"chaos", [](Play& p, Text t) { return put(p.chaos.emplace(), parse_count(t)); }},
};

// --- reading rows

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  if (const auto near = nearest(word, known)) return format("; did you mean '{}'?", *near);
  std::string all;
  for (const std::string_view k : known) all += (all.empty() ? "" : ", ") + std::string(k);
  return format("; there are {}", all);
}

void check_columns(Parsed<Scenario>& out, const Table& table,
                   const std::vector<std::string_view>& known) {
  for (const Cell& c : table.columns)
    if (std::find(known.begin(), known.end(), c.text) == known.end())
      out.error(c.at, format("{} have no column '{}'{}", table.name.text, c.text,
                             did_you_mean(c.text, known)));
}

// Gives each cell of a row to `set`, by its column.
template <class Set>
void read_cells(Parsed<Scenario>& out, const Table& table, const std::vector<Cell>& row,
                const std::vector<std::string_view>& known, const Set& set) {
  if (row.size() > table.columns.size() + 1)
    out.error(row[table.columns.size() + 1].at,
              "the row has more cells than the table has columns");
  for (std::size_t i = 0; i < table.columns.size() && i + 1 < row.size(); ++i) {
    const Cell& cell = row[i + 1];
    const std::string& column = table.columns[i].text;
    if (cell.text == "-" || std::find(known.begin(), known.end(), column) == known.end()) continue;
    const Status status = set(column, cell.text);
    if (!status.ok()) out.error(cell.at, format("{}: {}", column, status.error().message));
  }
}

template <class Row, std::size_t N>
std::vector<std::string_view> names_of(const Column<Row> (&columns)[N]) {
  std::vector<std::string_view> names;
  for (const auto& c : columns) names.push_back(c.name);
  return names;
}

template <class Row, std::size_t N>
Status set_column(const Column<Row> (&columns)[N], Row& row, std::string_view name,
                  std::string_view text) {
  for (const auto& c : columns)
    if (c.name == name) return c.set(row, text);
  return invalid(format("there is no '{}'{}", name, did_you_mean(name, names_of(columns))));
}

void read_nodes(Parsed<Scenario>& out, const Table& table) {
  const auto known = names_of(kNodeColumns);
  check_columns(out, table, known);
  for (const std::vector<Cell>& row : table.rows) {
    MachineRow m;
    m.spec.cpus = kPlentyOfCpus;
    m.spec.memory = kPlentyOfMemory;
    read_cells(out, table, row, known, [&](const std::string& column, const std::string& text) {
      return set_column(kNodeColumns, m, column, text);
    });
    const auto names = expand_names(row.front().text);
    if (!names.ok()) {
      out.error(row.front().at, names.error().message);
      continue;
    }
    if (out.value.machines.size() + names->size() > kMostNodes) {
      out.error(row.front().at, format("a scenario has at most {} nodes", kMostNodes));
      return;
    }
    for (const std::string& name : *names) {
      m.spec.name = name;
      out.value.machines.push_back(m);
    }
  }
}

void read_partitions(Parsed<Scenario>& out, const Table& table) {
  const auto known = names_of(kPartitionColumns);
  check_columns(out, table, known);
  for (const std::vector<Cell>& row : table.rows) {
    Partition p;
    p.name = row.front().text;
    read_cells(out, table, row, known, [&](const std::string& column, const std::string& text) {
      return set_column(kPartitionColumns, p, column, text);
    });
    out.value.config.partitions.push_back(std::move(p));
  }
}

void read_workloads(Parsed<Scenario>& out, const Table& table) {
  const auto known = work_columns();
  check_columns(out, table, known);
  for (const std::vector<Cell>& row : table.rows) {
    WorkRow w;
    w.name = row.front().text;
    w.at = row.front().at;
    read_cells(out, table, row, known, [&](const std::string& column, const std::string& text) {
      return set_work_cell(w, column, text);
    });
    finish_work_row(w);
    out.value.work.push_back(std::move(w));
  }
}

void read_at(Parsed<Scenario>& out, const Table& table) {
  for (const std::vector<Cell>& row : table.rows) {
    auto happening = parse_happening(row);
    if (happening.ok())
      out.value.happenings.push_back(std::move(*happening));
    else
      out.error(row.back().at, happening.error().message);
  }
}

Result<Expectation> parse_expectation(const std::vector<Cell>& row) {
  constexpr std::string_view kMetrics[] = {"makespan", "utilisation", "starved",
                                           "start",    "end",         "attempts"};
  constexpr std::string_view kComparisons[] = {"<=", ">=", "="};
  if (row.size() != 3) return invalid("write a metric, a comparison and a bound: makespan <= 2h");
  Expectation e;
  e.where = row.front().at;
  e.what = format("{} {} {}", row[0].text, row[1].text, row[2].text);
  const std::size_t colon = row[0].text.find(':');
  e.metric = row[0].text.substr(0, colon);
  if (colon != std::string::npos) e.subject = row[0].text.substr(colon + 1);
  if (std::find(std::begin(kMetrics), std::end(kMetrics), e.metric) == std::end(kMetrics))
    return invalid(format("there is no metric '{}'{}", e.metric,
                          did_you_mean(e.metric, {std::begin(kMetrics), std::end(kMetrics)})));
  e.comparison = row[1].text;
  if (std::find(std::begin(kComparisons), std::end(kComparisons), e.comparison) ==
      std::end(kComparisons))
    return invalid(format("'{}' is no comparison: <=, >= or =", e.comparison));
  const bool is_time = e.metric == "makespan" || e.metric == "start" || e.metric == "end";
  e.bound = is_time ? TRY(parse_duration(row[2].text)).count() : TRY(parse_count(row[2].text));
  return e;
}

void read_expect(Parsed<Scenario>& out, const Table& table) {
  for (const std::vector<Cell>& row : table.rows) {
    auto expectation = parse_expectation(row);
    if (expectation.ok())
      out.value.expectations.push_back(std::move(*expectation));
    else
      out.error(row.front().at, expectation.error().message);
  }
}

// play and policy are one line: name=value name=value.
template <class Row, std::size_t N>
void read_settings(Parsed<Scenario>& out, const Table& table, const Column<Row> (&columns)[N],
                   Row& row) {
  for (const Cell& cell : table.columns) {
    const std::size_t equals = cell.text.find('=');
    const Status status =
        equals == std::string::npos
            ? Status(invalid(format("'{}' is no setting: write name=value", cell.text)))
            : set_column(columns, row, cell.text.substr(0, equals), cell.text.substr(equals + 1));
    if (!status.ok()) out.error(cell.at, status.error().message);
  }
  if (!table.rows.empty())
    out.error(table.rows.front().front().at,
              format("{} is one line of settings: leave an empty line below it", table.name.text));
}

void read_table(Parsed<Scenario>& out, const Table& table) {
  const std::string& name = table.name.text;
  if (name == "nodes") return read_nodes(out, table);
  if (name == "partitions") return read_partitions(out, table);
  if (name == "workloads") return read_workloads(out, table);
  if (name == "at") return read_at(out, table);
  if (name == "expect") return read_expect(out, table);
  if (name == "play") return read_settings(out, table, kPlay, out.value.play);
  if (name == "policy") return read_settings(out, table, kPolicy, out.value.config);
  out.error(table.name.at, format("there is no table '{}'{}", name,
                                  did_you_mean(name, {"nodes", "partitions", "workloads", "at",
                                                      "expect", "play", "policy"})));
}

// --- what must hold between the tables

void check_work(Parsed<Scenario>& out) {
  std::set<std::string> names;
  for (const WorkRow& w : out.value.work) {
    if (!names.insert(w.name).second)
      out.error(w.at, format("there are two workloads called {}", w.name));
    if (w.program.runs == kForever && w.spec.limit == kForever && out.value.play.until == kForever)
      out.error(w.at, format("{} would run for ever: give it a limit or say how long it runs, or "
                             "'play until=…'",
                             w.name));
  }
  for (const WorkRow& w : out.value.work)
    for (const AfterRow& a : w.after)
      if (!a.on.empty() && !names.contains(a.on))
        out.error(w.at, format("{} waits for {}, which is not in the table", w.name, a.on));
}

void check_happenings(Parsed<Scenario>& out) {
  const Scenario& s = out.value;
  for (const Happening& h : s.happenings) {
    const auto is = [&](const auto& row) { return row.name == h.subject; };
    const bool work = h.verb >= Verb::cancel;
    const std::string base = h.subject.substr(0, h.subject.find('_'));
    bool known = true;
    if (work)
      known = std::any_of(s.work.begin(), s.work.end(),
                          [&](const WorkRow& w) { return w.name == h.subject || w.name == base; });
    else if (h.verb == Verb::set_partition)
      known = std::any_of(s.config.partitions.begin(), s.config.partitions.end(), is);
    else if (h.verb != Verb::kill_controller)
      known = std::any_of(s.machines.begin(), s.machines.end(),
                          [&](const MachineRow& m) { return m.spec.name == h.subject; });
    if (!known) out.error(h.where, format("there is no {} in this scenario", h.subject));
  }
}

// Without a table of partitions there is one, with all nodes.
void finish(Parsed<Scenario>& out) {
  Scenario& s = out.value;
  std::set<std::string> names;
  for (const MachineRow& m : s.machines) {
    if (!names.insert(m.spec.name).second)
      out.error({}, format("there are two nodes called {}", m.spec.name));
    s.config.nodes.push_back(m.spec);
  }
  if (s.machines.empty()) out.error({}, "there is no node: write a table 'nodes'");
  if (s.config.partitions.empty()) {
    Partition p;
    p.name = "main";
    p.is_default = true;
    for (const MachineRow& m : s.machines) p.nodes.push_back(m.spec.name);
    s.config.partitions.push_back(std::move(p));
  }
  const bool has_default = std::any_of(s.config.partitions.begin(), s.config.partitions.end(),
                                       [](const Partition& p) { return p.is_default; });
  if (!has_default) s.config.partitions.front().is_default = true;
  check_work(out);
  check_happenings(out);
}

}  // namespace

Parsed<Scenario> parse_scenario(std::string_view above, const std::string& file) {
  const Parsed<Tables> tables = parse_tables(above, file);
  Parsed<Scenario> out;
  out.diagnostics = tables.diagnostics;
  out.value.title = tables.value.title;
  for (const Table& table : tables.value.tables) read_table(out, table);
  finish(out);
  return out;
}

}  // namespace phalanx::sim
