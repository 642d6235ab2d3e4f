// What real Slurm 22.05 answered on the same cluster, by the recording's row id. Where a record
// covers jobs or states that the test's cluster lacks, the lines or fields that both have count.
#include "dialect/slurm/query_test_support.h"

namespace phalanx::slurm {
namespace {

constexpr const char* kAllLetters =
    "a=%a A=%A B=%B c=%c C=%C d=%d D=%D E=%E f=%f F=%F g=%g G=%G h=%h H=%H i=%i I=%I j=%j J=%J "
    "k=%k K=%K l=%l L=%L m=%m M=%M n=%n N=%N O=%O P=%P q=%q r=%r R=%R s=%s S=%S t=%t T=%T u=%u "
    "U=%U v=%v V=%V w=%w W=%W x=%x X=%X y=%y Y=%Y z=%z Z=%Z e=%e";

TEST(Golden, SqueueJob) {  // squeue-job-list, squeue-array-compact, squeue-user; times by our clock
  const QueryWorld w = recorded();
  EXPECT_EQ(w.out("squeue", {"-j", "242,243"}),
            "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
            "               242     train     run1    alice  R       0:12      2 n[1,5]\n"
            "               243     train     gpu2    alice  R       0:12      1 n1\n");
  EXPECT_EQ(w.out("squeue", {"-h", "-j", "245"}),
            "       245_[2-9%2]     train      arr    alice PD       0:00      1 "
            "(JobArrayTaskLimit)\n"
            "             245_0     train      arr    alice  R       0:12      1 n5\n"
            "             245_1     train      arr    alice  R       0:12      1 n5\n");
  EXPECT_EQ(w.out("squeue", {"-u", "bob", "-h"}),
            "               254       cpu   bobjob      bob  R       0:12      1 n7\n");
}

TEST(Golden, SqueueLong) {  // squeue-long
  const QueryWorld w = recorded();
  const std::string out = w.out("squeue", {"-l", "-j", "254,246"});
  EXPECT_EQ(
      out,
      "Mon Nov 30 08:06:20 2026\n"
      "             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES "
      "NODELIST(REASON)\n"
      "               254       cpu   bobjob      bob  RUNNING       0:12     20:00      1 n7\n"
      "               246     train     held    alice  PENDING       0:00   1:00:00      1 "
      "(JobHeldUser)\n");
}

TEST(Golden, SqueueDurationsAreNotCut) {  // squeue-long, job 258; words and other columns are
  QueryWorld w = recorded();
  w.add(258, QueryWorld::spec("longname1"), hours(26) + minutes(4));
  w.add(259, QueryWorld::spec("forever"), kForever);
  EXPECT_EQ(w.out("squeue", {"-h", "-j", "258", "-o", "%.8j %.10M %.9l %.6D|"}),
            "longname       0:00 1-02:04:00      1|\n");
  EXPECT_EQ(w.out("squeue", {"-j", "258,259", "-S", "i", "-o", "%5l|%.4L|"}),
            "TIME_|TIME|\n1-02:04:00|1-02:04:00|\nUNLIM|UNLI|\n");
  EXPECT_EQ(w.out("squeue", {"-h", "-j", "258", "-O", "TimeLimit:5"}), "1-02:\n");
  EXPECT_EQ(w.out("squeue", {"-h", "-s", "-j", "254", "-o", "%i %.2l|"}), "254.batch 20:00|\n");
}

TEST(Golden, SqueueFoldsTheNodesThatWereAskedFor) {  // squeue-o-all-pending: n=n[1-4]
  QueryWorld w = recorded();
  auto spec = QueryWorld::spec("big");
  spec->groups[0].required_nodes = {"n1", "n2", "n3", "n4"};
  spec->groups[0].excluded_nodes = {"n6", "n5"};
  w.add(300, spec, hours(1));
  EXPECT_EQ(w.out("squeue", {"-h", "-j", "300", "-o", "%n %x"}), "n[1-4] n[5-6]\n");
  EXPECT_EQ(w.out("squeue", {"-h", "-j", "300", "-O", "ReqNodes:8,ExcNodes:8"}),
            "n[1-4]  n[5-6]  \n");
}

TEST(Golden, SqueueSteps) {  // squeue-steps
  const QueryWorld w = recorded();
  EXPECT_EQ(w.out("squeue", {"-s", "-j", "254,245"}),
            "         STEPID     NAME PARTITION     USER      TIME NODELIST\n"
            "    245_0.batch    batch     train    alice      0:12 n5\n"
            "    245_1.batch    batch     train    alice      0:12 n5\n"
            "      254.batch    batch       cpu      bob      0:12 n7\n");
}

TEST(Golden, SqueueEachIndex) {  // squeue-o-array-r
  const QueryWorld w = recorded();
  const std::string out = w.out("squeue", {"-r", "-j", "245", "-o", "%i %F %K %A %T %r"});
  EXPECT_TRUE(
      out.starts_with("JOBID ARRAY_JOB_ID ARRAY_TASK_ID JOBID STATE REASON\n"
                      "245_2 245 2 245 PENDING JobArrayTaskLimit\n"));
  EXPECT_NE(out.find("245_1 245 1 266 RUNNING None\n"), std::string::npos);
  EXPECT_NE(out.find("245_0 245 0 265 RUNNING None\n"), std::string::npos);
}

TEST(Golden, SqueueSort) {  // squeue-sort, squeue-sort-desc
  const QueryWorld w = recorded();
  EXPECT_EQ(w.out("squeue", {"-S", "i", "-h", "-o", "%i"}),
            "242\n243\n245_0\n245_1\n245_[2-9%2]\n246\n254\n");
  EXPECT_EQ(w.out("squeue", {"-S", "-i", "-h", "-o", "%i"}),
            "254\n246\n245_[2-9%2]\n245_1\n245_0\n243\n242\n");
}

TEST(Golden, SqueueLetters) {  // squeue-o-all-single
  const QueryWorld w = recorded();
  const std::string out = w.out("squeue", {"-h", "-j", "243", "-o", kAllLetters});
  const auto expected = pairs_of(
      "a=chem A=243 B=n1 c=2 C=4 d=0 D=1 e=2026-11-30T10:06:08 E=(null) f=(null) F=243 g=alice "
      "G=1001 h=OK H=* i=243 I=* j=gpu2 J=* k=(null) K=N/A l=2:00:00 L=1:59:48 m=1000M M=0:12 n= "
      "N=n1 O=0 P=train q=normal r=None R=n1 s= S=2026-11-30T08:06:08 t=R T=RUNNING u=alice U=1001 "
      "v=(null) V=2026-11-30T08:06:08 w=(null) W=(null) x= X=N/A y=0 Y=(null) z=*:*:* "
      "Z=/home/alice/proj");
  EXPECT_EQ(pairs_of(out), expected);
}

TEST(Golden, SqueueWidths) {  // squeue-fmt-widths: what is no column stays as it is, with a remark
  const QueryWorld w = recorded();
  const Said said =
      w.ask("squeue", {"-j", "254", "-o", "%i|%.5i|%5i|%-8i|%8u|%.3u|%2t|%10.4u|"}).said;
  EXPECT_EQ(said.out,
            "JOBID|JOBID|JOBID|%-8i|USER    |USE|ST|%10.4u|\n"
            "254|  254|254  |%-8i|bob     |bob|R |%10.4u|\n");
  EXPECT_EQ(said.err,
            "squeue: error: Invalid job format specification: -\n"
            "squeue: error: Invalid job format specification: .\n");
  EXPECT_EQ(said.code, 0);
}

TEST(Golden, SqueueNames) {  // squeue-O-defaultwidth, -suffix, -gpu2-13, -bad
  const QueryWorld w = recorded();
  EXPECT_EQ(
      w.out("squeue", {"-j", "243", "-O", "JobID,Name,State,Reason,NodeList"}),
      "JOBID               NAME                STATE               REASON              "
      "NODELIST            \n"
      "243                 gpu2                RUNNING             None                n1     "
      "             \n");
  EXPECT_EQ(w.out("squeue", {"-j", "243", "-O", "JobID:8 ,Name:8 |,State"}),
            "JOBID    NAME     |STATE               \n"
            "243      gpu2     |RUNNING             \n");
  EXPECT_EQ(
      w.out("squeue", {"-h", "-j", "243", "-O", "tres-alloc:|,tres-per-node:|,tres-per-job:"}),
      "cpu=4,mem=4000M,node=1,billing=4,gres/gpu=2,gres/gpu:h100=2|gres:gpu:h100:2|N/A\n");
  EXPECT_EQ(w.ask("squeue", {"-O", "nosuchfield"}).said.err,
            "squeue: error: Invalid job format specification: nosuchfield\n");
}

TEST(Golden, SqueueRefusals) {  // squeue-states-bad, squeue-bad-option, squeue-job-missing-two
  const QueryWorld w = recorded();
  Said said = w.ask("squeue", {"-t", "FOO"}).said;
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(said.err.starts_with("squeue: error: Invalid job state specified: FOO\n"));
  said = w.ask("squeue", {"--frob"}).said;
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.err,
            "squeue: unrecognized option '--frob'\nTry \"squeue --help\" for more information\n");
  said = w.ask("squeue", {"-j", "99999999"}).said;
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.err, "slurm_load_jobs error: Invalid job id specified\n");
  EXPECT_EQ(w.out("squeue", {"-h", "-j", "99999999,99999998"}), "");
  EXPECT_EQ(w.out("squeue", {"-h", "-j", "99999999", "-j", "99999999"}), "");
  EXPECT_EQ(w.out("squeue", {"-h", "-p", "nosuch"}), "");
}

