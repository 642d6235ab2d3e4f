// The daemons that `phalanx up` started: each in a process group of its own, so that Ctrl-C reaches
// only us. One thread. Errors: a program that cannot be started.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace phalanx {

struct Child {
  pid_t pid = 0;
  std::string name;  // for people: "the controller", "the agent of n1"
};

class Children {
 public:
  // Runs this program again as `phalanx <words…>`.
  Status start(std::string name, std::vector<std::string> words);
  // Those that have ended since the last call, with a word about how.
  std::vector<std::pair<Child, std::string>> reap();
  void signal_all(const std::string& prefix, int signal) const;  // those whose name starts so
  [[nodiscard]] bool any(const std::string& prefix) const;

 private:
  std::vector<Child> children_;
};

}  // namespace phalanx
