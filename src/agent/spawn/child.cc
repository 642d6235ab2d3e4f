// The child's side of launch(): between fork and exec.
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "agent/spawn/files.h"
#include "agent/spawn/launch.h"

namespace phalanx::agent::spawn {
namespace {

constexpr int kCannotExecute = 127;
constexpr std::string_view kOwnPid = "SLURM_TASK_PID=";  // as it comes, without its value
constexpr std::string_view kTemporary = "TMPDIR=";
constexpr const char* kAlwaysThere = "TMPDIR=/tmp";

class Child {
 public:
  Child(const Start& start, std::size_t task, const LaunchContext& context, int status)
      : start_(start), task_(start.tasks[task]), context_(context), status_(status) {}

  [[noreturn]] void run(Plumbing& plumbing, pid_t supervisor) {
    take_streams(plumbing);
    if (::getppid() != supervisor)
      ::_exit(kCannotExecute);  // it died meanwhile: nobody would own us
    ::setsid();
    if (task_.pty) ::ioctl(0, TIOCSCTTY, 0);
    join_cgroups();
    set_limits();
    take_identity();
    enter_directory();
    execute();
  }

 private:
  void report(Stage stage, bool fatal, int error, std::size_t index = 0) const {
    const ChildReport message{stage, fatal, error, static_cast<unsigned>(index)};
    (void)!::write(status_, &message, sizeof message);
    if (fatal) ::_exit(kCannotExecute);
  }

  // From here on the child holds nothing of the supervisor's, so that a child which hangs in a
  // system call cannot be taken for a living supervisor.
  void take_streams(Plumbing& plumbing) const {
    for (int i = 0; i < 3; ++i) ::dup2(plumbing.child[i].get(), i);
    const auto status = static_cast<unsigned>(status_);
    if (status > 3) ::close_range(3, status - 1, 0);
    ::close_range(status + 1, ~0U, 0);
  }

  void join_cgroups() const {
    const auto& files = task_.cgroup_procs.empty() ? start_.cgroup_procs : task_.cgroup_procs;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const Fd file(::open(files[i].c_str(), O_WRONLY | O_CLOEXEC));
      if (!file || ::write(file.get(), "0", 1) != 1) report(Stage::Cgroup, true, errno, i);
    }
  }

  void set_limits() const {
    ::setrlimit(RLIMIT_NOFILE, &context_.open_files);
    for (std::size_t i = 0; i < start_.limits.size(); ++i) set_limit(start_.limits[i], i);
    if (start_.nice != 0 && ::setpriority(PRIO_PROCESS, 0, start_.nice) != 0)
      report(Stage::Priority, false, errno);
    if (task_.cpus.empty()) return;
    constexpr std::uint32_t kMaxCpus = 8192;
    std::vector<cpu_set_t> mask(kMaxCpus / CPU_SETSIZE);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    CPU_ZERO_S(bytes, mask.data());
    for (const std::uint32_t cpu : task_.cpus) CPU_SET_S(cpu, bytes, mask.data());
    if (::sched_setaffinity(0, bytes, mask.data()) != 0) report(Stage::Affinity, false, errno);
  }

  // A hard limit that may not be raised leaves as much as is allowed.
  void set_limit(const Limit& limit, std::size_t index) const {
    rlimit wanted{limit.soft, limit.hard};
    const auto resource = static_cast<__rlimit_resource_t>(limit.resource);
    if (::setrlimit(resource, &wanted) == 0) return;
    const int error = errno;
    rlimit now{};
    if (::getrlimit(resource, &now) == 0) {
      wanted.rlim_max = std::min(wanted.rlim_max, now.rlim_max);
      wanted.rlim_cur = std::min(wanted.rlim_cur, wanted.rlim_max);
      ::setrlimit(resource, &wanted);
    }
    report(Stage::Limit, false, error, index);
  }

  void take_identity() const {
    if (::geteuid() == 0) {
      const std::vector<gid_t> groups(start_.groups.begin(), start_.groups.end());
      if (::setgroups(groups.size(), groups.data()) != 0 ||
          ::setresgid(start_.gid, start_.gid, start_.gid) != 0 ||
          ::setresuid(start_.uid, start_.uid, start_.uid) != 0) {
        report(Stage::Identity, true, errno);
      }
    }
    ::umask(start_.umask);
  }

  void enter_directory() const {
    if (start_.cwd.empty() || ::chdir(start_.cwd.c_str()) == 0) return;
    const int error = errno;
    report(Stage::Directory, false, error);
    const std::string line =
        "phalanx: cannot enter " + start_.cwd + ": " + std::strerror(error) + "; running in /tmp\n";
    (void)!::write(2, line.data(), line.size());
    if (::chdir("/tmp") != 0) report(Stage::Directory, true, errno);
  }

