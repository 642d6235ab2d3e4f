// What srun reads for its tasks: a thread that reads the descriptor only when it is asked to, so
// that nothing is taken from a terminal or a pipe that the tasks have no room for. The descriptor
// stays as it is (not non-blocking: it may be shared with a shell).
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "net/net.h"

namespace phalanx::cli {

class StepInput {
 public:
  // `got` is called on the loop for each piece; an empty one is the end.
  StepInput(net::Loop& loop, int descriptor, std::function<void(std::string)> got);
  ~StepInput();
  StepInput(const StepInput&) = delete;
  StepInput& operator=(const StepInput&) = delete;

  // Once the descriptor is readable, reads up to so many bytes and calls `got` once.
  void ask(std::size_t bytes);

 private:
  void run();
  bool wait_readable(int also) const;

  net::Loop& loop_;
  int descriptor_;
  std::function<void(std::string)> got_;
  int asked_ = -1, asker_ = -1;  // a pipe: sizes to read; its end is the end of the thread
  std::thread thread_;
};

}  // namespace phalanx::cli
