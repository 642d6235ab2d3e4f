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
    {"TmpDisk", Megabytes, NotYet},
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
    {"DefCpuPerGPU", Number, NotYet},
    {"DefMemPerCPU", Megabytes, Acted},
    {"DefMemPerGPU", Megabytes, Acted},
    {"DefMemPerNode", Megabytes, Acted},
    {"Default", YesNo, Acted},
    {"DefaultTime", TimeLimit, Acted},
    {"DenyAccounts", List, Acted},
    {"DenyQos", List, Acted},
    {"DisableRootJobs", YesNo, Acted},
    {"Exclusive", Text, Acted, "", "26.05"},
    {"ExclusiveTopo", YesNo, NotYet, "Exclusive=TOPO replaces it", "24.05", "26.05"},
    {"ExclusiveUser", YesNo, NotYet, "Exclusive=USER replaces it", "", "26.05"},
    {"GraceTime", Seconds, NotYet},
    {"Hidden", YesNo, Acted},
    {"JobDefaults", Parameters, NotYet, "DefCpuPerGPU and DefMemPerGPU say it"},
    {"LLN", YesNo, NotYet},
    {"MaxCPUsPerNode", Number, NotYet},
    {"MaxCPUsPerSocket", Number, NotYet, "", "23.02"},
    {"MaxMemPerCPU", Megabytes, NotYet},
    {"MaxMemPerNode", Megabytes, Acted},
    {"MaxNodes", Number, Acted},
    {"MaxTime", TimeLimit, Acted},
    {"MinNodes", Number, Acted},
    {"Nodes", Hosts, Acted},
    {"OverSubscribe", Text, Acted},
    {"OverTimeLimit", Minutes, NotYet},
    {"PartitionName", Text, Acted},
    {"PowerDownOnIdle", YesNo, NotYet},
    {"PreemptMode", List, NotYet},
    {"Priority", Number, Acted, "PriorityTier and PriorityJobFactor replace it", "", "16.05"},
    {"PriorityJobFactor", Number, Acted},
    {"PriorityTier", Number, Acted},
    {"QOS", Text, NotYet},
    {"ReqResv", YesNo, Acted},
    {"ResumeTimeout", Seconds, NotYet},
    {"RootOnly", YesNo, Acted},
    {"SelectTypeParameters", List, NotYet},
    {"Shared", Text, Acted, "", "", "15.08", "OverSubscribe"},
    {"State", Text, Acted},
    {"SuspendTime", Text, NotYet},
    {"SuspendTimeout", Seconds, NotYet},
    {"TRESBillingWeights", Parameters, NotYet},
    {"Topology", Text, NotYet, "", "25.05"},
};

}  // namespace

std::span<const ConfKey> node_keys() { return kNode; }
std::span<const ConfKey> partition_keys() { return kPartition; }

}  // namespace phalanx::slurm