  static std::string_view name_of(std::string_view assignment) {
    return assignment.substr(0, std::min(assignment.find('='), assignment.size() - 1) + 1);
  }

  std::vector<char*> environment() const {
    std::vector<char*> env;
    const auto put = [&env](const std::string& text, bool replace) {
      const std::string_view name = name_of(text);
      for (std::size_t i = 0; replace && i < env.size(); ++i) {
        if (std::string_view(env[i]).substr(0, name.size()) != name) continue;
        env[i] = const_cast<char*>(text.c_str());
        return;
      }
      env.push_back(const_cast<char*>(text.c_str()));
    };
    for (const std::string& text : start_.env) {
      if (!text.empty()) put(text, false);
    }
    for (const std::string& text : task_.env) {
      if (!text.empty()) put(text, true);
    }
    put(context_.marker, true);
    // A variable that nobody but the task itself can know, where it is asked for.
    for (char*& text : env) {
      if (std::string_view(text) == kOwnPid) text = const_cast<char*>(own_pid_.c_str());
      // A scratch folder of the submit host may not be here, or not for this user.
      struct stat info{};
      if (std::string_view(text).starts_with(kTemporary) &&
          (::stat(text + kTemporary.size(), &info) != 0 || !S_ISDIR(info.st_mode)))
        text = const_cast<char*>(kAlwaysThere);
    }
    env.push_back(nullptr);
    return env;
  }

  // Returns only if the program cannot be executed, with the reason in errno. As a shell would:
  // along PATH, "permission denied" is remembered while the search goes on.
  void search(const char* program, char* const* argv, char* const* env) const {
    std::string_view path = "/usr/local/bin:/usr/bin:/bin";
    constexpr std::string_view kName = "PATH=";
    for (char* const* text = env; *text != nullptr; ++text) {
      if (std::string_view(*text).substr(0, kName.size()) == kName)
        path = std::string_view(*text).substr(kName.size());
    }
    int error = ENOENT;
    while (true) {
      const std::string_view folder = path.substr(0, path.find(':'));
      const std::string file = std::string(folder.empty() ? "." : folder) + "/" + program;
      ::execve(file.c_str(), argv, env);
      if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return;
      if (errno == EACCES) error = EACCES;
      if (folder.size() == path.size()) break;
      path.remove_prefix(folder.size() + 1);
    }
    errno = error;
  }

  void try_execute(char* const* argv, char* const* env) const {
    if (std::strchr(argv[0], '/') != nullptr) {
      ::execve(argv[0], argv, env);
    } else {
      search(argv[0], argv, env);
    }
  }

  [[noreturn]] void execute() const {
    std::vector<char*> argv;
    for (const std::string& text : task_.argv.empty() ? start_.argv : task_.argv) {
      argv.push_back(const_cast<char*>(text.c_str()));
    }
    if (!context_.script_path.empty()) {
      if (argv.empty()) argv.push_back(nullptr);
      argv[0] = const_cast<char*>(context_.script_path.c_str());
    }
    argv.push_back(nullptr);
    const std::vector<char*> env = environment();
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    try_execute(argv.data(), env.data());
    if (errno == E2BIG && raise_stack_limit()) try_execute(argv.data(), env.data());
    const int error = errno;
    report(Stage::Exec, true, error);
    ::_exit(kCannotExecute);
  }

  // The kernel gives arguments and environment a quarter of the stack limit, at most 6 MB.
  bool raise_stack_limit() const {
    constexpr rlim_t kEnough = 24 * 1024 * 1024;
    rlimit stack{};
    if (::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kEnough) return false;
    stack.rlim_cur = std::min(kEnough, stack.rlim_max);
    if (::setrlimit(RLIMIT_STACK, &stack) != 0) return false;
    report(Stage::ArgumentSpace, false, E2BIG);
    errno = E2BIG;
    return true;
  }

  const Start& start_;
  const TaskSpec& task_;
  const LaunchContext& context_;
  int status_;
  const std::string own_pid_ = std::string(kOwnPid) + std::to_string(::getpid());
};

}  // namespace

Launched launch(const Start& start, std::size_t task, Plumbing& plumbing,
                const LaunchContext& context) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return {};
  Fd read_end(fds[0]);
  const Fd write_end(fds[1]);
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  const pid_t supervisor = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) Child(start, task, context, write_end.get()).run(plumbing, supervisor);
  return {pid, std::move(read_end)};
}

}  // namespace phalanx::agent::spawn
