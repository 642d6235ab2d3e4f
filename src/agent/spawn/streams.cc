#include "agent/spawn/streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/spawn_protocol.h"

namespace phalanx::agent::spawn {
namespace {

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

void OutputStream::open(Fd fd, std::uint32_t window) {
  set_nonblocking(fd.get());
  fd_ = std::move(fd);
  window_ = std::max<std::uint32_t>(window, 1);
  exists_ = true;
}

void OutputStream::read() {
  char chunk[32 * 1024];
  while (wants_reading()) {
    std::size_t want = std::min<std::size_t>(sizeof chunk, window_ - held_.size());
    if (limited_) want = static_cast<std::size_t>(std::min<std::uint64_t>(want, rest_));
    const ssize_t got = want == 0 ? 0 : ::read(fd_.get(), chunk, want);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN && !limited_) return;
    if (got <= 0) {  // a terminal whose last user is gone answers EIO
      forced_ = limited_ && !(got == 0 && want > 0) && !(got < 0 && errno == EIO);
      ended_ = true;
      return;
    }
    held_.append(chunk, static_cast<std::size_t>(got));
    if (limited_) rest_ -= static_cast<std::uint64_t>(got);
  }
}

void OutputStream::limit_rest() {
  if (!exists_ || ended_ || limited_) return;
  int waiting = 0;
  ::ioctl(fd_.get(), FIONREAD, &waiting);
  limited_ = true;
  rest_ = static_cast<std::uint64_t>(std::max(waiting, 0));
  read();
}

void OutputStream::acknowledge(std::uint64_t offset) {
  offset = std::min(offset, sent_);
  if (offset <= acked_) return;
  held_.erase(0, static_cast<std::size_t>(offset - acked_));
  acked_ = offset;
}

void OutputStream::rewind() {
  sent_ = acked_;
  eof_sent_ = false;
}

std::string_view OutputStream::next(std::size_t limit, std::uint64_t& offset) {
  offset = sent_;
  const auto from = static_cast<std::size_t>(sent_ - acked_);
  const std::string_view piece = std::string_view(held_).substr(from, limit);
  sent_ += piece.size();
  return piece;
}

bool OutputStream::take_eof() {
  if (!ended_ || sent_ < received() || eof_sent_) return false;
  return eof_sent_ = true;
}

void InputStream::open(Fd fd, bool terminal) {
  set_nonblocking(fd.get());
  fd_ = std::move(fd);
  terminal_ = terminal;
  exists_ = true;
}

bool InputStream::accept(std::uint64_t offset, std::string_view bytes) {
  if (!exists_ || offset > received_) return false;
  const std::uint64_t known = received_ - offset;
  if (known >= bytes.size() || ending_) return true;
  bytes.remove_prefix(static_cast<std::size_t>(known));
  if (pending_.size() + bytes.size() > kStdinWindow) return false;
  received_ += bytes.size();
  if (ended_) {
    written_ = received_;
    return true;
  }
  pending_ += bytes;
  write();
  return true;
}

void InputStream::end() {
  if (!exists_ || ending_) return;
  ending_ = true;
  if (terminal_) {
    constexpr char kEndOfTransmission = 4;  // a terminal has no end of file, only this key
    pending_ += kEndOfTransmission;
    ++received_;
  }
  write();
}

void InputStream::write() {
  while (!ended_ && !pending_.empty()) {
    const ssize_t put = ::write(fd_.get(), pending_.data(), pending_.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put <= 0) return drop();
    pending_.erase(0, static_cast<std::size_t>(put));
    written_ += static_cast<std::uint64_t>(put);
  }
  if (ending_ && !terminal_) ended_ = true;
}

void InputStream::drop() {
  ended_ = true;
  pending_.clear();
  written_ = received_;
}

}  // namespace phalanx::agent::spawn
