#include "dialect/slurm/options.h"

#include <gtest/gtest.h>

#include <set>

#include "base/codec.h"
#include "base/text.h"
#include "dialect/slurm/script.h"

namespace phalanx::slurm {
namespace {

// Words by blanks; "'a b'" is not needed here.
Parsed<JobOptions> parse(Tool tool, std::string_view line, const ParseContext& context = {}) {
  std::vector<std::string> words;
  for (const std::string_view word : split_blanks(line)) words.emplace_back(word);
  return parse_tokens(tool, command_line_tokens(words), context);
}
Parsed<JobOptions> sbatch(std::string_view line) { return parse(Tool::Sbatch, line); }
Parsed<JobOptions> srun(std::string_view line) { return parse(Tool::Srun, line); }

std::string error_of(const Parsed<JobOptions>& parsed) {
  return parsed.first_error() == nullptr ? "" : parsed.first_error()->message;
}

// What sbatch makes of a script's directives.
Parsed<JobOptions> submit(std::string_view directives, std::string_view command_line = "") {
  std::string text = "#!/bin/bash\n";
  for (const std::string_view line : split(directives, '\n')) text += format("#SBATCH {}\n", line);
  std::vector<Token> tokens = read_script(text, "job.sh").value.components.at(0);
  std::vector<std::string> words;
  for (const std::string_view word : split_blanks(command_line)) words.emplace_back(word);
  for (Token& token : command_line_tokens(words)) tokens.push_back(std::move(token));
  return parse_tokens(Tool::Sbatch, tokens);
}

TEST(Options, AreReadAsGetoptDoes) {
  const auto parsed = sbatch("-N2 -n 4 --time=1:00:00 --job-name train -vv -c8 run.sh --mem=3 -N9");
  ASSERT_TRUE(parsed.ok());
  const JobOptions& o = parsed.value;
  EXPECT_EQ(o.nodes, (NodeCount{2, 2}));
  EXPECT_EQ(o.ntasks, 4u);
  EXPECT_EQ(o.time_limit, hours(1));
  EXPECT_EQ(o.job_name, "train");
  EXPECT_EQ(o.verbose, 2u);
  EXPECT_EQ(o.cpus_per_task, 8u);
  EXPECT_EQ(o.arguments,
            (std::vector<std::string>{"run.sh", "--mem=3", "-N9"}));  // S024: the script's own
  EXPECT_FALSE(o.mem);
  EXPECT_EQ(sbatch("-N1 -- -odd.sh x").value.arguments, (std::vector<std::string>{"-odd.sh", "x"}));
  EXPECT_EQ(sbatch("-N1 -N3").value.nodes, (NodeCount{3, 3}));  // the last wins
}

TEST(Options, TakeUniquePrefixes) {
  EXPECT_EQ(
      sbatch("--out=a --err=b --depend=afterok:1 --constrain=x --exclusiv --job=j").value.output,
      "a");
  EXPECT_EQ(sbatch("--exclusiv").value.exclusive, Exclusive::Node);  // S091
  EXPECT_EQ(sbatch("--tasks=4").value.ntasks_per_node, 4u);
  EXPECT_EQ(sbatch("--tasks-per-node=4").value.ntasks_per_node, 4u);
  EXPECT_EQ(error_of(sbatch("--gre=gpu:1")),  // S090
            "option '--gre=gpu:1' is ambiguous; possibilities: '--gres' '--gres-flags'");
  EXPECT_EQ(error_of(sbatch("--nod=3")),  // golden "ambiguous-option"
            "option '--nod=3' is ambiguous; possibilities: '--nodefile' '--nodelist' '--nodes'");
  EXPECT_EQ(srun("--cpu_bind=none").value.step.cpu_bind, "none");
}

TEST(Options, NameWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"--frob", "unrecognized option '--frob'"},
      {"--workdir=/x", "unrecognized option '--workdir'"},                // S085
      {"--mem-per-task=43750M", "unrecognized option '--mem-per-task'"},  // S130
      {"--include=GPU627A", "unrecognized option '--include'"},           // S096
      {"-Y", "invalid option -- 'Y'"},
      {"-N", "option requires an argument -- 'N'"},
      {"--nodes", "option '--nodes' requires an argument"},
      {"--hold=1", "option '--hold' doesn't allow an argument"},
      {"-Nabc", "\"abc\" is not a valid node count"},
      {"-N4-2", "Maximum node count 2 is less than minimum node count 4"},
      {"-t abc", "Invalid --time specification"},
      {"--time=05:00:00:00", "Invalid --time specification"},  // S085
      {"--mem=1.5G", "Invalid --mem specification"},           // slurm 1.4.20
      {"--mem=MaxMemPerNode", "Invalid --mem specification"},  // S106
      {"-c0", "Invalid numeric value \"0\" for --cpus-per-task"},
      {"-n-1", "Invalid numeric value \"-1\" for --ntasks"},
      {"--signal=FOO@60", "Invalid --signal specification"},
      {"-d foo:1", "Job dependency problem"},
      {"--gres=gpu:", "Invalid generic resource (gres) specification"},
      {"-array=1-45", "Invalid job array specification"},               // S093: -a rray=1-45
      {"-w node]1-2[", "--nodelist: Invalid host list \"node]1-2[\""},  // B003
      {"-x node[0-2000000]", "more than 65536 hosts"},                  // B003
      {"-C a&", "Invalid feature specification"},
      {"--open-mode=x", "Invalid --open-mode specification"},
      {"--mail-type=foo", "Invalid --mail-type specification"},
      {"--begin=25:00", "Invalid --begin specification"},
      {"--exclusive=foo", "Invalid --exclusive specification"},
      {"-N1 : -N2 x", "heterogeneous jobs"},
  };
  for (const auto& [line, message] : cases)
    EXPECT_NE(error_of(sbatch(line)).find(message), std::string::npos)
        << line << ": " << error_of(sbatch(line));
  EXPECT_NE(error_of(sbatch("--ndes=3")).find("did you mean --nodes?"), std::string::npos);
}