TEST(Golden, Sinfo) {  // sinfo-a without "planned", sinfo-p, sinfo-p-bad
  const QueryWorld w = recorded();
  EXPECT_EQ(w.out("sinfo", {}),
            "PARTITION   AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
            "train*         up 2-00:00:00      1  drain n6\n"
            "train*         up 2-00:00:00      2    mix n[1,5]\n"
            "train*         up 2-00:00:00      3   idle n[2-4]\n"
            "interactive    up    4:00:00      1    mix n1\n"
            "interactive    up    4:00:00      1   idle n2\n"
            "cpu            up   infinite      1    mix n7\n"
            "cpu            up   infinite      1   down n8\n"
            "low            up 1-00:00:00      1  drain n6\n"
            "low            up 1-00:00:00      3    mix n[1,5,7]\n"
            "low            up 1-00:00:00      3   idle n[2-4]\n"
            "low            up 1-00:00:00      1   down n8\n"
            "maint        down   infinite      1   down n8\n");
  EXPECT_EQ(w.out("sinfo", {"-p", "cpu"}),
            "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
            "cpu          up   infinite      1    mix n7\n"
            "cpu          up   infinite      1   down n8\n");
  EXPECT_EQ(w.out("sinfo", {"-p", "nosuch"}),
            "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n");
}

