// scancel: which jobs are meant, and what becomes of each.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/query.h"

namespace phalanx::slurm {
namespace {

using V = Flag::Value;
using H = Flag::Handling;
constexpr Flag kFlags[] = {
    {"account", 'A', V::required},
    {"admin-comment", 0, V::required, H::ignored},
    {"batch", 'b'},
    {"clusters", 'M', V::required},
    {"cron", 'c', V::none, H::ignored},
    {"ctld", 0, V::none, H::ignored},
    {"full", 'f'},
    {"help", 0},
    {"hurry", 'H', V::none, H::ignored},
    {"interactive", 'i', V::none, H::refused},
    {"jobname", 0, V::required},
    {"me", 0},
    {"name", 'n', V::required},
    {"nodelist", 'w', V::required},
    {"partition", 'p', V::required},
    {"qos", 'q', V::required},
    {"quiet", 'Q'},
    {"reservation", 'R', V::required},
    {"signal", 's', V::required},
    {"state", 't', V::required},
    {"usage", 0},
    {"user", 'u', V::required},
    {"verbose", 'v'},
    {"wckey", 0, V::required},
};

constexpr std::string_view kUsage =
    "Usage: scancel [-A account] [-b] [-f] [-n job_name] [-p partition] [-Q] [-q qos]\n"
    "               [-s signal] [-t PENDING|RUNNING|SUSPENDED] [-u user] [-v] [-w hosts] [--me]\n"
    "               [job_id[_index][.step] …]\n";

constexpr std::string_view kFilters[] = {"account",     "jobname",   "me",   "name",
                                         "nodelist",    "partition", "qos",  "state",
                                         "reservation", "user",      "wckey"};

bool filters(const Arguments& a) {
  return std::any_of(std::begin(kFilters), std::end(kFilters),
                     [&](std::string_view name) { return a.has(name); });
}

struct Filter {
  std::vector<std::string> users, names, partitions, accounts, qos, states, nodes;
  bool nothing = false;

  Filter(const View& view, const Arguments& a, std::vector<std::string> wanted_states)
      : users(a.list("user")),
        names(a.list(a.has("name") ? "name" : "jobname")),
        partitions(a.list("partition")),
        accounts(a.list("account")),
        qos(a.list("qos")),
        states(std::move(wanted_states)),
        nothing(a.has("reservation") || a.has("wckey")) {
    if (a.has("me")) users = {std::to_string(view.who.uid)};
    if (!a.has("nodelist")) return;
    if (const auto list = expand_hosts(a.value("nodelist")); list.ok()) nodes = *list;
    nothing = nothing || nodes.empty();
  }

  [[nodiscard]] bool passes(const JobRow& row) const {
    const auto allows = [](const std::vector<std::string>& list, const std::string& text) {
      return list.empty() || is_in(list, text);
    };
    const WorkloadSpec& spec = row.spec();
    const auto shares = row.shares();
    const bool there =
        nodes.empty() || std::any_of(shares.begin(), shares.end(),
                                     [&](const Share& s) { return is_in(nodes, s.node); });
    return !nothing && !row.over() && there && (users.empty() || lists_user(users, spec.owner)) &&
           allows(names, spec.name) && allows(partitions, spec.partition) &&
           allows(accounts, spec.account) && allows(qos, spec.qos.empty() ? "normal" : spec.qos) &&
           (states.empty() || is_in(states, row.base()));
  }
};

// The row's own target: an array's pending rest is addressed by its indexes.
Target target_of(const JobRow& row) {
  Target target;
  target.number = row.number();
  if (row.workload()) {
    target.number = 0;
    target.id = row.workload()->id;
    return target;
  }
  target.indexes.assign(row.array()->pending.begin(), row.array()->pending.end());
  return target;
}

struct Plan {
  Answer answer;
  std::vector<std::string> subjects;  // what each input is about

