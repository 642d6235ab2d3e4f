#include "dialect/slurm/squeue_fields.h"

#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"

namespace phalanx::slurm {
namespace {

using Row = const JobRow&;
using When = const Moments&;

template <char... Letters>
std::string always(Row, When) {
  return {Letters...};
}
std::string null(Row, When) { return "(null)"; }
std::string none(Row, When) { return "N/A"; }
std::string na(Row, When) { return "NA"; }
std::string star(Row, When) { return "*"; }
std::string zero(Row, When) { return "0"; }
std::string empty(Row, When) { return ""; }
std::string zero_time(Row, When) { return "0:00"; }

std::string text_or(const std::string& text, const char* otherwise) {
  return text.empty() ? otherwise : printable(text);
}

std::string account(Row r, When) { return text_or(r.spec().account, "(null)"); }
std::string number(Row r, When) { return std::to_string(r.number()); }
std::string host(Row r, When) { return text_or(r.first_node(), "n/a"); }
std::string min_cpus(Row r, When) {
  return std::to_string(std::max<std::int64_t>(r.spec().cpus_per_task, 1));
}
std::string cpus(Row r, When) { return std::to_string(r.cpus()); }
std::string nodes(Row r, When) { return std::to_string(r.node_count()); }
std::string system_comment(Row r, When) {
  return text_or(r.emulated() ? kEmulatedGpus : "", "(null)");
}
std::string tasks(Row r, When) { return std::to_string(r.tasks()); }
std::string end(Row r, When when) { return when.print(r.end(), "N/A"); }
std::string start(Row r, When when) {
  return when.print(r.pending() ? r.expected_start() : r.start(), "N/A");
}
std::string submitted(Row r, When when) { return when.print(r.submitted(), "N/A"); }
std::string eligible(Row r, When when) { return when.print(r.eligible(), "N/A"); }
std::string dependency(Row r, When) { return text_or(r.dependency(), "(null)"); }
std::string features(Row r, When) {
  const auto it = r.spec().asked.find("constraint");
  return it == r.spec().asked.end() ? "(null)" : printable(it->second);
}
std::string array_number(Row r, When) {
  return std::to_string(r.array_number() != 0 ? r.array_number() : r.number());
}
std::string group(Row r, When) { return printable(r.spec().owner.group); }
std::string gid(Row r, When) { return std::to_string(r.spec().owner.gid); }
std::string shared(Row r, When) { return r.group().exclusive ? "NO" : "OK"; }
std::string id(Row r, When) { return r.id(); }
std::string name(Row r, When) { return printable(r.spec().name); }
std::string comment(Row r, When) { return text_or(r.spec().comment, "(null)"); }
std::string index(Row r, When) { return text_or(r.index_text(), "N/A"); }
std::string limit(Row r, When) { return print_time(r.limit()); }
std::string left(Row r, When) { return print_time(r.time_left()); }
std::string used(Row r, When) { return print_time(r.elapsed()); }
std::string memory(Row r, When) { return r.min_memory(); }
std::string wanted_nodes(Row r, When) { return fold_hosts_sorted(r.group().required_nodes); }
std::string excluded(Row r, When) { return fold_hosts_sorted(r.group().excluded_nodes); }
std::string node_list(Row r, When) { return r.nodes(); }
std::string command(Row r, When) { return text_or(r.spec().command, "(null)"); }
std::string partition(Row r, When) { return r.spec().partition; }
std::string qos(Row r, When) { return text_or(r.spec().qos, "normal"); }
std::string priority(Row r, When) { return std::to_string(r.priority()); }
std::string priority_share(Row r, When) {
  return format("{:.14f}", static_cast<double>(r.priority()) / 4294967295.0);
}
std::string reason(Row r, When) { return r.reason(); }
std::string reason_or_nodes(Row r, When) { return r.reason_or_nodes(); }
std::string compact(Row r, When) { return r.compact(); }
std::string state(Row r, When) { return r.state(); }
std::string user(Row r, When) { return printable(r.spec().owner.user); }
std::string uid(Row r, When) { return std::to_string(r.spec().owner.uid); }
std::string nice(Row r, When) {
  return std::to_string(r.workload() ? r.workload()->nice : r.array()->nice);
}
std::string shape(Row, When) { return "*:*:*"; }
std::string work_dir(Row r, When) { return printable(r.spec().launch.work_dir); }
std::string per_node(Row r, When) { return text_or(r.tres_per_node(), "N/A"); }
std::string per_job(Row r, When) { return text_or(r.tres_per_job(), "N/A"); }
std::string per_task(Row r, When) { return text_or(r.tres_per_task(), "N/A"); }
std::string tres(Row r, When) {
  const std::string held = r.tres_held();
  return held.empty() ? r.tres_asked() : held;
}
std::string gpus(Row r, When) { return std::to_string(r.gpus()); }
std::string batch(Row r, When) { return r.spec().kind == WorkloadKind::batch ? "1" : "0"; }
std::string cluster(Row r, When) { return r.view().state.config.name; }
std::string exit_code(Row r, When) { return std::to_string(r.exit_code().code); }
std::string worst_step(Row r, When) {
  return std::to_string(r.over() ? r.workload()->end.worst_step : 0);
}
std::string submit_host(Row r, When) { return text_or(r.spec().submit_host, "(null)"); }
std::string max_nodes(Row r, When) { return std::to_string(r.group().nodes_max); }
std::string waiting(Row r, When) {
  const Time until = r.pending() ? r.view().now : r.start();
  return std::to_string(
      std::max<std::int64_t>(unix_seconds(until) - unix_seconds(r.eligible()), 0));
}
std::string requeue(Row r, When) { return r.spec().requeue ? "1" : "0"; }
std::string restarts(Row r, When) {
  return std::to_string(r.workload() ? r.workload()->restarts : 0);
}
std::string tasks_per_node(Row r, When) { return std::to_string(r.spec().tasks_per_node); }
std::string std_out(Row r, When) { return printable(r.output(r.spec().launch.std_out, false)); }
std::string std_err(Row r, When) { return printable(r.output(r.spec().launch.std_err, true)); }
std::string std_in(Row r, When) { return text_or(r.spec().launch.std_in, "/dev/null"); }

constexpr QueueField kFields[] = {
    {'a', "account", "ACCOUNT", account},
    {'A', "jobid", "JOBID", number},
    {'B', "batchhost", "EXEC_HOST", host},
    {'b', "trespernode", "TRES_PER_NODE", per_node},
    {'c', "mincpus", "MIN_CPUS", min_cpus},
    {'C', "numcpus", "CPUS", cpus},
    {'d', "mintmpdisk", "MIN_TMP_DISK", zero},
    {'D', "numnodes", "NODES", nodes},
    {'e', "endtime", "END_TIME", end},
    {'E', "dependency", "DEPENDENCY", dependency},
    {'f', "feature", "FEATURES", features},
    {'F', "arrayjobid", "ARRAY_JOB_ID", array_number},
    {'g', "groupname", "GROUP", group},
    {'G', "groupid", "GROUP", gid},
    {'h', "oversubscribe", "OVER_SUBSCRIBE", shared},
    {'H', "sockets", "SOCKETS_PER_NODE", star},
    {'i', "jobarrayid", "JOBID", id},
    {'I', "cores", "CORES_PER_SOCKET", star},
    {'j', "name", "NAME", name},
    {'J', "threads", "THREADS_PER_CORE", star},
    {'k', "comment", "COMMENT", comment},
    {'K', "arraytaskid", "ARRAY_TASK_ID", index},
    {'l', "timelimit", "TIME_LIMIT", limit},
    {'L', "timeleft", "TIME_LEFT", left},
    {'m', "minmemory", "MIN_MEMORY", memory},
    {'M', "timeused", "TIME", used},
    {'n', "reqnodes", "REQ_NODES", wanted_nodes},
    {'N', "nodelist nodes", "NODELIST", node_list},
    {'o', "command", "COMMAND", command},
    {'O', "contiguous", "CONTIGUOUS", zero},
    {'p', "priority", "PRIORITY", priority_share},
    {'P', "partition", "PARTITION", partition},
    {'q', "qos", "QOS", qos},
    {'Q', "prioritylong", "PRIORITY", priority},
    {'r', "reason", "REASON", reason},
    {'R', "reasonlist", "NODELIST(REASON)", reason_or_nodes},
    {'s', "selectjobinfo", "", empty},
    {'S', "starttime", "START_TIME", start},
    {'t', "statecompact", "ST", compact},
    {'T', "state", "STATE", state},
    {'u', "username", "USER", user},
    {'U', "userid", "UID", uid},
    {'v', "reservation", "RESERVATION", null},
    {'V', "submittime", "SUBMIT_TIME", submitted},
    {'w', "wckey", "WCKEY", null},
    {'W', "licenses", "LICENSES", null},
    {'x', "", "EXC_NODES", excluded},
    {'X', "corespec", "CORE_SPEC", none},
    {'y', "nice", "NICE", nice},
    {'Y', "schednodes", "SCHEDNODES", null},
    {'z', "sct", "S:C:T", shape},
    {'Z', "workdir", "WORK_DIR", work_dir},
    {0, "accruetime", "ACCRUE_TIME", eligible},
    {0, "admincomment", "ADMIN_COMMENT", null},
    {0, "allocnodes", "ALLOC_NODES", submit_host},
    {0, "allocsid", "ALLOC_SID", zero},
    {0, "associd", "ASSOC_ID", zero},
    {0, "batchflag", "BATCH_FLAG", batch},
    {0, "boardspernode", "BOARDS_PER_NODE", zero},
    {0, "burstbuffer", "BURST_BUFFER", null},
    {0, "burstbufferstate", "BURST_BUFFER_STATE", null},
    {0, "cluster", "CLUSTER", cluster},
    {0, "clusterfeature", "CLUSTER_FEATURES", null},
    {0, "container", "CONTAINER", null},
    {0, "cpuspertask", "CPUS_PER_TASK", min_cpus},
    {0, "cpuspertres", "CPUS_PER_TRES", none},
    {0, "deadline", "DEADLINE", none},
    {0, "delayboot", "DELAY_BOOT", zero_time},
    {0, "derivedec", "DERIVED_EC", worst_step},
    {0, "eligibletime", "ELIGIBLE_TIME", eligible},
    {0, "exitcode", "EXIT_CODE", exit_code},
    {0, "excnodes", "EXC_NODES", excluded},
    {0, "gpus", "GPUS", gpus},
    {0, "hetjobid", "HET_JOB_ID", none},
    {0, "hetjobidset", "HET_JOB_ID_SET", none},
    {0, "hetjoboffset", "HET_JOB_OFFSET", none},
    {0, "lastschedeval", "LAST_SCHED_EVAL", none},
    {0, "maxcpus", "MAX_CPUS", cpus},
    {0, "maxnodes", "MAX_NODES", max_nodes},
    {0, "mcslabel", "MCSLABEL", null},
    {0, "mempertres", "MEM_PER_TRES", none},
    {0, "mintime", "TIME_MIN", zero_time},
    {0, "network", "NETWORK", null},
    {0, "ntperboard", "NTASKS_PER_BOARD", none},
    {0, "ntpercore", "NTASKS_PER_CORE", none},
    {0, "ntpernode", "NTASKS_PER_NODE", tasks_per_node},
    {0, "ntpersocket", "NTASKS_PER_SOCKET", none},
    {0, "numtasks", "TASKS", tasks},
    {0, "origin", "ORIGIN", na},
    {0, "originraw", "ORIGIN_RAW", na},
    {0, "pendingtime", "PENDING_TIME", waiting},
    {0, "preempttime", "PREEMPT_TIME", none},
    {0, "prefer", "PREFER", null},
    {0, "profile", "PROFILE", always<'N', 'o', 't', 'S', 'e', 't'>},
    {0, "reboot", "REBOOT", zero},
    {0, "reqswitch", "REQ_SWITCH", zero},
    {0, "requeue", "REQUEUE", requeue},
    {0, "resizetime", "RESIZE_TIME", none},
    {0, "restartcnt", "RESTART_COUNT", restarts},
    {0, "sperboard", "SOCKETS_PER_BOARD", zero},
    {0, "siblingsactive", "ACTIVE_SIBLINGS", na},
    {0, "siblingsactiveraw", "ACTIVE_SIBLINGS_RAW", na},
    {0, "siblingsviable", "VIABLE_SIBLINGS", na},
    {0, "siblingsviableraw", "VIABLE_SIBLINGS_RAW", na},
    {0, "stderr", "STDERR", std_err},
    {0, "stdin", "STDIN", std_in},
    {0, "stdout", "STDOUT", std_out},
    {0, "systemcomment", "SYSTEM_COMMENT", system_comment},
    {0, "tresalloc", "TRES_ALLOC", tres},
    {0, "tresbind", "TRES_BIND", none},
    {0, "tresfreq", "TRES_FREQ", none},
    {0, "tresperjob", "TRES_PER_JOB", per_job},
    {0, "trespersocket", "TRES_PER_SOCKET", none},
    {0, "trespertask", "TRES_PER_TASK", per_task},
    {0, "wait4switch", "WAIT4SWITCH", zero_time},
};

}  // namespace

std::span<const QueueField> queue_fields() { return kFields; }

const QueueField* queue_field(const Column& column) {
  const bool letter = column.written.size() == 1;
  for (const QueueField& field : kFields) {
    if (letter && field.letter == column.written[0]) return &field;
    if (letter) continue;
    for (const std::string_view name : split_blanks(field.names))
      if (name == column.field) return &field;
  }
  return nullptr;
}

}  // namespace phalanx::slurm
