#include "main/parent.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

namespace phalanx {

bool follow_parent(std::int64_t pid) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  return ::getppid() == pid;
}

}  // namespace phalanx
