#include "agent/note.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "agent/fd.h"
#include "base/text.h"
#include "net/net.h"

namespace phalanx::agent {
namespace {

std::string local_time() {
  const std::time_t now = unix_seconds(net::wall_now());
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)};
}

std::string_view due_to(EndCause cause) {
  switch (cause) {
    case EndCause::timeout:
    case EndCause::deadline:
      return " DUE TO TIME LIMIT";
    case EndCause::preempted:
      return " DUE TO PREEMPTION";
    case EndCause::node_failed:
      return " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS";
    case EndCause::none:
      return " DUE TO JOB REQUEUE";
    case EndCause::completed:
    case EndCause::failed:
    case EndCause::cancelled:
    case EndCause::out_of_memory:
    case EndCause::launch_failed:
      return "";
  }
  return "";
}

// Files are opened with the owner's rights while it lives.
class AsOwner {
 public:
  explicit AsOwner(const Identity& owner) {
    if (::geteuid() != 0) return;
    ::setfsgid(owner.gid);
    ::setfsuid(owner.uid);
  }
  ~AsOwner() {
    if (::geteuid() != 0) return;
    ::setfsuid(0);
    ::setfsgid(0);
  }
  AsOwner(const AsOwner&) = delete;
  AsOwner& operator=(const AsOwner&) = delete;
};

}  // namespace

std::string stop_note(std::string_view what, std::string_view node, EndCause cause) {
  return format("error: *** {} ON {} CANCELLED AT {}{} ***", what, node, local_time(),
                due_to(cause));
}

std::string supervisor_note(std::string_view step) {
  return format(
      "error: StepId={} lost its supervisor on this node: its tasks here were killed, it was not "
      "their own doing.",
      step);
}

std::string memory_note(std::string_view step) {
  return format(
      "error: Detected 1 oom_kill event in StepId={}. Some of the step tasks "
      "have been OOM Killed.",
      step);
}

void write_note(const LaunchOrder& order, const std::string& text) {
  if (order.kind != WorkloadKind::batch || order.std_err.empty()) return;
  const std::string path =
      order.std_err.starts_with('/') ? order.std_err : order.launch.work_dir + "/" + order.std_err;
  const AsOwner owner(order.owner);
  const Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat what{};
  if (!file || ::fstat(file.get(), &what) != 0 || !S_ISREG(what.st_mode)) return;
  const std::string line = format("slurmstepd: {}\n", text);
  (void)!::write(file.get(), line.data(), line.size());
}

}  // namespace phalanx::agent
