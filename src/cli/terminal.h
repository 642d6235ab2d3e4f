// srun --pty: the user's terminal in raw mode while it lives; everything that is typed, Ctrl-C too,
// goes to the task.
#pragma once

#include <termios.h>

#include <cstdint>
#include <utility>

namespace phalanx::cli {

class Terminal {
 public:
  explicit Terminal(int descriptor);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Rows and columns; 24 and 80 where they are not known.
  static std::pair<std::uint16_t, std::uint16_t> size(int descriptor);

 private:
  int descriptor_;
  termios before_{};
  bool raw_ = false;
};

}  // namespace phalanx::cli
