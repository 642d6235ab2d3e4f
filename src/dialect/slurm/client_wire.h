// What sbatch, srun and salloc send to the controller and hear from it, as JSON bodies of POST
// /slurm/v1/…. The client sends words, not meanings: the controller parses them again with the same
// code, so that an older client never decides what a newer cluster does.
//
// Values only. The controller trusts nothing in here: who asks is known from the connection.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/describe.h"
#include "base/time.h"
#include "dialect/slurm/grammar.h"
#include "dialect/slurm/options.h"
#include "dialect/slurm/token.h"

namespace phalanx::slurm {

// POST submit, allocate, test. Answered with SubmitReply after the commit.
struct SubmitRequest {
  Tool tool = Tool::Sbatch;
  std::vector<Token> tokens;  // without the words behind the options
  Zone zone;
  std::string script;       // text; sbatch only
  std::string script_name;  // path, or "sbatch" for standard input; else the program, for the name
  std::vector<std::string>
      arguments;  // of the script; srun, salloc: the command line, for printing
  std::vector<std::string>
      environment;  // NAME=value, all of it; --export is applied by the controller
  std::string work_dir;
  std::uint32_t umask = 022;
  std::map<std::string, std::int64_t> limits;  // soft: "nofile": 1024; -1: unlimited
  std::string host;
  std::string line;    // the command as typed, for the account
  bool stays = false;  // the client of an allocation: it waits with `stays` until it is over
  std::vector<std::string> warnings;  // what the client saw, to be kept with the job
  std::string key;                    // idempotency: a repeated request is the same job
  bool operator==(const SubmitRequest&) const = default;
};
BOOST_DESCRIBE_STRUCT(SubmitRequest, (),
                      (tool, tokens, zone, script, script_name, arguments, environment, work_dir,
                       umask, limits, host, line, stays, warnings, key))

struct SubmitReply {
  std::uint32_t job = 0;
  std::vector<std::string> warnings;
  std::string would_start;     // --test-only: the whole sentence
  std::uint64_t sequence = 0;  // for reads that must see it
  bool operator==(const SubmitReply&) const = default;
};
BOOST_DESCRIBE_STRUCT(SubmitReply, (), (job, warnings, would_start, sequence))

// POST wait: a line of JSON (JobNews) now and at each change, until the job (of an array: every
// element) has ended or, with `start`, runs.
struct WaitRequest {
  std::uint32_t job = 0;
  bool start = false;
  bool stays = false;          // the allocation lasts no longer than this waiting (and a while)
  std::uint64_t sequence = 0;  // of the submission
  bool operator==(const WaitRequest&) const = default;
};
BOOST_DESCRIBE_STRUCT(WaitRequest, (), (job, start, stays, sequence))

enum class JobPhase { Pending, Starting, Running, Ended, Unknown };
BOOST_DESCRIBE_ENUM(JobPhase, Pending, Starting, Running, Ended, Unknown)

struct JobNews {
  JobPhase phase = JobPhase::Pending;
  std::string reason;                    // why it waits, in words
  std::string nodes;                     // host list, once it has some
  std::vector<std::string> environment;  // of an allocation that runs: SLURM_* for the command
  std::string cause;                     // how it ended: completed, failed, cancelled, timeout, …
  std::int32_t exit_code = 0;            // of an array: the highest
  std::int32_t exit_signal = 0;
  std::string detail;
  bool operator==(const JobNews&) const = default;
};
BOOST_DESCRIBE_STRUCT(JobNews, (),
                      (phase, reason, nodes, environment, cause, exit_code, exit_signal, detail))

// POST step: StepReply. While `waiting` is set nothing was granted: ask again with the same key.
struct StepAsk {
  std::string job;  // "4711", "4711_3"
  std::vector<Token> tokens;
  Zone zone;
  std::string program;
  std::string key;
  bool own_job = false;  // whose submission has acted upon the options of jobs
  bool operator==(const StepAsk&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepAsk, (), (job, tokens, zone, program, key, own_job))

struct StepNode {
  std::string name;
  std::string agent_url;
  std::string token;
  std::vector<std::uint32_t> ranks;
  bool operator==(const StepNode&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepNode, (), (name, agent_url, token, ranks))

struct StepReply {
  std::string waiting;
  std::vector<std::string> warnings;  // what Slurm would say too
  std::vector<std::string> notes;     // which options are not acted upon
  std::uint32_t job = 0, step = 0, array_job = 0;
  std::optional<std::uint32_t> array_index;
  std::uint32_t tasks = 0, restarts = 0;
  bool kill_on_bad_exit = false;   // where srun is not told: what the cluster is configured to do
  std::uint32_t wait_seconds = 0;  // likewise; 0: for ever
  std::uint32_t kill_wait_seconds = 30;  // between TERM and KILL
  std::string job_name, user;
  std::vector<StepNode> nodes;
  bool operator==(const StepReply&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepReply, (),
                      (waiting, warnings, notes, job, step, array_job, array_index, tasks, restarts,
                       kill_on_bad_exit, wait_seconds, kill_wait_seconds, job_name, user, nodes))

// POST step_over, and POST finish for an allocation (step stays 0 there).
struct OverRequest {
  std::string job;
  std::uint32_t step = 0;
  std::int32_t exit_code = 0, exit_signal = 0;
  bool out_of_memory = false;
  bool operator==(const OverRequest&) const = default;
};
BOOST_DESCRIBE_STRUCT(OverRequest, (), (job, step, exit_code, exit_signal, out_of_memory))

}  // namespace phalanx::slurm
