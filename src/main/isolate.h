// An emulated node's own view of the machine: its network namespace, host name and /etc/hosts. What
// the process starts afterwards inherits it. Linux system calls; to be called before any thread is
// started. An error says what could not be done and what follows from it; the rest is done.
#pragma once

#include <string>

#include "base/result.h"

namespace phalanx {

struct Isolation {  // what is empty stays as it is
  std::string network;
  std::string host_name;
  std::string hosts_file;
};
Status isolate(const Isolation& isolation);

}  // namespace phalanx
