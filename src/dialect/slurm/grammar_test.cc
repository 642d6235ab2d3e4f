#include "dialect/slurm/grammar.h"

#include <gtest/gtest.h>

namespace phalanx::slurm {
namespace {

TEST(Memory, IsReadByTheRuleOfMbytes) {
  const std::tuple<const char*, int, const char*> cases[] = {
      {"2048K", 2, "2M"},                        // slurm 1.4.20
      {"32g", 32768, "32G"},                     // slurm 1.4.20
      {"1GB", 1024, "1G"},                       // slurm 1.4.20
      {"100mb", 100, "100M"},                    // slurm 1.4.20
      {"100", 100, "100M"},                      // S048
      {"440gb", 450560, "440G"},                 // S019
      {"512K", 1, "1M"},                         // B014: rounds up
      {"1025K", 2, "2M"},        {"0", 0, "0"},  // all of the node
      {"1T", 1048576, "1T"},     {"1536M", 1536, "1536M"},
  };
  for (const auto& [text, mbytes, printed] : cases) {
    EXPECT_EQ(*parse_mbytes(text), mbytes) << text;
    EXPECT_EQ(print_mbytes(mbytes), printed);
  }
}

TEST(Memory, RefusesFractionsAndOtherUnits) {
  for (const char* text :
       {"1.5G", "2.5gb", "10GiB", "-1", "", "G", "10X", "MaxMemPerNode" /* S106 */, "10 G", "1GBs",
        "99999999999999999999", "9999999999T"})
    EXPECT_FALSE(parse_mbytes(text).ok()) << text;
}

TEST(Count, B017_FollowsTheOtherUnitRule) {
  EXPECT_EQ(*parse_count("22g"), 22ull << 30);  // S129
  EXPECT_EQ(*parse_count("22gib"), 22ull << 30);
  EXPECT_EQ(*parse_count("22gb"), 22'000'000'000ull);
  EXPECT_EQ(*parse_count("1K"), 1024u);
  EXPECT_EQ(*parse_count("1kb"), 1000u);
  EXPECT_EQ(*parse_count("0"), 0u);
  for (const char* text : {"", "abc", "1.5", "-1", "1x", "1gbb", "99999999p"})
    EXPECT_FALSE(parse_count(text).ok()) << text;
}

TEST(Nodes, ReadsANumberOrARange) {
  EXPECT_EQ(*parse_nodes("2"), (NodeCount{2, 2}));
  EXPECT_EQ(*parse_nodes("1-4"), (NodeCount{1, 4}));
  EXPECT_EQ(*parse_nodes("1k"), (NodeCount{1024, 1024}));
  EXPECT_EQ(print_nodes({1, 4}), "1-4");
  for (const char* text : {"abc", "4-2", "0", "2-", "-2", "", "1.5", "$NUM_NODES" /* S031 */})
    EXPECT_FALSE(parse_nodes(text).ok()) << text;
}

TEST(Signal, ReadsTargetSignalAndSeconds) {
  const std::pair<const char*, SignalSpec> cases[] = {
      {"USR1", {10, 60, false, false}},       {"B:USR1@120", {10, 120, true, false}},  // S061
      {"SIGUSR1@90", {10, 90, false, false}},                                          // S118
      {"2@60", {2, 60, false, false}},                                                 // S110
      {"TERM@0", {15, 0, false, false}},      {"R:usr2@65535", {12, 65535, false, true}},
      {"RB:10", {10, 60, true, true}},
  };
  for (const auto& [text, spec] : cases) {
    EXPECT_EQ(*parse_signal(text), spec) << text;
    EXPECT_EQ(*parse_signal(print_signal(spec)), spec) << text;
  }
  for (const char* text : {"", "FOO@60", "USR1@70000", "USR1@", "X:USR1", "0", "99", "B:"})
    EXPECT_FALSE(parse_signal(text).ok()) << text;
}

TEST(Printing, ExitCodesAndRuns) {
  EXPECT_EQ(print_exit_code({0, 9}), "0:9");  // slurm 1.4.20
  EXPECT_EQ(print_exit_code({3, 0}), "3:0");
  EXPECT_EQ(print_runs(std::vector<std::uint32_t>{2, 2, 2, 1}), "2(x3),1");  // B046
  EXPECT_EQ(print_runs(std::vector<std::uint32_t>{72, 72, 36}), "72(x2),36");
  EXPECT_EQ(print_runs(std::vector<std::uint32_t>{3, 1}), "3,1");
  EXPECT_EQ(*parse_runs("2(x3),1"), (std::vector<std::uint32_t>{2, 2, 2, 1}));
  for (const char* text : {"2(x)", "2(x3", "x", "1,", "1(x99999999999)"})
    EXPECT_FALSE(parse_runs(text).ok()) << text;
}

TEST(MailTypes, IgnoresCaseAndRefusesStrangers) {
  EXPECT_EQ(*parse_mail_types("end,FAIL"), (std::vector<std::string>{"END", "FAIL"}));
  EXPECT_TRUE(parse_mail_types("NONE")->empty());
  EXPECT_EQ(*parse_mail_types("time_limit_90"), (std::vector<std::string>{"TIME_LIMIT_90"}));
  EXPECT_FALSE(parse_mail_types("foo").ok());
}

TEST(JobStates, HaveLongAndCompactNames) {
  EXPECT_EQ(find_job_state("pd")->name, "PENDING");
  EXPECT_EQ(find_job_state("OUT_OF_MEMORY")->compact, "OOM");
  EXPECT_EQ(find_job_state("CG")->name, "COMPLETING");
  EXPECT_FALSE(find_job_state("SLEEPING"));
}

TEST(OutputPattern, Slurm1_4_10) {
  PatternValues v;
  v.job_id = 117;
  v.job_name = "pat";
  v.user = "alice";
  v.node_name = "vm";
  const auto expand = [&](std::string_view pattern) { return expand_pattern(pattern, v); };
  // The pattern and the answer of a real Slurm 22.05 (golden "ls-patterns").
  EXPECT_EQ(expand("out-%j-%x-%u-%N-%n-%t-%s-%A-%a-%%-%5j-%q.txt"),
            "out-117-pat-alice-vm-0-0-batch-117-4294967294-%-00117-%q.txt");
  EXPECT_EQ(expand("%J"), "117");  // S051: a batch script's is the job id
  EXPECT_EQ(expand("log_$USER_%Y-%m-%d.out"), "log_$USER_%Y-%m-%d.out");  // S114
  EXPECT_EQ(expand("a\\%j"), "a%j");  // a backslash switches expansion off
  EXPECT_EQ(expand("%"), "%");
  EXPECT_EQ(expand("%9"), "%9");
  EXPECT_EQ(expand("%999999j"), "0000000117");  // at most ten digits
  v.array_job_id = 118;
  v.array_index = 37;
  EXPECT_EQ(expand("arr-%A_%a-%4a-%b.txt"), "arr-118_37-0037-7.txt");  // S115
  v.step = "0";
  v.task = 3;
  EXPECT_EQ(expand("srun-%J-%s-%t"), "srun-117.0-0-3");
  v.job_name = "../../etc/x";
  EXPECT_EQ(expand("%x.out"), ".._.._etc_x.out");  // B164
  v.job_name = "..";
  EXPECT_EQ(expand("%x/out"), "_/out");
}

}  // namespace
}  // namespace phalanx::slurm
