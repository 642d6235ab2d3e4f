// squeue: work that waits and runs.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/query.h"
#include "dialect/slurm/squeue_fields.h"

namespace phalanx::slurm {
namespace {

using V = Flag::Value;
using H = Flag::Handling;
constexpr Flag kFlags[] = {
    {"account", 'A', V::required},
    {"all", 'a', V::none, H::ignored},
    {"array", 'r'},
    {"array-unique", 0, V::none},
    {"clusters", 'M', V::required},
    {"expand-patterns", 0, V::none},
    {"federation", 0, V::none, H::ignored},
    {"format", 'o', V::required},
    {"Format", 'O', V::required},
    {"help", 0},
    {"hide", 0, V::none, H::ignored},
    {"iterate", 'i', V::required, H::refused},
    {"job", 0, V::required},
    {"jobs", 'j', V::required},
    {"json", 0, V::optional, H::refused},
    {"licenses", 'L', V::required},
    {"local", 0, V::none, H::ignored},
    {"long", 'l'},
    {"me", 0},
    {"name", 'n', V::required},
    {"noconvert", 0, V::none, H::ignored},
    {"nodelist", 'w', V::required},
    {"noheader", 'h'},
    {"only-job-state", 0},
    {"partition", 'p', V::required},
    {"priority", 'P', V::none, H::ignored},
    {"qos", 'q', V::required},
    {"reservation", 'R', V::required},
    {"sibling", 0, V::none, H::ignored},
    {"sort", 'S', V::required},
    {"start", 0},
    {"states", 't', V::required},
    {"steps", 's', V::optional},
    {"usage", 0},
    {"user", 'u', V::required},
    {"verbose", 'v', V::none, H::ignored},
    {"yaml", 0, V::optional, H::refused},
};

constexpr std::string_view kUsage =
    "Usage: squeue [-A account] [-j job_ids] [-n names] [-o format] [-O fields] [-p partitions]\n"
    "              [-q qos] [-S sort_fields] [-s] [-t states] [-u users] [-w nodes] [--me]\n"
    "              [--start] [--only-job-state] [-h] [-l] [-r]\n";

struct Query {
  const View& view;
  const Ask& ask;
  Arguments arguments;
  Moments moments;
  std::vector<JobName> names;
  std::vector<std::string> states;  // empty: what is not over
  Said said;                        // code 0: go on

  Query(const View& v, const Ask& a)
      : view(v),
        ask(a),
        arguments(read_arguments("squeue", kFlags, a.args, v.state.config.name,
                                 environment_of(a, "SLURM_CLUSTERS"))),
        moments(moments_of(a)),
        said(arguments.error) {}
  [[nodiscard]] std::vector<std::string> list(std::string_view option,
                                              const std::string& variable) const {
    return list_or_environment(arguments, ask, option, variable);
  }
};

void read_names(Query& q) {
  std::vector<std::string> words = q.arguments.list("jobs");
  for (std::string& word : q.arguments.list("job")) words.push_back(std::move(word));
  for (const std::string& word : words) {
    const auto name = parse_job_name(word);
    if (!name) {
      q.said = failed("squeue", "Invalid job id: " + printable(word));
      return;
    }
    q.names.push_back(*name);
  }
}

void read_states(Query& q) {
  std::string bad;
  q.states = parse_states(q.list("states", "SQUEUE_STATES"), bad);
  if (!bad.empty()) {
    std::string all;
    for (const StateName& state : job_state_names())
      all += (all.empty() ? "" : ",") + std::string(state.name);
    q.said = failed("squeue", "Invalid job state specified: " + printable(bad));
    q.said.err += "squeue: error: Valid job states include: " + all + "\n\n";
  }
  if (q.arguments.has("start") && q.states.empty()) q.states = {"PENDING"};
}

bool on_nodes(const JobRow& row, const std::vector<std::string>& nodes) {
  const std::vector<Share> shares = row.shares();
  return std::any_of(shares.begin(), shares.end(),
                     [&](const Share& share) { return is_in(nodes, share.node); });
}

// Whether the row passes all filters but the one by id.
struct Filter {
  std::vector<std::string> states, users, partitions, names, accounts, qos, nodes;
  bool nothing = false;  // asks for what no job here has: licenses, reservations

  explicit Filter(const Query& q)
      : states(q.states),
        users(q.list("user", "SQUEUE_USERS")),
        partitions(q.list("partition", "SQUEUE_PARTITION")),
        names(q.list("name", "SQUEUE_NAMES")),
        accounts(q.list("account", "SQUEUE_ACCOUNT")),
        qos(q.arguments.list("qos")),
        nothing(q.arguments.has("licenses") || q.arguments.has("reservation")) {
    if (q.arguments.has("me")) users = {std::to_string(q.view.who.uid)};
    if (const auto list = expand_hosts(q.arguments.value("nodelist")); list.ok()) nodes = *list;
    if (q.arguments.has("nodelist") && nodes.empty()) nothing = true;
  }