TEST(Options, B030_CommandLineBeatsEnvironmentBeatsScript) {
  std::vector<Token> tokens = command_line_tokens(std::vector<std::string>{"--nodes=3", "job.sh"});
  const std::vector<std::pair<std::string, std::string>> variables{{"SBATCH_PARTITION", "env"},
                                                                   {"SBATCH_TIMELIMIT", "20"},
                                                                   {"SLURM_NTASKS", "99"},
                                                                   {"SBATCH_EXCLUSIVE", ""}};
  for (Token& token : environment_tokens(Tool::Sbatch, variables))
    tokens.push_back(std::move(token));
  const auto script = read_script("#!/bin/sh\n#SBATCH -N1 -p script -t 10 -J name\n", "job.sh");
  for (const Token& token : script.value.components[0]) tokens.push_back(token);
  const auto parsed = parse_tokens(Tool::Sbatch, tokens);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value.nodes, (NodeCount{3, 3}));
  EXPECT_EQ(parsed.value.partition, "env");
  EXPECT_EQ(parsed.value.time_limit, minutes(20));
  EXPECT_EQ(parsed.value.job_name, "name");
  EXPECT_EQ(parsed.value.exclusive, Exclusive::Node);
  EXPECT_FALSE(parsed.value.ntasks);  // an outer job's SLURM_* are not sbatch's
  EXPECT_EQ(parsed.value.origins.at("nodes"), Origin::CommandLine);
  EXPECT_EQ(parsed.value.origins.at("job-name"), Origin::Script);
}

