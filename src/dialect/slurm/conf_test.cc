// slurm.conf: globals, nodes, whole files. Tests that begin with C and a number are rows of the
// survey of real configuration files.
#include "dialect/slurm/conf.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "dialect/slurm/conf_test_support.h"

namespace phalanx::slurm {
namespace {

const std::string kHead = "ClusterName=c\nSlurmctldHost=head\n";

Parsed<SlurmConf> parse(const std::string& text) { return read_conf({"slurm.conf", kHead + text}); }

std::string shown(const NodeConf& n) {
  std::string gres;
  for (const NodeGres& g : n.gres)
    gres += format("{}{}{}{}:{}", gres.empty() ? "" : ",", g.name, g.type.empty() ? "" : ":",
                   g.type, g.count);
  return format("{} addr={} cpus={} s:c:t={}:{}:{} mem={} features={} gres={} weight={}", n.name,
                n.addr, n.cpus, n.sockets, n.cores_per_socket, n.threads_per_core, n.real_memory_mb,
                join(n.features, ","), gres, n.weight);
}

std::string shown(const std::vector<NodeConf>& nodes) {
  std::string out;
  for (const NodeConf& n : nodes) out += (out.empty() ? "" : "\n") + shown(n);
  return out;
}

TEST(Conf, DefaultsAreSlurms) {
  const SlurmConf conf = parse("").value;
  EXPECT_EQ(conf.timers.kill_wait, seconds(30));
  EXPECT_EQ(conf.timers.min_job_age, seconds(300));
  EXPECT_EQ(conf.timers.slurmd_timeout, seconds(300));
  EXPECT_EQ(conf.timers.slurmctld_timeout, seconds(120));
  EXPECT_EQ(conf.timers.batch_start_timeout, seconds(10));
  EXPECT_EQ(conf.timers.unkillable_step_timeout, seconds(60));
  EXPECT_EQ(conf.max_array_size, 1001);
  EXPECT_EQ(conf.max_job_count, 10'000);
  EXPECT_EQ(conf.max_job_id, 67'043'328);
  EXPECT_EQ(conf.priority.decay_half_life, hours(7 * 24));
  EXPECT_EQ(conf.priority.calc_period, minutes(5));
  EXPECT_TRUE(conf.job_requeue);
  EXPECT_EQ(conf.select, Selection{});
  EXPECT_EQ(conf.propagate_limits, Words{"ALL"});
}

TEST(Conf, TheUsersLab) {
  const Parsed<SlurmConf> lab = read_conf({"slurm.conf", corpus_file("lab-slurm.conf")});
  EXPECT_EQ(told(lab.diagnostics),
            "13:1: warning: Phalanx does not act upon PriorityDecayHalfLife\n"
            "14:1: warning: Phalanx does not act upon PriorityWeightFairshare");
  EXPECT_EQ(lab.value.cluster_name, "kentino-lab");
  EXPECT_EQ(lab.value.controllers, (std::vector<ControllerHost>{{"head01", "head01"}}));
  ASSERT_EQ(lab.value.nodes.size(), 4U);
  EXPECT_EQ(shown(lab.value.nodes[3]),
            "node04 addr=node04 cpus=128 s:c:t=2:64:1 mem=1024000 features= gres=gpu:rtxpro6000:8 "
            "weight=1");
  ASSERT_EQ(lab.value.partitions.size(), 2U);
  EXPECT_EQ(lab.value.partitions[0].nodes, (Words{"node01", "node02", "node03"}));
  EXPECT_TRUE(lab.value.partitions[0].is_default);
  EXPECT_EQ(lab.value.partitions[0].max_time, hours(48));
  EXPECT_EQ(lab.value.partitions[1].priority_tier, 10);
  EXPECT_EQ(lab.value.accounting_tres, Words{"gres/gpu"});
  EXPECT_TRUE(lab.value.priority.multifactor);
  EXPECT_EQ(lab.value.priority.fairshare, 10'000);
}

TEST(Conf, TheBench) {
  const Parsed<SlurmConf> bench = read_conf({"slurm.conf", corpus_file("bench-slurm.conf")});
  EXPECT_TRUE(bench.ok());
  EXPECT_EQ(bench.value.controllers, (std::vector<ControllerHost>{{"localhost", "127.0.0.1"}}));
  ASSERT_EQ(bench.value.nodes.size(), 8U);
  EXPECT_EQ(shown(bench.value.nodes[4]),
            "n5 addr=127.0.0.1 cpus=16 s:c:t=2:8:1 mem=64000 features=ib,a100,rack2 "
            "gres=gpu:a100:4 weight=5");
  EXPECT_EQ(bench.value.nodes[7].cpus, 32);
  EXPECT_EQ(bench.value.nodes[7].hostname, "vm");
  EXPECT_EQ(bench.value.partitions.size(), 8U);
  EXPECT_EQ(bench.value.preempt_type, PreemptType::PartitionPriority);
  EXPECT_EQ(bench.value.preempt.mode, PreemptMode::Requeue);
  EXPECT_EQ(bench.value.timers.kill_wait, seconds(5));
  EXPECT_EQ(bench.value.memory.def_per_cpu_mb, 1000);
  const std::vector<TresWeight> tres = {
      {"cpu", 100'000'000, 1}, {"mem", 100'000'000, 1}, {"gres/gpu", 1'000'000'000, 1}};
  EXPECT_EQ(bench.value.priority.tres, tres);
  EXPECT_EQ(bench.value.raw.front().key, "ClusterName");
}

TEST(Conf, HandlesEachKindOfKey) {
  const struct {
    const char* text;
    const char* diagnostics;
  } cases[] = {
      {"killwait=10", ""},
      {"SlurmctldPidFile=/run/x.pid\nSlurmctldPort=6817-6818", ""},
      {"ResumeProgram=/bin/x", "3:1: warning: Phalanx does not act upon ResumeProgram"},
      {"KillWiat=10", "3:1: error: KillWiat is not a key of slurm.conf; did you mean KillWait?"},
      {"KillWait=soon", "3:1: error: KillWait=soon: expected a number of seconds, found 'soon'"},
      {"JobRequeue=maybe", "3:1: error: JobRequeue=maybe: expected YES or NO, found 'maybe'"},
      {"KillWait=1\nKILLWAIT=2",
       "4:1: warning: KillWait is given more than once; the last one holds"},
      {"KillWait=", "3:1: warning: KillWait has no value; its default holds"},
      {"Prolog=/a\nProlog=/b",
       "3:1: warning: Phalanx does not act upon Prolog (and so in 1 more place)"},
      {"SelectTypeParameters=CR_Cor_Memory",
       "3:1: error: SelectTypeParameters=CR_Cor_Memory: 'CR_Cor_Memory' is no such parameter; did "
       "you mean "
       "CR_Core_Memory?"},
      {"FrontendName=f State=UP",
       "3:1: warning: FrontendName was removed in Slurm 25.05 and has no effect; front-end nodes "
       "are gone; every "
       "node runs its own agent"},
      {"PreemptMode=SUSPEND", "3:1: warning: Phalanx does not act upon PreemptMode"},
      {"PreemptMode=OFF", ""},
      {"PowerAction=off Program=/x", "3:1: warning: Phalanx does not act upon PowerAction"},
      {"SlurmctldHost=two", "3:1: warning: there are no backup controllers; two is not used"},
  };
  for (const auto& c : cases) EXPECT_EQ(told(parse(c.text).diagnostics), c.diagnostics) << c.text;
}

TEST(Conf, ReadsValues) {
  const SlurmConf conf =
      parse(
          "SlurmctldHost=two(10.0.0.2)\nSelectType=select/linear\nSchedulerType=sched/builtin\n"
          "PreemptMode=suspend,gang\nPreemptType=preempt/qos\nEnforcePartLimits=YES\n"
          "PriorityDecayHalfLife=0\nPriorityMaxAge=1-12\nInactiveLimit=UNLIMITED\n"
          "DefMemPerCPU=100\nDefMemPerNode=200\nMaxMemPerCPU=UNLIMITED\nScronParameters=enable\n"
          "PrologEpilogTimeout=60\nTaskProlog=\"/opt/my prolog\"\nPrivateData=jobs,users\n")
          .value;
  EXPECT_EQ(conf.controllers, (std::vector<ControllerHost>{{"head", "head"}, {"two", "10.0.0.2"}}));
  EXPECT_TRUE(conf.whole_nodes);
  EXPECT_EQ(conf.select.unit, SelectUnit::Node);
  EXPECT_FALSE(conf.select.memory);
  EXPECT_FALSE(conf.backfill);
  EXPECT_EQ(conf.preempt, (Preemption{PreemptMode::Suspend, true, false}));
  EXPECT_EQ(conf.preempt_type, PreemptType::Qos);
  EXPECT_EQ(conf.enforce_part_limits, EnforceLimits::All);
  EXPECT_EQ(conf.priority.decay_half_life, Duration::zero());
  EXPECT_EQ(conf.priority.max_age, hours(36));
  EXPECT_EQ(conf.timers.inactive_limit, kForever);
  EXPECT_EQ(conf.memory.def_per_cpu_mb, std::nullopt) << "the last default holds";
  EXPECT_EQ(conf.memory.def_per_node_mb, 200);
  EXPECT_EQ(conf.memory.max_per_cpu_mb, 0);
  EXPECT_TRUE(conf.scron);
  EXPECT_EQ(conf.scripts.prolog_timeout, seconds(60));
  EXPECT_EQ(conf.scripts.epilog_timeout, seconds(60));
  EXPECT_EQ(conf.scripts.task_prolog, "/opt/my prolog");
  EXPECT_EQ(conf.private_data, (Words{"jobs", "users"}));
}

TEST(Conf, OldControllerKeysStillName) {
  const Parsed<SlurmConf> old = read_conf(
      {"f", "ClusterName=c\nControlMachine=h1\nControlAddr=10.0.0.1\nBackupController=h2\n"});
  EXPECT_EQ(told(old.diagnostics), "4:1: warning: there are no backup controllers; h2 is not used");
  EXPECT_EQ(old.value.controllers, (std::vector<ControllerHost>{{"h1", "10.0.0.1"}, {"h2", "h2"}}));
}

TEST(Conf, WithoutNameOrHostIsAnError) {
  EXPECT_EQ(told(read_conf({"", ""}).diagnostics),
            "error: no ClusterName is given; add a line such as ClusterName=mycluster\n"
            "error: no SlurmctldHost is given; add a line such as SlurmctldHost=head01");
}

TEST(Conf, NumbersHaveBounds) {
  EXPECT_FALSE(parse("MaxArraySize=4000002\n").ok());
  EXPECT_FALSE(parse("FirstJobId=0\n").ok());
  EXPECT_FALSE(parse("MaxJobId=99999999\n").ok());
  EXPECT_FALSE(parse("KillWait=99999999999\n").ok());
  EXPECT_FALSE(parse("NodeName=n1 RealMemory=9223372036854775807\n").ok());
  EXPECT_FALSE(parse("NodeName=n[1-70000]\n").ok());
}

TEST(Nodes, CpusFollowFromTheParts) {
  const struct {
    const char* text;
    const char* node;  // cpus, boards, sockets, cores, threads
    const char* diagnostics;
  } cases[] = {
      {"", "1 1 1 1 1", ""},
      {"CPUs=128 Sockets=2 CoresPerSocket=64 ThreadsPerCore=1", "128 1 2 64 1", ""},
      {"Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", "32 1 2 8 2", ""},
      {"CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", "16 1 2 8 2", ""},
      {"Procs=8", "8 1 8 1 1", ""},
      {"CPUs=64 CoresPerSocket=16 ThreadsPerCore=2", "64 1 2 16 2", ""},
      {"Boards=2 SocketsPerBoard=2 CoresPerSocket=4", "16 2 4 4 1", ""},
      {"Boards=2 Sockets=2 CoresPerSocket=4", "16 2 4 4 1", ""},
      {"CPUs=20 Sockets=2 CoresPerSocket=8 ThreadsPerCore=1", "16 1 2 8 1",
       "3:1: warning: CPUs=20 is neither the 16 threads nor the 16 cores nor the 2 sockets of the "
       "node; 16 CPUs "
       "are taken"},
  };
  for (const auto& c : cases) {
    const Parsed<SlurmConf> parsed = parse(format("NodeName=n1 {}\n", c.text));
    ASSERT_EQ(parsed.value.nodes.size(), 1U) << c.text;
    const NodeConf& n = parsed.value.nodes[0];
    EXPECT_EQ(format("{} {} {} {} {}", n.cpus, n.boards, n.sockets, n.cores_per_socket,
                     n.threads_per_core),
              c.node)
        << c.text;
    EXPECT_EQ(told(parsed.diagnostics), c.diagnostics) << c.text;
  }
}

TEST(Nodes, DefaultLinesAddUp) {
  EXPECT_EQ(shown(parse("NodeName=DEFAULT CPUs=4 RealMemory=100\nNodeName=a\nNodeName=default "
                        "Weight=7 Features=x\n"
                        "NodeName=b RealMemory=200\n")
                      .value.nodes),
            "a addr=a cpus=4 s:c:t=4:1:1 mem=100 features= gres= weight=1\n"
            "b addr=b cpus=4 s:c:t=4:1:1 mem=200 features=x gres= weight=7");
}

TEST(Nodes, C17_ListsInsideNames) {
  EXPECT_EQ(shown(parse("NodeName=lxb00[1,2] CPUs=2\n").value.nodes),
            "lxb001 addr=lxb001 cpus=2 s:c:t=2:1:1 mem=1 features= gres= weight=1\n"
            "lxb002 addr=lxb002 cpus=2 s:c:t=2:1:1 mem=1 features= gres= weight=1");
}

TEST(Nodes, C19_AddressesArePaired) {
  const std::vector<NodeConf> nodes =
      parse("NodeName=e[2-4] NodeAddr=10.0.0.[12-14] NodeHostname=h[2-4]\n").value.nodes;
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[2].addr, "10.0.0.14");
  EXPECT_EQ(nodes[2].hostname, "h4");
  EXPECT_EQ(told(parse("NodeName=e[2-4] NodeAddr=a[1-2]\n").diagnostics),
            "3:1: error: NodeName=e[2-4]: NodeAddr: 2 names for 3 nodes; give one for each, or one "
            "for all");
}

TEST(Nodes, C13_NothingAfterTheCommentCounts) {
  EXPECT_EQ(
      shown(parse("NodeName=n1 ThreadsPerCore=2 #RealMemory=1000 MemSpecLimit=500\n").value.nodes),
      "n1 addr=n1 cpus=2 s:c:t=1:1:2 mem=1 features= gres= weight=1");
}

TEST(Nodes, C08_PluralQuotedFeaturesAndTwoGpuTypes) {
  const Parsed<SlurmConf> parsed = parse(
      "GresTypes=gpu\nNodeName=n1\tFeatures=\"gpu,interlagos\"\tGres=gpu:gtx970:1,gpu:gtx1060:"
      "1\tSocketsPerBoard=2\n");
  EXPECT_EQ(told(parsed.diagnostics), "");
  EXPECT_EQ(shown(parsed.value.nodes),
            "n1 addr=n1 cpus=2 s:c:t=2:1:1 mem=1 features=gpu,interlagos "
            "gres=gpu:gtx970:1,gpu:gtx1060:1 weight=1");
}

TEST(Nodes, GresForms) {
  const struct {
    const char* text;
    const char* gres;
  } cases[] = {
      {"gpu:8", "gpu:8"},
      {"gpu", "gpu:1"},
      {"GPU:tesla:2(S:0,1),shard:16", "gpu:tesla:2,shard:16"},
      {"bandwidth:lustre:no_consume:4G", "bandwidth:lustre:4294967296"},
  };
  for (const auto& c : cases) {
    const Parsed<SlurmConf> parsed =
        parse(format("GresTypes=gpu,shard,bandwidth\nNodeName=n1 Gres={}\n", c.text));
    EXPECT_EQ(told(parsed.diagnostics), "") << c.text;
    EXPECT_EQ(shown(parsed.value.nodes),
              format("n1 addr=n1 cpus=1 s:c:t=1:1:1 mem=1 features= gres={} weight=1", c.gres));
  }
  EXPECT_FALSE(parse("NodeName=n1 Gres=gpu:a:b:2\n").ok());
  EXPECT_EQ(told(parse("NodeName=n[1-2] Gres=gpu:1\n").diagnostics),
            "3:1: warning: Gres=gpu is not among GresTypes; add GresTypes=gpu");
}

TEST(Nodes, FaultsHaveTheirLine) {
  const struct {
    const char* text;
    const char* diagnostics;
  } cases[] = {
      {"NodeName=n1\nNodeName=n[1-2]\n",
       "4:1: error: NodeName=n[1-2]: node n1 is defined twice; the first time in line 3"},
      {"NodeName=n1 State=SLEEPY\n",
       "3:13: error: State=SLEEPY: expected UNKNOWN, DOWN, DRAIN, FAIL, FAILING, FUTURE or CLOUD"},
      {"NodeName=n1 Sockets=0\n",
       "3:1: error: NodeName=n1: Sockets=0 is out of bounds: it is between 1 and 1000000"},
      {"NodeName=n1 CPUs=9999999\n",
       "3:1: error: NodeName=n1: CPUs=9999999 is out of bounds: it is between 1 and 1000000"},
      {"NodeName=n1 CPUs=2 CPUs=3\n",
       "3:20: warning: CPUs is given twice on this line; the last one holds"},
      {"NodeName=\n", "3:1: error: NodeName has no value; give one"},
      {"NodeName=n1 BcastAddr=x Port=[1-2]\n", ""},
      {"NodeName=n1 RestrictedCoresPerGPU=4\n",
       "3:13: warning: Phalanx does not act upon RestrictedCoresPerGPU"},
  };
  for (const auto& c : cases) EXPECT_EQ(told(parse(c.text).diagnostics), c.diagnostics) << c.text;
}

TEST(Nodes, DownNodesOverrideTheState) {
  const Parsed<SlurmConf> parsed =
      parse("DownNodes=n[1-2] State=DRAIN Reason=\"new fans\"\nNodeName=n[1-3]\n");
  EXPECT_EQ(told(parsed.diagnostics), "");
  EXPECT_EQ(parsed.value.nodes[1].state, NodeState::Drain);
  EXPECT_EQ(parsed.value.nodes[1].reason, "new fans");
  EXPECT_EQ(parsed.value.nodes[2].state, NodeState::Unknown);
}

TEST(SurveyOfFiles, C01_ASuperPod) {
  const Parsed<SlurmConf> pod = parse(
      "SelectType=select/linear\nPreemptType=preempt/"
      "partition_prio\nPreemptMode=CANCEL\nPreemptExemptTime=30:00\n"
      "SchedulerParameters=kill_invalid_depend\nProlog=/etc/slurm/prolog\nEpilog=/etc/slurm/"
      "epilog\n"
      "PrologSlurmctld=/etc/slurm/p\nTaskPluginParam=Sched,None\n"
      "NodeName=dgx-1 Procs=96 CPUs=96 State=UNKNOWN\nNodeName=dgx-2 Procs=96 State=UNKNOWN\n");
  EXPECT_EQ(told(pod.diagnostics),
            "4:1: warning: Phalanx does not act upon PreemptType\n"
            "5:1: warning: Phalanx does not act upon PreemptMode\n"
            "6:1: warning: Phalanx does not act upon PreemptExemptTime\n"
            "7:1: warning: SchedulerParameters: Phalanx does not act upon kill_invalid_depend\n"
            "8:1: warning: Phalanx does not act upon Prolog\n"
            "9:1: warning: Phalanx does not act upon Epilog\n"
            "10:1: warning: Phalanx does not act upon PrologSlurmctld\n"
            "11:1: warning: Phalanx does not act upon TaskPluginParam\n"
            "12:25: warning: CPUs is given twice on this line; the last one holds");
  EXPECT_EQ(pod.value.nodes[1].cpus, 96);
  EXPECT_EQ(pod.value.timers.preempt_exempt_time, minutes(30));
}

TEST(SurveyOfFiles, C04_ConsResBecomesConsTres) {
  const Parsed<SlurmConf> parsed = parse(
      "SelectType=select/cons_res\nProlog=/etc/slurm/prolog.d/*\n"
      "SelectTypeParameters=CR_Core_Memory,CR_CORE_DEFAULT_DIST_BLOCK,CR_ONE_TASK_PER_CORE\n");
  EXPECT_EQ(told(parsed.diagnostics),
            "3:1: warning: SelectType=select/cons_res is treated as select/cons_tres\n"
            "4:1: warning: Phalanx does not act upon Prolog");
  EXPECT_EQ(parsed.value.scripts.prolog, Words{"/etc/slurm/prolog.d/*"});
  EXPECT_TRUE(parsed.value.select.block_distribution);
  EXPECT_TRUE(parsed.value.select.one_task_per_core);
}

TEST(SurveyOfFiles, C10_GpusWithoutAType) {
  const Parsed<SlurmConf> parsed = parse(
      "GresTypes=gpu\nDefMemPerNode=64000\nNodeName=dgx CPUs=80 Sockets=2 CoresPerSocket=20 "
      "ThreadsPerCore=2 "
      "RealMemory=512000 Gres=gpu:8 State=UNKNOWN\nPartitionName=batch Nodes=dgx Default=YES "
      "DefaultTime=1-0 MaxTime=INFINITE State=UP\n");
  EXPECT_EQ(told(parsed.diagnostics), "");
  EXPECT_EQ(parsed.value.memory.def_per_node_mb, 64'000);
  EXPECT_EQ(parsed.value.nodes[0].gres, (std::vector<NodeGres>{{"gpu", "", 8, false}}));
}

TEST(SurveyOfFiles, C45_NodesOfACloud) {
  const Parsed<SlurmConf> cloud = parse(
      "ResumeProgram=/opt/"
      "resume\nSlurmctldParameters=idle_on_node_suspend,enable_configless,cloud_dns\n"
      "NodeName=queue1-st-c1-[1-2] CPUs=2 State=CLOUD Feature=static,c1\n"
      "NodeName=queue1-dy-c1-[1-3] CPUs=2 State=CLOUD Feature=dynamic,c1\n"
      "NodeSet=queue1_nodes Nodes=queue1-st-c1-[1-2],queue1-dy-c1-[1-3]\n"
      "PartitionName=queue1 Nodes=queue1_nodes MaxTime=INFINITE State=UP Default=YES "
      "SuspendTime=600\n");
  EXPECT_EQ(told(cloud.diagnostics),
            "3:1: warning: Phalanx does not act upon ResumeProgram\n"
            "4:1: warning: SlurmctldParameters: Phalanx does not act upon idle_on_node_suspend, "
            "cloud_dns\n"
            "8:79: warning: Phalanx does not act upon SuspendTime");
  EXPECT_EQ(cloud.value.partitions[0].nodes.size(), 5U);
  EXPECT_EQ(cloud.value.nodes[0].state, NodeState::Cloud);
}

TEST(SurveyOfFiles, C12_BigNumbersAreKept) {
  const Parsed<SlurmConf> parsed = parse(
      "SchedulerParameters=bf_window=43200,max_switch_wait=31536000\nJobAcctGatherFrequency=10,"
      "energy=1\nKillWait=1000\n");
  EXPECT_EQ(told(parsed.diagnostics),
            "3:1: warning: SchedulerParameters: Phalanx does not act upon max_switch_wait");
  EXPECT_EQ(parsed.value.timers.kill_wait, seconds(1000));
  EXPECT_EQ(parsed.value.raw[2].value, "bf_window=43200,max_switch_wait=31536000");
}

TEST(SurveyOfFiles, C32_EmptyValues) {
  EXPECT_EQ(told(read_conf({"",
                            "ClusterName=\nSlurmctldHost=\nSlurmctldPort=\nSlurmctldParameters="
                            "enable_configless"})
                     .diagnostics),
            "1:1: error: ClusterName has no value; give one\n2:1: error: SlurmctldHost has no "
            "value; give one");
}

TEST(SurveyOfFiles, C33_RemovedKeysOnlyWarn) {
  const Parsed<SlurmConf> parsed = parse(
      "FastSchedule=1\nControlAddr=x\nCacheGroups=0\nNodeName=n1\n"
      "PartitionName=p Nodes=n1 Priority=50 Shared=NO MaxNodes=2 DefaultTime=5-00:00:00\n");
  EXPECT_EQ(told(parsed.diagnostics),
            "3:1: warning: FastSchedule was removed in Slurm 20.02 and has no effect; "
            "SlurmdParameters=config_overrides replaces FastSchedule=2\n"
            "5:1: warning: CacheGroups was removed in Slurm 15.08 and has no effect; groups are "
            "always read when needed");
  EXPECT_EQ(parsed.value.partitions[0].priority_tier, 50);
  EXPECT_EQ(parsed.value.partitions[0].default_time, hours(120));
}

}  // namespace
}  // namespace phalanx::slurm
