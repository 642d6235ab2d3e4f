#include <gtest/gtest.h>

#include "base/text.h"
#include "dialect/slurm/conf.h"
#include "dialect/slurm/conf_test_support.h"

namespace phalanx::slurm {
namespace {

const std::string kHead =
    "ClusterName=c\nSlurmctldHost=head\nNodeName=n[1-4] Feature=fast\nNodeName=x1\n";

Parsed<SlurmConf> parse(const std::string& text) { return read_conf({"", kHead + text}); }

PartitionConf one(const std::string& keys) {
  const Parsed<SlurmConf> parsed = parse(format("PartitionName=p {}\n", keys));
  EXPECT_TRUE(parsed.ok()) << keys;
  return parsed.value.partitions.empty() ? PartitionConf{} : parsed.value.partitions[0];
}

TEST(Partitions, DefaultsAreSlurms) {
  const PartitionConf p = one("");
  EXPECT_EQ(p.max_time, kForever);
  EXPECT_EQ(p.default_time, std::nullopt);
  EXPECT_EQ(p.max_nodes, std::nullopt);
  EXPECT_EQ(p.min_nodes, 0);
  EXPECT_EQ(p.priority_tier, 1);
  EXPECT_EQ(p.priority_job_factor, 1);
  EXPECT_EQ(p.state, PartitionState::Up);
  EXPECT_EQ(p.oversubscribe, OverSubscribe::No);
  EXPECT_TRUE(p.nodes.empty());
}

TEST(Partitions, NodesAreResolvedInTheOrderOfTheNodes) {
  const struct {
    const char* nodes;
    const char* names;
  } cases[] = {
      {"ALL", "n1,n2,n3,n4,x1"},  {"all", "n1,n2,n3,n4,x1"}, {"x1,n[2-3],n2", "n2,n3,x1"}, {"", ""},
      {"fastset", "n1,n2,n3,n4"}, {"pair,x1", "n1,n2,x1"},
  };
  for (const auto& c : cases) {
    const Parsed<SlurmConf> parsed =
        parse(format("NodeSet=fastset Feature=fast\nNodeSet=pair Nodes=n[1-2]\nPartitionName=p "
                     "State=UP Nodes={}\n",
                     c.nodes));
    EXPECT_EQ(told(parsed.diagnostics), "");
    EXPECT_EQ(join(parsed.value.partitions[0].nodes, ","), c.names) << c.nodes;
  }
}

TEST(Partitions, C08_TimesRoundUpToMinutes) {
  const struct {
    const char* text;
    Duration time;
  } cases[] = {
      {"7-0:00:99", hours(7 * 24) + minutes(2)},
      {"4320", hours(72)},  // C18
      {"48:00:00", hours(48)},
      {"30:00", minutes(30)},
      {"1-12", hours(36)},
      {"UNLIMITED", kForever},
      {"infinite", kForever},
  };
  for (const auto& c : cases)
    EXPECT_EQ(one(format("MaxTime={}", c.text)).max_time, c.time) << c.text;
}

TEST(Partitions, C18_NamesMayHaveADot) {
  EXPECT_EQ(parse("PartitionName=std.q Nodes=n1\n").value.partitions[0].name, "std.q");
}

TEST(Partitions, C21_SharedIsOverSubscribe) {
  const struct {
    const char* text;
    OverSubscribe how;
    std::int64_t jobs;
    PartitionExclusive exclusive;
  } cases[] = {
      {"Shared=YES:4", OverSubscribe::Yes, 4, PartitionExclusive::No},
      {"Shared=YES", OverSubscribe::Yes, 4, PartitionExclusive::No},
      {"OverSubscribe=FORCE:1", OverSubscribe::Force, 1, PartitionExclusive::No},
      {"OverSubscribe=NO", OverSubscribe::No, 1, PartitionExclusive::No},
      {"OverSubscribe=EXCLUSIVE", OverSubscribe::No, 1, PartitionExclusive::Node},
      {"ExclusiveUser=YES", OverSubscribe::No, 1, PartitionExclusive::User},
      {"Exclusive=TOPO", OverSubscribe::No, 1, PartitionExclusive::Topo},
      {"ExclusiveTopo=YES ExclusiveTopo=NO", OverSubscribe::No, 1, PartitionExclusive::No},
  };
  for (const auto& c : cases) {
    const PartitionConf p = parse(format("PartitionName=p {}\n", c.text)).value.partitions[0];
    EXPECT_EQ(p.oversubscribe, c.how) << c.text;
    EXPECT_EQ(p.oversubscribe_jobs, c.jobs) << c.text;
    EXPECT_EQ(p.exclusive, c.exclusive) << c.text;
  }
}

TEST(Partitions, C17_BillingWeights) {
  const std::vector<TresWeight> expected = {
      {"cpu", 1'000'000, 1}, {"mem", 250'000, 1024}, {"gres/gpu", 2'500'000, 1}};
  EXPECT_EQ(one("TRESBillingWeights=\"CPU=1.0,mem=.25G,GRES/gpu=2.5\"").billing, expected);
  const std::vector<TresWeight> odd = {
      {"mem", 62'500, 1 << 20}, {"node", -3'000'000, 1}, {"gres/x", 1'000'000, 1024}};
  EXPECT_EQ(one("TRESBillingWeights=mem=0.0625T,node=-3,gres/x=1K").billing, odd);
  EXPECT_FALSE(parse("PartitionName=p TRESBillingWeights=cpu=much\n").ok());
}

TEST(Partitions, C24_OfTwoDefaultsTheLastHolds) {
  const Parsed<SlurmConf> parsed =
      parse("PartitionName=a Nodes=n1 Default=YES\nPartitionName=b Nodes=n1 Default=YES\n");
  EXPECT_EQ(told(parsed.diagnostics),
            "6:1: warning: partitions a and b both say Default=YES; b is the default");
  EXPECT_FALSE(parsed.value.partitions[0].is_default);
  EXPECT_TRUE(parsed.value.partitions[1].is_default);
}

TEST(Partitions, DefaultLinesAddUp) {
  const SlurmConf conf =
      parse(
          "PartitionName=DEFAULT MaxTime=60 DefMemPerCPU=100\nPartitionName=a\n"
          "PartitionName=DEFAULT State=DRAIN\nPartitionName=b DefMemPerNode=5 MaxTime=10\n")
          .value;
  ASSERT_EQ(conf.partitions.size(), 2U);
  EXPECT_EQ(conf.partitions[0].max_time, minutes(60));
  EXPECT_EQ(conf.partitions[0].memory.def_per_cpu_mb, 100);
  EXPECT_EQ(conf.partitions[1].state, PartitionState::Drain);
  EXPECT_EQ(conf.partitions[1].memory.def_per_cpu_mb, std::nullopt);
  EXPECT_EQ(conf.partitions[1].memory.def_per_node_mb, 5);
}

TEST(Partitions, ReadsTheRest) {
  const PartitionConf p =
      one("Nodes=n1 AllowAccounts=physics,chem AllowGroups=ALL DenyQos=low Hidden=YES RootOnly=no "
          "LLN=YES "
          "ReqResv=YES GraceTime=90 QOS=part MaxCPUsPerNode=UNLIMITED MaxCPUsPerSocket=8 "
          "DefCpuPerGPU=4 "
          "DefMemPerGPU=8000 MaxNodes=2 MinNodes=1 PreemptMode=OFF OverTimeLimit=5 "
          "PriorityJobFactor=10 "
          "SelectTypeParameters=CR_Socket DisableRootJobs=YES");
  EXPECT_EQ(p.allow_accounts, (Words{"physics", "chem"}));
  EXPECT_TRUE(p.allow_groups.empty());
  EXPECT_EQ(p.deny_qos, Words{"low"});
  EXPECT_TRUE(p.hidden && p.least_loaded_nodes && p.require_reservation && !p.root_only);
  EXPECT_EQ(p.grace_time, seconds(90));
  EXPECT_EQ(p.qos, "part");
  EXPECT_EQ(p.max_cpus_per_node, std::nullopt);
  EXPECT_EQ(p.max_cpus_per_socket, 8);
  EXPECT_EQ(p.def_cpu_per_gpu, 4);
  EXPECT_EQ(p.memory.def_per_gpu_mb, 8000);
  EXPECT_EQ(p.max_nodes, 2);
  EXPECT_EQ(p.preempt, Preemption{});
  EXPECT_EQ(p.over_time_limit, minutes(5));
  EXPECT_EQ(p.priority_job_factor, 10);
  EXPECT_EQ(p.disable_root_jobs, true);
  ASSERT_TRUE(p.select.has_value());
  EXPECT_EQ(p.select->unit, SelectUnit::Socket);
  EXPECT_FALSE(p.select->memory);
}

TEST(Partitions, FaultsHaveTheirLine) {
  const struct {
    const char* text;
    const char* diagnostics;
  } cases[] = {
      {"PartitionName=p Nodes=n[1-9]\n",
       "5:1: error: partition p names n5, but there is no NodeName or NodeSet line for it\n"
       "5:1: error: partition p names n6, but there is no NodeName or NodeSet line for it\n"
       "5:1: error: partition p names n7, but there is no NodeName or NodeSet line for it\n"
       "5:1: error: partition p: 2 more unknown nodes"},
      {"PartitionName=p Nodes=n1\nPartitionName=p Nodes=n2\n",
       "6:1: warning: partition p is defined twice; only line 5 is used"},
      {"PartitionName=p State=OPEN\n",
       "5:17: error: State=OPEN: expected UP, DOWN, DRAIN or INACTIVE"},
      {"PartitionName=p MaxTime=10 DefaultTime=20\n",
       "5:1: warning: partition p: DefaultTime is longer than MaxTime; MaxTime holds"},
      {"PartitionName=p AllowAccounts=a DenyAccounts=b\n",
       "5:1: warning: partition p: DenyAccounts has no effect beside AllowAccounts"},
      {"PartitionName=p OverSubscribe=OFTEN\n",
       "5:17: error: OverSubscribe=OFTEN: expected NO, EXCLUSIVE, YES[:jobs] or FORCE[:jobs]"},
      {"PartitionName=p CPUs=3\n",
       "5:17: error: CPUs is not a key of a PartitionName line; it belongs to a NodeName line"},
      {"PartitionName=p AllocNodes=login\n", "5:17: warning: Phalanx does not act upon AllocNodes"},
      {"NodeSet=n1 Nodes=n2\n", "5:1: error: NodeSet n1 has the name of a node; give it another"},
  };
  for (const auto& c : cases) EXPECT_EQ(told(parse(c.text).diagnostics), c.diagnostics) << c.text;
}

}  // namespace
}  // namespace phalanx::slurm
