#include "agent/frame_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstring>

#include "base/text.h"

namespace phalanx::agent {

Fd connect_local(const std::string& folder, const std::string& name) {
  const Fd directory(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return {};
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return {};
  const std::string path = format("/proc/self/fd/{}/{}", directory.get(), name);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return fd;
}

FrameSocket::FrameSocket(boost::asio::io_context& context, Fd fd, std::size_t frame_limit,
                         Handlers handlers)
    : socket_(context, boost::asio::local::stream_protocol(), fd.release()),
      frame_limit_(frame_limit),
      handlers_(std::move(handlers)) {}

void FrameSocket::start() {
  constexpr std::size_t kChunk = 64 * 1024;
  chunk_.resize(kChunk);
  read();
}

void FrameSocket::read() {
  const auto received = [self = shared_from_this()](boost::system::error_code error,
                                                    std::size_t size) {
    if (!self->open_) return;
    if (error) return self->fail();
    self->in_.append(self->chunk_, 0, size);
    std::size_t used = 0;
    spawn::Frame frame = spawn::cut_frame(self->in_, self->frame_limit_);
    while (frame.state == spawn::Frame::State::Complete) {
      self->handlers_.frame(frame);
      if (!self->open_) return;
      used += frame.size;
      frame = spawn::cut_frame(std::string_view(self->in_).substr(used), self->frame_limit_);
    }
    if (frame.state == spawn::Frame::State::Malformed) return self->fail();
    self->in_.erase(0, used);
    self->read();
  };
  socket_.async_read_some(boost::asio::buffer(chunk_), received);
}

void FrameSocket::send(const std::string& frame) {
  out_ += frame;
  if (open_ && !writing_) write();
}

// A write that fails is left to the reader, which first takes what the other side still said.
void FrameSocket::write() {
  writing_ = true;
  sending_ = std::move(out_);
  out_.clear();
  const auto sent = [self = shared_from_this()](boost::system::error_code error, std::size_t) {
    self->writing_ = false;
    if (!error && self->open_ && !self->out_.empty()) self->write();
  };
  boost::asio::async_write(socket_, boost::asio::buffer(sending_), sent);
}

void FrameSocket::fail() {
  open_ = false;
  boost::system::error_code ignored;
  socket_.close(ignored);  // NOLINT(bugprone-unused-return-value): it closes anyway
  handlers_.closed();
}

void FrameSocket::close() {
  open_ = false;
  boost::system::error_code ignored;
  socket_.close(ignored);  // NOLINT(bugprone-unused-return-value): it closes anyway
}

}  // namespace phalanx::agent