TEST(Golden, SinfoSummaryAndReasons) {  // sinfo-s, sinfo-R, sinfo-t
  const QueryWorld w = recorded();
  EXPECT_EQ(w.out("sinfo", {"-s", "-p", "train,interactive"}),
            "PARTITION   AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST\n"
            "train*         up 2-00:00:00          2/3/1/6 n[1-6]\n"
            "interactive    up    4:00:00          1/1/0/2 n[1-2]\n");
  EXPECT_EQ(w.out("sinfo", {"-R"}),
            "REASON               USER      TIMESTAMP           NODELIST\n"
            "bad fan              root      2026-11-30T08:06:08 n6\n"
            "disk                 root      2026-11-30T08:06:08 n8\n");
  EXPECT_EQ(w.out("sinfo", {"-t", "drain", "-h", "-p", "train,interactive"}),
            "train*         up 2-00:00:00      1  drain n6\n"
            "interactive    up    4:00:00      0    n/a \n");
  EXPECT_EQ(w.out("sinfo", {"-h", "-o", "%D,%T"}), "1,drained\n3,mixed\n3,idle\n1,down\n");
  EXPECT_EQ(w.out("sinfo", {"-h", "-o", "%P", "-p", "train,cpu"}), "train*\ncpu\n");
}

TEST(Golden, SinfoLetters) {  // sinfo-o-N-all
  const QueryWorld w = recorded();
  const std::string letters =
      "a=%a A=%A b=%b B=%B c=%c d=%d D=%D E=%E f=%f F=%F g=%g G=%G h=%h H=%H l=%l "
      "L=%L m=%m N=%N p=%p P=%P r=%r R=%R s=%s S=%S t=%t T=%T u=%u w=%w X=%X Y=%Y "
      "Z=%Z z=%z";
  const auto out = pairs_of(w.out("sinfo", {"-h", "-N", "-n", "n1", "-p", "train", "-o", letters}));
  EXPECT_EQ(out, pairs_of("a=up A=1/0 b=ib,h100,rack1 B=UNLIMITED c=16 d=0 D=1 E=none "
                          "f=ib,h100,rack1 F=1/0/0/1 g=all G=gpu:h100:8 h=NO H=Unknown "
                          "l=2-00:00:00 L=1:00:00 m=64000 N=n1 p=1 P=train* r=no R=train "
                          "s=1-infinite S=all t=mix T=mixed u=Unknown w=10 X=2 Y=8 Z=1 z=2:8:1"));
  EXPECT_EQ(
      w.out("sinfo", {"-h", "-N", "-n", "n1,n2", "-p", "train", "-O",
                      "NodeList:10,CPUsState:15,AllocMem:9,Gres:16,GresUsed:28,StateLong:12"}),
      "n1        5/11/0/16      5000     gpu:h100:8      gpu:h100:2(IDX:0-1)         mixed      "
      " \n"
      "n2        0/16/0/16      0        gpu:h100:8      gpu:h100:0(IDX:N/A)         idle       "
      " \n");
}

