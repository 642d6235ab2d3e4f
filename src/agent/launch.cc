#include "agent/launch.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "base/text.h"

namespace phalanx::agent {
namespace {

using spawn::Stage;
using Environment = std::map<std::string, std::string>;

void set(Environment& env, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos)
    env.erase(std::string(text));
  else if (equals > 0)
    env[std::string(text.substr(0, equals))] = text.substr(equals + 1);
}

Environment merged(std::initializer_list<const std::vector<std::string>*> lists) {
  Environment env;
  for (const auto* list : lists)
    for (const std::string& text : *list) set(env, text);
  return env;
}

constexpr const char* kTaskPid = "SLURM_TASK_PID";  // its value is the child's to fill in

// What was true where the work was submitted is not where it runs: scripts say
// MASTER_ADDR=$HOSTNAME. Whether TMPDIR is there the child sees, as its user.
void add_local(Environment& env, const LocalEnvironment& local) {
  env["SLURMD_NODENAME"] = env["HOSTNAME"] = local.node;
  if (std::string& temporary = env["TMPDIR"]; temporary.empty()) temporary = "/tmp";
  env["PHALANX_SOCKET"] = local.socket;
  if (local.commands_dir.empty()) return;
  std::string& path = env["PATH"];
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  if ((":" + path + ":").find(":" + local.commands_dir + ":") != path.npos) return;
  path = local.commands_first ? local.commands_dir + ":" + path : path + ":" + local.commands_dir;
}

std::vector<std::string> texts(const Environment& env) {
  std::vector<std::string> list;
  for (const auto& [name, value] : env) list.push_back(format("{}={}", name, value));
  return list;
}

std::vector<spawn::Limit> limits_of(const std::map<std::string, std::int64_t>& asked) {
  constexpr std::array<std::pair<std::string_view, int>, 9> kKnown{{{"as", RLIMIT_AS},
                                                                    {"core", RLIMIT_CORE},
                                                                    {"data", RLIMIT_DATA},
                                                                    {"fsize", RLIMIT_FSIZE},
                                                                    {"memlock", RLIMIT_MEMLOCK},
                                                                    {"nofile", RLIMIT_NOFILE},
                                                                    {"nproc", RLIMIT_NPROC},
                                                                    {"rss", RLIMIT_RSS},
                                                                    {"stack", RLIMIT_STACK}}};
  std::vector<spawn::Limit> limits;
  for (const auto& [name, resource] : kKnown) {
    const auto it = asked.find(std::string(name));
    rlimit own{};
    if (it == asked.end() || ::getrlimit(static_cast<__rlimit_resource_t>(resource), &own) != 0)
      continue;
    const std::uint64_t soft =
        it->second < 0 ? spawn::kUnlimited : static_cast<std::uint64_t>(it->second);
    limits.push_back({resource, std::min(soft, std::uint64_t{own.rlim_max}), own.rlim_max});
  }
  return limits;
}

void set_owner(spawn::Start& start, const Identity& owner) {
  start.uid = owner.uid;
  start.gid = owner.gid;
  start.groups = owner.groups;
}

std::string absolute(const std::string& path, const std::string& work_dir) {
  return path.starts_with('/') ? path : work_dir + "/" + path;
}

spawn::StreamSpec file_or_null(const std::string& path, const std::string& work_dir, bool append) {
  if (path.empty()) return {};
  return {spawn::StreamKind::File, append, absolute(path, work_dir)};
}

spawn::StreamSpec stream_of(const StepStream& stream, const std::string& work_dir) {
  switch (stream.kind) {
    case StepStreamKind::none:
      return {};
    case StepStreamKind::stream:
      return {spawn::StreamKind::Stream, false, ""};
    case StepStreamKind::file:
      return {spawn::StreamKind::File, stream.append, absolute(stream.path, work_dir)};
    case StepStreamKind::with_output:
      return {spawn::StreamKind::Stdout, false, ""};
  }
  return {};
}

// The names that some task sets or removes go from the unit's environment into each task's own, so
// that a task can also lack one.
void add_task_environments(spawn::Start& start, Environment common, const StepGrant& grant) {
  std::set<std::string> special;
  for (const auto& list : grant.per_task)
    for (const std::string& text : list) special.insert(text.substr(0, text.find('=')));
  for (std::size_t i = 0; i < start.tasks.size(); ++i) {
    Environment own;
    for (const std::string& name : special)
      if (const auto it = common.find(name); it != common.end()) own.insert(*it);
    if (i < grant.per_task.size())
      for (const std::string& text : grant.per_task[i]) set(own, text);
    start.tasks[i].env = texts(own);
  }
  for (const std::string& name : special) common.erase(name);
  start.env = texts(common);
}

std::string_view doing(Stage stage) {
  switch (stage) {
    case Stage::Request:
      return "start this";
    case Stage::Intent:
      return "write";
    case Stage::Folder:
      return "create";
    case Stage::Fork:
      return "start a process:";
    case Stage::Identity:
      return "take the user's identity";
    case Stage::Script:
      return "write the script";
    case Stage::Stdin:
    case Stage::Stdout:
    case Stage::Stderr:
      return "open";
    case Stage::Pty:
      return "open a terminal:";
    case Stage::Cgroup:
      return "enter the control group";
    case Stage::Priority:
      return "set the priority";
    case Stage::Limit:
      return "set the limit";
    case Stage::Affinity:
      return "set the CPUs";
    case Stage::Directory:
      return "enter";
    case Stage::Exec:
      return "execute";
    case Stage::ArgumentSpace:
      return "make room for the arguments:";
  }
  return "do";
}

}  // namespace

