// phalanx-spawn RUNDIR: starts the daemon unless one serves RUNDIR already, and returns when it can
// be connected to. Exit status 0: it runs; 1: it cannot, with the reason on stderr; 2: wrong usage.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/spawn/server.h"

namespace {

using phalanx::agent::spawn::Server;

int fail(const char* what, const char* name) {
  std::fprintf(stderr, "phalanx-spawn: %s %s: %s\n", what, name, std::strerror(errno));
  return 1;
}

// A folder that others can enter or write would let them reach the sockets.
bool enter_rundir(const char* rundir) {
  struct stat info{};
  if (::mkdir(rundir, 0700) != 0 && errno != EEXIST) return false;
  if (::lstat(rundir, &info) != 0) return false;
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) {
    errno = EPERM;
    return false;
  }
  return ::chmod(rundir, 0700) == 0 && ::chdir(rundir) == 0;
}

// Nothing inherited may leak into a task: descriptors, ignored signals, a terminal. The C library
// keeps two signals for its threads and would not reset them, hence the bare system call.
void detach() {
  ::close_range(3, ~0U, 0);
  struct {
    void* handler = nullptr;  // SIG_DFL
    unsigned long flags = 0;
    void* restorer = nullptr;
    std::uint64_t mask = 0;
  } const by_default;
  for (int signo = 1; signo < NSIG; ++signo) {
    ::syscall(SYS_rt_sigaction, signo, &by_default, nullptr, sizeof by_default.mask);
  }
  ::prctl(PR_SET_NAME, "phalanx-spawn");
}

rlimit raise_open_files() {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit raised{before.rlim_max, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

int serve(const char* rundir) {
  if (!enter_rundir(rundir)) return fail("cannot use the folder", rundir);
  char path[PATH_MAX];
  if (::getcwd(path, sizeof path) == nullptr) return fail("cannot use the folder", rundir);
  detach();
  Server server(path, raise_open_files());
  if (!server.open()) return errno == EWOULDBLOCK ? 0 : fail("cannot serve in", rundir);
  const pid_t daemon = ::fork();  // the socket listens already, so callers can connect at once
  if (daemon < 0) return fail("cannot start a daemon for", rundir);
  if (daemon > 0) return 0;
  ::setsid();
  const phalanx::agent::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; fd < 3; ++fd) ::dup2(null.get(), fd);
  server.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: phalanx-spawn RUNDIR\n", stderr);
    return 2;
  }
  return serve(argv[1]);
}
