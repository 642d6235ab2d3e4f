#include "cli/step_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace phalanx::cli {

StepInput::StepInput(net::Loop& loop, int descriptor, std::function<void(std::string)> got)
    : loop_(loop), descriptor_(descriptor), got_(std::move(got)) {
  std::array<int, 2> pipe{-1, -1};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return;  // no input then
  asked_ = pipe[0];
  asker_ = pipe[1];
  thread_ = std::thread([this] { run(); });
}

StepInput::~StepInput() {
  if (asker_ >= 0) ::close(asker_);
  if (thread_.joinable()) thread_.join();
  if (asked_ >= 0) ::close(asked_);
}

void StepInput::ask(std::size_t bytes) {
  if (asker_ < 0) return loop_.post([got = got_] { got({}); });
  while (::write(asker_, &bytes, sizeof bytes) < 0 && errno == EINTR) continue;
}

// False when the thread should end.
bool StepInput::wait_readable(int also) const {
  std::array<pollfd, 2> fds{{{descriptor_, POLLIN, 0}, {also, 0, 0}}};
  for (;;) {
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return false;
    if ((fds[1].revents & (POLLHUP | POLLERR)) != 0) return false;
    if (fds[0].revents != 0) return true;
  }
}

void StepInput::run() {
  std::size_t bytes = 0;
  while (::read(asked_, &bytes, sizeof bytes) == static_cast<ssize_t>(sizeof bytes)) {
    if (!wait_readable(asked_)) return;
    std::string piece(bytes, '\0');
    ssize_t count = ::read(descriptor_, piece.data(), piece.size());
    while (count < 0 && errno == EINTR) count = ::read(descriptor_, piece.data(), piece.size());
    piece.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    loop_.post([got = got_, piece] { got(piece); });
    if (piece.empty()) return;
  }
}

}  // namespace phalanx::cli
