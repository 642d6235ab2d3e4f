// A local socket that carries the frames of spawn_codec.h over Asio; for the .cc files of this
// room. One thread: that of the io_context. Handlers are called from the loop, never from within a
// call.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <string>

#include "agent/fd.h"
#include "agent/spawn_codec.h"

namespace phalanx::agent {

// Connects to `folder`/`name`, however long the path. On failure the descriptor is empty and errno
// set.
Fd connect_local(const std::string& folder, const std::string& name);

class FrameSocket : public std::enable_shared_from_this<FrameSocket> {
 public:
  struct Handlers {
    std::function<void(const spawn::Frame&)> frame;
    std::function<void()> closed;  // by the other side or by a malformed frame; last call
  };
  FrameSocket(boost::asio::io_context& context, Fd fd, std::size_t frame_limit, Handlers handlers);
  void start();
  void send(const std::string& frame);
  void close();  // no handler is called any more

 private:
  void read();
  void write();
  void fail();

  boost::asio::local::stream_protocol::socket socket_;
  std::size_t frame_limit_;
  Handlers handlers_;
  bool open_ = true, writing_ = false;
  std::string in_, chunk_, out_, sending_;
};

}  // namespace phalanx::agent
