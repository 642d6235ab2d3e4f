// sacct: what ran, live and archived.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/query.h"
#include "dialect/slurm/sacct_fields.h"

namespace phalanx::slurm {
namespace {

using V = Flag::Value;
using H = Flag::Handling;
constexpr Flag kFlags[] = {
    {"accounts", 'A', V::required},
    {"allclusters", 'L', V::none, H::ignored},
    {"allocations", 'X'},
    {"allusers", 'a'},
    {"array", 0, V::none, H::ignored},
    {"batch-script", 'B', V::none, H::refused},
    {"brief", 'b'},
    {"clusters", 'M', V::required},
    {"completion", 'c', V::none, H::refused},
    {"constraints", 'C', V::required, H::refused},
    {"delimiter", 0, V::required},
    {"duplicates", 'D'},
    {"endtime", 'E', V::required},
    {"env-vars", 0, V::none, H::refused},
    {"federation", 0, V::none, H::ignored},
    {"format", 'o', V::required},
    {"gid", 0, V::required},
    {"group", 'g', V::required},
    {"help", 'h'},
    {"helpformat", 'e'},
    {"jobs", 'j', V::required},
    {"json", 0, V::optional, H::refused},
    {"local", 0, V::none, H::ignored},
    {"long", 'l'},
    {"name", 0, V::required},
    {"noconvert", 0},
    {"nodelist", 'N', V::required},
    {"noheader", 'n'},
    {"parsable", 'p'},
    {"parsable2", 'P'},
    {"partition", 'r', V::required},
    {"qos", 'q', V::required},
    {"starttime", 'S', V::required},
    {"state", 's', V::required},
    {"truncate", 'T', V::none, H::ignored},
    {"uid", 0, V::required},
    {"units", 0, V::required},
    {"usage", 0},
    {"user", 'u', V::required},
    {"verbose", 'v', V::none, H::ignored},
    {"whole-hetjob", 0, V::optional, H::ignored},
    {"yaml", 0, V::optional, H::refused},
};

constexpr std::string_view kUsage =
    "Usage: sacct [-A accounts] [-a] [-b] [-D] [-E end] [-e] [-j jobs] [-l] [-N nodes] [-n]\n"
    "             [-o fields] [-P|-p] [-q qos] [-r partitions] [-S start] [-s states] [-u users]\n"
    "             [-X] [--name names] [--delimiter text] [--noconvert] [--units K|M|G|T]\n";

constexpr std::string_view kDefault = "jobid,jobname,partition,account,alloccpus,state,exitcode";
constexpr std::string_view kLong =
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,"
    "maxrssnode,maxrsstask,averss,maxpages,mincpu,avecpu,ntasks,alloccpus,elapsed,state,exitcode,"
    "reqmem,alloctres";

struct Cell {
  const AccountField* field;
  std::size_t width;
  bool left;
};

struct Query {
  const View& view;
  const Ask& ask;
  Arguments arguments;
  AccountStyle style;
  std::vector<JobName> names;
  std::vector<std::string> states, users, accounts, partitions, job_names, qos, groups, nodes;
  Time from{}, until = kNever;
  std::vector<Cell> cells;
  Said said;
};

void read_format(Query& q) {
  const Arguments& a = q.arguments;
  std::vector<std::string> words = a.list("format");
  if (words.empty()) {
    std::string text = environment_of(q.ask, "SACCT_FORMAT");
    if (text.empty()) text = kDefault;
    if (a.has("brief")) text = "jobid,state,exitcode";
    if (a.has("long")) text = kLong;
    words = split_list(text);
  }
  for (const std::string& word : words) {
    const std::size_t percent = word.find('%');
    const std::string name = word.substr(0, percent);
    const AccountField* field = account_field(name);
    if (!field) {
      q.said = failed("sacct", format("Invalid field requested: \"{}\"", printable(name)));
      return;
    }
    Cell cell{field, static_cast<std::size_t>(std::abs(field->width)), field->width < 0};
    if (percent != std::string::npos) {
      std::string_view width = std::string_view(word).substr(percent + 1);
      cell.left = width.starts_with('-');
      if (cell.left) width.remove_prefix(1);
      constexpr std::uint64_t kWidest = 4096;
      cell.width = static_cast<std::size_t>(std::min(parse_uint(width).value_or(0), kWidest));
    }
    q.cells.push_back(cell);
  }
}

Time midnight(Time now, const Zone& zone) {
  CivilTime c = to_civil(now, zone);
  c.hour = c.minute = c.second = 0;
  return from_civil(c, zone);
}

// Without jobs and states: today. With jobs: all time. With states alone: now.
void read_window(Query& q) {
  const Arguments& a = q.arguments;
  q.from = midnight(q.view.now, q.ask.zone);
  if (!q.states.empty()) q.from = q.view.now;
  if (!q.names.empty()) q.from = Time{};
  for (const auto& [option, to] : {std::pair("starttime", &q.from), {"endtime", &q.until}}) {
    if (!a.has(option)) continue;
    // A time of day is today's, as for all questions about the past.
    const auto moment = parse_moment(a.value(option), midnight(q.view.now, q.ask.zone), q.ask.zone);
    const auto relative = parse_moment(a.value(option), q.view.now, q.ask.zone);
    if (!moment.ok() || !relative.ok()) {
      q.said = {"", "Invalid time specification (pos=0): " + printable(a.value(option)) + "\n", 1};
      return;
    }
    *to = istarts_with(a.value(option), "now") ? *relative : *moment;
  }
}

void read_filters(Query& q) {
  const Arguments& a = q.arguments;
  for (const std::string& word : a.list("jobs")) {
    const auto name = parse_job_name(word);
    if (!name) {
      q.said = {"", "sacct: fatal: Bad job/step specified: " + printable(word) + "\n", 1};
      return;
    }
    q.names.push_back(*name);
  }
  std::string bad;
  q.states = parse_states(a.list("state"), bad);
  if (!bad.empty())
    q.said = {"", format("sacct: fatal: unrecognized job state value '{}'\n", printable(bad)), 1};
  q.users = a.list("user");
  for (std::string& uid : a.list("uid")) q.users.push_back(std::move(uid));
  const bool everybody = a.has("allusers") || q.view.who.operator_ || !q.names.empty();
  if (q.users.empty() && !everybody) q.users = {std::to_string(q.view.who.uid)};
  q.accounts = a.list("accounts");
  q.partitions = a.list("partition");
  q.job_names = a.list("name");
  q.qos = a.list("qos");
  q.groups = a.list(a.has("group") ? "group" : "gid");
  if (const auto nodes = expand_hosts(a.value("nodelist")); nodes.ok()) q.nodes = *nodes;
  if (a.has("noconvert")) {
    q.style.unit = 'M';
    q.style.noconvert = true;
  }
  if (a.has("units")) q.style.unit = a.value("units", "M").substr(0, 1).front();
}

bool in_window(const Query& q, const AccountRow& row) {
  if (row.job->submitted() >= q.until) return false;
  const Time end = row.end();
  return end == Time{} || end >= q.from;
}

bool passes(const Query& q, const JobRow& job) {
  const auto allows = [](const std::vector<std::string>& list, const std::string& text) {
    return list.empty() || is_in(list, text);
  };
  const WorkloadSpec& spec = job.spec();
  if (!q.states.empty() && !is_in(q.states, job.base()) && !is_in(q.states, job.state()))
    return false;
  const bool group = q.groups.empty() || is_in(q.groups, spec.owner.group) ||
                     is_in(q.groups, std::to_string(spec.owner.gid));
  const std::vector<Share> shares = job.shares();
  const bool there =
      q.nodes.empty() || std::any_of(shares.begin(), shares.end(),
                                     [&](const Share& s) { return is_in(q.nodes, s.node); });
  return group && there && (q.users.empty() || lists_user(q.users, spec.owner)) &&
         allows(q.accounts, spec.account) && allows(q.partitions, spec.partition) &&
         allows(q.job_names, spec.name) && allows(q.qos, spec.qos.empty() ? "normal" : spec.qos);
}

// Which lines of a job the -j list asks for: all, or only named steps.
bool asks_for(const Query& q, const JobRow& job, std::optional<StepNumber> step) {
  if (q.names.empty()) return true;
  return std::any_of(q.names.begin(), q.names.end(), [&](const JobName& name) {
    return job.is_named(name) && (!name.step || name.step == step);
  });
}

std::string padded(const Cell& cell, std::string_view text) {
  if (cell.width == 0) return std::string(text);
  std::string fits(cut(text, cell.width));
  if (fits.size() < text.size()) fits = std::string(cut(text, cell.width - 1)) + "+";
  return cell.left ? pad_right(fits, cell.width) : pad_left(fits, cell.width);
}

template <class Text>
void print_line(Query& q, const Text& text) {
  const Arguments& a = q.arguments;
  const std::string delimiter = a.value("delimiter", "|");
  const bool bare = a.has("parsable") || a.has("parsable2");
  for (std::size_t i = 0; i < q.cells.size(); ++i) {
    if (bare && i > 0) q.said.out += delimiter;
    q.said.out += bare ? text(q.cells[i]) : padded(q.cells[i], text(q.cells[i])) + " ";
  }
  if (a.has("parsable") && !a.has("parsable2")) q.said.out += delimiter;
  q.said.out += "\n";
}

void print_row(Query& q, const AccountRow& row) {
  print_line(q, [&](const Cell& cell) -> std::string {
    if (!cell.field->text || (row.step && cell.field->of_jobs)) return "";
    return cell.field->text(row, q.style);
  });
}

void print_header(Query& q) {
  if (q.arguments.has("noheader")) return;
  print_line(q, [](const Cell& cell) { return std::string(cell.field->name); });
  if (q.arguments.has("parsable") || q.arguments.has("parsable2")) return;
  for (const Cell& cell : q.cells)
    q.said.out += std::string(cell.width > 0 ? cell.width : cell.field->name.size(), '-') + " ";
  q.said.out += "\n";
}

// The batch script as a step: it has the first node's share and ends as the job does.
Step batch_step(const JobRow& job) {
  Step step;
  step.number = kBatchStep;
  step.name = "batch";
  step.tasks = 1;
  step.started = job.start();
  const std::vector<Share> shares = job.shares();
  if (!shares.empty()) {
    const NodeShare& first = *shares.front().share;
    step.shares.push_back({first.node, {0}, first.cpus, first.memory, first.gpus});
    const Workload& w = *job.workload();
    const Used used = w.current        ? w.current->script_used
                      : w.past.empty() ? Used{}
                                       : w.past.back().script_used;
    if (!(used == Used{})) step.used[first.node] = used;
  }
  if (!job.over()) return step;
  const End& end = job.workload()->end;
  step.ended = job.end();
  step.exit_code = end.exit_code;
  step.exit_signal = end.exit_signal;
  step.out_of_memory = end.cause == EndCause::out_of_memory;
  if (step.out_of_memory) step.exit_signal = 125;
  const bool stopped = end.cause == EndCause::cancelled || end.cause == EndCause::timeout ||
                       end.cause == EndCause::preempted || end.cause == EndCause::node_failed;
  constexpr std::int32_t kTerm = 15;
  if (stopped && step.exit_signal == 0) {
    step.exit_signal = kTerm;
    step.exit_code = 0;
  }
  return step;
}

void print_job(Query& q, const JobRow& job) {
  const Workload* w = job.workload();
  if (q.arguments.has("duplicates") && w)
    for (const PastAttempt& past : w->past) {
      if (w->phase == Phase::ended && &past == &w->past.back()) break;
      print_row(q, {&job, &past, {}});
    }
  if (asks_for(q, job, std::nullopt)) print_row(q, {&job, nullptr, {}});
  if (q.arguments.has("allocations") || !w || job.start() == Time{}) return;
  if (job.spec().kind == WorkloadKind::batch && asks_for(q, job, kBatchStep))
    print_row(q, {&job, nullptr, batch_step(job)});
  for (const auto& [number, step] : w->steps)
    if (asks_for(q, job, number)) print_row(q, {&job, nullptr, step});
}

void print(Query& q) {
  RowsWanted wanted;
  wanted.past.emplace();
  wanted.past->from = q.from;
  if (q.until != kNever) wanted.past->until = q.until;
  for (const JobName& name : q.names) wanted.past->numbers.push_back(name.number);
  print_header(q);
  for (const JobRows all = job_rows(q.view, wanted); const JobRow& job : all.rows) {
    const bool named =
        q.names.empty() || std::any_of(q.names.begin(), q.names.end(),
                                       [&](const JobName& name) { return job.is_named(name); });
    if (named && passes(q, job) && in_window(q, {&job, nullptr, {}})) print_job(q, job);
  }
}

std::string field_names() {
  std::string out;
  std::size_t column = 0;
  constexpr std::size_t kColumns = 4;
  constexpr std::size_t kWidth = 19;
  for (const AccountField& field : account_fields()) {
    if (column != 0) out += column % kColumns == 0 ? "\n" : " ";
    out += pad_right(field.name, kWidth);
    ++column;
  }
  return out + "\n";
}

}  // namespace

Answer sacct(const View& view, const Ask& ask) {
  Query q{view, ask,
          read_arguments("sacct", kFlags, ask.args, view.state.config.name,
                         environment_of(ask, "SLURM_CLUSTERS"))};
  q.style.moments = moments_of(ask);
  q.said = q.arguments.error;
  if (q.said.code != 0) return {q.said, {}, {}};
  if (q.arguments.has("help") || q.arguments.has("usage"))
    return {{std::string(kUsage), "", 0}, {}, {}};
  if (q.arguments.has("helpformat")) return {{field_names(), "", 0}, {}, {}};
  read_format(q);
  if (q.said.code == 0) read_filters(q);
  if (q.said.code == 0) read_window(q);
  if (q.said.code == 0) print(q);
  return {q.said, {}, {}};
}

}  // namespace phalanx::slurm
