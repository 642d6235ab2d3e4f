#include "cli/query.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/session.h"
#include "dialect/slurm/slurm.h"

namespace phalanx::cli {
namespace {

constexpr int kRefreshMs = 1000;  // of `phalanx top`

slurm::Ask ask_of(std::string tool, std::vector<std::string> args) {
  slurm::Ask ask;
  ask.tool = std::move(tool);
  ask.args = std::move(args);
  for (const std::string_view name : slurm::variables_of_interest()) {
    const std::string key(name);
    if (std::string value = variable(key.c_str()); !value.empty())
      ask.environment[key] = std::move(value);
  }
  ask.terminal = isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) ask.columns = size.ws_col;
  ask.zone = local_zone(wall_now());
  return ask;
}

int print(const slurm::Said& said) {
  std::fwrite(said.out.data(), 1, said.out.size(), stdout);
  std::fflush(stdout);
  std::fwrite(said.err.data(), 1, said.err.size(), stderr);
  return said.code;
}

// "slurm_load_jobs error: Unable to contact slurm controller (connect failure)": clients look for
// it.
void print_failure(const Session& session, const Error& error) {
  const std::string& tool = session.tool();
  if (tool == "squeue" || tool == "scontrol")
    std::fprintf(stderr, "slurm_load_jobs error: %s\n", error.message.c_str());
  else if (tool == "sinfo")
    std::fprintf(stderr, "slurm_load_partitions: %s\n", error.message.c_str());
  else
    session.error(error.message);
}

int once(Session& session, const slurm::Ask& ask, bool clear) {
  const auto said = session.call<slurm::Said>("/slurm/v1/run", ask);
  if (!said.ok()) {
    print_failure(session, said.error());
    return exit_error();
  }
  if (clear) std::fputs("\x1b[H\x1b[2J", stdout);
  return print(*said);
}

}  // namespace

int run_query(int argc, char** argv) {
  const std::string path = argc > 0 ? argv[0] : "";
  const std::string tool = path.substr(path.find_last_of('/') + 1);
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  std::string hosts = variable("SLURM_JOB_NODELIST");
  if (hosts.empty()) hosts = variable("SLURM_NODELIST");
  if (const auto said = slurm::answer_offline(tool, args, hosts)) return print(*said);

  Session session(tool);
  const slurm::Ask ask = ask_of(tool, args);
  const bool repeats = tool == "top" && ask.terminal && args.empty();
  int code = once(session, ask, repeats);
  while (repeats && code == 0) {
    poll(nullptr, 0, kRefreshMs);
    code = once(session, ask, true);
  }
  return code;
}

}  // namespace phalanx::cli
