#include "cli/terminal.h"

#include <sys/ioctl.h>

namespace phalanx::cli {

Terminal::Terminal(int descriptor) : descriptor_(descriptor) {
  if (tcgetattr(descriptor, &before_) != 0) return;
  termios raw = before_;
  cfmakeraw(&raw);
  raw_ = tcsetattr(descriptor, TCSANOW, &raw) == 0;
}

Terminal::~Terminal() {
  if (raw_) tcsetattr(descriptor_, TCSADRAIN, &before_);
}

std::pair<std::uint16_t, std::uint16_t> Terminal::size(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return {24, 80};
  return {size.ws_row, size.ws_col};
}

}  // namespace phalanx::cli
