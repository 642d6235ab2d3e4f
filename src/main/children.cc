#include "main/children.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "main/paths.h"

namespace phalanx {

Status Children::start(std::string name, std::vector<std::string> words) {
  words.insert(words.begin(), "phalanx");
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const std::string program = binary_directory() + "/phalanx";
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, program.c_str(), nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return unavailable(format("cannot start {}: {}", program, std::strerror(error)));
  children_.push_back({pid, std::move(name)});
  return {};
}

std::vector<std::pair<Child, std::string>> Children::reap() {
  std::vector<std::pair<Child, std::string>> ended;
  std::erase_if(children_, [&](const Child& child) {
    int status = 0;
    if (::waitpid(child.pid, &status, WNOHANG) != child.pid) return false;
    ended.emplace_back(child, WIFSIGNALED(status) ? format("killed by signal {}", WTERMSIG(status))
                                                  : format("exit code {}", WEXITSTATUS(status)));
    return true;
  });
  return ended;
}

void Children::signal_all(const std::string& prefix, int signal) const {
  for (const Child& child : children_)
    if (child.name.starts_with(prefix)) ::kill(child.pid, signal);
}

bool Children::any(const std::string& prefix) const {
  return std::ranges::any_of(children_,
                             [&](const Child& child) { return child.name.starts_with(prefix); });
}

}  // namespace phalanx
