#include "dialect/slurm/cluster_config.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace phalanx::slurm {
namespace {

Parsed<ClusterConfig> translate(const std::string& conf_text, const std::string& gres_text = "") {
  const auto conf = read_conf({"slurm.conf", conf_text}, {});
  const auto gres = read_gres_conf({"gres.conf", gres_text}, {});
  return cluster_config(conf.value, merge(conf.value, gres.value).value);
}

constexpr const char* kLab = R"(ClusterName=lab
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
KillWait=5
PriorityType=priority/multifactor
PriorityWeightAge=1000
DefMemPerCPU=1000
NodeName=node[01-02] CPUs=128 RealMemory=1024000 \
  Sockets=2 CoresPerSocket=64 ThreadsPerCore=1 Gres=gpu:rtxpro6000:8 Feature=ib
PartitionName=train Nodes=node[01-02] Default=YES MaxTime=48:00:00
PartitionName=small Nodes=node02 MaxNodes=1 DefaultTime=10 DefMemPerCPU=500 PriorityTier=10
)";

TEST(ClusterConfig, NodesHaveTheDevicesOfBothFiles) {
  const auto lab =
      translate(kLab, "NodeName=node[01-02] Name=gpu Type=rtxpro6000 File=/dev/nvidia[0-7]\n");
  ASSERT_EQ(lab.value.nodes.size(), 2U);
  const NodeSpec& node = lab.value.nodes[1];
  EXPECT_EQ(node.name, "node02");
  EXPECT_EQ(node.cpus, 128);
  EXPECT_EQ(node.memory, std::int64_t{1024000} << 20);
  EXPECT_EQ(node.features, Words{"ib"});
  ASSERT_EQ(node.devices.size(), 8U);
  EXPECT_EQ(node.devices[3].type, "rtxpro6000");
  EXPECT_EQ(node.devices[3].minor, 3);
}

TEST(ClusterConfig, WithoutGresConfTheCountsOfSlurmConfHold) {
  const auto lab = translate(kLab);
  ASSERT_EQ(lab.value.nodes[0].devices.size(), 8U);
  EXPECT_EQ(lab.value.nodes[0].devices[0].type, "rtxpro6000");
  EXPECT_EQ(lab.value.nodes[0].devices[0].minor, -1);
}

TEST(ClusterConfig, PartitionsTakeTheClustersDefaults) {
  const auto lab = translate(kLab);
  ASSERT_EQ(lab.value.partitions.size(), 2U);
  const Partition &train = lab.value.partitions[0], &small = lab.value.partitions[1];
  EXPECT_TRUE(train.is_default);
  EXPECT_EQ(train.max_time, hours(48));
  EXPECT_EQ(train.default_time, kForever);
  EXPECT_EQ(train.default_memory_per_cpu, std::int64_t{1000} << 20);
  EXPECT_EQ(small.nodes, Words{"node02"});
  EXPECT_EQ(small.default_time, minutes(10));
  EXPECT_EQ(small.default_memory_per_cpu, std::int64_t{500} << 20);
  EXPECT_EQ(small.max_nodes, 1);
  EXPECT_EQ(small.priority_tier, 10);
}

TEST(ClusterConfig, TimersPolicyAndWhatIsShown) {
  const auto lab = translate(kLab);
  EXPECT_EQ(lab.value.name, "lab");
  EXPECT_FALSE(lab.value.open);
  EXPECT_EQ(lab.value.timers.kill_wait, seconds(5));
  EXPECT_EQ(lab.value.policy.weight_age, 1000);
  const std::pair<std::string, std::string> shown{"SelectTypeParameters", "CR_Core_Memory"};
  EXPECT_NE(std::ranges::find(lab.value.shown, shown), lab.value.shown.end());
}