spawn::Start batch_request(const LaunchOrder& order, const std::string& script_path,
                           const LocalEnvironment& local) {
  spawn::Start start;
  set_owner(start, order.owner);
  start.umask = order.launch.umask;
  start.limits = limits_of(order.launch.limits);
  start.cwd = order.launch.work_dir;
  Environment env = merged({&order.environment});
  add_local(env, local);
  if (order.kind == WorkloadKind::batch) env[kTaskPid] = "";
  start.env = texts(env);
  if (order.kind == WorkloadKind::batch) {
    start.script = order.script_text;
    start.script_path = script_path;
    start.argv = {script_path};
  }
  start.argv.insert(start.argv.end(), order.launch.arguments.begin(), order.launch.arguments.end());
  spawn::TaskSpec task;
  task.in = file_or_null(order.std_in, start.cwd, false);
  task.out = file_or_null(order.std_out, start.cwd, order.launch.append);
  task.err = file_or_null(order.std_err, start.cwd, order.launch.append);
  if (!order.std_err.empty() && order.std_err == order.std_out)
    task.err = {spawn::StreamKind::Stdout, false, ""};
  start.tasks.push_back(std::move(task));
  return start;
}

Result<spawn::Start> step_request(const StepGrant& grant, const StepLaunch& launch,
                                  const LocalEnvironment& local) {
  const std::size_t count = grant.share.ranks.size();
  if (launch.argv.empty()) return invalid("no command to run");
  if (launch.streams.size() != 1 && launch.streams.size() != count)
    return invalid(format("{} sets of streams for {} tasks", launch.streams.size(), count));
  spawn::Start start;
  set_owner(start, grant.owner);
  start.umask = launch.umask;
  start.limits = limits_of(launch.limits);
  start.cwd = launch.work_dir;
  start.argv = launch.argv;
  for (std::size_t i = 0; i < count; ++i) {
    const StepStreams& streams = launch.streams[launch.streams.size() == 1 ? 0 : i];
    spawn::TaskSpec task;
    task.in = stream_of(streams.in, start.cwd);
    task.out = stream_of(streams.out, start.cwd);
    task.err = stream_of(streams.err, start.cwd);
    if (launch.terminal && grant.share.ranks[i] == launch.terminal->rank) {
      task.pty = true;
      task.rows = launch.terminal->rows;
      task.columns = launch.terminal->columns;
    }
    start.tasks.push_back(std::move(task));
  }
  Environment common = merged({&launch.environment, &grant.environment});
  add_local(common, local);
  common["SLURM_UMASK"] = format("{:04o}", launch.umask);
  common[kTaskPid] = "";
  add_task_environments(start, std::move(common), grant);
  return start;
}

std::string sentence(spawn::Stage stage, int error, const std::string& detail) {
  std::string text = format("cannot {}", doing(stage));
  if (!detail.empty()) text += " " + detail;
  if (stage == Stage::Stdin) text += " for standard input";
  if (stage == Stage::Stdout) text += " for standard output";
  if (stage == Stage::Stderr) text += " for standard error";
  // The script itself was written a moment ago.
  if (stage == Stage::Exec && error == ENOENT && detail.ends_with("/slurm_script"))
    return text + ": the interpreter that its first line names is not on this node";
  return error == 0 ? text : format("{}: {}", text, std::strerror(error));
}

bool is_user_fault(spawn::Stage stage) {
  return stage == Stage::Request || stage == Stage::Identity || stage == Stage::Stdin ||
         stage == Stage::Stdout || stage == Stage::Stderr || stage == Stage::Directory ||
         stage == Stage::Exec || stage == Stage::ArgumentSpace;
}

TaskEnd task_end(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {0, WTERMSIG(wait_status)};
  return {WEXITSTATUS(wait_status), 0};
}

Time moment(std::uint64_t boottime_ns) {
  return Time(std::chrono::floor<Duration>(std::chrono::nanoseconds(boottime_ns)));
}

}  // namespace phalanx::agent
