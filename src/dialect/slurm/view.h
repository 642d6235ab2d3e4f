// The reading and steering commands (squeue, sinfo, scontrol, sacct, scancel; Phalanx's own why,
// top and ledger) as one pure function: what was typed and what the cluster looks like give the
// text to print, or the inputs to decide and how to print what came of them.
//
// Nothing here reads a clock or a file: the time, the zone and finished work come in with the View,
// which is valid only during the call. Times are printed in the asker's zone. Texts follow Slurm's
// where clients parse them; an error is text in `err` and an exit code, never a Result.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/describe.h"
#include "dialect/slurm/grammar.h"
#include "model/input.h"

namespace phalanx::slurm {

// What `--version` of every tool prints; clients compare the number.
inline constexpr std::string_view kVersionLine = "slurm 25.11.0\n";
inline constexpr std::string_view kVersion = "25.11.0";

// One command line, as the client sends it.
struct Ask {
  std::string tool;                                // "squeue"
  std::vector<std::string> args;                   // without the tool
  std::map<std::string, std::string> environment;  // only SQUEUE_FORMAT and its like
  bool terminal = false;                           // standard output is one: colours may be used
  std::int64_t columns = 80;
  Zone zone;
  bool operator==(const Ask&) const = default;
};
BOOST_DESCRIBE_STRUCT(Ask, (), (tool, args, environment, terminal, columns, zone))

struct Said {
  std::string out, err;
  std::int32_t code = 0;
  bool operator==(const Said&) const = default;
};
BOOST_DESCRIBE_STRUCT(Said, (), (out, err, code))

// Which finished work is wanted; conditions are joined by "and".
struct PastFilter {
  std::vector<JobNumber> numbers;  // of the work or of its array; empty: all
  std::optional<Time> from;        // not ended before
  std::optional<Time> until;       // submitted before
};

struct View {
  const State& state;
  const Outlook& outlook;
  // Finished work that may have left State, in no particular order; may also name some that has
  // not.
  std::function<std::vector<Workload>(const PastFilter&)> past;
  Time now;
  Identity who;
  // What connected nodes say of their load, by name; null: nothing is heard.
  const std::map<std::string, Heartbeat>* vitals = nullptr;
};

// What a command comes to. Without inputs `said` is all; else they are decided in order, and
// `finish` makes the text from the replies. With `reconfigure` the shell reads the configuration's
// files again; that is all then.
struct Answer {
  Said said;
  std::vector<InputKind> inputs;
  std::function<Said(Said said, std::span<const Reply> replies)> finish;
  bool reconfigure = false;
};

Answer answer(const View& view, const Ask& ask);

// What people call the work that `waiting` waits for: "job 4711"; empty: unknown.
std::string other_name(const State& state, WorkloadId id, const WorkloadSpec& waiting);

// The environment variables that the client sends along with a tool's command line.
std::span<const std::string_view> variables_of_interest();

// What needs no controller: --version, and `scontrol show hostnames|hostlist|hostlistsorted`, which
// takes its list from `default_hosts` (SLURM_JOB_NODELIST) if it is given none. Nothing: ask the
// controller.
std::optional<Said> answer_offline(const std::string& tool, const std::vector<std::string>& args,
                                   const std::string& default_hosts);

}  // namespace phalanx::slurm
