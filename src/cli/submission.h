// What sbatch, salloc and srun do alike before anything runs: read the command line, fill the
// request, submit it, and wait for what becomes of it. Prints what Slurm prints.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/session.h"
#include "dialect/slurm/slurm.h"

namespace phalanx::cli {

struct CommandLine {
  std::vector<slurm::Token>
      tokens;                 // of the environment and of the command line, up to the program
  slurm::JobOptions options;  // as far as these go; sbatch's script says more
  std::string typed;          // all of it, with the tool
  std::optional<int> exit;    // it was --help, --version or an error, and has been answered
};
CommandLine read_command_line(const Session& session, slurm::Tool tool, int argc, char** argv);

// The request but for what belongs to the script.
slurm::SubmitRequest make_request(slurm::Tool tool, const CommandLine& line);
// A node list in a file ("-w ./hosts") is read here and sent as a list.
Status read_host_files(CommandLine& line);

// Prints warnings, and the error in the words of the tool.
std::optional<slurm::SubmitReply> submit(Session& session, std::string_view path,
                                         const slurm::SubmitRequest& request, bool verbose);
// sbatch --test-only, srun --test-only: says when it would start; the exit code.
int test_only(Session& session, const slurm::SubmitRequest& request);

// An allocation's way to its nodes. Nothing if it will never run, or a signal came: it was given
// up, and that has been said.
struct Allocation {
  std::uint32_t job = 0;
  slurm::JobNews news;
};
std::optional<Allocation> allocate(Session& session, const slurm::SubmitRequest& request,
                                   const slurm::JobOptions& options);
void finish(Session& session, std::uint32_t job, int exit_code);

// Stays with an allocation while the command runs: the controller gives up one whose client is
// away. `ended` is called at most once, from a thread of its own, if the job is over before
// leave().
class Attendance {
 public:
  Attendance(Session& session, std::uint32_t job, std::function<void()> ended);
  ~Attendance() { leave(); }
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;
  void leave();

 private:
  void watch(const std::string& tool, std::uint32_t job);

  std::function<void()> ended_;
  std::atomic<bool> leaving_{false};
  std::mutex mutex_;
  std::condition_variable left_;
  bool gone_ = false;  // under mutex_: the thread is through
  std::thread thread_;
};

// News of a job until it has ended, over restarts of the controller; `heard` returns false to stop.
Status follow(Session& session, const slurm::WaitRequest& request,
              const std::function<bool(const slurm::JobNews&)>& heard);

// SIGINT, SIGTERM and SIGHUP are noted from here on: the last one that came, or 0.
void note_signals();
int noted_signal();
void restore_signals();

}  // namespace phalanx::cli
