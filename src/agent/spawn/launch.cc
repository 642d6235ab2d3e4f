#include "agent/spawn/launch.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/spawn/files.h"

namespace phalanx::agent::spawn {
namespace {

// While it lives, files are opened and created with the user's identity, so that file systems which
// do not trust root behave as for the user.
class AsUser {
 public:
  explicit AsUser(const Start& start) : root_(::geteuid() == 0), umask_(::umask(start.umask)) {
    if (!root_) return;
    const std::vector<gid_t> groups(start.groups.begin(), start.groups.end());
    ok_ = ::setgroups(groups.size(), groups.data()) == 0;
    ::setfsgid(start.gid);
    ::setfsuid(start.uid);  // says the identity before, never whether it worked
    ok_ = ok_ && ::setfsgid(~gid_t{0}) == static_cast<int>(start.gid) &&
          ::setfsuid(~uid_t{0}) == static_cast<int>(start.uid);
  }
  ~AsUser() {
    ::umask(umask_);
    if (!root_) return;
    ::setfsuid(0);
    ::setfsgid(0);
    ::setgroups(0, nullptr);
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  bool root_;
  mode_t umask_;
  bool ok_ = true;
};

struct OpenFile {
  std::string path;
  int fd = -1;
};

// Waiting for the other end of a named pipe would stop the whole unit, hence O_NONBLOCK while
// opening.
Fd open_for_task(const char* path, int flags) {
  Fd fd(::open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666));
  if (fd) ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

// Tasks that name the same output file share one description, so that none truncates what another
// wrote.
Fd open_output(const StreamSpec& spec, std::vector<OpenFile>& shared) {
  for (const OpenFile& file : shared) {
    if (file.path == spec.path) return Fd(::fcntl(file.fd, F_DUPFD_CLOEXEC, 3));
  }
  const int truncate = spec.append ? 0 : O_TRUNC;
  Fd fd = open_for_task(spec.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | truncate);
  if (fd) shared.push_back({spec.path, fd.get()});
  return fd;
}

bool open_pipe(int number, Plumbing& ends) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return false;
  const bool input = number == 0;
  ends.child[number] = Fd(fds[input ? 0 : 1]);
  ends.ours[number] = Fd(fds[input ? 1 : 0]);
  return true;
}

bool open_terminal(const TaskSpec& task, uid_t uid, Plumbing& ends) {
  Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master || ::unlockpt(master.get()) != 0) return false;
  const Fd slave(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave) return false;
  if (::geteuid() == 0 && ::fchown(slave.get(), uid, static_cast<gid_t>(-1)) != 0) return false;
  winsize size{};
  size.ws_row = task.rows;
  size.ws_col = task.columns;
  ::ioctl(master.get(), TIOCSWINSZ, &size);
  for (Fd& fd : ends.child) fd = Fd(::fcntl(slave.get(), F_DUPFD_CLOEXEC, 3));
  ends.ours[0] = Fd(::fcntl(master.get(), F_DUPFD_CLOEXEC, 3));
  ends.ours[1] = std::move(master);
  return ends.child[2] && ends.ours[0];
}

bool open_stream(int number, const StreamSpec& spec, std::vector<OpenFile>& shared,
                 Plumbing& ends) {
  Fd& child = ends.child[number];
  switch (spec.kind) {
    case StreamKind::Null:
      child = Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
      break;
    case StreamKind::File:
      child = number == 0 ? open_for_task(spec.path.c_str(), O_RDONLY) : open_output(spec, shared);
      break;
    case StreamKind::Stream:
      return open_pipe(number, ends);
    case StreamKind::Stdout:
      child = Fd(::fcntl(ends.child[1].get(), F_DUPFD_CLOEXEC, 3));
      break;
  }
  return static_cast<bool>(child);
}

std::optional<Failure> write_script(const Start& start, const std::string& path) {
  ::unlink(path.c_str());
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700));
  if (!file || !write_all(file.get(), start.script) || ::fchmod(file.get(), 0700) != 0) {
    return Failure{Stage::Script, errno, path};
  }
  if (::geteuid() == 0 && ::fchown(file.get(), start.uid, start.gid) != 0) {
    return Failure{Stage::Script, errno, path};
  }
  return std::nullopt;
}

