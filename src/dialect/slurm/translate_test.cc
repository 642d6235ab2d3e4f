#include "dialect/slurm/translate.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace phalanx::slurm {
namespace {

constexpr std::int64_t kGibi = std::int64_t{1} << 30;

ClusterConfig cluster() {
  ClusterConfig config;
  Partition main;
  main.name = "main";
  main.is_default = true;
  Partition small;
  small.name = "small";
  small.default_memory_per_cpu = kGibi;
  small.default_time = hours(1);
  small.max_time = hours(4);
  config.partitions = {main, small};
  return config;
}

SubmitRequest request_of(const std::string& options, const std::string& script = "#!/bin/sh\n") {
  SubmitRequest request;
  request.script = script;
  request.script_name = "/home/anna/job.sh";
  request.work_dir = "/home/anna";
  std::vector<std::string> words;
  for (const std::string_view word : split_blanks(options)) words.emplace_back(word);
  request.tokens = command_line_tokens(words);
  return request;
}

Result<Submission> submit(
    const SubmitRequest& request, const ClusterConfig& config = cluster(),
    const FindJob& find_job = [](JobNumber, auto) { return std::optional<KnownJob>(); }) {
  const auto options = read_options(request, config, from_unix_ms(0));
  if (const Diagnostic* error = options.first_error()) return invalid(error->message);
  Identity anna;
  anna.uid = 1001;
  anna.user = "anna";
  const SubmitContext context{config, anna, request, "script", "env", find_job};
  return translate(context, options.value);
}

std::string gpus(const std::vector<GpuRequest>& list) {
  std::string out;
  for (const GpuRequest& g : list)
    out += format("{}{}{}", out.empty() ? "" : "+", g.type.empty() ? "" : g.type + ":", g.count);
  return out;
}

std::string describe(const TaskGroup& g) {
  std::string out = format("{} on {}-{}", g.tasks, g.nodes_min, g.nodes_max);
  if (g.tasks_per_node > 0) out += format(" by {}", g.tasks_per_node);
  if (g.per_task.cpus != Quantity::of(1)) out += format(" cpus {}", to_string(g.per_task.cpus));
  if (!g.per_task.gpus.empty()) out += " task gpus " + gpus(g.per_task.gpus);
  if (!g.per_node.gpus.empty()) out += " node gpus " + gpus(g.per_node.gpus);
  if (!g.gpus_in_all.empty()) out += " gpus " + gpus(g.gpus_in_all);
  if (g.per_task.memory > 0) out += format(" task mem {}", g.per_task.memory >> 20);
  if (g.per_node.memory > 0) out += format(" node mem {}", g.per_node.memory >> 20);
  if (g.all_memory) out += " all memory";
  if (g.exclusive) out += " exclusive";
  return out;
}

struct ShapeCase {
  const char* options;
  const char* shape;
};

TEST(Translate, EverySpellingOfAShapeLandsInTheSameMembers) {
  const ShapeCase cases[] = {
      {"", "1 on 1-0"},
      {"-n4", "4 on 1-0"},
      {"-N2", "2 on 2-2"},
      {"-N2 -n4", "4 on 2-2"},
      {"-N2-4", "2 on 2-4"},
      {"-N2 --ntasks-per-node=4", "8 on 2-2 by 4"},
      {"-n8 --ntasks-per-node=4", "8 on 2-0 by 4"},
      {"-n2 -c4", "2 on 1-0 cpus 4"},
      {"-N9 -n1", "1 on 1-1"},
      {"-w n[1-3]", "3 on 3-0"},
      {"--gres=gpu:2", "1 on 1-0 node gpus 2"},
      {"--gres=gpu", "1 on 1-0 node gpus 1"},
      {"--gres=gpu:0", "1 on 1-0"},
      {"--gres=gpu:rtxpro6000:8 -N2 --ntasks-per-node=8", "16 on 2-2 by 8 node gpus rtxpro6000:8"},
      {"--gpus-per-node=mi250:8", "1 on 1-0 node gpus mi250:8"},
      {"--gpus=4", "0 on 1-0 gpus 4"},
      {"-G a100:10", "0 on 1-0 gpus a100:10"},
      {"--gpus=10 -N2", "2 on 2-2 gpus 10"},
      {"--gpus=10 -N1-4", "0 on 1-4 gpus 10"},
      {"--gpus=10 -n4", "4 on 1-0 gpus 10"},
      {"--gpus=10 --ntasks-per-node=2", "0 on 1-0 by 2 gpus 10"},
      {"--gpus=a100:4,v100:2", "0 on 1-0 gpus a100:4+v100:2"},
      {"-n4 --gpus-per-task=1", "4 on 1-0 task gpus 1"},
      {"--gpus=8 --gpus-per-task=2", "4 on 1-0 task gpus 2"},
      {"-N2 --ntasks-per-node=4 --gpus-per-task=1", "8 on 2-2 by 4 task gpus 1"},
      {"--gpus=8 --gpus-per-node=4", "2 on 2-2 node gpus 4"},
      {"-N2 --gres=gpu:4 --gpus-per-task=1", "8 on 2-2 by 4 task gpus 1"},
      {"--mem=2G", "1 on 1-0 node mem 2048"},
      {"--mem=0", "1 on 1-0 all memory"},
      {"--mem-per-cpu=1G -c4", "1 on 1-0 cpus 4 task mem 4096"},
      {"--mem-per-gpu=2G --gpus-per-node=4", "1 on 1-0 node gpus 4 node mem 8192"},
      {"--mem-per-gpu=2G --gpus=7", "0 on 1-0 gpus 7 node mem 14336"},
      {"--mem-per-gpu=2G --gpus=7 -N3", "3 on 3-3 gpus 7 node mem 10240"},
      {"-p small -n2 -c2", "2 on 1-0 cpus 2 task mem 2048"},
      {"--exclusive", "1 on 1-0 exclusive"},
  };
  for (const ShapeCase& c : cases) {
    const auto submission = submit(request_of(c.options));
    ASSERT_TRUE(submission.ok()) << c.options << ": " << submission.error().message;
    EXPECT_EQ(describe(submission->spec.groups.front()), c.shape) << c.options;
  }
}

TEST(Translate, WhatMakesNoSenseIsRefusedWithTheReason) {
  const ShapeCase cases[] = {
      {"--gres=tpu:1", "Invalid generic resource (gres) specification"},
      {"--gpus=7 --gpus-per-node=2", "--gpus=7 does not go with"},
      {"-N1 -w n1,n2", "Required nodelist includes more nodes"},
      // Golden p-gpus-per-task-no-ntasks
      {"--gpus-per-task=1", "--gpus-per-task used without either --gpus or -n/--ntasks is not"},
      {"-N2 --gpus-per-task=1", "--gpus-per-task used without either --gpus or -n/--ntasks is not"},
      {"--mem-per-gpu=2G", "--mem-per-gpu needs to know"},
      {"-p main,nosuch", "Invalid partition name specified: 'nosuch'"},
      {"-C a100*2", "counts of nodes"},
      {"-d afterok:77", "Job dependency problem"},
      {"-d aftercorr:77", "Job dependency problem"},
  };
  for (const ShapeCase& c : cases) {
    const auto submission = submit(request_of(c.options));
    ASSERT_FALSE(submission.ok()) << c.options;
    EXPECT_NE(submission.error().message.find(c.shape), std::string::npos)
        << c.options << ": " << submission.error().message;
  }
}

TEST(Translate, MemoryThatNobodyAskedForIsAllOfTheNodeOnlyWhereMemoryIsCounted) {
  ClusterConfig config = cluster();
  EXPECT_FALSE(submit(request_of(""), config)->spec.groups.front().all_memory);
  config.count_memory = true;
  EXPECT_TRUE(submit(request_of(""), config)->spec.groups.front().all_memory);
}

TEST(Translate, APartitionsDefaultsForNodesAndGpus) {
  ClusterConfig config = cluster();
  config.partitions.front().min_nodes = 2;
  config.partitions.front().default_memory_per_gpu = kGibi;
  const auto shape = [&](const std::string& options) {
    return describe(submit(request_of(options), config)->spec.groups.front());
  };
  EXPECT_EQ(shape(""), "2 on 2-0");
  EXPECT_EQ(shape("-N1"), "1 on 1-1");
  EXPECT_EQ(shape("--gpus-per-node=4"), "2 on 2-0 node gpus 4 node mem 4096");
  EXPECT_EQ(shape("--gpus=7"), "0 on 2-0 gpus 7 node mem 6144");
  EXPECT_EQ(shape("--gpus-per-node=4 --mem=1G"), "2 on 2-0 node gpus 4 node mem 1024");
}

TEST(Translate, TheCommandIsKeptAsTypedUnlessItIsVeryLong) {
  SubmitRequest request = request_of("");
  request.line = "sbatch -N1 '--wrap=sleep 10'";
  EXPECT_EQ(submit(request)->spec.submit_line, request.line);
  request.line = std::string(4095, 'x') + "ä" + "yyy";
  EXPECT_EQ(submit(request)->spec.submit_line, std::string(4095, 'x') + "…");
}

TEST(Translate, AHintIsOneThatSlurmKnows) {
  EXPECT_EQ(submit(request_of("--hint=nomultithread"))->spec.asked.at("hint"), "nomultithread");
  EXPECT_TRUE(submit(request_of("--hint=COMPUTE_BOUND,multithread")).ok());
  for (const char* wrong : {"--hint=foo", "--hint=compute", "--hint=", "--hint=multithread,"})
    EXPECT_FALSE(submit(request_of(wrong)).ok()) << wrong;
}

TEST(Translate, ConstraintsBecomeAlternatives) {
  const auto alternatives = [](const std::string& text) {
    return submit(request_of("-C " + text))->spec.groups.front().constraint;
  };
  using Sets = std::vector<std::vector<std::string>>;
  EXPECT_EQ(alternatives("knl,quad").any_of, (Sets{{"knl", "quad"}}));
  EXPECT_EQ(alternatives("a100|h100").any_of, (Sets{{"a100"}, {"h100"}}));
  EXPECT_EQ(alternatives("(a|b)&c").any_of, (Sets{{"a", "c"}, {"b", "c"}}));
  EXPECT_TRUE(alternatives("[r1|r2]").same_everywhere);
}

TEST(Translate, TheScriptYieldsToTheCommandLine) {  // B030
  const auto s = submit(request_of("-J mine", "#!/bin/sh\n#SBATCH -J theirs -n 3\n#SBATCH -t 5\n"));
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->spec.name, "mine");
  EXPECT_EQ(s->spec.groups.front().tasks, 3);
  EXPECT_EQ(s->spec.limit, minutes(5));
  EXPECT_TRUE(s->spec.tasks_given);
}