TEST(Golden, ScontrolJob) {  // scontrol-job-gpu: every field that both have
  const QueryWorld w = recorded();
  const auto out = pairs_of(w.out("scontrol", {"show", "job", "243"}));
  const auto expected = pairs_of(
      "JobId=243 JobName=gpu2 UserId=alice(1001) GroupId=alice(1001) MCS_label=N/A Nice=0 "
      "Account=chem QOS=normal JobState=RUNNING Reason=None Dependency=(null) Requeue=1 Restarts=0 "
      "BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:12 TimeLimit=02:00:00 TimeMin=N/A "
      "SubmitTime=2026-11-30T08:06:08 EligibleTime=2026-11-30T08:06:08 "
      "StartTime=2026-11-30T08:06:08 EndTime=2026-11-30T10:06:08 Deadline=N/A Partition=train "
      "ReqNodeList=(null) ExcNodeList=(null) NodeList=n1 BatchHost=n1 NumNodes=1 NumCPUs=4 "
      "NumTasks=2 CPUs/Task=2 ReqB:S:C:T=0:0:*:* Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=* "
      "MinCPUsNode=2 MinMemoryCPU=1000M MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00 "
      "OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null) Command=(null) "
      "WorkDir=/home/alice/proj StdErr=/dev/null StdIn=/dev/null StdOut=/dev/null "
      "TresPerNode=gres:gpu:h100:2");
  for (const auto& [key, value] : expected) EXPECT_EQ(out.at(key), value) << key;
}

TEST(Golden, ScontrolArray) {  // scontrol-job-array, -array-task, -missing, -bad
  const QueryWorld w = recorded();
  const std::string out = w.out("scontrol", {"show", "job", "245"});
  EXPECT_NE(
      out.find("JobId=245 ArrayJobId=245 ArrayTaskId=2-9%2 ArrayTaskThrottle=2 JobName=arr\n"),
      std::string::npos);
  EXPECT_TRUE(w.out("scontrol", {"show", "job", "245_0"})
                  .starts_with("JobId=265 ArrayJobId=245 ArrayTaskId=0 ArrayTaskThrottle=2 "));
  const std::string line = w.out("scontrol", {"-o", "show", "job=245_0"});
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_EQ(w.ask("scontrol", {"show", "job", "99999999"}).said,
            (Said{"", "slurm_load_jobs error: Invalid job id specified\n", 1}));
  EXPECT_EQ(w.ask("scontrol", {"show", "job", "abc"}).said,
            (Said{"", "scontrol_print_job error: Invalid job id specified\n", 1}));
}

TEST(Golden, ScontrolNode) {  // scontrol-node-d, scontrol-node-drain
  const QueryWorld w = recorded();
  const auto out = pairs_of(w.out("scontrol", {"-d", "show", "node", "n1"}));
  const auto expected = pairs_of(
      "NodeName=n1 Arch=x86_64 CoresPerSocket=8 CPUAlloc=5 CPUEfctv=16 CPUTot=16 "
      "AvailableFeatures=ib,h100,rack1 ActiveFeatures=ib,h100,rack1 Gres=gpu:h100:8 GresDrain=N/A "
      "GresUsed=gpu:h100:2(IDX:0-1) RealMemory=64000 AllocMem=5000 Sockets=2 Boards=1 State=MIXED "
      "ThreadsPerCore=1 TmpDisk=0 Weight=10 Owner=N/A MCS_label=N/A "
      "Partitions=train,interactive,low "
      "CfgTRES=cpu=16,mem=62.50G,billing=16,gres/gpu=8 AllocTRES=cpu=5,mem=5000M,gres/gpu=2");
  for (const auto& [key, value] : expected) EXPECT_EQ(out.at(key), value) << key;
  const std::string drained = w.out("scontrol", {"show", "node", "n6"});
  EXPECT_NE(drained.find("State=IDLE+DRAIN "), std::string::npos);
  EXPECT_NE(drained.find("Reason=bad fan [root@2026-11-30T08:06:08]\n"), std::string::npos);
}

