#include "cli/srun.h"

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "cli/step_launch.h"
#include "cli/submission.h"

namespace phalanx::cli {
namespace {

constexpr Duration kFirstPause = milliseconds(100);
constexpr Duration kLongestPause = seconds(2);

void say_refused(const Session& session, const std::string& job, const Error& error) {
  if (error.code == Error::Code::NotFound) {
    session.error(format("Unable to confirm allocation for job {}: {}", job, error.message));
    session.say(format("Check SLURM_JOB_ID environment variable. Expired or invalid job {}", job));
    return;
  }
  session.error(format("Unable to create step for job {}: {}", job, error.message));
}

// Where the step runs: in an allocation of its own, whose submission has told about the options
// already, or in a job that is there.
enum class Where { own_job, given_job };

// Asks until the step is granted. Nothing: it never will be, or a signal came.
std::optional<slurm::StepReply> get_step(Session& session, const std::string& job,
                                         const CommandLine& line, Where where) {
  slurm::StepAsk ask;
  ask.job = job;
  ask.tokens = line.tokens;
  ask.zone = local_zone(wall_now());
  ask.program = line.options.arguments.front();
  ask.key = fresh_key();
  ask.own_job = where == Where::own_job;
  Duration pause = kFirstPause;
  bool waited = false;
  note_signals();
  while (noted_signal() == 0) {
    auto reply = session.call<slurm::StepReply>("/slurm/v1/step", ask, Session::Retry::again);
    if (!reply.ok()) {
      say_refused(session, job, reply.error());
      return std::nullopt;
    }
    if (reply->waiting.empty()) {
      for (const std::string& warning : reply->warnings) session.say("Warning: " + warning);
      if (where == Where::given_job)
        print_warnings(session, reply->notes, line.options.verbose > 0);
      if (waited && line.options.quiet == 0) session.say(format("Step created for job {}", job));
      restore_signals();
      return std::move(*reply);
    }
    if (!waited && line.options.quiet == 0)
      session.say(format(
          "Job {} step creation temporarily disabled, retrying (Requested nodes are busy): {}", job,
          reply->waiting));
    waited = true;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  session.say("Cancelled pending job step");
  return std::nullopt;
}

void step_over(Session& session, const slurm::StepReply& step, const StepEnd& end) {
  slurm::OverRequest over;
  over.job = format("{}", step.job);
  over.step = step.step;
  over.exit_code = end.code;
  over.exit_signal = end.signal;
  over.out_of_memory = end.out_of_memory;
  // The agents say so as well: nothing is lost if the job is gone by now.
  const auto answer = session.post("/slurm/v1/step_over", codec::encode(over));
  if (!answer.ok() && answer.error().code == Error::Code::Denied)
    session.error(answer.error().message);
}

int run_step(Session& session, const std::string& job, const CommandLine& line, Where where) {
  auto step = get_step(session, job, line, where);
  if (!step) return exit_error();
  auto setup = make_step(session, line.options, *step);
  if (!setup.ok()) {
    session.error(setup.error().message);
    StepEnd failed;
    failed.code = 1;
    step_over(session, *step, failed);
    return exit_error();
  }
  const StepEnd end = StepRun(session, std::move(*setup)).run();
  step_over(session, *step, end);
  return end.exit_code;
}

int run_in_own_job(Session& session, const CommandLine& line) {
  const auto allocation = allocate(session, make_request(slurm::Tool::Srun, line), line.options);
  if (!allocation) return exit_error();
  Attendance attendance(session, allocation->job, {});
  const int code = run_step(session, format("{}", allocation->job), line, Where::own_job);
  finish(session, allocation->job, code);
  return code;
}

}  // namespace

int run_srun(int argc, char** argv) {
  Session session("srun");
  const CommandLine line = read_command_line(session, slurm::Tool::Srun, argc, argv);
  if (line.exit) return *line.exit;
  const auto& words = line.options.arguments;
  if (words.empty()) {
    session.say("fatal: No command given to execute.");
    return exit_error();
  }
  if (std::find(words.begin(), words.end(), ":") != words.end()) {
    session.error(
        "heterogeneous steps (' : ') are not supported: start one srun for each part, with "
        "--nodelist");
    return exit_error();
  }
  if (line.options.test_only) return test_only(session, make_request(slurm::Tool::Srun, line));
  const std::string& job = line.options.step.job_id;
  return job.empty() ? run_in_own_job(session, line)
                     : run_step(session, job, line, Where::given_job);
}

}  // namespace phalanx::cli