TEST(Translate, NamesAndFilesHaveSlurmsDefaults) {
  EXPECT_EQ(submit(request_of(""))->spec.name, "job.sh");
  EXPECT_EQ(submit(request_of("--wrap=hostname"))->spec.name, "wrap");
  const auto s = submit(request_of("-D logs -o %x-%j.out --open-mode=append"));
  EXPECT_EQ(s->spec.launch.work_dir, "/home/anna/logs");
  EXPECT_EQ(s->spec.launch.std_out, "%x-%j.out");
  EXPECT_TRUE(s->spec.launch.append);
  EXPECT_EQ(s->spec.launch.script, "script");
  EXPECT_EQ(s->spec.command, "/home/anna/job.sh");
}

TEST(Translate, ArraysSignalsAndHolds) {
  const auto s = submit(request_of("--array=3-9:3%2 --signal=B:USR1@120 -H --no-requeue"));
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->array->pending, (std::set<std::uint32_t>{3, 6, 9}));
  EXPECT_EQ(s->array->at_once, 2U);
  EXPECT_EQ(s->spec.launch.warn.signal, 10);
  EXPECT_EQ(s->spec.launch.warn.before, seconds(120));
  EXPECT_TRUE(s->spec.launch.warn.shell_only);
  EXPECT_TRUE(s->hold);
  EXPECT_FALSE(s->spec.requeue);
}

