// Where srun puts what tasks write: its own standard streams or files, with or without the number
// of the task before each line. A thread writes, so that a reader that stands still (a pager) never
// stops the loop; what waits is bounded by the agents, which send no more than a window beyond what
// was acknowledged. Bytes pass unchanged; with labels a line is written when it is complete, or
// when its task's stream ends.
//
// write() is thread-safe and returns at once.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace phalanx::cli {

class StepOutput {
 public:
  struct Targets {
    int out = 1, err = 2;  // descriptors; -1: discard
    int label_width = 0;   // 0: no labels
  };
  // Called on the writing thread when so many bytes of (rank, stream) are written.
  using Written = std::function<void(std::uint32_t rank, std::uint8_t stream, std::size_t bytes)>;

  StepOutput(Targets targets, Written written);
  ~StepOutput();  // after all is written
  StepOutput(const StepOutput&) = delete;
  StepOutput& operator=(const StepOutput&) = delete;

  void write(std::uint32_t rank, std::uint8_t stream, std::string bytes);

 private:
  struct Piece {
    std::uint32_t rank = 0;
    std::uint8_t stream = 1;
    std::string bytes;
  };
  using Key = std::pair<std::uint32_t, std::uint8_t>;

  void run();
  void put_labelled(const Piece& piece);
  void flush_lines();
  void write_all(int& descriptor, std::string_view bytes);
  int& target(std::uint8_t stream) { return stream == 2 ? targets_.err : targets_.out; }

  Targets targets_;
  Written written_;
  std::map<Key, std::string> lines_;  // begun, not ended
  std::mutex mutex_;                  // guards the two below
  std::deque<Piece> pieces_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace phalanx::cli
