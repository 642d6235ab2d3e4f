// scontrol show job, show step.
#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/query.h"

namespace phalanx::slurm {
namespace {

std::string hosts(const std::vector<std::string>& names) {
  return names.empty() ? "(null)" : fold_hosts_sorted(names);
}

std::string heading(const Show& show, const JobRow& r) {
  const WorkloadSpec& spec = r.spec();
  std::string out = format("JobId={} ", r.number());
  if (r.array_number() != 0) {
    out += format("ArrayJobId={} ArrayTaskId={} ", r.array_number(), r.index_text());
    if (r.array() && r.array()->at_once > 0)
      out += format("ArrayTaskThrottle={} ", r.array()->at_once);
  }
  out += format("JobName={}", printable(spec.name));
  out += format("\n   UserId={}({}) GroupId={}({}) MCS_label=N/A", printable(spec.owner.user),
                spec.owner.uid, printable(spec.owner.group), spec.owner.gid);
  out += format("\n   Priority={} Nice={} Account={} QOS={}", r.priority(),
                r.workload() ? r.workload()->nice : r.array()->nice, or_null(spec.account),
                spec.qos.empty() ? "normal" : spec.qos);
  // A reason may be a sentence: its blanks become '_', for readers that split at them.
  std::string reason = r.reason();
  for (char& c : reason) c = c == ' ' ? '_' : c;
  out += format("\n   JobState={} Reason={} Dependency={}", r.state(), reason,
                or_null(r.dependency()));
  out += format("\n   Requeue={} Restarts={} BatchFlag={} Reboot=0 ExitCode={}",
                spec.requeue ? 1 : 0, r.workload() ? r.workload()->restarts : 0,
                spec.kind == WorkloadKind::batch ? 1 : 0, print_exit_code(r.exit_code()));
  if (show.details)
    out += format("\n   DerivedExitCode={}:0", r.over() ? r.workload()->end.worst_step : 0);
  return out;
}

std::string times(const Show& show, const JobRow& r) {
  const Moments& when = show.moments;
  const Time start = r.pending() ? r.expected_start() : r.start();
  std::string out = format("\n   RunTime={} TimeLimit={} TimeMin=N/A",
                           print_time_padded(r.elapsed()), print_time_padded(r.limit()));
  out += format("\n   SubmitTime={} EligibleTime={}", when.print(r.submitted(), "Unknown"),
                when.print(r.eligible(), "Unknown"));
  out += format("\n   AccrueTime={}", when.print(r.eligible(), "Unknown"));
  out += format("\n   StartTime={} EndTime={} Deadline=N/A", when.print(start, "Unknown"),
                when.print(r.end(), "Unknown"));
  out += format("\n   SuspendTime=None SecsPreSuspend=0 LastSchedEval={} Scheduler=Main",
                when.print(show.view.outlook.at, "Unknown"));
  return out;
}

// With -d: what the job holds on each node.
std::string held(const Show& show, const JobRow& r) {
  std::string out;
  for (const Share& share : r.shares()) {
    std::map<std::string, std::vector<std::uint32_t>> by_type;
    const Node* node = find_node(show.view.state, share.share->node);
    for (const DeviceIndex i : share.share->gpus)
      by_type[node && i < node->spec.devices.size() ? node->spec.devices[i].type : ""].push_back(i);
    std::string gres;
    for (const auto& [type, indexes] : by_type)
      gres += format("{}gpu{}{}:{}(IDX:{})", gres.empty() ? "" : ",",
                     type.empty() || type == "gpu" ? "" : ":", type == "gpu" ? "" : type,
                     indexes.size(), print_array({fold_indexes(indexes), 0}));
    out += format("\n     Nodes={} CPUs={} Mem={} GRES={}", share.node, share.share->cpus.ceil(),
                  to_mbytes(share.share->memory), gres);
  }
  return out;
}

std::string places(const Show& show, const JobRow& r) {
  const WorkloadSpec& spec = r.spec();
  const TaskGroup& group = r.group();
  std::string out =
      format("\n   Partition={} AllocNode:Sid={}:0", spec.partition, or_null(spec.submit_host));
  out += format("\n   ReqNodeList={} ExcNodeList={}", hosts(group.required_nodes),
                hosts(group.excluded_nodes));
  out += "\n   NodeList=" + r.nodes();
  if (!r.first_node().empty()) out += "\n   BatchHost=" + r.first_node();
  const std::string count = r.pending() && group.nodes_max > 0
                                ? format("{}-{}", r.node_count(), group.nodes_max)
                                : std::to_string(r.node_count());
  out += format("\n   NumNodes={} NumCPUs={} NumTasks={} CPUs/Task={} ReqB:S:C:T=0:0:*:*", count,
                r.cpus(), r.tasks(), std::max<std::int64_t>(spec.cpus_per_task, 1));
  out += "\n   ReqTRES=" + r.tres_asked();
  out += "\n   AllocTRES=" + or_null(r.tres_held());
  if (r.emulated()) out += "\n   Emulated=yes";
  out += format("\n   Socks/Node=* NtasksPerN:B:S:C={}:0:*:* CoreSpec=*", spec.tasks_per_node);
  if (show.details) out += held(show, r);
  out += format("\n   MinCPUsNode={} {}={} MinTmpDiskNode=0",
                std::max<std::int64_t>(spec.cpus_per_task, 1),
                r.memory_is_per_cpu() ? "MinMemoryCPU" : "MinMemoryNode", r.min_memory());
  return out;
}

std::string files(const JobRow& r) {
  const WorkloadSpec& spec = r.spec();
  const auto constraint = spec.asked.find("constraint");
  std::string out =
      format("\n   Features={} DelayBoot=00:00:00",
             constraint == spec.asked.end() ? "(null)" : printable(constraint->second));
  out += format("\n   OverSubscribe={} Contiguous=0 Licenses=(null) Network=(null)",
                r.group().exclusive ? "NO" : "OK");
  out += "\n   Command=" + or_null(printable(spec.command));
  out += "\n   WorkDir=" + printable(spec.launch.work_dir);
  if (!spec.comment.empty()) out += "\n   Comment=" + printable(spec.comment);
  if (spec.kind == WorkloadKind::batch) {
    out += "\n   StdErr=" + printable(r.output(spec.launch.std_err, true));
    out +=
        "\n   StdIn=" + (spec.launch.std_in.empty() ? "/dev/null" : printable(spec.launch.std_in));
    out += "\n   StdOut=" + printable(r.output(spec.launch.std_out, false));
  }
  if (!r.tres_per_job().empty()) out += "\n   TresPerJob=" + r.tres_per_job();
  if (!r.tres_per_node().empty()) out += "\n   TresPerNode=" + r.tres_per_node();
  if (!r.tres_per_task().empty()) out += "\n   TresPerTask=" + r.tres_per_task();
  if (!spec.mail_type.empty())
    out += format("\n   MailUser={} MailType={}", printable(spec.mail_user), spec.mail_type);
  return out;
}

// What Phalanx adds: warnings of the submission, how it ended, in words.
std::string remarks(const JobRow& r) {
  std::string out;
  for (const std::string& warning : r.spec().warnings) out += "\n   Warning=" + printable(warning);
  if (r.over() && !r.workload()->end.detail.empty())
    out += "\n   EndDetail=" + printable(r.workload()->end.detail);
  return out;
}

bool is_recent(const View& view, const JobRow& row) {
  return !row.over() || row.end() >= view.now - view.state.config.timers.min_job_age;
}

}  // namespace

Said show_jobs(const Show& show) {
  std::vector<JobName> names;
  for (const std::string& word : show.names) {
    const auto name = parse_job_name(word);
    if (!name) return {"", "scontrol_print_job error: Invalid job id specified\n", 1};
    names.push_back(*name);
  }
  std::vector<JobName> unknown;
  RowsWanted all;
  all.past.emplace();
  all.past->from = show.view.now - show.view.state.config.timers.min_job_age;
  // A job that is asked for by name is shown however long ago it ended.
  const JobRows jobs =
      names.empty() ? job_rows(show.view, all) : find_jobs(show.view, names, true, unknown);
  Said said;
  for (const JobRow& row : jobs.rows) {
    if (names.empty() && !is_recent(show.view, row)) continue;
    said.out += record(show, heading(show, row) + times(show, row) + places(show, row) +
                                 files(row) + remarks(row));
  }
  if (said.out.empty() && names.empty()) return {"No jobs in the system\n", "", 0};
  if (unknown.empty()) return said;
  said.err = "slurm_load_jobs error: Invalid job id specified\n";
  said.code = 1;
  return said;
}

Said show_steps(const Show& show) {
  Said said;
  for (const JobRow& row : job_rows(show.view, {}).rows) {
    if (!row.running()) continue;
    std::map<StepNumber, Step> steps = row.workload()->steps;
    if (row.spec().kind == WorkloadKind::batch) {
      Step& batch = steps[kBatchStep];
      batch.name = "batch";
      batch.tasks = 1;
      batch.started = row.start();
    }
    for (const auto& [number, step] : steps) {
      const std::string id = format("{}.{}", row.id(), step_name(number));
      if (step.ended ||
          (!show.names.empty() && !is_in(show.names, id) && !is_in(show.names, row.id())))
        continue;
      std::vector<std::string> nodes;
      nodes.reserve(step.shares.size());
      for (const StepShare& share : step.shares)
        nodes.push_back(node_name(show.view.state, share.node));
      if (number == kBatchStep) nodes = {row.first_node()};
      said.out += record(
          show, format("StepId={} UserId={} StartTime={} TimeLimit=UNLIMITED\n   State=RUNNING "
                       "Partition={} NodeList={}\n   Nodes={} Tasks={} Name={} Network=(null)",
                       id, row.spec().owner.uid, show.moments.print(step.started, "Unknown"),
                       row.spec().partition, fold_hosts_sorted(nodes), nodes.size(), step.tasks,
                       printable(step.name)));
    }
  }
  if (said.out.empty()) return {"No job steps in the system\n", "", 0};
  return said;
}

}  // namespace phalanx::slurm