std::optional<Failure> check_stream(const StreamSpec& spec, Stage stage) {
  if (spec.kind == StreamKind::File && (spec.path.empty() || spec.path[0] != '/')) {
    return Failure{stage, EINVAL, "not an absolute path: " + spec.path};
  }
  if (spec.kind == StreamKind::Stdout && stage != Stage::Stderr) {
    return Failure{stage, EINVAL, "only stderr can join stdout"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Failure> check(const Start& start) {
  constexpr std::size_t kMaxTasks = 4096;
  if (start.tasks.empty() || start.tasks.size() > kMaxTasks)
    return Failure{Stage::Request, EINVAL, "number of tasks"};
  for (const TaskSpec& task : start.tasks) {
    if (start.script.empty() && start.argv.empty() && task.argv.empty()) {
      return Failure{Stage::Request, EINVAL, "no program"};
    }
    const std::optional<Failure> streams[] = {check_stream(task.in, Stage::Stdin),
                                              check_stream(task.out, Stage::Stdout),
                                              check_stream(task.err, Stage::Stderr)};
    for (const auto& failure : streams) {
      if (failure && !task.pty) return failure;
    }
  }
  if (::geteuid() != 0 && (start.uid != ::geteuid() || start.gid != ::getegid())) {
    return Failure{Stage::Identity, EPERM,
                   "without root, work runs only for the user who runs the agent"};
  }
  if (!start.script.empty() && start.script_path.empty() && start.uid != ::geteuid()) {
    return Failure{Stage::Script, EACCES,
                   "another user's script needs a script_path that this user can reach"};
  }
  return std::nullopt;
}

std::optional<Failure> prepare(const Start& start, const std::string& script_path,
                               std::vector<Plumbing>& plumbing) {
  if (!start.script.empty()) {
    if (auto failure = write_script(start, script_path)) return failure;
  }
  const AsUser user(start);
  if (!user.ok())
    return Failure{Stage::Identity, EPERM, "cannot take the user's identity for files"};
  std::vector<OpenFile> shared;
  plumbing.resize(start.tasks.size());
  for (std::size_t i = 0; i < start.tasks.size(); ++i) {
    const TaskSpec& task = start.tasks[i];
    if (task.pty) {
      if (!open_terminal(task, start.uid, plumbing[i]))
        return Failure{Stage::Pty, errno, "/dev/ptmx"};
      continue;
    }
    if (!open_stream(0, task.in, shared, plumbing[i]))
      return Failure{Stage::Stdin, errno, task.in.path};
    if (!open_stream(1, task.out, shared, plumbing[i]))
      return Failure{Stage::Stdout, errno, task.out.path};
    if (!open_stream(2, task.err, shared, plumbing[i]))
      return Failure{Stage::Stderr, errno, task.err.path};
  }
  return std::nullopt;
}

std::string describe(const ChildReport& report, const Start& start, std::size_t task,
                     const LaunchContext& context) {
  const TaskSpec& spec = start.tasks[task];
  const auto& cgroups = spec.cgroup_procs.empty() ? start.cgroup_procs : spec.cgroup_procs;
  const auto& argv = spec.argv.empty() ? start.argv : spec.argv;
  switch (report.stage) {
    case Stage::Cgroup:
      return report.index < cgroups.size() ? cgroups[report.index] : "";
    case Stage::Directory:
      return start.cwd;
    case Stage::Exec:
      return !context.script_path.empty() ? context.script_path : argv.empty() ? "" : argv[0];
    case Stage::Limit:
      return report.index < start.limits.size()
                 ? std::to_string(start.limits[report.index].resource)
                 : "";
    case Stage::ArgumentSpace:
      return "stack limit raised to make room for arguments and environment";
    default:
      return "";
  }
}

}  // namespace phalanx::agent::spawn