TEST(Translate, DependenciesOnJobsThatAreGoneAreSettledNow) {
  const FindJob find = [](JobNumber number, auto) -> std::optional<KnownJob> {
    if (number == 5) return KnownJob{WorkloadId{50}, false, false};
    if (number == 6) return KnownJob{{}, true, true};
    if (number == 7) return KnownJob{{}, true, false};
    return std::nullopt;
  };
  const auto on = [&](const std::string& text) {
    return submit(request_of("-d " + text), cluster(), find);
  };
  ASSERT_EQ(on("afterok:5:6")->spec.dependencies.size(), 1U);
  EXPECT_EQ(on("afterok:5:6")->spec.dependencies.front().on, WorkloadId{50});
  EXPECT_TRUE(on("afternotok:7")->spec.dependencies.empty());
  EXPECT_FALSE(on("afterok:8").ok());
  EXPECT_TRUE(on("afterany:5?afterok:6")->spec.dependencies.empty());
  EXPECT_EQ(on("singleton")->spec.dependencies.front().kind, phalanx::DependencyKind::singleton);
}

TEST(Translate, ADependencyThatNeverComesTrueIsKeptAndNamed) {
  const FindJob find = [](JobNumber number, auto) -> std::optional<KnownJob> {
    if (number == 5) return KnownJob{WorkloadId{50}, false, false};
    return KnownJob{{}, true, number == 6};  // 6 completed, 7 failed; both are gone
  };
  struct Case {
    const char* option;
    std::vector<WorkloadId> on;
    const char* names;
  };
  const Case cases[] = {
      {"afterok:7", {{}}, "7"},
      {"afternotok:6", {{}}, "6"},
      {"afterok:6:7:5,singleton", {{}, WorkloadId{50}, {}}, "7,5,"},
      {"afterok:7?afterok:5", {{}, WorkloadId{50}}, "7,5"},
  };
  for (const Case& c : cases) {
    const auto s = submit(request_of(std::string("-d ") + c.option), cluster(), find);
    ASSERT_TRUE(s.ok()) << c.option << ": " << s.error().message;
    std::vector<WorkloadId> on;
    for (const phalanx::Dependency& d : s->spec.dependencies) on.push_back(d.on);
    EXPECT_EQ(on, c.on) << c.option;
    EXPECT_EQ(s->spec.asked.at(kDependencyNames), c.names) << c.option;
  }
}

