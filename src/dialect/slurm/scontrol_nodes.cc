// scontrol show node, show partition, show config.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/node_row.h"
#include "dialect/slurm/query.h"

namespace phalanx::slurm {
namespace {

std::string partitions_of(const View& view, const std::string& node) {
  std::string out;
  for (const Partition& p : view.state.config.partitions)
    if (is_in(p.nodes, node)) out += (out.empty() ? "" : ",") + p.name;
  return out;
}

std::string node_text(const Show& show, const Node& node) {
  const NodeSpec& spec = node.spec;
  const NodeRow row(show.view, node);
  const auto gpus = static_cast<std::int64_t>(spec.devices.size());
  const std::string features = or_null(row.features());
  std::string out = format("NodeName={} Arch={} CoresPerSocket={} ", spec.name,
                           spec.arch.empty() ? "N/A" : spec.arch, spec.cores_per_socket);
  out += format("\n   CPUAlloc={} CPUEfctv={} CPUTot={} CPULoad={}", row.cpus_taken(), spec.cpus,
                spec.cpus, row.load());
  out += format("\n   AvailableFeatures={}\n   ActiveFeatures={}", features, features);
  out += "\n   Gres=" + or_null(row.gres());
  if (show.details) out += "\n   GresDrain=N/A\n   GresUsed=" + or_null(row.gres_used());
  out += format("\n   NodeAddr={} NodeHostName={} Version={}",
                spec.address.empty() ? spec.name : spec.address, spec.name, kVersion);
  if (!spec.os.empty()) out += format("\n   OS={} ", printable(spec.os));
  out += format("\n   RealMemory={} AllocMem={} FreeMem={} Sockets={} Boards=1", row.memory_mb(),
                row.memory_taken_mb(), row.free_mb(), spec.sockets);
  out += format("\n   State={} ThreadsPerCore={} TmpDisk=0 Weight={} Owner=N/A MCS_label=N/A",
                row.flagged(), spec.threads_per_core, spec.weight);
  if (const std::string names = partitions_of(show.view, spec.name); !names.empty())
    out += format("\n   Partitions={} ", names);
  out += format("\n   BootTime=None SlurmdStartTime={}", show.moments.print(node.joined, "None"));
  out += "\n   CfgTRES=" + configured_tres(spec.cpus, row.memory_mb(), 0, gpus);
  out += "\n   AllocTRES=";
  if (row.cpus_taken() > 0 || row.gpus_taken() > 0) {
    out += format("cpu={}", row.cpus_taken());
    if (row.memory_taken_mb() > 0) out += ",mem=" + print_mbytes(row.memory_taken_mb());
    if (row.gpus_taken() > 0) out += format(",gres/gpu={}", row.gpus_taken());
  }
  if (row.emulated()) out += "\n   Emulated=yes";
  if (!row.reason().empty())
    out += format("\n   Reason={} [{}@{}]", row.reason(), node.reason_by,
                  show.moments.print(node.reason_at, "Unknown"));
  return out;
}

std::string list_or(const std::vector<std::string>& list, std::string_view none) {
  return list.empty() ? std::string(none) : join(list, ",");
}

std::string count_or(std::int64_t n, std::string_view none) {
  return n == 0 ? std::string(none) : std::to_string(n);
}

std::string time_or(Duration d, std::string_view none) {
  return d == kForever ? std::string(none) : print_time_padded(d);
}

std::string default_memory(const Partition& p) {
  if (p.default_memory_per_cpu > 0)
    return format("DefMemPerCPU={}", to_mbytes(p.default_memory_per_cpu));
  if (p.default_memory_per_gpu > 0)
    return format("DefMemPerGPU={}", to_mbytes(p.default_memory_per_gpu));
  return "DefMemPerNode=" + (p.default_memory_per_node > 0
                                 ? std::to_string(to_mbytes(p.default_memory_per_node))
                                 : std::string("UNLIMITED"));
}

std::string state_in_capitals(const Partition& p) {
  if (p.state == phalanx::PartitionState::inactive) return "INACTIVE";
  std::string text = partition_state(p.state);
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

std::string partition_text(const Show& show, const Partition& p) {
  std::int64_t cpus = 0;
  std::int64_t memory = 0;
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
  for (const std::string& name : p.nodes) {
    const Node* node = find_node(show.view.state, name);
    if (!node) continue;
    ++nodes;
    cpus += node->spec.cpus;
    memory += node->spec.memory >> 20;
    gpus += static_cast<std::int64_t>(node->spec.devices.size());
  }
  const auto yes = [](bool b) { return b ? "YES" : "NO"; };
  std::string out = "PartitionName=" + p.name;
  out += format("\n   AllowGroups={} AllowAccounts={} AllowQos={}", list_or(p.allow_groups, "ALL"),
                list_or(p.allow_accounts, "ALL"), list_or(p.allow_qos, "ALL"));
  out += format("\n   AllocNodes=ALL Default={} QoS=N/A", yes(p.is_default));
  out += format("\n   DefaultTime={} DisableRootJobs={} ExclusiveUser=NO GraceTime=0 Hidden={}",
                time_or(p.default_time, "NONE"), yes(!p.allow_root_jobs), yes(p.hidden));
  out += format("\n   MaxNodes={} MaxTime={} MinNodes={} LLN=NO MaxCPUsPerNode=UNLIMITED",
                count_or(p.max_nodes, "UNLIMITED"), time_or(p.max_time, "UNLIMITED"), p.min_nodes);
  out += "\n   Nodes=" + fold_hosts_sorted(p.nodes);
  out += format("\n   PriorityJobFactor={} PriorityTier={} RootOnly={} ReqResv=NO OverSubscribe={}",
                p.priority_job_factor, p.priority_tier, yes(p.root_only),
                p.exclusive ? "EXCLUSIVE" : "NO");
  out += "\n   OverTimeLimit=NONE PreemptMode=OFF";
  out += format("\n   State={} TotalCPUs={} TotalNodes={} SelectTypeParameters=NONE",
                state_in_capitals(p), cpus, nodes);
  out += "\n   JobDefaults=(null)";
  out += format("\n   {} MaxMemPerNode={}", default_memory(p),
                count_or(to_mbytes(p.max_memory_per_node), "UNLIMITED"));
  out += "\n   TRES=" + configured_tres(cpus, memory, nodes, gpus);
  return out;
}

}  // namespace

Said show_nodes(const Show& show) {
  std::vector<const Node*> list;
  Said said;
  for (const std::string& word : show.names) {
    const auto names = expand_hosts(word);
    if (!names.ok()) return failed("scontrol", names.error().message);
    for (const std::string& name : *names) {
      if (const Node* node = find_node(show.view.state, name)) {
        list.push_back(node);
        continue;
      }
      said.out += format("Node {} not found\n", printable(name));
      said.code = 1;
    }
  }
  if (show.names.empty()) {
    for (const auto& [id, node] : show.view.state.nodes) list.push_back(&node);
    std::sort(list.begin(), list.end(),
              [](const Node* a, const Node* b) { return host_before(a->spec.name, b->spec.name); });
  }
  for (const Node* node : list) said.out += record(show, node_text(show, *node));
  return said;
}

Said show_partitions(const Show& show) {
  Said said;
  for (const std::string& name : show.names) {
    if (const Partition* p = find_partition(show.view.state.config, name)) {
      said.out += record(show, partition_text(show, *p));
      continue;
    }
    said.out += format("Partition {} not found\n", printable(name));
    said.code = 1;
  }
  if (show.names.empty())
    for (const Partition& p : show.view.state.config.partitions)
      said.out += record(show, partition_text(show, p));
  return said;
}

// Clients read "MinJobAge               = 300 sec"; what the file said comes after what is in
// force.
Said show_config(const Show& show) {
  const ClusterConfig& config = show.view.state.config;
  const auto in_seconds = [](Duration d) {
    return format("{} sec", std::chrono::duration_cast<seconds>(d).count());
  };
  std::map<std::string, std::string> lines;
  for (const auto& [key, value] : config.shown) lines[key] = value;
  lines["ClusterName"] = config.name;
  lines["InactiveLimit"] = in_seconds(config.timers.client_timeout);
  lines["KillWait"] = in_seconds(config.timers.kill_wait);
  lines["MinJobAge"] = in_seconds(config.timers.min_job_age);
  lines["SlurmdTimeout"] = in_seconds(config.timers.node_timeout);
  lines["OverTimeLimit"] =
      format("{} min", std::chrono::duration_cast<minutes>(config.timers.over_time_limit).count());
  lines["MaxArraySize"] = std::to_string(config.max_array_size);
  lines["MaxJobCount"] = std::to_string(config.max_jobs);
  lines["FirstJobId"] = std::to_string(config.first_job);
  lines["JobRequeue"] = config.requeue_by_default ? "1" : "0";
  lines["NEXT_JOB_ID"] = std::to_string(show.view.state.next_number);
  lines["SLURM_VERSION"] = std::string(kVersion);
  std::string out = format("Configuration data as of {}\n", show.moments.print(show.view.now, ""));
  for (const auto& [key, value] : lines)
    out += format("{} = {}\n", pad_right(key, 23), printable(value));
  return {out + "\n", "", 0};
}

}  // namespace phalanx::slurm
