// The supervisor's side of the socket: one client at a time, the newest.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "agent/spawn/files.h"
#include "agent/spawn/processes.h"
#include "agent/spawn/supervisor.h"

namespace phalanx::agent::spawn {
namespace {

constexpr std::size_t kOutboxFull = 64 * 1024, kPiece = 32 * 1024;

}  // namespace

template <class Message>
void Supervisor::send(const Message& message) {
  if (client_ && greeted_) out_ += pack(message);
}

void Supervisor::accept_client() {
  Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) return;
  drop_client();
  client_ = std::move(client);
  watch(client_.get(), Source::Client, 0, EPOLLIN);
}

void Supervisor::drop_client() {
  watch(client_.get(), Source::Client, 0, 0);
  client_.reset();
  greeted_ = false;
  in_.clear();
  out_.clear();
}

void Supervisor::read_client() {
  char chunk[32 * 1024];
  while (client_) {
    const ssize_t got = ::recv(client_.get(), chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return drop_client();
    in_.append(chunk, static_cast<std::size_t>(got));
    std::size_t used = 0;
    Frame frame = cut_frame(in_, kMaxUnitFrame);
    while (frame.state == Frame::State::Complete) {
      if (!handle(frame)) return drop_client();
      used += frame.size;
      frame = cut_frame(std::string_view(in_).substr(used), kMaxUnitFrame);
    }
    if (frame.state == Frame::State::Malformed) return drop_client();
    in_.erase(0, used);
  }
}

// False if the client does not speak the protocol.
bool Supervisor::handle(const Frame& frame) {
  const auto type = static_cast<Type>(frame.type);
  if (!greeted_) {
    Hello hello;
    if (type != Type::Hello || !unpack(frame.body, hello)) return false;
    welcome();
    return true;
  }
  const auto known = [this](std::uint32_t task) { return task < tasks_.size(); };
  switch (type) {
    case Type::Signal: {
      Signal request;
      if (!unpack(frame.body, request)) return false;
      signal(request);
      return true;
    }
    case Type::Stdin: {
      Stdin input;
      if (!unpack(frame.body, input) || !known(input.task)) return false;
      if (!tasks_[input.task].in.accept(input.offset, input.bytes)) return false;
      send_taken(input.task);
      watch_streams(input.task);
      return true;
    }
    case Type::StdinEof: {
      StdinEof end;
      if (!unpack(frame.body, end) || !known(end.task)) return false;
      tasks_[end.task].in.end();
      watch_streams(end.task);
      return true;
    }
    case Type::Resize: {
      Resize resize;
      if (!unpack(frame.body, resize) || !known(resize.task)) return false;
      winsize size{};
      size.ws_row = resize.rows;
      size.ws_col = resize.columns;
      if (start_.tasks[resize.task].pty)
        ::ioctl(tasks_[resize.task].out[0].fd(), TIOCSWINSZ, &size);
      return true;
    }
    case Type::Ack: {
      Ack ack;
      if (!unpack(frame.body, ack) || !known(ack.task) || ack.stream < 1 || ack.stream > 2)
        return false;
      tasks_[ack.task].out[ack.stream - 1].acknowledge(ack.offset);
      watch_streams(ack.task);
      return true;
    }
    case Type::Kill:
      if (!empty_) kill_again();
      return true;
    case Type::Release:
      release();
      return true;
    default:
      return false;
  }
}

void Supervisor::welcome() {
  greeted_ = true;
  out_ = pack(Welcome{}) + history_;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    for (OutputStream& out : tasks_[i].out) out.rewind();
    if (tasks_[i].in.exists()) send_taken(i);
  }
  send(Replayed{});
}

void Supervisor::send_taken(std::size_t index) {
  const InputStream& in = tasks_[index].in;
  send(StdinTaken{static_cast<std::uint32_t>(index), in.received(), in.written(), in.ended()});
}

// Output is framed only as the socket takes it: what is not sent stays in its stream.
void Supervisor::fill() {
  for (std::size_t turn = 0; turn < tasks_.size() && out_.size() < kOutboxFull; ++turn) {
    const std::size_t index = next_task_++ % tasks_.size();
    for (std::uint8_t stream = 1; stream <= 2; ++stream) {
      OutputStream& out = tasks_[index].out[stream - 1];
      const auto task = static_cast<std::uint32_t>(index);
      std::uint64_t offset = 0;
      const std::string_view piece = out.next(kPiece, offset);
      if (!piece.empty()) send(Output{task, stream, offset, std::string(piece)});
      if (out.take_eof()) send(OutputEof{task, stream, out.received(), out.forced()});
    }
  }
}

void Supervisor::flush() {
  while (client_ && greeted_) {
    if (out_.size() < kOutboxFull) fill();
    if (out_.empty()) return watch(client_.get(), Source::Client, 0, EPOLLIN);
    const ssize_t sent = ::send(client_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN)
      return watch(client_.get(), Source::Client, 0, EPOLLIN | EPOLLOUT);
    if (sent < 0) return drop_client();
    out_.erase(0, static_cast<std::size_t>(sent));
  }
}

// Of the unit's processes, those below `root` and those that `also` names.
template <class Also>
std::uint32_t Supervisor::signal_tree(int signo, pid_t root, Also also) {
  const std::vector<Process> all = descendants(scan_processes(), ::getpid());
  const std::vector<Process> below = descendants(all, root);
  std::uint32_t count = 0;
  for (const Process& process : all) {
    const bool under = std::any_of(below.begin(), below.end(),
                                   [&](const Process& p) { return p.pid == process.pid; });
    if ((under || process.pid == root || also(process)) && send_signal(process, signo)) ++count;
  }
  return count;
}

void Supervisor::signal(const Signal& request) {
  std::uint32_t count = 0;
  if (request.task == kAllTasks && request.scope == Scope::Tree) {
    count = signal_tree(request.signal, 0, [](const Process&) { return true; });
  } else {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (request.task == kAllTasks || request.task == i) count += signal_task(tasks_[i], request);
    }
  }
  send(SignalReply{request.tag, count, count == 0 ? ESRCH : 0});
}

std::uint32_t Supervisor::signal_task(const Task& task, const Signal& request) {
  if (task.pid <= 0) return 0;
  const bool alive = task.phase != Phase::Over;  // not reaped: its pid cannot be another's
  switch (request.scope) {
    case Scope::Process:
      return alive && ::kill(task.pid, request.signal) == 0 ? 1 : 0;
    case Scope::Group:
      if (alive) return ::kill(-task.pid, request.signal) == 0 ? 1 : 0;
      return signal_tree(request.signal, 0, [&](const Process& p) { return p.group == task.pid; });
    case Scope::Tree:
      return signal_tree(request.signal, task.pid,
                         [&](const Process& p) { return p.session == task.pid; });
  }
  return 0;
}

void Supervisor::release() {
  if (!empty_) return send(ReleaseReply{EBUSY});
  remove_unit_folder(folder_);
  if (!context_.script_path.empty()) {
    ::unlink(context_.script_path.c_str());
    if (made_script_folder_)
      ::rmdir(context_.script_path.substr(0, context_.script_path.rfind('/')).c_str());
  }
  // The last words go after what is still queued; a client that does not listen does not keep us.
  constexpr timeval kPatience{5, 0};
  ::setsockopt(client_.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  ::fcntl(client_.get(), F_SETFL, 0);
  (void)!write_all(client_.get(), out_ + pack(ReleaseReply{}));
  ::_exit(0);
}

}  // namespace phalanx::agent::spawn