TEST(Translate, NoLimitIsNotTheDefaultLimit) {
  EXPECT_EQ(submit(request_of("-p small"))->spec.limit, kForever);
  EXPECT_EQ(submit(request_of("-p small -t 0"))->spec.limit, kNoLimit);
  EXPECT_EQ(submit(request_of("-p small -t infinite"))->spec.limit, kNoLimit);
  EXPECT_EQ(submit(request_of("-t 0"))->spec.limit, kForever);
}

TEST(Translate, OneLauncherATaskIsPointedOut) {
  const std::string qwen =
      "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n"
      "#SBATCH --gres=gpu:rtxpro6000:8\n\n"
      "srun python -m torch.distributed.run \\\n    --nnodes=2 --nproc-per-node=8 \\\n    "
      "train.py\n";
  const auto said = submit(request_of("", qwen))->spec.warnings;
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said.front(),
            "srun starts 16 launchers, and each of them starts 8 processes: 128 processes for 16 "
            "GPUs. Did you mean --ntasks-per-node=1?");
  const std::string right =
      "#!/bin/bash\n#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\n"
      "srun --ntasks-per-node=1 torchrun --nproc_per_node=8 train.py\n";
  EXPECT_TRUE(submit(request_of("", right))->spec.warnings.empty());
}

// --- steps

