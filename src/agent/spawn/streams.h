// A task's standard streams as its supervisor sees them: OutputStream holds what the client has not
// acknowledged, InputStream what the task has not read. Each owns its end of a pipe or a terminal
// and never blocks. One that has ended keeps its descriptor until close(), so that the owner can
// first take it out of its event loop. What the offsets promise is said in spawn_protocol.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/fd.h"

namespace phalanx::agent::spawn {

class OutputStream {
 public:
  void open(Fd fd, std::uint32_t window);
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool exists() const { return exists_; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool limited() const { return limited_; }
  [[nodiscard]] bool wants_reading() const { return exists_ && !ended_ && held_.size() < window_; }
  void close() { fd_.reset(); }

  void read();  // until it would block, the window is full, or the end
  void
  limit_rest();  // the task is gone and its grace is over: only what the pipe holds now is read
  void acknowledge(std::uint64_t offset);
  void rewind();  // a new client: everything unacknowledged is sent again
  // The next piece to send, empty if there is none now.
  std::string_view next(std::size_t limit, std::uint64_t& offset);
  // True once for each client, when everything is sent and nothing more will come.
  bool take_eof();
  [[nodiscard]] std::uint64_t received() const { return acked_ + held_.size(); }
  [[nodiscard]] bool forced() const { return forced_; }

 private:
  Fd fd_;
  bool exists_ = false, ended_ = false;
  std::uint32_t window_ = 0;
  std::string held_;  // bytes [acked_, received)
  std::uint64_t acked_ = 0, sent_ = 0;
  bool limited_ = false, forced_ = false, eof_sent_ = false;
  std::uint64_t rest_ = 0;  // if limited_
};

class InputStream {
 public:
  void open(Fd fd, bool terminal);
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool exists() const { return exists_; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool wants_writing() const { return exists_ && !ended_ && !pending_.empty(); }
  void close() { fd_.reset(); }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] std::uint64_t written() const { return written_; }

  // False if the bytes leave a gap or exceed the window: the client broke the protocol.
  bool accept(std::uint64_t offset, std::string_view bytes);
  void end();    // end of file after what is pending
  void write();  // as much as the task takes
  void drop();   // nobody reads it any more: what is pending and what comes is dropped

 private:
  Fd fd_;
  bool exists_ = false, terminal_ = false, ending_ = false, ended_ = false;
  std::string pending_;
  std::uint64_t received_ = 0, written_ = 0;
};

}  // namespace phalanx::agent::spawn