TEST(ClusterConfig, NodesThatTheFilesKeepBack) {
  const auto lab = translate(
      "GresTypes=gpu\nNodeName=a State=DRAIN Reason=fans\nNodeName=b State=DOWN\n"
      "NodeName=c State=FUTURE\nNodeName=d State=UNKNOWN\nNodeName=e Gres=gpu:2\n"
      "PartitionName=p Nodes=ALL\n",
      "NodeName=e Name=gpu File=/dev/nvidia0\n");
  const std::vector<NodeStanding> expected = {
      {"a", Standing::drain, "fans"},
      {"b", Standing::drain, "State=DOWN in slurm.conf"},
      {"c", Standing::future, ""},
      {"e", Standing::drain, "gres/gpu count reported lower than configured (1 < 2)"}};
  EXPECT_EQ(lab.value.standings, expected);
  EXPECT_TRUE(lab.ok());
}

TEST(ClusterConfig, WhatTheFilesAskForInVainIsTold) {
  const struct {
    const char* text;
    const char* told;
  } cases[] = {
      {"NodeName=a\nPartitionName=p Nodes=a OverSubscribe=FORCE\n",
       "partition p: CPUs and GPUs are never shared; OverSubscribe=NO is what happens"},
      {"NodeName=a\nPartitionName=p Nodes=a Exclusive=USER\n",
       "partition p: Phalanx does not act upon Exclusive=USER or TOPO; NODE keeps all other jobs "
       "off"},
      {"NodeName=a\nPartitionName=p Nodes=a ReqResv=YES\n",
       "partition p: ReqResv=YES, and there are no reservations yet: it is INACTIVE"},
      {"NodeName=a\nPartitionName=p\n", "no partition has node a: no work can start there"},
      {"GresTypes=gpu,mps\nNodeName=a Gres=mps:100\nPartitionName=p Nodes=a\n",
       "Gres=mps: only GPUs are offered"},
      {"NodeName=a CoresPerSocket=2 ThreadsPerCore=2\nPartitionName=p Nodes=a\n",
       "CR_Core: CPUs are given one by one, not whole cores; CPUs=<number of cores> gives cores"},
      {"NodeName=a State=CLOUD\nPartitionName=p Nodes=a\n",
       "State=CLOUD: no program starts nodes here; they are used when they join"},
      {"SelectTypeParameters=CR_Socket,CR_LLN\nNodeName=a\nPartitionName=p Nodes=a\n",
       "SelectTypeParameters: Phalanx does not act upon CR_Socket, CR_LLN"},
  };
  for (const auto& c : cases) {
    const auto lab = translate(c.text);
    ASSERT_EQ(lab.diagnostics.size(), 1U) << c.text;
    EXPECT_EQ(lab.diagnostics.front().message, c.told);
    EXPECT_GT(lab.diagnostics.front().at.line, 0) << c.text;
  }
}

TEST(ClusterConfig, AChangeAtRunTimeSaysWhatItDoesNotDo) {
  const auto before = translate("ClusterName=c\nNodeName=a,b\nPartitionName=p Nodes=a\n").value;
  const auto after = translate("ClusterName=c\nNodeName=a,c\nPartitionName=q Nodes=a\n").value;
  EXPECT_EQ(change_notes(before, before).value(), std::vector<std::string>{});
  const std::vector<std::string> expected = {
      "node b is not configured any more: what runs there goes on, and nothing new starts",
      "node c is new: it is used when its agent joins",
      "partition p is not configured any more: jobs that wait for it wait until it is back or they "
      "are cancelled"};
  EXPECT_EQ(change_notes(before, after).value(), expected);
  EXPECT_FALSE(change_notes(before, translate("ClusterName=d\nNodeName=a\n").value).ok());
}

TEST(ClusterConfig, ATimeoutOfZeroIsNever) {
  const auto lab = translate("SlurmdTimeout=0\nMinJobAge=0\nNodeName=a\nPartitionName=p Nodes=a\n");
  EXPECT_GT(lab.value.timers.node_timeout, hours(24 * 365));
  EXPECT_GT(lab.value.timers.min_job_age, hours(24 * 365));
  EXPECT_TRUE(lab.value.partitions.front().is_default);
}

}  // namespace
}  // namespace phalanx::slurm
