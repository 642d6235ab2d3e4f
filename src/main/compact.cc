#include <cstdlib>
#include <filesystem>

#include "main/arguments.h"
#include "main/parent.h"
#include "main/paths.h"
#include "main/verbs.h"
#include "server/server.h"

namespace phalanx {

int compact_verb(int argc, char** argv) {
  const char* variable = std::getenv("PHALANX_SOCKET");
  server::CompactOptions options;
  options.state_dir = default_paths().controller_state();
  options.socket = variable ? variable : default_paths().socket();
  std::optional<std::int64_t> at, parent;
  const std::vector<Option> known{
      {"--state", &options.state_dir, "DIR", "of the controller, or of `phalanx up`"},
      {"--socket", &options.socket, "PATH", "of the controller, if it runs"},
      {"--at", &at, "EVENT", "a controller tells its child: up to this event"},
      {"--expect", &options.expected, "HASH", "the same: what the state must be there"},
      {"--parent", &parent, "PID", "stop when this process, its parent, is gone"},
  };
  if (const auto code = parse_arguments(
          "compact", "Makes a snapshot and deletes the events that it makes superfluous.", known,
          argc, argv)) {
    return *code;
  }
  if (parent && !follow_parent(*parent)) return 1;
  if (at) options.at = static_cast<std::uint64_t>(*at);
  if (const std::string below = options.state_dir + "/controller";
      std::filesystem::exists(below + "/journal.db"))
    options.state_dir = below;
  return server::run_compact(options);
}

}  // namespace phalanx
