#include "cli/step_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace phalanx::cli {

StepOutput::StepOutput(Targets targets, Written written)
    : targets_(targets), written_(std::move(written)) {
  thread_ = std::thread([this] { run(); });
}

StepOutput::~StepOutput() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void StepOutput::write(std::uint32_t rank, std::uint8_t stream, std::string bytes) {
  {
    const std::lock_guard lock(mutex_);
    pieces_.push_back({rank, stream, std::move(bytes)});
  }
  wake_.notify_one();
}

void StepOutput::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || !pieces_.empty(); });
    if (pieces_.empty()) break;
    const Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    lock.unlock();
    if (targets_.label_width > 0)
      put_labelled(piece);
    else
      write_all(target(piece.stream), piece.bytes);
    written_(piece.rank, piece.stream, piece.bytes.size());
    lock.lock();
  }
  lock.unlock();
  flush_lines();
}

void StepOutput::put_labelled(const Piece& piece) {
  std::string& line = lines_[{piece.rank, piece.stream}];
  line += piece.bytes;
  std::string out;
  std::size_t start = 0;
  for (std::size_t end = line.find('\n'); end != std::string::npos; end = line.find('\n', start)) {
    out += format("{:>{}}: {}", piece.rank, targets_.label_width,
                  std::string_view(line).substr(start, end + 1 - start));
    start = end + 1;
  }
  line.erase(0, start);
  write_all(target(piece.stream), out);
}

void StepOutput::flush_lines() {
  for (const auto& [key, line] : lines_)
    if (!line.empty())
      write_all(target(key.second), format("{:>{}}: {}", key.first, targets_.label_width, line));
}

// A descriptor that nobody reads any more is given up; what the tasks write is then discarded.
void StepOutput::write_all(int& descriptor, std::string_view bytes) {
  while (descriptor >= 0 && !bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd ready{descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      descriptor = -1;
    }
  }
}

}  // namespace phalanx::cli
