#include "cli/sbatch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/text.h"
#include "cli/submission.h"
#include "dialect/slurm/slurm.h"

namespace phalanx::cli {
namespace {

bool is_file(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

// Here, or for a bare name that is not here in PATH.
std::string find_script(const std::string& name) {
  std::string here = name.starts_with('/') ? name : current_directory() + "/" + name;
  if (name.find('/') != std::string::npos || is_file(here)) return here;
  const std::string folders = variable("PATH");
  for (const std::string_view folder : split(folders, ':')) {
    std::string path = format("{}/{}", folder, name);
    if (!folder.empty() && is_file(path)) return path;
  }
  return here;
}

Status not_empty(const std::string& script) {
  if (script.empty()) return invalid("Batch script is empty!");
  return {};
}

Status read_script(const slurm::JobOptions& options, slurm::SubmitRequest& request) {
  if (options.wrap) {
    if (!options.arguments.empty())
      return invalid("Script arguments not permitted with --wrap option");
    request.script = format("#!/bin/sh\n# The command of sbatch --wrap.\n{}\n", *options.wrap);
    request.script_name = "wrap";
    return {};
  }
  if (options.arguments.empty()) {
    request.script_name = "sbatch";
    request.script.assign(std::istreambuf_iterator<char>(std::cin), {});
    return not_empty(request.script);
  }
  request.script_name = find_script(options.arguments.front());
  request.arguments.assign(options.arguments.begin() + 1, options.arguments.end());
  auto text = read_file(request.script_name);
  if (!text.ok())
    return invalid(
        format("Unable to open file {}: {}", options.arguments.front(), text.error().message));
  request.script = std::move(*text);
  return not_empty(request.script);
}

// The files are opened on the job's first node; what can be seen from here is said now.
void check_folder(const char* option, const std::string& pattern, const std::string& work_dir,
                  std::vector<std::string>& warnings) {
  const std::size_t slash = pattern.rfind('/');
  if (slash == std::string::npos || slash == 0) return;
  const std::string folder = pattern.substr(0, slash);
  if (folder.find('%') != std::string::npos) return;
  const std::string path = folder.starts_with('/') ? folder : work_dir + "/" + folder;
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return;
  warnings.push_back(
      format("the directory '{}' of --{}={} does not exist: the job will fail when it starts; make "
             "it with `mkdir -p {}`",
             folder, option, pattern, folder));
}

// The script's own options, read early so that their errors come with the exit code of usage.
std::optional<int> check_script(const Session& session, const slurm::SubmitRequest& request,
                                slurm::JobOptions& options) {
  ClusterConfig any;
  any.max_array_size = slurm::kMaxArraySize;
  auto parsed = slurm::read_options(request, any, wall_now());
  options = std::move(parsed.value);
  const Diagnostic* error = parsed.first_error();
  if (!error) return std::nullopt;
  print_errors(session, parsed.diagnostics);
  const bool about_the_file = !error->at.file.empty() && error->at.line == 0;
  return about_the_file ? exit_error() : slurm::kUsageExitCode;
}

int wait_for(Session& session, const slurm::SubmitReply& reply) {
  slurm::JobNews end;
  const Status status =
      follow(session, {reply.job, false, false, reply.sequence}, [&](const slurm::JobNews& news) {
        end = news;
        return true;
      });
  if (!status.ok()) {
    session.error(status.error().message);
    return exit_error();
  }
  if (end.exit_signal != 0) return 1;
  if (end.exit_code != 0) return end.exit_code;
  return end.cause == "completed" ? 0 : 1;
}

}  // namespace

int run_sbatch(int argc, char** argv) {
  Session session("sbatch");
  CommandLine line = read_command_line(session, slurm::Tool::Sbatch, argc, argv);
  if (line.exit) return *line.exit;
  slurm::SubmitRequest request = make_request(slurm::Tool::Sbatch, line);
  request.environment = environment();
  if (const Status status = read_script(line.options, request); !status.ok()) {
    session.error(status.error().message);
    return exit_error();
  }
  slurm::JobOptions options;
  if (const auto code = check_script(session, request, options)) return *code;
  const std::string& chdir = options.chdir;
  const std::string base =
      chdir.empty() || !chdir.starts_with('/') ? request.work_dir + "/" + chdir : chdir;
  check_folder("output", options.output, base, request.warnings);
  check_folder("error", options.error, base, request.warnings);
  if (options.test_only) return test_only(session, request);
  const auto reply = submit(session, "/slurm/v1/submit", request, options.verbose > 0);
  if (!reply) return exit_error();
  if (options.parsable)
    std::printf("%u\n", reply->job);
  else if (options.quiet == 0)
    std::printf("Submitted batch job %u\n", reply->job);
  std::fflush(stdout);
  return options.wait ? wait_for(session, *reply) : 0;
}

}  // namespace phalanx::cli