Workload running(std::int64_t nodes, std::int64_t tasks_each) {
  Workload w;
  w.number = 7;
  auto spec = std::make_shared<WorkloadSpec>();
  spec->tasks_per_node = tasks_each;
  w.spec = std::move(spec);
  w.current.emplace();
  for (std::int64_t i = 0; i < nodes; ++i) {
    NodeShare share;
    share.node = NodeId{static_cast<std::uint64_t>(i + 1)};
    share.tasks = tasks_each;
    w.current->shares.push_back(share);
  }
  return w;
}

struct StepCase {
  const char* options;
  const char* inherited;  // words that the job's variables say
  const char* shape;
};

TEST(TranslateStep, TakesTheJobsShapeUnlessItSaysOtherwise) {
  const StepCase cases[] = {
      {"", "", "16 on 4-0"},
      {"", "--nodes=4 --ntasks=16 --ntasks-per-node=4", "16 on 4-0"},
      {"-n1", "--nodes=4 --ntasks=16", "1 on 1-0"},
      {"-N1", "--nodes=4 --ntasks=16 --ntasks-per-node=4", "4 on 1-1"},
      {"-N1 -n1", "--nodes=4 --ntasks=16", "1 on 1-1"},
      {"--ntasks-per-node=1", "--nodes=4 --ntasks=16 --ntasks-per-node=4", "4 on 4-0 by 1"},
      {"-N2 --ntasks-per-node=1", "--ntasks=16", "2 on 2-2 by 1"},
      {"-n2 -c4", "", "2 on 1-0 cpus 4"},
      {"-n1 --gres=gpu:1", "", "1 on 1-0 node gpus 1"},
      {"-n2 --gpus-per-task=2", "", "2 on 1-0 task gpus 2"},
      {"--gres=none -n1", "", "1 on 1-0 node gpus 0"},
  };
  for (const StepCase& c : cases) {
    std::vector<Token> tokens = request_of(c.inherited).tokens;
    for (Token& token : tokens) token.origin = Origin::Environment;
    for (const Token& token : request_of(c.options).tokens) tokens.push_back(token);
    const auto options = parse_tokens(Tool::Srun, tokens);
    ASSERT_TRUE(options.ok()) << c.options << ": " << options.first_error()->message;
    auto plan = translate_step(running(4, 4), options.value, "/bin/true");
    ASSERT_TRUE(plan.ok()) << c.options;
    TaskGroup& g = plan->request.shape;
    if (g.per_task.cpus == Quantity()) g.per_task.cpus = Quantity::of(1);
    EXPECT_EQ(describe(g), c.shape) << c.options;
    EXPECT_EQ(plan->request.name, "true");
  }
}

TEST(TranslateStep, RanksGoRoundTheNodesWhenThatIsAskedFor) {
  struct Case {
    const char* option;
    bool cyclic;
    bool warns;
  };
  const Case cases[] = {{"-n4", false, false},
                        {"-m block", false, false},
                        {"-m cyclic", true, false},
                        {"-m cyclic:block", true, true},
                        {"-m block:cyclic", false, true},
                        {"-m plane=2", false, true}};
  for (const Case& c : cases) {
    const auto options = parse_tokens(Tool::Srun, request_of(c.option).tokens);
    ASSERT_TRUE(options.ok()) << c.option;
    EXPECT_EQ(!options.diagnostics.empty(), c.warns) << c.option;
    EXPECT_EQ(translate_step(running(2, 2), options.value, "true")->request.cyclic, c.cyclic)
        << c.option;
  }
  EXPECT_EQ(submit(request_of("-m cyclic"))->spec.asked.at("distribution"), "cyclic");
}

TEST(TranslateStep, MoreNodesThanTheJobHasAreRefused) {
  const auto options = parse_tokens(Tool::Srun, request_of("-N5").tokens);
  const auto plan = translate_step(running(2, 1), options.value, "true");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message, "Only allocated 2 nodes asked for 5");
}

}  // namespace
}  // namespace phalanx::slurm