TEST(Options, EnvironmentOfEachTool) {
  const std::vector<std::pair<std::string, std::string>> variables{
      {"SLURM_NTASKS", "4"},   {"SRUN_CPUS_PER_TASK", "2"}, {"SLURM_KILL_BAD_EXIT", "0"},
      {"SLURM_LABELIO", "1"},  {"SLURM_UNBUFFEREDIO", "0"}, {"SALLOC_PARTITION", "a"},
      {"SLURM_TIMELIMIT", ""}, {"SLURM_JOB_ID", "7"}};
  const auto step = parse_tokens(Tool::Srun, environment_tokens(Tool::Srun, variables));
  EXPECT_EQ(step.value.ntasks, 4u);
  EXPECT_EQ(step.value.cpus_per_task, 2u);
  EXPECT_EQ(step.value.step.kill_on_bad_exit, 0u);
  EXPECT_TRUE(step.value.step.label);
  EXPECT_FALSE(step.value.step.unbuffered);
  EXPECT_FALSE(step.value.time_limit);
  EXPECT_EQ(step.value.step.job_id, "7");
  EXPECT_EQ(parse_tokens(Tool::Salloc, environment_tokens(Tool::Salloc, variables)).value.partition,
            "a");
  const auto bad = parse_tokens(
      Tool::Sbatch,
      environment_tokens(Tool::Sbatch, std::vector<std::pair<std::string, std::string>>{
                                           {"SBATCH_TIMELIMIT", "x"}}));
  EXPECT_EQ(bad.first_error()->at.file, "SBATCH_TIMELIMIT");
}

TEST(Options, DirectivesAreNeverHalfRead) {
  EXPECT_NE(error_of(submit("--job-name=Big simulation\n--time=1"))
                .find("Invalid directive found in batch script: simulation"),
            std::string::npos);  // B036
  for (const char* line : {"\xe2\x80\x93-nodes=1" /* S073 */, "-t 5 (: You_Must" /* S095 */,
                           "--mail-user=YOUR EMAIL" /* S090 */})
    EXPECT_NE(error_of(submit(line)).find("Invalid directive found in batch script"),
              std::string::npos)
        << line;
  EXPECT_NE(error_of(submit("--nodes=$NUM_NODES")).find("is not a valid node count"),
            std::string::npos);  // S031
  EXPECT_NE(error_of(submit("--nodes\n4")).find("requires an argument"), std::string::npos);
  const auto parsed =
      submit("--output=a --output=%x-%j.out\n--mail-type=begin\n--mail-type=end\n--time 00:30:00");
  EXPECT_EQ(parsed.value.output, "%x-%j.out");                            // S033
  EXPECT_EQ(parsed.value.mail_types, (std::vector<std::string>{"END"}));  // S044
  EXPECT_EQ(to_string(*submit("-N1\n-t x").first_error()).substr(0, 13), "job.sh:3:9: e");
}

TEST(Options, RealScriptsAreAccepted) {
  const char* cases[] = {
      // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one script on two lines
      "--job-name=qwen-finetune\n--partition=train\n--nodes=2\n--ntasks-per-node=8\n--gres=gpu:"
      "rtxpro6000:8\n--time=12:00:00\n--output=logs/%j.out",
      "--nodes=8\n--ntasks-per-node=1\n--gpus-per-node=8\n--time=48:00:00\n--partition=gpu",
      "-N2 --ntasks-per-node=1 -c 96 --gres=gpu:8 --exclusive",            // S001
      "--ntasks=4 --nodes=4 --gpus-per-task=8 --cpus-per-task=96",         // S010
      "--mem=440gb --open-mode=append --requeue --wait-all-nodes=1 -D .",  // S019, S022, S030, S028
      "--exclude=euler[01-09],euler[11-12],euler[14],euler[24-27] --array 801-1600%30",  // S101,
                                                                                         // S098
      "-x /work/public/exclude_defq --output=/dev/null",                                 // S105
      "--signal=SIGUSR1@90 --export=ALL,PATH=/x:${PATH} --nodelist=a,b,c",               // S118
      "--distribution=nopack --oversubscribe --overcommit --hint=nomultithread",  // S132, S124,
                                                                                  // S017
      "--gpus-per-node=mi250:8 --exclusive=user",                                 // S107
  };
  for (const char* text : cases)
    EXPECT_TRUE(submit(text).ok()) << text << ": " << error_of(submit(text));
}

