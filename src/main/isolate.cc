#include "main/isolate.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/text.h"

namespace phalanx {
namespace {

Error failed(std::string_view what, std::string_view consequence) {
  return unavailable(format("{}: {}; {}", what, std::strerror(errno), consequence));
}

Status enter_network(const std::string& name) {
  const std::string path = "/run/netns/" + name;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed("cannot open " + path, "the node shares the machine's network");
  const int result = ::setns(fd, CLONE_NEWNET);
  const int error = errno;
  ::close(fd);
  errno = error;
  if (result != 0) return failed("cannot enter " + path, "the node shares the machine's network");
  return {};
}

// An ordinary user is root in a user namespace of its own, and still itself to everybody else.
Status become_root_inside() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (::unshare(CLONE_NEWUSER) != 0)
    return failed("cannot make a user namespace", "the node has the machine's name");
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << format("{} {} 1", uid, uid);
  std::ofstream("/proc/self/gid_map") << format("{} {} 1", gid, gid);
  return {};
}

Status own_name(const Isolation& isolation) {
  if (::unshare(CLONE_NEWUTS | CLONE_NEWNS) != 0)
    return failed("cannot make namespaces", "the node has the machine's name");
  if (!isolation.host_name.empty() &&
      ::sethostname(isolation.host_name.c_str(), isolation.host_name.size()) != 0)
    return failed("cannot set the host name", "the node has the machine's name");
  if (isolation.hosts_file.empty()) return {};
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 ||
      ::mount(isolation.hosts_file.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0)
    return failed("cannot put a hosts file in place", "nodes do not know each other by name");
  return {};
}

}  // namespace

Status isolate(const Isolation& isolation) {
  if (!isolation.network.empty()) TRY(enter_network(isolation.network));
  if (isolation.host_name.empty() && isolation.hosts_file.empty()) return {};
  if (::geteuid() != 0) TRY(become_root_inside());
  return own_name(isolation);
}

}  // namespace phalanx