  void add(const Target& target, std::string subject, const Cancel& how) {
    Cancel cancel = how;
    cancel.target = target;
    if (target.step == kBatchStep) cancel.to = SignalTarget::shell;
    answer.inputs.emplace_back(std::move(cancel));
    subjects.push_back(std::move(subject));
  }
};

Result<Cancel> how_to_stop(const Arguments& a) {
  Cancel how;
  if (a.has("batch")) how.to = SignalTarget::shell;
  if (a.has("full")) how.to = SignalTarget::all;
  if (a.has("signal")) {
    const auto signal = parse_signal_name(a.value("signal"));
    if (!signal.ok()) return invalid("Unknown job signal: " + printable(a.value("signal")));
    how.signal = *signal;
  }
  constexpr int kKill = 9;
  if (how.signal == kKill && how.to == SignalTarget::steps) how.signal = 0;  // that is an end
  if (how.signal == 0 && a.has("batch")) how.signal = kKill;
  return how;
}

void plan_named(const View& view, const Arguments& a, const Filter& filter, const Cancel& how,
                Plan& plan) {
  for (const std::string& word : a.words) {
    for (const std::string& piece : split_list(word)) {
      const auto name = parse_job_name(piece);
      if (!name) {
        plan.answer.said = failed("scancel", "Invalid job id " + printable(piece));
        return;
      }
      if (!filters(a)) {
        plan.add(to_target(*name), piece, how);
        continue;
      }
      for (const JobRow& row : job_rows(view, {true, {}}).rows) {
        if (!row.is_named(*name) || !filter.passes(row)) continue;
        Target target = target_of(row);
        if (!row.workload()) target.indexes = to_target(*parse_job_name(row.id())).indexes;
        target.step = name->step;
        plan.add(target, row.id(), how);
      }
    }
  }
}

// Without a user named, others' work is passed over; with one, its refusal is the answer.
void plan_filtered(const View& view, const Filter& filter, const Cancel& how, Plan& plan) {
  for (const JobRow& row : job_rows(view, {}).rows) {
    const bool meant =
        view.who.operator_ || !filter.users.empty() || row.spec().owner.uid == view.who.uid;
    if (meant && filter.passes(row)) plan.add(target_of(row), row.id(), how);
  }
}

constexpr int kDenied = 210;  // Slurm's errno for it, as far as an exit code holds it

// Errors that only say that there was nothing left to stop are silent, unless asked for.
bool is_quiet(const Error& error) {
  return error.code == Error::Code::NotFound || error.code == Error::Code::Conflict;
}

std::string words_of(const Error& error) {
  if (error.code == Error::Code::NotFound) return "Invalid job id specified";
  if (error.code == Error::Code::Conflict) return "Job/step already completing or completed";
  return error.message;
}

Said report(const Said& so_far, const std::vector<std::string>& subjects, bool verbose, bool quiet,
            std::span<const Reply> replies) {
  Said said = so_far;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (verbose) said.err += format("scancel: Terminating job {}\n", subjects[i]);
    const auto& error = replies[i].error;
    if (!error) continue;
    if (is_quiet(*error) ? verbose : !quiet)
      said.err += format("scancel: error: Kill job error on job id {}: {}\n", subjects[i],
                         words_of(*error));
    if (!is_quiet(*error)) said.code = error->code == Error::Code::Denied ? kDenied : 1;
  }
  return said;
}

}  // namespace

Answer scancel(const View& view, const Ask& ask) {
  const Arguments a = read_arguments("scancel", kFlags, ask.args, view.state.config.name,
                                     environment_of(ask, "SLURM_CLUSTERS"));
  if (a.error.code != 0) return {a.error, {}, {}};
  if (a.has("help") || a.has("usage")) return {{std::string(kUsage), "", 0}, {}, {}};
  if (a.words.empty() && !filters(a))
    return {failed("scancel", "No job identification provided"), {}, {}};
  const auto how = how_to_stop(a);
  if (!how.ok()) return {failed("scancel", how.error().message), {}, {}};
  std::string bad;
  const std::vector<std::string> states = parse_states(a.list("state"), bad);
  if (!bad.empty())
    return {failed("scancel", "Invalid job state string: " + printable(bad)), {}, {}};
  const Filter filter(view, a, states);
  Plan plan;
  if (a.words.empty())
    plan_filtered(view, filter, *how, plan);
  else
    plan_named(view, a, filter, *how, plan);
  plan.answer.finish = [subjects = plan.subjects, verbose = a.has("verbose"),
                        quiet = a.has("quiet")](const Said& said, std::span<const Reply> replies) {
    return report(said, subjects, verbose, quiet, replies);
  };
  return std::move(plan.answer);
}

}  // namespace phalanx::slurm
