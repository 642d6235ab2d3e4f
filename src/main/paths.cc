#include "main/paths.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"

namespace phalanx {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

Paths default_paths() {
  if (::geteuid() == 0) return {"/var/lib/phalanx", "/run/phalanx"};
  Paths paths;
  const std::string state = variable("XDG_STATE_HOME"), home = variable("HOME");
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  const std::string fallback = format("/tmp/phalanx-{}", ::geteuid());
  paths.state_dir = !state.empty()  ? state + "/phalanx"
                    : !home.empty() ? home + "/.local/state/phalanx"
                                    : fallback + "/state";
  paths.run_dir = runtime.empty() ? fallback : runtime + "/phalanx";
  return paths;
}

std::string binary_directory() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "/usr/bin" : path.parent_path().string();
}

}  // namespace phalanx
