// scontrol: words to a verb. What is shown is in scontrol_show.cc and scontrol_nodes.cc, what
// changes in scontrol_change.cc.

#include "base/text.h"
#include "dialect/slurm/query.h"

namespace phalanx::slurm {
namespace {

using V = Flag::Value;
using H = Flag::Handling;
constexpr Flag kFlags[] = {
    {"all", 'a', V::none, H::ignored},
    {"clusters", 'M', V::required},
    {"details", 'd'},
    {"federation", 'F', V::none, H::ignored},
    {"future", 0, V::none, H::ignored},
    {"help", 'h'},
    {"hide", 0, V::none, H::ignored},
    {"json", 0, V::optional, H::refused},
    {"local", 0, V::none, H::ignored},
    {"oneliner", 'o'},
    {"quiet", 'Q', V::none, H::ignored},
    {"sibling", 0, V::none, H::ignored},
    {"uid", 'u', V::required, H::refused},
    {"verbose", 'v', V::none, H::ignored},
    {"yaml", 0, V::optional, H::refused},
};

constexpr std::string_view kUsage =
    "Usage: scontrol [-d] [-o] COMMAND\n"
    "  hold, uhold, release JOB …          hold pending jobs, let them go\n"
    "  requeue, requeuehold JOB …          start running jobs again, or hold them first\n"
    "  update JobId=ID TimeLimit=[+|-]TIME Priority=N Nice=N\n"
    "  update NodeName=NODES State=DRAIN|RESUME|DOWN|UNDRAIN Reason=TEXT\n"
    "  reconfigure                         read slurm.conf and gres.conf again\n"
    "  show job|step|node|partition|config [NAME …]\n"
    "  show hostnames|hostlist|hostlistsorted [LIST]\n"
    "  ping, version\n";

bool is(std::string_view word, std::string_view whole, std::size_t least) {
  return word.size() >= least && istarts_with(whole, word);
}

// "show job=5", "show job 5,6", "-o show part": an entity and the names after it.
Said show(const View& view, const Ask& ask, const Arguments& a) {
  std::vector<std::string> words(a.words.begin() + 1, a.words.end());
  if (words.empty())
    return failed("scontrol", "show what? job, step, node, partition, config, hostnames …");
  std::string what = words[0];
  Show show{view, moments_of(ask), {}, a.has("oneliner"), a.has("details")};
  if (const std::size_t equals = what.find('='); equals != std::string::npos) {
    for (std::string& name : split_list(what.substr(equals + 1))) show.names.push_back(name);
    what.resize(equals);
  }
  for (std::size_t i = 1; i < words.size(); ++i)
    for (std::string& name : split_list(words[i])) show.names.push_back(name);
  if (is(what, "jobs", 1) || is(what, "jobid", 4)) return show_jobs(show);
  if (is(what, "steps", 2)) return show_steps(show);
  if (is(what, "nodes", 1) || is(what, "nodename", 5)) return show_nodes(show);
  if (is(what, "partitions", 1) || is(what, "partitionname", 10)) return show_partitions(show);
  if (is(what, "config", 1)) return show_config(show);
  if (is(what, "reservations", 1)) return {"No reservations in the system\n", "", 0};
  if (is(what, "licenses", 3)) return {"No licenses configured in Slurm.\n", "", 0};
  if (is(what, "topology", 3))
    return {"", "scontrol: error: No topology information available\n", 0};
  return {"", format("invalid entity:{} for keyword:show \n", printable(what)), 1};
}

}  // namespace

Answer scontrol(const View& view, const Ask& ask) {
  const Arguments a = read_arguments("scontrol", kFlags, ask.args, view.state.config.name,
                                     environment_of(ask, "SLURM_CLUSTERS"));
  if (a.error.code != 0) return {a.error, {}, {}};
  if (a.has("help")) return {{std::string(kUsage), "", 0}, {}, {}};
  if (a.words.empty())
    return {failed("scontrol", "give a command, for example `scontrol show job`"), {}, {}};
  const std::string& verb = a.words[0];
  if (is(verb, "show", 2)) return {show(view, ask, a), {}, {}};
  if (is(verb, "ping", 2))
    return {{format("Slurmctld(primary) at {} is UP\n", view.state.config.name), "", 0}, {}, {}};
  if (is(verb, "help", 2)) return {{std::string(kUsage), "", 0}, {}, {}};
  if (is(verb, "reconfigure", 3)) return {{}, {}, {}, true};
  return change(view, a.words);
}

}  // namespace phalanx::slurm
