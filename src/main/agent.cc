#include "agent/agent.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "main/arguments.h"
#include "main/isolate.h"
#include "main/parent.h"
#include "main/paths.h"
#include "main/verbs.h"

namespace phalanx {
namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;

struct Figures {
  bool emulate = false;
  std::optional<std::int64_t> cpus, memory_mib;
  std::int64_t sockets = 1, threads = 1;
  std::vector<std::string> gpus;  // "a100:4"
};

Result<std::optional<NodeSpec>> emulated(const Figures& figures) {
  if (!figures.emulate) return std::optional<NodeSpec>();
  NodeSpec spec = agent::machine_spec();
  spec.emulated = true;
  if (figures.cpus) {
    spec.cpus = *figures.cpus;
    spec.sockets = std::max<std::int64_t>(figures.sockets, 1);
    spec.threads_per_core = std::max<std::int64_t>(figures.threads, 1);
    spec.cores_per_socket =
        std::max<std::int64_t>(spec.cpus / spec.sockets / spec.threads_per_core, 1);
  }
  if (figures.memory_mib) spec.memory = *figures.memory_mib * kMib;
  for (const std::string& text : figures.gpus) {
    const std::size_t colon = text.rfind(':');
    const auto count = parse_int(std::string_view(text).substr(colon + 1));
    if (colon == text.npos || !count || *count < 0)
      return invalid(format("--gpus needs TYPE:COUNT, not \"{}\"", text));
    for (Device& device : agent::name_devices(*count, text.substr(0, colon))) {
      device.uuid = format("GPU-emulated-{}", spec.devices.size());
      spec.devices.push_back(std::move(device));
    }
  }
  return std::optional(std::move(spec));
}

}  // namespace

int agent_verb(int argc, char** argv) {
  agent::AgentOptions options;
  const Paths paths = default_paths();
  options.controller = "unix:" + paths.socket();
  options.run_dir = paths.run_dir + "/node";
  options.spool_dir = paths.state_dir + "/node";
  options.token_file = paths.controller_state() + "/join.token";
  options.spawn_program = binary_directory() + "/phalanx-spawn";
  options.commands_dir = binary_directory() + "/slurm";
  Figures figures;
  Isolation isolation;
  std::optional<std::int64_t> parent;
  const std::vector<Option> known{
      {"--name", &options.name, "NAME", "of the node; default: the host's"},
      {"--controller", &options.controller, "ENDPOINT", "unix:/path or host:port"},
      {"--token-file", &options.token_file, "FILE", "the join token"},
      {"--run", &options.run_dir, "DIR", "records and sockets; gone after a boot"},
      {"--spool", &options.spool_dir, "DIR", "batch scripts"},
      {"--address", &options.address, "ADDRESS", "by which other nodes reach this one"},
      {"--slurm-path", &options.commands_first, "", "Slurm's names come first in PATH of jobs"},
      {"--ephemeral", &options.ephemeral, "", "all work ends when the agent is told to stop"},
      {"--emulate", &figures.emulate, "", "announce the following instead of what is there"},
      {"--cpus", &figures.cpus, "N", "emulated CPUs"},
      {"--sockets", &figures.sockets, "N", "emulated sockets"},
      {"--threads-per-core", &figures.threads, "N", "emulated threads of a core"},
      {"--memory", &figures.memory_mib, "MIB", "emulated memory"},
      {"--gpus", &figures.gpus, "TYPE:COUNT", "emulated GPUs; may be repeated"},
      {"--network-namespace", &isolation.network, "NAME", "live in this one (ip netns)"},
      {"--host-name", &isolation.host_name, "NAME", "of this agent and its jobs alone"},
      {"--hosts-file", &isolation.hosts_file, "FILE", "seen here as /etc/hosts"},
      {"--parent", &parent, "PID", "stop when this process, its parent, is gone"},
  };
  if (const auto code =
          parse_arguments("agent", "Makes this machine a node of a cluster.", known, argc, argv)) {
    return *code;
  }
  if (parent && !follow_parent(*parent)) return 1;
  auto spec = emulated(figures);
  if (!spec.ok()) {
    std::fprintf(stderr, "phalanx agent: %s\n", spec.error().message.c_str());
    return 2;
  }
  options.emulated = std::move(*spec);
  if (const Status status = isolate(isolation); !status.ok()) {
    std::fprintf(stderr, "phalanx agent: warning: %s\n", status.error().message.c_str());
  }
  return agent::run_agent(options);
}

}  // namespace phalanx