TEST(Golden, ScontrolPartition) {  // scontrol-partitions, -missing
  const QueryWorld w = recorded();
  const auto out = pairs_of(w.out("scontrol", {"show", "part", "train"}));
  const auto expected = pairs_of(
      "PartitionName=train AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL "
      "Default=YES QoS=N/A DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 "
      "Hidden=NO MaxNodes=UNLIMITED MaxTime=2-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED "
      "Nodes=n[1-6] PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO "
      "OverTimeLimit=NONE State=UP TotalCPUs=96 TotalNodes=6 SelectTypeParameters=NONE "
      "JobDefaults=(null) DefMemPerCPU=1000 MaxMemPerNode=UNLIMITED "
      "TRES=cpu=96,mem=375G,node=6,billing=96,gres/gpu=40");
  for (const auto& [key, value] : expected) EXPECT_EQ(out.at(key), value) << key;
  EXPECT_EQ(w.ask("scontrol", {"show", "partition", "nosuch"}).said,
            (Said{"Partition nosuch not found\n", "", 1}));
}

// Job 273 of the recording: an array of three that ended with 0, 1 and 2.
QueryWorld accounted() {
  QueryWorld w = recorded();
  const Time done = w.now - seconds(5);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    Workload job = w.add(273 + i, QueryWorld::spec("arr"), hours(1));
    job.array_number = 273;
    job.array_index = i;
    w.run(job, {5}, 1, 1000);
    QueryWorld::end(job, i == 1 ? EndCause::completed : EndCause::failed,
                    static_cast<std::int32_t>(i) - 1, done);
    w.state.workloads.erase(job.id);
    w.archive.push_back(job);
  }
  return w;
}

TEST(Golden, SacctArray) {  // sacct-array, sacct-array-task, sacct-batch-step, sacct-missing
  const QueryWorld w = accounted();
  EXPECT_EQ(w.out("sacct", {"-j", "273"}),
            "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n"
            "------------ ---------- ---------- ---------- ---------- ---------- -------- \n"
            "273_1               arr      train    physics          1  COMPLETED      0:0 \n"
            "273_1.batch       batch               physics          1  COMPLETED      0:0 \n"
            "273_2               arr      train    physics          1     FAILED      1:0 \n"
            "273_2.batch       batch               physics          1     FAILED      1:0 \n"
            "273_3               arr      train    physics          1     FAILED      2:0 \n"
            "273_3.batch       batch               physics          1     FAILED      2:0 \n");
  EXPECT_EQ(w.out("sacct", {"-n", "-j", "273_2.batch"}),
            "273_2.batch       batch               physics          1     FAILED      1:0 \n");
  EXPECT_EQ(w.out("sacct", {"-n", "-bP", "-j", "273_2"}),
            "273_2|FAILED|1:0\n273_2.batch|FAILED|1:0\n");
  EXPECT_EQ(w.out("sacct", {"-n", "-j", "99999999"}), "");
}

TEST(Golden, SacctRefusals) {  // sacct-state-bad, sacct-bad-field, sacct-time-bad
  const QueryWorld w = accounted();
  EXPECT_EQ(w.ask("sacct", {"-s", "FOO"}).said,
            (Said{"", "sacct: fatal: unrecognized job state value 'FOO'\n", 1}));
  EXPECT_EQ(w.ask("sacct", {"-o", "nosuch"}).said,
            (Said{"", "sacct: error: Invalid field requested: \"nosuch\"\n", 1}));
  EXPECT_EQ(w.ask("sacct", {"-S", "notatime"}).said,
            (Said{"", "Invalid time specification (pos=0): notatime\n", 1}));
}

TEST(Golden, SacctGpus) {  // sacct-noconvert's form; Phalanx adds types and exact seconds
  const QueryWorld w = accounted();
  EXPECT_EQ(w.out("sacct", {"-j", "243", "-X", "-P", "-o", "JobID,ReqMem,AllocTRES,GPUSeconds"}),
            "JobID|ReqMem|AllocTRES|GPUSeconds\n"
            "243|4000M|billing=4,cpu=4,gres/gpu=2,gres/gpu:h100=2,mem=4000M,node=1|24.000\n");
  EXPECT_EQ(w.out("sacct", {"-j", "243", "-P", "-o", "JobID,GPUSeconds,CPUSeconds,MemorySeconds"}),
            "JobID|GPUSeconds|CPUSeconds|MemorySeconds\n"
            "243|24.000|48.000|48000.000\n"
            "243.batch|24.000|48.000|48000.000\n");
  EXPECT_NE(w.out("sacct", {"-e"}).find("CPUSeconds"), std::string::npos);
  EXPECT_NE(w.out("sacct", {"-e"}).find("MemorySeconds"), std::string::npos);
  EXPECT_EQ(w.out("sacct", {"-j", "243", "-X", "-n", "-P", "-o", "cpu"}), "00:00:48\n");
}

}  // namespace
}  // namespace phalanx::slurm
