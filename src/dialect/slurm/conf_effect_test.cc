// A key that is said to be acted upon has an effect. Each has a row here: a value that must change
// the ClusterConfig, or what is told; and each member of the configuration has the file that acts
// upon it. A key that becomes Acted without an effect, or a member that nobody reads, fails.
#include <gtest/gtest.h>

#include <boost/describe.hpp>
#include <boost/mp11/algorithm.hpp>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <sstream>

#include "base/text.h"
#include "dialect/slurm/cluster_config.h"
#include "dialect/slurm/conf_keys.h"
#include "dialect/slurm/conf_test_support.h"

namespace phalanx::slurm {
namespace {

enum class Effect { config, told };

struct Row {
  const char* key;
  const char* value;
  const char* beside = "";  // what both sides of the comparison say too
  Effect effect = Effect::config;
};

struct Files {
  std::string slurm, gres;
};

struct Outcome {
  ClusterConfig config;
  std::string told;
};

Outcome read(const Files& files) {
  const auto conf = read_conf({"slurm.conf", files.slurm});
  const auto gres = read_gres_conf({"gres.conf", files.gres});
  const auto inventories = merge(conf.value, gres.value);
  auto config = cluster_config(conf.value, inventories.value);
  config.value.shown.clear();
  return {config.value, told(conf.diagnostics) + told(gres.diagnostics) +
                            told(inventories.diagnostics) + told(config.diagnostics)};
}

const std::string kBase =
    "ClusterName=c\nSlurmctldHost=h\nPriorityType=priority/multifactor\nGresTypes=gpu\n"
    "SelectTypeParameters=CR_Core\nNodeName=n[1-2] CPUs=8 Feature=old\n"
    "PartitionName=p Nodes=n1\nPartitionName=q Nodes=n2 PriorityJobFactor=5\n";

// The files with `words` in the place that belongs to the section.
Files with(ConfSection section, const std::string& words) {
  switch (section) {
    case ConfSection::Global:
      return {kBase + words + "\n", ""};
    case ConfSection::Node:
      return {kBase + "NodeName=x CoresPerSocket=4 ThreadsPerCore=1 RealMemory=1000 " + words +
                  "\nPartitionName=r Nodes=n1\n",
              ""};
    case ConfSection::Partition:
      return {kBase + "PartitionName=r Nodes=n1 " + words + "\n", ""};
    case ConfSection::NodeSet:
      return {kBase + "NodeSet=set " + words + "\nPartitionName=r Nodes=set\n", ""};
    case ConfSection::DownNodes:
      return {kBase + "DownNodes=n1 " + words + "\n", ""};
    case ConfSection::Gres:
      return {kBase + "NodeName=x CPUs=2 Gres=gpu:4\n", words + "\n"};
    default:
      return {kBase, ""};
  }
}

constexpr Row kGlobal[] = {
    {"BackupController", "h2", "", Effect::told},  // beside ControlMachine; see below
    {"ClusterName", "other"},
    {"ControlMachine", "h1", "", Effect::told},  // in place of SlurmctldHost; see below
    {"DefMemPerCPU", "100"},
    {"DefMemPerGPU", "100"},
    {"DefMemPerNode", "100"},
    {"DisableRootJobs", "YES"},
    {"EnforcePartLimits", "ALL"},
    {"FirstJobId", "100"},
    {"GresTypes", "tpu", "NodeName=g Gres=gpu:1", Effect::told},
    {"JobFileAppend", "1"},
    {"JobRequeue", "0"},
    {"KillOnBadExit", "1"},
    {"InactiveLimit", "7"},
    {"KillWait", "7"},
    {"MaxArraySize", "7"},
    {"MaxJobCount", "7"},
    {"MaxMemPerNode", "100"},
    {"MinJobAge", "7"},
    {"OverTimeLimit", "7"},
    {"PriorityMaxAge", "7"},
    {"PriorityType", "priority/basic", "PriorityWeightAge=5"},
    {"PriorityWeightAge", "7"},
    {"PriorityWeightPartition", "7"},
    {"SchedulerParameters", "max_switch_wait=5", "", Effect::told},
    {"SchedulerType", "sched/builtin"},
    {"SelectType", "select/linear"},
    {"SelectTypeParameters", "CR_Core_Memory"},
    {"SlurmctldHost", "h2", "", Effect::told},
    {"SlurmctldParameters", "idle_on_node_suspend", "", Effect::told},
    {"SlurmdParameters", "config_overrides", "", Effect::told},
    {"SlurmdTimeout", "7"},
    {"WaitTime", "7"}};

constexpr Row kNode[] = {{"Boards", "2"},          {"CPUs", "1"},
                         {"CoreSpecCount", "1"},   {"CoresPerSocket", "2"},
                         {"Feature", "fast"},      {"Features", "fast"},
                         {"Gres", "gpu:3"},        {"MemSpecLimit", "100"},
                         {"NodeAddr", "10.0.0.1"}, {"NodeHostname", "host"},
                         {"NodeName", "y"},        {"Procs", "1"},
                         {"RealMemory", "500"},    {"Reason", "fans", "State=DRAIN"},
                         {"Sockets", "4"},         {"SocketsPerBoard", "4"},
                         {"State", "DRAIN"},       {"ThreadsPerCore", "2"},
                         {"Weight", "7"}};

constexpr Row kPartition[] = {{"AllowAccounts", "physics"},
                              {"AllowGroups", "physics"},
                              {"AllowQos", "high"},
                              {"DefMemPerCPU", "100"},
                              {"DefMemPerGPU", "100"},
                              {"DefMemPerNode", "100"},
                              {"Default", "YES"},
                              {"DefaultTime", "7"},
                              {"DenyAccounts", "physics"},
                              {"DenyQos", "low"},
                              {"DisableRootJobs", "YES"},
                              {"Exclusive", "NODE"},
                              {"Hidden", "YES"},
                              {"MaxMemPerNode", "100"},
                              {"MaxNodes", "7"},
                              {"MaxTime", "7"},
                              {"MinNodes", "2"},
                              {"Nodes", "n2"},
                              {"OverSubscribe", "EXCLUSIVE"},
                              {"PartitionName", "s"},
                              {"Priority", "7"},
                              {"PriorityJobFactor", "7"},
                              {"PriorityTier", "7"},
                              {"ReqResv", "YES"},
                              {"RootOnly", "YES"},
                              {"Shared", "EXCLUSIVE"},
                              {"State", "DOWN"}};

constexpr Row kNodeSet[] = {
    {"Feature", "old"}, {"NodeSet", "n1", "", Effect::told}, {"Nodes", "n2"}};

constexpr Row kDownNodes[] = {{"DownNodes", "n2"}, {"Reason", "fans"}, {"State", "DRAIN"}};

constexpr Row kGres[] = {{"AutoDetect", "nvml", "Name=gpu Count=2"},
                         {"Count", "4", "Name=gpu"},
                         {"File", "/dev/nvidia[0-3]", "Name=gpu"},
                         {"Files", "/dev/nvidia[0-3]", "Name=gpu"},
                         {"Name", "gpu"},
                         {"NodeName", "n1", "Name=gpu Count=4"},
                         {"Type", "h100", "Name=gpu Count=4"}};

std::span<const Row> rows(ConfSection section) {
  switch (section) {
    case ConfSection::Global:
      return kGlobal;
    case ConfSection::Node:
      return kNode;
    case ConfSection::Partition:
      return kPartition;
    case ConfSection::NodeSet:
      return kNodeSet;
    case ConfSection::DownNodes:
      return kDownNodes;
    case ConfSection::Gres:
      return kGres;
    case ConfSection::Frontend:
    case ConfSection::Switch:
    case ConfSection::Block:
    case ConfSection::Cgroup:
      return {};
  }
  return {};
}

void has_effect(ConfSection section, const Row& row) {
  const std::string beside = row.beside;
  const char* between = section == ConfSection::Global ? "\n" : " ";
  const Outcome without = read(with(section, beside));
  const Outcome present =
      read(with(section, beside + between + format("{}={}", row.key, row.value)));
  if (row.effect == Effect::config)
    EXPECT_FALSE(present.config == without.config)
        << row.key << "=" << row.value << " changes nothing in the configuration";
  else
    EXPECT_NE(present.told, without.told) << row.key << "=" << row.value << " is not told";
}

TEST(ConfEffect, EveryKeyThatIsActedUponHasOne) {
  for (const ConfSection section :
       {ConfSection::Global, ConfSection::Node, ConfSection::Partition, ConfSection::NodeSet,
        ConfSection::DownNodes, ConfSection::Frontend, ConfSection::Switch, ConfSection::Block,
        ConfSection::Gres, ConfSection::Cgroup}) {
    std::set<std::string_view> proved;
    for (const Row& row : rows(section)) {
      proved.insert(row.key);
      const std::string_view name = row.key;
      if (name != "ControlMachine" && name != "BackupController") has_effect(section, row);
    }
    for (const ConfKey& key : conf_keys(section))
      EXPECT_EQ(proved.contains(key.name), key.handling == KeyHandling::Acted)
          << key.name << " of " << section_title(section)
          << ": a key is Acted if, and only if, a row here shows what it does";
  }
}

TEST(ConfEffect, ControlMachineNamesTheController) {
  EXPECT_FALSE(read_conf({"f", "ClusterName=c\n"}).ok());
  EXPECT_TRUE(read_conf({"f", "ClusterName=c\nControlMachine=h\n"}).ok());
  const auto two = read_conf({"f", "ClusterName=c\nControlMachine=h\nBackupController=h2\n"});
  EXPECT_EQ(told(two.diagnostics), "3:1: warning: there are no backup controllers; h2 is not used");
}

// --- from the configuration to what acts upon it

// Where each member takes effect: a file below src/ that reads it, and is no printer.
const std::map<std::string, std::string> kReaders = {
    {"ClusterConfig.name", "dialect/slurm/environment.cc"},
    {"ClusterConfig.nodes", "cluster/apply.cc"},
    {"ClusterConfig.standings", "cluster/apply.cc"},
    {"ClusterConfig.partitions", "cluster/decide_submit.cc"},
    {"ClusterConfig.open", "cluster/decide_agents.cc"},
    {"ClusterConfig.policy", "plan/pass.cc"},
    {"ClusterConfig.timers", "cluster/decide_agents.cc"},
    {"ClusterConfig.max_array_size", "cluster/decide_submit.cc"},
    {"ClusterConfig.max_jobs", "cluster/decide_submit.cc"},
    {"ClusterConfig.first_job", "cluster/apply.cc"},
    {"ClusterConfig.requeue_by_default", "dialect/slurm/translate.cc"},
    {"ClusterConfig.count_memory", "dialect/slurm/translate_shape.cc"},
    {"ClusterConfig.enforce_limits", "cluster/decide_submit.cc"},
    {"ClusterConfig.kill_on_bad_exit", "server/slurm_api_step.cc"},
    {"ClusterConfig.wait_time", "server/slurm_api_step.cc"},
    {"ClusterConfig.node_lost_confirm", "cluster/decide_agents.cc"},
    {"ClusterConfig.append_output", "dialect/slurm/translate.cc"},
    {"ClusterConfig.operators", "cluster/access.cc"},
    {"ClusterConfig.shown", "dialect/slurm/scontrol_nodes.cc"},
    {"NodeStanding.node", "cluster/apply.cc"},
    {"NodeStanding.standing", "cluster/apply.cc"},
    {"NodeStanding.reason", "cluster/apply.cc"},
    {"Policy.promises", "plan/pass.cc"},
    {"Policy.weight_age", "queue/order.cc"},
    {"Policy.weight_partition", "queue/order.cc"},
    {"Policy.largest_job_factor", "queue/order.cc"},
    {"Policy.max_age", "queue/order.cc"},
    {"Policy.backfill", "plan/pass.cc"},
    {"Timers.kill_wait", "cluster/order_make.cc"},
    {"Timers.min_job_age", "dialect/slurm/squeue.cc"},
    {"Timers.node_timeout", "cluster/decide_agents.cc"},
    {"Timers.suspect_after", "cluster/decide_agents.cc"},
    {"Timers.prepare_timeout", "cluster/decide_agents.cc"},
    {"Timers.over_time_limit", "cluster/deadline.cc"},
    {"Timers.backoff_first", "reconcile/backoff.cc"},
    {"Timers.backoff_most", "reconcile/backoff.cc"},
    {"Timers.idempotency", "cluster/decide_submit.cc"},
    {"Timers.client_timeout", "server/clients.cc"},
    {"NodeSpec.name", "cluster/apply.cc"},
    {"NodeSpec.address", "cluster/merge_node.cc"},
    {"NodeSpec.agent_url", "server/slurm_api_step.cc"},
    {"NodeSpec.cpus", "cluster/merge_node.cc"},
    {"NodeSpec.memory", "cluster/merge_node.cc"},
    {"NodeSpec.features", "cluster/merge_node.cc"},
    {"NodeSpec.devices", "cluster/merge_node.cc"},
    {"NodeSpec.weight", "cluster/merge_node.cc"},
    {"Partition.name", "cluster/decide_submit.cc"},
    {"Partition.nodes", "place/fit.cc"},
    {"Partition.is_default", "model/model.cc"},
    {"Partition.state", "cluster/decide_submit.cc"},
    {"Partition.max_time", "plan/candidate.cc"},
    {"Partition.default_time", "cluster/decide_submit.cc"},
    {"Partition.max_nodes", "plan/candidate.cc"},
    {"Partition.min_nodes", "plan/candidate.cc"},
    {"Partition.priority_tier", "plan/candidate.cc"},
    {"Partition.priority_job_factor", "queue/order.cc"},
    {"Partition.default_memory_per_cpu", "dialect/slurm/translate_shape.cc"},
    {"Partition.default_memory_per_node", "dialect/slurm/translate_shape.cc"},
    {"Partition.default_memory_per_gpu", "dialect/slurm/translate_shape.cc"},
    {"Partition.max_memory_per_node", "place/fit.cc"},
    {"Partition.hidden", "dialect/slurm/sinfo.cc"},
    {"Partition.root_only", "cluster/access.cc"},
    {"Partition.allow_root_jobs", "cluster/access.cc"},
    {"Partition.exclusive", "dialect/slurm/translate_shape.cc"},
    {"Partition.allow_accounts", "cluster/access.cc"},
    {"Partition.deny_accounts", "cluster/access.cc"},
    {"Partition.allow_groups", "cluster/access.cc"},
    {"Partition.allow_gids", "cluster/access.cc"},
    {"Partition.allow_qos", "cluster/access.cc"},
    {"Partition.deny_qos", "cluster/access.cc"},
};

// What the agent measures, and slurm.conf only counts CPUs with.
const std::set<std::string> kMeasured = {"NodeSpec.sockets",
                                         "NodeSpec.cores_per_socket",
                                         "NodeSpec.threads_per_core",
                                         "NodeSpec.emulated",
                                         "NodeSpec.os",
                                         "NodeSpec.arch"};

std::string source(const std::string& file) {
  std::ifstream in(std::string(PHALANX_SOURCE_DIR) + "/src/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

template <class T>
void every_member_is_read(const std::string& type) {
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
      [&](auto member) {
        const std::string name = format("{}.{}", type, member.name);
        if (kMeasured.contains(name)) return;
        const auto reader = kReaders.find(name);
        ASSERT_NE(reader, kReaders.end()) << name << ": which file acts upon it?";
        const std::string text = source(reader->second);
        const std::string word = member.name;
        EXPECT_TRUE(text.find("." + word) != text.npos || text.find(">" + word) != text.npos)
            << name << " is not read in " << reader->second;
      });
}

TEST(ConfEffect, EveryMemberOfTheConfigurationIsRead) {
  every_member_is_read<ClusterConfig>("ClusterConfig");
  every_member_is_read<NodeStanding>("NodeStanding");
  every_member_is_read<Policy>("Policy");
  every_member_is_read<phalanx::Timers>("Timers");
  every_member_is_read<NodeSpec>("NodeSpec");
  every_member_is_read<Partition>("Partition");
}

}  // namespace
}  // namespace phalanx::slurm
