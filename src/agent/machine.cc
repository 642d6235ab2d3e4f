#include "agent/machine.h"

#include <sys/utsname.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "agent/kernel_file.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

// The numbers of "0-3,8".
std::vector<int> numbers_in(std::string_view list) {
  std::vector<int> numbers;
  for (std::string_view part : split(list, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_int(trim(part.substr(0, dash)));
    const auto last =
        dash == std::string_view::npos ? first : parse_int(trim(part.substr(dash + 1)));
    if (!first || !last) continue;
    for (std::int64_t n = *first; n <= *last; ++n) numbers.push_back(static_cast<int>(n));
  }
  return numbers;
}

// The size behind "MemTotal:" (in a node's file: "Node 0 MemTotal:"), in MiB; the kernel counts in
// KiB.
std::int64_t memory_mib(const std::string& path) {
  const std::string text = read_text(path).value_or("");
  for (std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> words = split_blanks(line);
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == "MemTotal:") return parse_int(words[i + 1]).value_or(0) / 1024;
  }
  return 0;
}

// Counted as Slurm does: the fullest socket and the fullest core stand for the others.
void count_cpus(const std::string& root, MachineInfo& machine) {
  const std::string dir = root + "/sys/devices/system/cpu";
  std::map<std::int64_t, std::set<std::int64_t>> cores;          // of each socket
  std::map<std::pair<std::int64_t, std::int64_t>, int> threads;  // of each (socket, core)
  const std::vector<int> online = numbers_in(read_text(dir + "/online").value_or("0"));
  for (int cpu : online) {
    const std::string topology = format("{}/cpu{}/topology", dir, cpu);
    // -1 is what some virtual machines say for "the only one".
    const auto socket = read_number(topology + "/physical_package_id").value_or(0);
    const auto core = read_number(topology + "/core_id").value_or(cpu);
    cores[socket].insert(core);
    ++threads[{socket, core}];
  }
  if (online.empty()) return;
  machine.cpus = static_cast<int>(online.size());
  machine.sockets = static_cast<int>(cores.size());
  for (const auto& [socket, of_socket] : cores)
    machine.cores_per_socket =
        std::max(machine.cores_per_socket, static_cast<int>(of_socket.size()));
  for (const auto& [core, count] : threads)
    machine.threads_per_core = std::max(machine.threads_per_core, count);
}

}  // namespace

MachineInfo discover_machine(const std::string& root) {
  MachineInfo machine;
  utsname names{};
  if (::uname(&names) == 0) {
    const std::string_view full = names.nodename;
    machine.hostname = full.substr(0, full.find('.'));
    machine.kernel = names.release;
    machine.architecture = names.machine;
  }
  machine.boot_id = read_text(root + "/proc/sys/kernel/random/boot_id").value_or("");
  machine.memory_mib = memory_mib(root + "/proc/meminfo");
  count_cpus(root, machine);
  const std::string nodes = root + "/sys/devices/system/node";
  for (int id : numbers_in(read_text(nodes + "/online").value_or(""))) {
    const std::string dir = format("{}/node{}", nodes, id);
    machine.numa.push_back({.id = id,
                            .cpus = read_text(dir + "/cpulist").value_or(""),
                            .memory_mib = memory_mib(dir + "/meminfo")});
  }
  return machine;
}

}  // namespace phalanx::agent