TEST(Options, MemoryOptionsExcludeEachOther) {
  EXPECT_NE(error_of(sbatch("--mem=1G --mem-per-cpu=1G")).find("mutually exclusive"),
            std::string::npos);
  EXPECT_FALSE(submit("--mem=1G\n--mem-per-gpu=1G").ok());
  const auto parsed = submit("--mem=1G", "--mem-per-cpu=2G job.sh");
  EXPECT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed.value.mem);
  EXPECT_EQ(parsed.value.mem_per_cpu, 2048);
  // slurm 1.4.20, nested submission: what two levels of jobs leave behind is a warning, not the
  // end.
  const auto nested = parse_tokens(
      Tool::Srun, environment_tokens(
                      Tool::Srun, std::vector<std::pair<std::string, std::string>>{
                                      {"SLURM_MEM_PER_NODE", "200"}, {"SLURM_MEM_PER_CPU", "50"}}));
  EXPECT_TRUE(nested.ok());
  EXPECT_EQ(nested.value.mem_per_cpu, 50);
  EXPECT_FALSE(nested.value.mem);
  EXPECT_EQ(nested.diagnostics.size(), 1u);
}

TEST(Options, GpusPerNodeExcludesGresGpu) {
  EXPECT_FALSE(sbatch("--gpus-per-node=2 --gres=gpu:2").ok());
  const auto other = sbatch("--gpus-per-node=2 --gres=shard:2");
  EXPECT_TRUE(other.ok());
  EXPECT_EQ(print_gres(other.value.gres), "shard:2");
  const auto overridden = submit("--gpus-per-node=8", "--gres=gpu:2 x");
  EXPECT_TRUE(overridden.ok());
  EXPECT_FALSE(overridden.value.gpus_per_node);
  EXPECT_EQ(print_gres(overridden.value.gres), "gpu:2");
}

TEST(Options, OfSteps) {
  const auto parsed = srun(
      "-K1 -lu -N1 -n2 --overlap --exact --jobid=12_3 -w n1 --wait=60 --pty -r 1 -i none "
      "--mpi=none --export=NONE hostname -f");
  ASSERT_TRUE(parsed.ok()) << error_of(parsed);
  const StepOptions& step = parsed.value.step;
  EXPECT_EQ(step.kill_on_bad_exit, 1u);
  EXPECT_TRUE(step.label && step.unbuffered && step.overlap && step.exact && step.pty);
  EXPECT_EQ(step.job_id, "12_3");
  EXPECT_EQ(step.wait_seconds, 60u);
  EXPECT_EQ(step.relative, 1u);
  EXPECT_EQ(parsed.value.input, "none");
  EXPECT_EQ(parsed.value.arguments, (std::vector<std::string>{"hostname", "-f"}));
  EXPECT_EQ(srun("-K hostname").value.step.kill_on_bad_exit,
            1u);  // an optional value must be glued
  EXPECT_EQ(srun("-K hostname").value.arguments.at(0), "hostname");
  EXPECT_EQ(srun("-K0 hostname").value.step.kill_on_bad_exit, 0u);
  EXPECT_TRUE(sbatch("-W x").value.wait);
  EXPECT_TRUE(parse(Tool::Salloc, "--no-shell -N2").value.no_shell);
}

