#include "agent/spawn/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/fd.h"
#include "agent/spawn/files.h"

namespace phalanx::agent::spawn {
namespace {

std::string proc_path(pid_t pid, const char* file) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
  return path;
}

bool read_process(pid_t pid, Process& process) {
  const std::string stat = read_file(proc_path(pid, "stat").c_str(), 1024);
  const std::size_t name_end = stat.rfind(')');  // the name may hold blanks and parentheses
  if (name_end == std::string::npos) return false;
  process.pid = pid;
  unsigned long long start = 0;
  const int fields =
      std::sscanf(stat.c_str() + name_end + 1,
                  " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                  "%*d %*d %llu",
                  &process.state, &process.parent, &process.group, &process.session, &start);
  process.start = start;
  return fields == 5;
}

bool carries(pid_t pid, const std::string& marker) {
  const Fd file(::open(proc_path(pid, "environ").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  // The kernel gives the environment as strings that each end in a zero byte.
  const std::string environment = '\0' + read_all(file.get());
  return environment.find('\0' + marker + '\0') != std::string::npos;
}

bool owned_by(pid_t pid, uid_t uid) {
  struct stat info{};
  return ::stat(proc_path(pid, "").c_str(), &info) == 0 && info.st_uid == uid;
}

void add_descendants(const std::vector<Process>& all, std::vector<Process>& tree,
                     std::vector<pid_t> parents) {
  while (!parents.empty()) {
    std::sort(parents.begin(), parents.end());
    std::vector<pid_t> next;
    for (const Process& process : all) {
      if (!std::binary_search(parents.begin(), parents.end(), process.parent)) continue;
      const bool known = std::any_of(tree.begin(), tree.end(),
                                     [&](const Process& p) { return p.pid == process.pid; });
      if (known) continue;
      tree.push_back(process);
      next.push_back(process.pid);
    }
    parents = std::move(next);
  }
}

}  // namespace

std::vector<Process> scan_processes() {
  std::vector<Process> all;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return all;
  while (const dirent* entry = ::readdir(proc)) {
    pid_t pid = 0;
    std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), pid);
    Process process;
    if (pid > 0 && read_process(pid, process) && process.state != 'Z') all.push_back(process);
  }
  ::closedir(proc);
  return all;
}

std::vector<Process> descendants(const std::vector<Process>& all, pid_t root) {
  std::vector<Process> tree;
  add_descendants(all, tree, {root});
  return tree;
}

std::vector<Process> leftovers(const std::vector<Process>& all, const std::string& marker,
                               const std::vector<pid_t>& sessions, uid_t uid, pid_t reaper) {
  std::vector<Process> tree;
  std::vector<pid_t> roots;
  for (const Process& process : all) {
    const bool orphan = process.parent == reaper || process.parent == 1;
    const bool ours = orphan && std::count(sessions.begin(), sessions.end(), process.session) > 0 &&
                      owned_by(process.pid, uid);
    if (process.pid == ::getpid() || (!ours && !carries(process.pid, marker))) continue;
    tree.push_back(process);
    roots.push_back(process.pid);
  }
  add_descendants(all, tree, std::move(roots));
  return tree;
}

bool send_signal(const Process& process, int signal) {
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!handle && errno != ENOSYS) return false;
  Process now;
  if (!read_process(process.pid, now) || now.start != process.start) return false;
  if (!handle) return ::kill(process.pid, signal) == 0;
  return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

}  // namespace phalanx::agent::spawn
