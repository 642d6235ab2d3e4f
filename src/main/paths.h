// Where things lie unless the command line says otherwise: as root /var/lib/phalanx and
// /run/phalanx, as an ordinary user $XDG_STATE_HOME/phalanx and $XDG_RUNTIME_DIR/phalanx. Reads the
// environment; cannot fail.
#pragma once

#include <string>

namespace phalanx {

struct Paths {
  std::string state_dir;  // survives a boot
  std::string run_dir;    // does not

  [[nodiscard]] std::string controller_state() const { return state_dir + "/controller"; }
  [[nodiscard]] std::string socket() const { return run_dir + "/controller.sock"; }
};
Paths default_paths();

// Of this program's file.
std::string binary_directory();

}  // namespace phalanx
