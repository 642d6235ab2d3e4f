// The options of sbatch, srun and salloc. One table names each of them: letter, tools, argument,
// environment variables, what Phalanx does with it, one sentence of help. Everything else reads the
// table: the parser (as getopt_long: unique prefixes, glued and separate values, reading stops at
// the first other word), the reader of SBATCH_*, SLURM_* and SALLOC_* variables, and --help.
//
// Precedence is command line, environment, script; within one the last wins. Options that exclude
// each other do so within one origin; between origins the higher one replaces the lower. No option
// is ignored in silence: one that would change which program runs, where, with which devices,
// limits or identity is refused while Phalanx does not honour it; one that changes the quality of
// placement or messages gives a warning.
//
// Pure. A bad option or value is an error of Parsed; its class for the tools' exit code is usage
// (255).
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/time.h"
#include "dialect/slurm/grammar.h"
#include "dialect/slurm/token.h"

namespace phalanx::slurm {

enum class Tool : std::uint8_t { Sbatch = 1, Srun = 2, Salloc = 4 };
BOOST_DESCRIBE_ENUM(Tool, Sbatch, Srun, Salloc)
std::string_view tool_name(Tool tool);  // "sbatch"

inline constexpr int kUsageExitCode = 255;

enum class OpenMode { Default, Append, Truncate };
BOOST_DESCRIBE_ENUM(OpenMode, Default, Append, Truncate)
enum class Exclusive { No, Node, User, Mcs, Topo };
BOOST_DESCRIBE_ENUM(Exclusive, No, Node, User, Mcs, Topo)

// What only srun asks for.
struct StepOptions {
  std::string job_id;
  bool overlap = false, exact = false, label = false, unbuffered = false, pty = false;
  std::optional<std::uint32_t> wait_seconds, relative, kill_on_bad_exit;
  std::string cpu_bind, mpi, distribution;  // distribution: block, cyclic or empty
  bool operator==(const StepOptions&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepOptions, (),
                      (job_id, overlap, exact, label, unbuffered, pty, wait_seconds, relative,
                       kill_on_bad_exit, cpu_bind, mpi, distribution))

// What was asked for; an absent member was not mentioned. Text members are validated but kept as
// written.
struct JobOptions {
  // names and bookkeeping
  std::string job_name, account, qos, comment, hint;
  std::vector<std::string> mail_types;
  std::string mail_user;
  // files
  std::string chdir, output, error, input;
  OpenMode open_mode = OpenMode::Default;
  // size and shape
  std::optional<Duration> time_limit;  // kForever: none
  std::string partition;               // one or several, by commas
  std::optional<NodeCount> nodes;
  std::string nodelist,
      exclude;             // a host list; with a '/' a file that the client replaces by its content
  std::string constraint;  // parse_constraint reads it
  std::optional<std::uint32_t> ntasks, ntasks_per_node, cpus_per_task;
  std::optional<std::int64_t> mem, mem_per_cpu,
      mem_per_gpu;                // MiB; at most one is set; mem 0: all of the node
  std::vector<GresRequest> gres;  // as asked with --gres, GPUs among them
  std::optional<std::vector<GresRequest>> gpus, gpus_per_node, gpus_per_task;
  Exclusive exclusive = Exclusive::No;
  // when and what if
  std::optional<ArraySpec> array;
  DependencyList dependency;
  std::optional<Time> begin;
  std::optional<SignalSpec> signal;
  std::optional<bool> requeue;
  bool hold = false;
  std::optional<std::int64_t> nice;
  bool kill_on_invalid_dependency = false;
  // environment
  std::optional<ExportSpec> export_env;
  // sbatch itself
  std::optional<std::string> wrap;
  bool wait = false, parsable = false, test_only = false;
  bool no_shell = false;  // salloc
  StepOptions step;       // srun
  // messages
  std::uint32_t quiet = 0, verbose = 0;
  bool help = false, usage = false, version = false;
  // options that were accepted and are not acted upon, by long name
  std::map<std::string, std::string> kept;
  // where each option came from, by long name
  std::map<std::string, Origin> origins;
  // what follows the options on the command line: the script or program, and its arguments
  std::vector<std::string> arguments;
  bool operator==(const JobOptions&) const = default;
};
BOOST_DESCRIBE_STRUCT(JobOptions, (),
                      (job_name, account, qos, comment, hint, mail_types, mail_user, chdir, output,
                       error, input, open_mode, time_limit, partition, nodes, nodelist, exclude,
                       constraint, ntasks, ntasks_per_node, cpus_per_task, mem, mem_per_cpu,
                       mem_per_gpu, gres, gpus, gpus_per_node, gpus_per_task, exclusive, array,
                       dependency, begin, signal, requeue, hold, nice, kill_on_invalid_dependency,
                       export_env, wrap, wait, parsable, test_only, no_shell, step, quiet, verbose,
                       help, usage, version, kept, origins, arguments))

// What values depend on beside their text.
struct ParseContext {
  Time now{};
  Zone zone;
  std::uint32_t max_array_size = kMaxArraySize;
};

// --- the table
// -----------------------------------------------------------------------------------------
enum class Argument : std::uint8_t { None, Required, Optional };
enum class Handling : std::uint8_t {
  Acted,    // honoured
  Kept,     // recorded and shown
  Warned,   // recorded; the user is told that it changes nothing
  Refused,  // an error, with the reason
};

struct Setting {
  JobOptions& options;
  std::string_view value;  // empty if there is none
  const ParseContext& context;
  std::string warning;  // out: why this value is not honoured
};

struct OptionSpec {
  std::string_view name;
  char letter = 0;         // 0: none
  std::uint8_t tools = 0;  // bits of Tool
  Argument argument = Argument::None;
  std::string_view metavar;  // the argument's name in --help
  Handling handling = Handling::Acted;
  Status (*set)(Setting&) = nullptr;  // null: into `kept`
  // Variables, by commas: "TIMELIMIT" is SBATCH_TIMELIMIT, SLURM_TIMELIMIT (srun),
  // SALLOC_TIMELIMIT; "=NAME" is NAME, read by the tool that its prefix says. sbatch reads no
  // SLURM_*: those are left over from an outer job.
  std::string_view environment;
  std::string_view help;
  std::string_view reason;     // of Warned and Refused
  std::string_view canonical;  // an alias names the option it stands for
};
std::span<const OptionSpec> option_table();

// --- reading
// -------------------------------------------------------------------------------------------
std::vector<Token> command_line_tokens(std::span<const std::string> arguments);
// The options that a tool's variables ask for, in the order of the table. A flag's variable that is
// 0, no or false is not set.
std::vector<Token> environment_tokens(
    Tool tool, std::span<const std::pair<std::string, std::string>> variables);

Parsed<JobOptions> parse_tokens(Tool tool, std::span<const Token> tokens,
                                const ParseContext& context = {});

std::string help_text(Tool tool);
std::string usage_text(Tool tool);

}  // namespace phalanx::slurm