  [[nodiscard]] bool passes(const JobRow& row) const {
    const auto allows = [](const std::vector<std::string>& list, const std::string& text) {
      return list.empty() || is_in(list, text);
    };
    if (nothing) return false;
    if (states.empty() ? row.over() && row.state() != "COMPLETING"
                       : !is_in(states, row.state()) && !is_in(states, row.base()))
      return false;
    const WorkloadSpec& spec = row.spec();
    const std::string service = spec.qos.empty() ? "normal" : spec.qos;
    return (users.empty() || lists_user(users, spec.owner)) && allows(partitions, spec.partition) &&
           allows(names, spec.name) && allows(accounts, spec.account) && allows(qos, service) &&
           (nodes.empty() || on_nodes(row, nodes));
  }
};

// --- order
// -----------------------------------------------------------------------------------------------

std::size_t state_rank(const JobRow& row) {
  const auto states = job_state_names();
  for (std::size_t i = 0; i < states.size(); ++i)
    if (states[i].name == row.base()) return i;
  return states.size();
}

// Numbers compare as numbers, everything else as the text of its column.
std::optional<std::int64_t> sort_number(char key, const JobRow& row) {
  switch (key) {
    case 't':
    case 'T':
      return static_cast<std::int64_t>(state_rank(row));
    case 'p':
    case 'Q':
      return row.priority();
    case 'C':
      return row.cpus();
    case 'D':
      return row.node_count();
    case 'M':
      return row.elapsed().count();
    case 'l':
      return row.limit().count();
    case 'L':
      return row.time_left().count();
    case 'S': {
      const Time start = row.pending() ? row.expected_start() : row.start();
      return unix_ms(start == Time{} ? kNever : start);
    }
    case 'e':
      return unix_ms(row.end() == Time{} ? kNever : row.end());
    case 'V':
      return unix_ms(row.submitted());
    case 'A':
      return row.number();
    case 'U':
      return row.spec().owner.uid;
    default:
      return std::nullopt;
  }
}

struct SortKey {
  Column column;
  bool down = false;
};

std::vector<SortKey> sort_keys(const std::string& text) {
  std::vector<SortKey> keys;
  for (const std::string& piece : split_list(text)) {
    SortKey key;
    key.down = piece[0] == '-';
    key.column.written = piece.substr(piece[0] == '-' || piece[0] == '+' ? 1 : 0);
    key.column.field = plain_name(key.column.written);
    keys.push_back(std::move(key));
  }
  return keys;
}

// Stable: rows come in the order of their ids, which is what "i" means and what decides ties.
void sort_rows(std::vector<JobRow>& rows, const std::vector<SortKey>& keys,
               const Moments& moments) {
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    const char letter = key->column.written.empty() ? 'i' : key->column.written[0];
    if (letter == 'i') {
      if (key->down) std::reverse(rows.begin(), rows.end());
      continue;
    }
    const QueueField* field = queue_field(key->column);
    if (!field) continue;
    std::stable_sort(rows.begin(), rows.end(), [&](const JobRow& a, const JobRow& b) {
      const JobRow& x = key->down ? b : a;
      const JobRow& y = key->down ? a : b;
      const auto number = sort_number(field->letter, x);
      if (number) return *number < *sort_number(field->letter, y);
      return field->text(x, moments) < field->text(y, moments);
    });
  }
}

// --- printing
// --------------------------------------------------------------------------------------------

// As Slurm does it: -o never cuts a duration, -O does.
Layout letters_of(std::string_view format) {
  Layout layout = parse_letters(format);
  for (Column& column : layout.columns)
    column.duration = column.written == "l" || column.written == "L" || column.written == "M";
  return layout;
}

Layout layout_of(Query& q) {
  const Arguments& a = q.arguments;
  Layout layout;
  std::string letters = environment_of(q.ask, "SQUEUE_FORMAT");
  std::string names = environment_of(q.ask, "SQUEUE_FORMAT2");
  if (a.has("start"))
    letters = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";
  else if (a.has("only-job-state"))
    letters = "%.18i %.2t";
  else if (a.has("long"))
    letters = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
  if (a.has("format")) letters = a.value("format");
  if (a.has("Format")) names = a.value("Format");
  if (iequals(letters, "%all")) letters = every_letter(queue_fields());
  if (!names.empty() && !a.has("format"))
    layout = parse_names(names);
  else
    layout = letters_of(letters.empty() ? "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R" : letters);
  std::erase_if(layout.columns, [&](const Column& column) {
    if (queue_field(column)) return false;
    layout.bad.push_back(column.written);
    return true;
  });
  for (const std::string& bad : layout.bad)
    q.said.err += "squeue: error: Invalid job format specification: " + printable(bad) + "\n";
  return layout;
}

JobRows rows_of(const Query& q) {
  RowsWanted wanted;
  wanted.each_index = q.arguments.has("array") || !environment_of(q.ask, "SQUEUE_ARRAY").empty();
  // Work that is over stays visible for a while, as in Slurm.
  wanted.past.emplace();
  wanted.past->from = q.view.now - q.view.state.config.timers.min_job_age;
  for (const JobName& name : q.names) wanted.past->numbers.push_back(name.number);
  if (q.states.empty() && q.names.empty()) wanted.past.reset();
  return job_rows(q.view, wanted);
}

bool is_named(const JobRow& row, const std::vector<JobName>& names) {
  return names.empty() || std::any_of(names.begin(), names.end(),
                                      [&](const JobName& name) { return row.is_named(name); });
}

void print_jobs(Query& q) {
  JobRows all = rows_of(q);
  std::erase_if(all.rows, [&](const JobRow& row) { return !is_named(row, q.names); });
  if (q.names.size() == 1 && all.rows.empty()) {  // of several, unknown ones are passed over
    q.said = {"", "slurm_load_jobs error: Invalid job id specified\n", 1};
    return;
  }
  const Filter filter(q);
  std::erase_if(all.rows, [&](const JobRow& row) { return !filter.passes(row); });
  std::string order = environment_of(q.ask, "SQUEUE_SORT");
  if (q.arguments.has("start")) order = "S";
  sort_rows(all.rows, sort_keys(q.arguments.value("sort", order.empty() ? "P,t,-p" : order)),
            q.moments);
  const Layout layout = layout_of(q);
  if (q.arguments.has("long") && !q.arguments.has("noheader"))
    q.said.out += date_line(q.view.now, q.ask.zone);
  if (!q.arguments.has("noheader"))
    q.said.out += line_of(layout, 0, [](const Column& column, int) {
      return std::string(queue_field(column)->header);
    });
  for (const JobRow& row : all.rows)
    q.said.out += line_of(layout, row, [&](const Column& column, const JobRow& r) {
      return queue_field(column)->text(r, q.moments);
    });
}

// --- steps
// -----------------------------------------------------------------------------------------------

void print_step(Query& q, const Layout& layout, const JobRow& row, const Step& step) {
  std::vector<std::string> nodes;
  nodes.reserve(step.shares.size());
  for (const StepShare& share : step.shares) nodes.push_back(node_name(q.view.state, share.node));
  q.said.out += line_of(layout, step, [&](const Column& column, const Step& s) -> std::string {
    switch (column.written[0]) {
      case 'i':
        return row.id() + "." + step_name(s.number);
      case 'j':
        return printable(s.name);
      case 'M':
        return print_time(q.view.now - s.started);
      case 'S':
        return q.moments.print(s.started, "N/A");
      case 'N':
        return fold_hosts_sorted(nodes);
      case 'D':
        return std::to_string(nodes.size());
      default:
        return queue_field(column)->text(row, q.moments);
    }
  });
}

Step batch_step(const JobRow& row) {
  Step batch;
  batch.number = kBatchStep;
  batch.name = "batch";
  batch.started = row.start();
  const std::vector<Share> shares = row.shares();
  if (!shares.empty()) batch.shares.push_back({shares.front().share->node, {0}, {}, 0, {}});
  return batch;
}

void print_steps(Query& q) {
  std::vector<JobName> wanted = q.names;
  for (const std::string& word : q.arguments.list("steps"))
    if (const auto name = parse_job_name(word)) wanted.push_back(*name);
  const Layout layout = letters_of(q.arguments.value("format", "%.15i %.8j %.9P %.8u %.9M %N"));
  if (!q.arguments.has("noheader"))
    q.said.out += line_of(layout, 0, [](const Column& column, int) -> std::string {
      return column.written == "i" ? "STEPID" : std::string(queue_field(column)->header);
    });
  q.states = {"RUNNING"};
  const Filter filter(q);
  const JobRows all = job_rows(q.view, {});
  for (const JobRow& row : all.rows) {
    if (!row.running() || !filter.passes(row) || !is_named(row, wanted)) continue;
    if (row.spec().kind == WorkloadKind::batch) print_step(q, layout, row, batch_step(row));
    for (const auto& [number, step] : row.workload()->steps)
      if (!step.ended) print_step(q, layout, row, step);
  }
}

}  // namespace

Answer squeue(const View& view, const Ask& ask) {
  Query q(view, ask);
  if (q.said.code != 0) return {q.said, {}, {}};
  if (q.arguments.has("help") || q.arguments.has("usage"))
    return {{std::string(kUsage), "", 0}, {}, {}};
  read_names(q);
  if (q.said.code == 0) read_states(q);
  if (q.said.code != 0) return {q.said, {}, {}};
  if (q.arguments.has("steps"))
    print_steps(q);
  else
    print_jobs(q);
  return {q.said, {}, {}};
}

}  // namespace phalanx::slurm
