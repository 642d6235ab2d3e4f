// The keys of the records of slurm.conf: NodeName and PartitionName lines, in alphabetical order.
#include "dialect/slurm/conf_keys.h"

namespace phalanx::slurm {
namespace {

using enum ValueKind;
using enum KeyHandling;

constexpr ConfKey kNode[] = {
    {"BcastAddr", Hosts, Kept, "files travel over Phalanx's own connections"},
    {"Boards", Number, Acted},
    {"CPUSpecList", Text, NotYet},
    {"CPUs", Number, Acted},
    {"CoreSpecCount", Number, Acted},
    {"CoresPerSocket", Number, Acted},
    {"CpuBind", Text, NotYet},
    {"Feature", List, Acted},
    {"Features", List, Acted, "", "", "", "Feature"},
    {"Gres", List, Acted},
    {"GresConf", Text, NotYet, "", "25.05"},
    {"MemSpecLimit", Megabytes, Acted},
    {"NodeAddr", Hosts, Acted},
    {"NodeHostname", Hosts, Acted},
    {"NodeName", Hosts, Acted},
    {"Parameters", Parameters, NotYet, "", "25.11"},
    {"Port", Text, Kept, "agents connect to the controller"},
    {"Procs", Number, Acted, "", "", "", "CPUs"},
    {"RealMemory", Megabytes, Acted},
    {"Reason", Text, Acted},
    {"RestrictedCoresPerGPU", Number, NotYet, "", "24.05"},
    {"Sockets", Number, Acted},
    {"SocketsPerBoard", Number, Acted},
    {"State", Text, Acted},
    {"SuspendTime", Text, NotYet, "", "26.05"},
    {"TRESWeights", Parameters, NotYet},
    {"ThreadsPerCore", Number, Acted},
    {"TmpDisk", Megabytes, Acted},
    {"Topology", Text, NotYet, "", "25.05"},
    {"Weight", Number, Acted},
};

constexpr ConfKey kPartition[] = {
    {"AllocNodes", Hosts, NotYet},
    {"AllowAccounts", List, Acted},
    {"AllowGroups", List, Acted},
    {"AllowQos", List, Acted},
    {"Alternate", Text, NotYet},
    {"CpuBind", Text, NotYet},
    {"DefCpuPerGPU", Number, Acted},
    {"DefMemPerCPU", Megabytes, Acted},
    {"DefMemPerGPU", Megabytes, Acted},
    {"DefMemPerNode", Megabytes, Acted},
    {"Default", YesNo, Acted},
    {"DefaultTime", TimeLimit, Acted},
    {"DenyAccounts", List, Acted},
    {"DenyQos", List, Acted},
    {"DisableRootJobs", YesNo, Acted},
    {"Exclusive", Text, Acted, "", "26.05"},
    {"ExclusiveTopo", YesNo, Acted, "Exclusive=TOPO replaces it", "24.05", "26.05"},
    {"ExclusiveUser", YesNo, Acted, "Exclusive=USER replaces it", "", "26.05"},
    {"GraceTime", Seconds, Acted},
    {"Hidden", YesNo, Acted},
    {"JobDefaults", Parameters, NotYet, "DefCpuPerGPU and DefMemPerGPU say it"},
    {"LLN", YesNo, Acted},
    {"MaxCPUsPerNode", Number, Acted},
    {"MaxCPUsPerSocket", Number, Acted, "", "23.02"},
    {"MaxMemPerCPU", Megabytes, Acted},
    {"MaxMemPerNode", Megabytes, Acted},
    {"MaxNodes", Number, Acted},
    {"MaxTime", TimeLimit, Acted},
    {"MinNodes", Number, Acted},
    {"Nodes", Hosts, Acted},
    {"OverSubscribe", Text, Acted},
    {"OverTimeLimit", Minutes, Acted},
    {"PartitionName", Text, Acted},
    {"PowerDownOnIdle", YesNo, NotYet},
    {"PreemptMode", List, Acted},
    {"Priority", Number, Acted, "PriorityTier and PriorityJobFactor replace it", "", "16.05"},
    {"PriorityJobFactor", Number, Acted},
    {"PriorityTier", Number, Acted},
    {"QOS", Text, Acted},
    {"ReqResv", YesNo, Acted},
    {"ResumeTimeout", Seconds, NotYet},
    {"RootOnly", YesNo, Acted},
    {"SelectTypeParameters", List, Acted},
    {"Shared", Text, Acted, "", "", "15.08", "OverSubscribe"},
    {"State", Text, Acted},
    {"SuspendTime", Text, NotYet},
    {"SuspendTimeout", Seconds, NotYet},
    {"TRESBillingWeights", Parameters, Acted},
    {"Topology", Text, NotYet, "", "25.05"},
};

}  // namespace

std::span<const ConfKey> node_keys() { return kNode; }
std::span<const ConfKey> partition_keys() { return kPartition; }

}  // namespace phalanx::slurm