TEST(Options, NothingIsIgnoredInSilence) {
  for (const char* line : {"--reservation=r", "--uid=bob", "-M other", "--licenses=x",
                           "--gpu-bind=map_gpu:0*1" /* S111 */, "--distribution=arbitrary",
                           "--propagate=NONE", "--tmp=10G", "--ntasks-per-gpu=1"})
    EXPECT_NE(error_of(sbatch(line)).find("is not supported"), std::string::npos) << line;
  EXPECT_NE(error_of(srun("--container-image=nvcr.io#nvidia/pytorch:25.08-py3 x"))
                .find("no container runtime"),
            std::string::npos);  // S005
  EXPECT_NE(error_of(srun("--mpi=pmix x")).find("is not supported"), std::string::npos);
  for (const char* line : {"--distribution=block:cyclic", "--contiguous", "--gpu-bind=closest",
                           "--requeue=expedite"}) {
    const auto parsed = sbatch(line);
    EXPECT_TRUE(parsed.ok()) << line;
    ASSERT_EQ(parsed.diagnostics.size(), 1u) << line;
    EXPECT_NE(parsed.diagnostics[0].message.find("is not honoured"), std::string::npos) << line;
  }
  EXPECT_EQ(sbatch("--gpu-bind=closest").value.kept.at("gpu-bind"), "closest");
  EXPECT_EQ(sbatch("--nice").value.nice, 100);
  EXPECT_EQ(sbatch("--nice=-5").value.nice, -5);
  EXPECT_NE(error_of(sbatch("--nice=much")).find("Invalid --nice value"), std::string::npos);
  EXPECT_TRUE(sbatch("--gpu-bind=none --wait-all-nodes=1 -A x -q y --comment=z --mail-user=u -Q")
                  .diagnostics.empty());
}

TEST(Options, BeginUsesTheClockOfTheCaller) {
  ParseContext context;
  context.now = from_unix_ms(1'796'049'430'000);
  EXPECT_EQ(parse(Tool::Sbatch, "--begin=now+24hour", context).value.begin,
            context.now + hours(24));  // S006
  context.max_array_size = 1001;
  EXPECT_FALSE(parse(Tool::Sbatch, "-a 1-10715", context).ok());  // S116
}

TEST(Options, TravelThroughTheCodec) {
  const auto parsed = sbatch(
      "-N1-4 -t 1-0 --gres=gpu:a100:2 -a 0-9:2%3 -d afterok:1?afterany:2 --signal=B:USR1@60 "
      "--export=ALL,V=x --mem=0 --gpus=4 --no-requeue --begin=now --nice=3 -H run.sh a");
  ASSERT_TRUE(parsed.ok());
  const auto back = codec::decode<JobOptions>(codec::encode(parsed.value));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, parsed.value);
  const Token token{"--nodes=2", Origin::Script, "job.sh", 3, 9};
  EXPECT_EQ(*codec::decode<Token>(codec::encode(token)), token);
}

TEST(OptionTable, IsConsistent) {
  for (const Tool tool : {Tool::Sbatch, Tool::Srun, Tool::Salloc}) {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const OptionSpec& spec : option_table()) {
      if ((spec.tools & static_cast<std::uint8_t>(tool)) == 0) continue;
      EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
      if (spec.letter != 0) {
        EXPECT_TRUE(letters.insert(spec.letter).second) << spec.letter;
      }
      EXPECT_TRUE(spec.help.ends_with('.')) << spec.name;
      EXPECT_EQ(spec.argument == Argument::None, spec.metavar.empty()) << spec.name;
      EXPECT_TRUE(spec.handling != Handling::Acted || spec.set != nullptr) << spec.name;
      EXPECT_TRUE(spec.handling != Handling::Refused || !spec.reason.empty()) << spec.name;
      EXPECT_TRUE(spec.handling != Handling::Warned || spec.set != nullptr || !spec.reason.empty())
          << spec.name;
    }
    const std::string help = help_text(tool);
    for (const std::string_view name : names)
      EXPECT_NE(help.find(format("--{}", name)), std::string::npos) << name;
    EXPECT_NE(usage_text(tool).find(tool_name(tool)), std::string::npos);
  }
}

}  // namespace
}  // namespace phalanx::slurm
