// OutQueue: bytes that wait to be written to one socket: owned text, and large bodies shared with a
// cache. Single-threaded. write_to never blocks.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace phalanx::net {

class OutQueue {
 public:
  enum class Written { All, Blocked, Broken };

  void push(std::string bytes);
  void push(std::shared_ptr<const std::string> bytes);
  [[nodiscard]] bool empty() const { return bytes_ == 0; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void clear();
  // Sends as much as the socket takes. Broken: the peer will read no more.
  Written write_to(int fd);

 private:
  struct Segment {
    std::string own;
    std::shared_ptr<const std::string> shared;
    std::size_t sent = 0;
    [[nodiscard]] std::string_view rest() const {
      return std::string_view(shared ? *shared : own).substr(sent);
    }
  };
  void consume(std::size_t count);

  std::deque<Segment> segments_;
  std::size_t bytes_ = 0;
};

}  // namespace phalanx::net
