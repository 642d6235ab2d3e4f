#include "agent/unit_link.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <map>

#include "agent/frame_socket.h"

namespace phalanx::agent {
namespace {

using spawn::Type;

constexpr std::size_t kPiece = 16 * 1024;

// A supervisor holds a lock on its state file as long as it lives. Where that cannot be seen, for
// want of descriptors perhaps, it counts as living: work is not declared dead by our own trouble.
bool supervisor_lives(const std::string& folder) {
  const Fd file(::open((folder + "/state").c_str(), O_RDONLY | O_CLOEXEC));
  return file ? ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 : errno != ENOENT;
}

std::string read_history(const std::string& folder) {
  const Fd file(::open((folder + "/state").c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char chunk[4096];
  for (ssize_t got = 0; file && (got = ::read(file.get(), chunk, sizeof chunk)) > 0;) {
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

class UnitLink::Impl : public std::enable_shared_from_this<Impl> {
 public:
  using Handler = std::function<void(const UnitEvent&)>;

  Impl(boost::asio::io_context& context, std::string folder, Handler handler)
      : context_(context),
        folder_(std::move(folder)),
        handler_(std::make_shared<Handler>(std::move(handler))) {}

  void attach() {
    boost::asio::post(context_, [self = shared_from_this()] { self->connect(); });
  }

  void abandon() {
    handler_.reset();
    if (socket_) socket_->close();
    socket_.reset();
  }

  // What is asked before the connection is there is sent once it is.
  void send(const std::string& frame) {
    if (socket_) {
      socket_->send(frame);
    } else {
      early_ += frame;
    }
  }

  void write_stdin(std::uint32_t task, std::string_view bytes) {
    Input& input = inputs_[task];
    if (!input.ending) input.queue += bytes;
    pump(task, input);
  }

  void end_stdin(std::uint32_t task) {
    inputs_[task].ending = true;
    pump(task, inputs_[task]);
  }

  [[nodiscard]] std::size_t stdin_queued(std::uint32_t task) const {
    const auto found = inputs_.find(task);
    return found == inputs_.end() ? 0 : found->second.queue.size();
  }

 private:
  struct Input {
    std::string queue;
    bool known = false;  // the supervisor has told where it stands
    bool ending = false, ended = false;
    std::uint64_t sent = 0, written = 0;
  };

  void connect() {
    if (!handler_) return;
    Fd fd = connect_local(folder_, "sock");
    if (!fd) return unreachable(errno);
    const std::weak_ptr<Impl> weak = weak_from_this();
    FrameSocket::Handlers handlers;
    handlers.frame = [weak](const spawn::Frame& frame) {
      if (const auto self = weak.lock()) self->heard(frame);
    };
    handlers.closed = [weak] {
      if (const auto self = weak.lock()) self->closed();
    };
    socket_ = std::make_shared<FrameSocket>(context_, std::move(fd), spawn::kMaxUnitFrame,
                                            std::move(handlers));
    socket_->start();
    socket_->send(pack(spawn::Hello{}) + std::move(early_));
  }

  void deliver(const UnitEvent& event) {
    if (const auto handler = handler_) (*handler)(event);
  }

  template <class Event>
  void decode(std::string_view body) {
    Event event;
    if (unpack(body, event)) deliver(event);
  }

  void heard(const spawn::Frame& frame) {
    const auto type = static_cast<Type>(frame.type);
    if (type >= Type::UnitInfo) {
      history_seen_ += frame.size;
      return history(type, frame.body);
    }
    switch (type) {
      case Type::Replayed:
        return replayed();
      case Type::Output:
        return decode<spawn::Output>(frame.body);
      case Type::OutputEof:
        return decode<spawn::OutputEof>(frame.body);
      case Type::SignalReply:
        return decode<spawn::SignalReply>(frame.body);
      case Type::StdinTaken:
        return taken(frame.body);
      case Type::ReleaseReply:
        return released(frame.body);
      default:
        return;  // Welcome; or a newer supervisor tells what we cannot use
    }
  }

  void history(Type type, std::string_view body) {
    switch (type) {
      case Type::UnitInfo:
        return decode<spawn::UnitInfo>(body);
      case Type::UnitRefused:
        return decode<spawn::UnitRefused>(body);
      case Type::TaskStarted:
        return decode<spawn::TaskStarted>(body);
      case Type::TaskFailed:
        return decode<spawn::TaskFailed>(body);
      case Type::TaskWarning:
        return decode<spawn::TaskWarning>(body);
      case Type::TaskExited:
        return decode<spawn::TaskExited>(body);
      case Type::AllExited:
        return decode<spawn::AllExited>(body);
      case Type::UnitEmpty:
        return decode<spawn::UnitEmpty>(body);
      default:
        return;
    }
  }

  void replayed() {
    replayed_ = true;
    for (auto& [task, input] : inputs_) pump(task, input);
    deliver(spawn::Replayed{});
  }

  void taken(std::string_view body) {
    spawn::StdinTaken taken;
    if (!unpack(body, taken)) return;
    Input& input = inputs_[taken.task];
    if (!input.known) input.sent = taken.received;
    input.known = true;
    input.written = taken.written;
    if (taken.closed) {
      input.ending = input.ended = true;
      input.queue.clear();
    }
    pump(taken.task, input);
    deliver(taken);
  }

  void pump(std::uint32_t task, Input& input) {
    if (!replayed_) return;
    if (!input.known || input.ended) return input.queue.clear();
    while (!input.queue.empty() && input.sent < input.written + spawn::kStdinWindow) {
      const std::uint64_t room = input.written + spawn::kStdinWindow - input.sent;
      const std::size_t size =
          std::min({input.queue.size(), kPiece, static_cast<std::size_t>(room)});
      send(pack(spawn::Stdin{task, input.sent, input.queue.substr(0, size)}));
      input.queue.erase(0, size);
      input.sent += size;
    }
    if (input.queue.empty() && input.ending) {
      input.ended = true;
      send(pack(spawn::StdinEof{task}));
    }
  }

  void released(std::string_view body) {
    spawn::ReleaseReply reply;
    if (!unpack(body, reply)) return;
    const auto handler = handler_;
    if (reply.error == 0) abandon();  // it ends now: that is no loss
    if (handler) (*handler)(reply);
  }

  void unreachable(int error) {
    if (error == ECONNREFUSED || error == ENOENT) return lost();
    deliver(Disconnected{});
  }

  void closed() {
    socket_.reset();
    if (!supervisor_lives(folder_)) return lost();
    deliver(Disconnected{});
  }

  void lost() {
    const bool known = ::access(folder_.c_str(), F_OK) == 0;
    const std::string text = read_history(folder_);
    std::string_view rest(text);
    rest.remove_prefix(std::min(history_seen_, rest.size()));
    for (spawn::Frame frame = spawn::cut_frame(rest, spawn::kMaxUnitFrame);
         frame.state == spawn::Frame::State::Complete;
         frame = spawn::cut_frame(rest, spawn::kMaxUnitFrame)) {
      history(static_cast<Type>(frame.type), frame.body);
      rest.remove_prefix(frame.size);
    }
    deliver(SupervisorLost{known});
  }

  boost::asio::io_context& context_;
  std::string folder_;
  std::shared_ptr<Handler> handler_;
  std::shared_ptr<FrameSocket> socket_;
  std::string early_;
  std::size_t history_seen_ = 0;  // bytes of the state file
  bool replayed_ = false;
  std::map<std::uint32_t, Input> inputs_;
};

UnitLink::UnitLink(boost::asio::io_context& context, const std::string& rundir,
                   const std::string& unit, std::function<void(const UnitEvent&)> handler)
    : impl_(std::make_shared<Impl>(context, rundir + "/units/" + unit, std::move(handler))) {}
UnitLink::~UnitLink() { impl_->abandon(); }

void UnitLink::attach() { impl_->attach(); }
void UnitLink::signal(std::uint32_t task, int signal, spawn::Scope scope, std::uint64_t tag) {
  impl_->send(pack(spawn::Signal{task, signal, scope, tag}));
}
void UnitLink::kill() { impl_->send(pack(spawn::Kill{})); }
void UnitLink::release() { impl_->send(pack(spawn::Release{})); }
void UnitLink::ack(std::uint32_t task, std::uint8_t stream, std::uint64_t offset) {
  impl_->send(pack(spawn::Ack{task, stream, offset}));
}
void UnitLink::write_stdin(std::uint32_t task, std::string_view bytes) {
  impl_->write_stdin(task, bytes);
}
void UnitLink::end_stdin(std::uint32_t task) { impl_->end_stdin(task); }
std::size_t UnitLink::stdin_queued(std::uint32_t task) const { return impl_->stdin_queued(task); }
void UnitLink::resize(std::uint32_t task, std::uint16_t rows, std::uint16_t columns) {
  impl_->send(pack(spawn::Resize{task, rows, columns}));
}

}  // namespace phalanx::agent
