// What each option comes to: the members of the submission that it changes. An option that is said
// to be acted upon and has no row here, or changes nothing, fails.
#include <gtest/gtest.h>

#include <boost/describe.hpp>
#include <boost/mp11/algorithm.hpp>
#include <set>

#include "base/text.h"
#include "dialect/slurm/environment.h"
#include "dialect/slurm/translate.h"

namespace phalanx::slurm {
namespace {

struct Whole {  // all that sbatch's options come to
  Submission submission;
  std::vector<std::string> environment;
  JobOptions options;
};

Whole whole(const std::string& words) {
  static ClusterConfig config;
  Partition main, other;
  main.name = "main";
  main.is_default = true;
  other.name = "other";
  config.partitions = {main, other};
  SubmitRequest request;
  request.script = "#!/bin/sh\n";
  request.script_name = "job.sh";
  request.work_dir = "/home/anna";
  std::vector<std::string> list;
  for (const std::string_view word : split_blanks(words)) list.emplace_back(word);
  request.tokens = command_line_tokens(list);
  Whole out;
  const auto options = read_options(request, config, from_unix_ms(0));
  EXPECT_TRUE(options.ok()) << words << ": "
                            << (options.ok() ? "" : options.first_error()->message);
  out.options = options.value;
  Identity anna;
  anna.uid = 1001;
  const SubmitContext context{
      config, anna, request,
      "",     "",   [](JobNumber, auto) { return KnownJob{WorkloadId{50}, false, false}; }};
  auto submission = translate(context, options.value);
  EXPECT_TRUE(submission.ok()) << words << ": "
                               << (submission.ok() ? "" : submission.error().message);
  if (submission.ok()) out.submission = std::move(*submission);
  out.environment =
      submitted_environment({"A=1", "B=2"}, options.value.export_env.value_or(ExportSpec{}));
  return out;
}

// The members of a described struct that differ, "launch.std_out groups.tasks".
template <class T>
void differences(const T& a, const T& b, const std::string& prefix, std::string& out) {
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
      [&](auto member) {
        const auto& x = a.*member.pointer;
        const auto& y = b.*member.pointer;
        using Member = std::decay_t<decltype(x)>;
        if (x == y || std::string_view(member.name) == "asked") return;
        const std::string name = prefix + member.name;
        if constexpr (std::is_same_v<Member, LaunchSpec> || std::is_same_v<Member, Request> ||
                      std::is_same_v<Member, WarnSignal> || std::is_same_v<Member, StepOptions>)
          differences(x, y, name + ".", out);
        else if constexpr (std::is_same_v<Member, std::vector<TaskGroup>>)
          differences(x.front(), y.front(), "", out);
        else
          out += (out.empty() ? "" : " ") + name;
      });
}

std::string changed(const Whole& a, const Whole& b) {
  std::string out;
  differences(a.submission.spec, b.submission.spec, "", out);
  if (a.submission.array != b.submission.array) out += out.empty() ? "array" : " array";
  if (a.submission.hold != b.submission.hold) out += out.empty() ? "hold" : " hold";
  if (a.environment != b.environment) out += out.empty() ? "environment" : " environment";
  return out;
}

struct Row {
  const char* option;
  const char* words;
  const char* changes;
};

constexpr Row kRows[] = {
    {"account", "-A physics", "account"},
    {"array", "-a 0-3%2", "array"},
    {"begin", "-b now+1hour", "begin"},
    {"chdir", "-D /tmp", "launch.work_dir"},
    {"comment", "--comment=x", "comment"},
    {"constraint", "-C fast", "constraint"},
    {"cpus-per-task", "-c 4", "per_task.cpus cpus_per_task"},
    {"dependency", "-d afterok:7", "dependencies"},
    {"error", "-e err", "launch.std_err"},
    {"exclude", "-x n1", "excluded_nodes"},
    {"exclusive", "--exclusive", "exclusive"},
    {"export", "--export=A", "environment"},
    {"gpus", "-G 4", "tasks gpus_in_all"},
    {"gpus-per-node", "--gpus-per-node=2", "per_node.gpus"},
    {"gpus-per-task", "-n 1 --gpus-per-task=2", "per_task.gpus tasks_given"},
    {"gres", "--gres=gpu:2", "per_node.gpus"},
    {"hold", "-H", "hold"},
    {"input", "-i in", "launch.std_in"},
    {"job-name", "-J x", "name"},
    {"kill-on-invalid-dep", "-d afterok:7 --kill-on-invalid-dep=yes", "dependencies end_if_never"},
    {"mail-type", "--mail-type=END", "mail_type"},
    {"mail-user", "--mail-user=anna", "mail_user"},
    {"mem", "--mem=2G", "per_node.memory"},
    {"mem-per-cpu", "--mem-per-cpu=2G", "per_task.memory"},
    {"mem-per-gpu", "--gpus-per-node=1 --mem-per-gpu=2G", "per_node.memory per_node.gpus"},
    {"no-requeue", "--no-requeue", "requeue"},
    {"nice", "--nice", "nice"},
    {"nodelist", "-w n[1-2]", "tasks nodes_min required_nodes"},
    {"nodes", "-N 2-4", "tasks nodes_min nodes_max"},
    {"ntasks", "-n 4", "tasks tasks_given"},
    {"ntasks-per-node", "--ntasks-per-node=4", "tasks tasks_per_node tasks_per_node tasks_given"},
    {"open-mode", "--open-mode=append", "launch.append"},
    {"output", "-o out", "launch.std_out"},
    {"partition", "-p other", "partition"},
    {"qos", "-q high", "qos"},
    {"requeue", "--no-requeue --requeue=expedite", ""},
    {"signal", "--signal=B:USR1@90",
     "launch.warn.signal launch.warn.before launch.warn.shell_only"},
    {"tasks-per-node", "--tasks-per-node=4", "tasks tasks_per_node tasks_per_node tasks_given"},
    {"time", "-t 5", "limit"},
    {"wrap", "--wrap=hostname", "name command"},
};

// What sbatch itself does, before or after it submits; test/e2e has them.
const std::set<std::string_view> kClients = {"help",  "parsable", "test-only",
                                             "usage", "version",  "wait"};

TEST(OptionsEffect, EachChangesItsPartOfTheSubmission) {
  const Whole plain = whole("");
  for (const Row& row : kRows) {
    if (std::string_view(row.option) == "requeue") continue;  // it is the default; see below
    EXPECT_EQ(changed(plain, whole(row.words)), row.changes) << row.option;
  }
  EXPECT_EQ(changed(whole("--no-requeue"), whole("--requeue")), "requeue");
}

TEST(OptionsEffect, EveryActedOptionOfSbatchHasARow) {
  std::set<std::string_view> proved(kClients.begin(), kClients.end());
  for (const Row& row : kRows) proved.insert(row.option);
  for (const OptionSpec& option : option_table()) {
    const bool of_sbatch = (option.tools & static_cast<std::uint8_t>(Tool::Sbatch)) != 0;
    if (!of_sbatch || option.handling != Handling::Acted) continue;
    EXPECT_TRUE(proved.contains(option.name)) << option.name << ": what does it change?";
  }
}

TEST(OptionsEffect, WhatTheClientDoesIsInItsOptions) {
  const JobOptions o = whole("-W --parsable --test-only --wrap=hostname").options;
  EXPECT_TRUE(o.wait && o.parsable && o.test_only);
  EXPECT_EQ(o.wrap, "hostname");
}

// --- srun

constexpr Row kSteps[] = {
    {"overlap", "--overlap", "step.overlap"},
    {"exact", "--exact", "step.exact"},
    {"jobid", "--jobid=7", "step.job_id"},
    {"nodelist", "-w n1", "nodelist"},
    {"wait", "--wait=3", "step.wait_seconds"},
    {"wait", "-W3", "step.wait_seconds"},
    {"kill-on-bad-exit", "-K", "step.kill_on_bad_exit"},
    {"kill-on-bad-exit", "--kill-on-bad-exit=0", "step.kill_on_bad_exit"},
    {"label", "--label", "step.label"},
    {"label", "-l", "step.label"},
    {"output", "--output=x.%t", "output"},
    {"pty", "--pty", "step.pty"},
    {"relative", "-r1", "step.relative"},
    {"unbuffered", "-u", "step.unbuffered"},
};

TEST(OptionsEffect, SrunsOptionsLandInTheStep) {
  const auto parsed = [](const std::string& words) {
    std::vector<std::string> list;
    for (const std::string_view word : split_blanks(words)) list.emplace_back(word);
    auto options = parse_tokens(Tool::Srun, command_line_tokens(list));
    EXPECT_TRUE(options.ok()) << words;
    options.value.origins.clear();
    return options.value;
  };
  for (const Row& row : kSteps) {
    std::string out;
    differences(parsed(""), parsed(row.words), "", out);
    EXPECT_EQ(out, row.changes) << row.words;
  }
}

TEST(OptionsEffect, AStepAsksTheCoreForThem) {
  Workload w;
  w.spec = std::make_shared<const WorkloadSpec>();
  w.current.emplace();
  w.current->shares.resize(2);
  const auto asked = [&](const std::string& word) {
    const auto options = parse_tokens(Tool::Srun, command_line_tokens(std::vector{word}));
    auto plan = translate_step(w, options.value, "true");
    EXPECT_TRUE(plan.ok()) << word;
    return plan->request;
  };
  EXPECT_TRUE(asked("--overlap").overlap);
  EXPECT_TRUE(asked("--exact").exact);
  EXPECT_EQ(asked("--nodelist=n1").nodes, std::vector<std::string>{"n1"});
  EXPECT_EQ(asked("--relative=1").relative, 1);
}

}  // namespace
}  // namespace phalanx::slurm
