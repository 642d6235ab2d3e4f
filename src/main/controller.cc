#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/codec.h"
#include "main/arguments.h"
#include "main/cluster_plan.h"
#include "main/parent.h"
#include "main/paths.h"
#include "main/verbs.h"
#include "server/server.h"

namespace phalanx {
namespace {

Result<ClusterConfig> read_config(const std::string& path) {
  const std::ifstream file(path);
  if (!file) return not_found(format("cannot read {}", path));
  std::ostringstream text;
  text << file.rdbuf();
  return codec::decode<ClusterConfig>(text.str());
}

ClusterConfig one_partition() {
  ClusterConfig config;
  Partition main;
  main.name = "main";
  main.is_default = true;
  config.partitions.push_back(std::move(main));
  return config;
}

// The configuration comes from these files. `alone`: nobody has read them and told their warnings.
Status follow_files(const std::string& directory, bool alone, server::ServerOptions& options) {
  options.reread = [directory]() -> Result<server::Reread> {
    FileConfig files = TRY(read_configuration(directory));
    return server::Reread{std::move(files.config), std::move(files.warnings)};
  };
  auto files = options.reread();
  if (!files.ok()) {
    if (alone) return files.error();
    std::fprintf(stderr, "phalanx controller: %s; what `phalanx up` read before holds\n",
                 files.error().message.c_str());
    return {};
  }
  for (const std::string& warning : files->warnings)
    if (alone) std::fprintf(stderr, "phalanx controller: warning: %s\n", warning.c_str());
  options.config = std::move(files->config);
  return {};
}

}  // namespace

int controller_verb(int argc, char** argv) {
  server::ServerOptions options;
  options.state_dir = default_paths().controller_state();
  options.socket = default_paths().socket();
  std::string config_file, config_dir;
  std::optional<std::int64_t> port, compact_after, low_disk, parent;
  const std::vector<Option> known{
      {"--state", &options.state_dir, "DIR", "journal, archive and keys"},
      {"--socket", &options.socket, "PATH", "where it answers"},
      {"--port", &port, "PORT", "also answer on 127.0.0.1:PORT, with tokens; 0: any port"},
      {"--cluster-config", &config_file, "FILE",
       "the configuration, as `phalanx up` translated it"},
      {"--config", &config_dir, "DIR", "slurm.conf and gres.conf are there"},
      {"--compact-after", &compact_after, "EVENTS", "between two snapshots; default: 200000"},
      {"--low-disk", &low_disk, "MB",
       "with less free beside the journal no work is taken; default: 5 %, at most 1024"},
      {"--ready-file", &options.ready_file, "PATH", "created when it answers"},
      {"--parent", &parent, "PID", "stop when this process, its parent, is gone"},
  };
  if (const auto code = parse_arguments("controller", "Runs the controller in the foreground.",
                                        known, argc, argv)) {
    return *code;
  }
  if (parent && !follow_parent(*parent)) return 1;
  options.config = one_partition();
  if (!config_file.empty()) {
    auto config = read_config(config_file);
    if (!config.ok()) {
      std::fprintf(stderr, "phalanx controller: %s: %s\n", config_file.c_str(),
                   config.error().message.c_str());
      return 1;
    }
    options.config = std::move(*config);
  }
  if (!config_dir.empty()) {
    if (const Status status = follow_files(config_dir, config_file.empty(), options);
        !status.ok()) {
      std::fprintf(stderr, "phalanx controller: %s\n", status.error().message.c_str());
      return 1;
    }
  }
  if (port) options.tcp_port = static_cast<std::uint16_t>(*port);
  if (compact_after) options.compact_after = static_cast<std::uint64_t>(*compact_after);
  if (low_disk)
    options.low_disk_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(*low_disk, 0))
                             << 20U;
  return server::run_controller(options);
}

}  // namespace phalanx
