#include "cli/salloc.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "cli/submission.h"

namespace phalanx::cli {
namespace {

constexpr int kCannotRun = 127;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler has no arguments
std::atomic<pid_t> command_pid{0};

void pass_on(int signal) {
  if (const pid_t pid = command_pid.load(); pid > 0) ::kill(pid, signal);
}

std::vector<std::string> command_of(const slurm::JobOptions& options) {
  if (!options.arguments.empty()) return options.arguments;
  const std::string shell = variable("SHELL");
  return {shell.empty() ? "/bin/sh" : shell};
}

// The command, in this terminal, with the job's variables. Its pid; -1 if there is no process.
pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& variables) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  for (const std::string& entry : variables) {
    const std::size_t equals = entry.find('=');
    ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const std::string why = errno == ENOENT ? format("Unable to find command \"{}\"", command.front())
                                          : format("{}: {}", command.front(), std::strerror(errno));
  Session("salloc").error(why);
  ::_exit(kCannotRun);
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// While the command runs the job may end without it: by its limit, or cancelled. Then the command
// is told to hang up.
void revoked(std::uint32_t job) {
  Session("salloc").say(format("Job allocation {} has been revoked.", job));
  pass_on(SIGHUP);
}

int run_command(Session& session, const Allocation& allocation, const slurm::JobOptions& options) {
  std::signal(SIGINT, SIG_DFL);
  const pid_t pid = start(command_of(options), allocation.news.environment);
  if (pid < 0) {
    session.error(format("cannot start a process: {}", std::strerror(errno)));
    finish(session, allocation.job, 1);
    return exit_error();
  }
  command_pid = pid;
  std::signal(SIGINT, SIG_IGN);  // the terminal sends it to the command as well
  std::signal(SIGQUIT, SIG_IGN);
  for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) std::signal(signal, pass_on);
  Attendance attendance(session, allocation.job, [job = allocation.job] { revoked(job); });
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  command_pid = 0;
  attendance.leave();
  const int code = code_of(status);
  if (options.quiet == 0) session.say(format("Relinquishing job allocation {}", allocation.job));
  finish(session, allocation.job, code);
  return code == kCannotRun && !WIFSIGNALED(status) ? exit_error() : code;
}

}  // namespace

int run_salloc(int argc, char** argv) {
  Session session("salloc");
  const CommandLine line = read_command_line(session, slurm::Tool::Salloc, argc, argv);
  if (line.exit) return *line.exit;
  slurm::SubmitRequest request = make_request(slurm::Tool::Salloc, line);
  if (!line.options.no_shell) request.arguments = command_of(line.options);
  const auto allocation = allocate(session, request, line.options);
  if (!allocation) return exit_error();
  if (line.options.no_shell) return 0;
  return run_command(session, *allocation, line.options);
}

}  // namespace phalanx::cli
