#include "agent/spawn/server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/spawn/files.h"
#include "agent/spawn/launch.h"
#include "agent/spawn/processes.h"
#include "agent/spawn/supervisor.h"

namespace phalanx::agent::spawn {
namespace {

enum : std::uint64_t { kListenerTag, kSignalsTag };
constexpr int kKillPauseMs = 20;

// Relative to the working directory, so that a long <rundir> does not exceed what a socket address
// holds.
Fd listen_on(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return {};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  // The umask is 077: the socket is born for its owner only.
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  constexpr int kBacklog = 16;
  if (::listen(fd.get(), kBacklog) != 0) return {};
  return fd;
}

bool valid_name(const std::string& unit) {
  constexpr std::string_view kAlso = "._+=@-";
  const auto fits = [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kAlso.find(c) != std::string_view::npos;
  };
  return !unit.empty() && unit.size() <= kMaxUnitName && unit[0] != '.' &&
         std::all_of(unit.begin(), unit.end(), fits);
}

std::string folder_of(const std::string& unit) { return "units/" + unit; }
bool supervisor_lives(const std::string& unit) {
  return is_locked((folder_of(unit) + "/state").c_str());
}

}  // namespace

Server::Server(std::string rundir, rlimit open_files)
    : rundir_(std::move(rundir)), open_files_(open_files) {}

bool Server::open() {
  ::umask(077);
  lock_ = Fd(::open("spawn.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_ || ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return false;
  if (::mkdir("units", 0700) != 0 && errno != EEXIST) return false;
  ::unlink("spawn.sock");
  listener_ = listen_on("spawn.sock");
  return static_cast<bool>(listener_);
}

void Server::run() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a dead supervisor leaves comes to us
  sigset_t all, heard;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::sigemptyset(&heard);
  ::sigaddset(&heard, SIGCHLD);
  ::sigaddset(&heard, SIGTERM);
  signals_ = Fd(::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  const auto watch = [this](int fd, std::uint64_t tag) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  };
  watch(listener_.get(), kListenerTag);
  watch(signals_.get(), kSignalsTag);
  while (!stopping_) {
    epoll_event events[32];
    const int count =
        ::epoll_wait(epoll_.get(), events, std::size(events), lost_.empty() ? -1 : kKillPauseMs);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t tag = events[i].data.u64;
      if (tag == kListenerTag) {
        accept_client();
      } else if (tag == kSignalsTag) {
        if (!reap()) stopping_ = true;
      } else if (const auto found = connections_.find(tag); found != connections_.end()) {
        const bool readable = (events[i].events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0;
        if ((readable && !read_client(tag)) || !flush(found->second, tag)) connections_.erase(tag);
      }
    }
    if (!lost_.empty()) kill_round_of_lost();
  }
  // Before the connections: who sees his own end finds nobody here, and may start another server at
  // once.
  listener_ = Fd();
  lock_ = Fd();
}

bool Server::reap() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGTERM) return false;
  }
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  return true;
}

void Server::accept_client() {
  Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = next_id_;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event);
  connections_[next_id_++].fd = std::move(fd);
}

bool Server::read_client(std::uint64_t id) {
  Connection& connection = connections_[id];
  char chunk[64 * 1024];
  while (true) {
    const ssize_t got = ::recv(connection.fd.get(), chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) return false;
    connection.in.append(chunk, static_cast<std::size_t>(got));
  }
  std::size_t used = 0;
  Frame frame = cut_frame(connection.in, kMaxStartFrame);
  while (frame.state == Frame::State::Complete) {
    if (!handle(id, frame)) return false;
    used += frame.size;
    frame = cut_frame(std::string_view(connection.in).substr(used), kMaxStartFrame);
  }
  if (frame.state == Frame::State::Malformed) return false;
  connection.in = connection.in.substr(used);  // a copy: a big environment does not stay allocated
  return true;
}

template <class Message>
void Server::send(std::uint64_t id, const Message& message) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  found->second.out += pack(message);
}

bool Server::flush(Connection& connection, std::uint64_t id) {
  while (!connection.out.empty()) {
    const ssize_t sent =
        ::send(connection.fd.get(), connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) break;
    connection.out.erase(0, static_cast<std::size_t>(sent));
  }
  epoll_event event{};
  event.events = EPOLLIN | (connection.out.empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT));
  event.data.u64 = id;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd.get(), &event);
  return true;
}

bool Server::handle(std::uint64_t id, const Frame& frame) {
  Connection& connection = connections_[id];
  const auto type = static_cast<Type>(frame.type);
  if (!connection.greeted) {
    Hello hello;
    connection.greeted = type == Type::Hello && unpack(frame.body, hello);
    send(id, Hello{});
    return connection.greeted;
  }
  switch (type) {
    case Type::Start:
      send(id, start(frame));
      return true;
    case Type::KillLost: {
      KillLost request;
      if (!unpack(frame.body, request) || !valid_name(request.unit)) return false;
      kill_lost(id, request.unit);
      return true;
    }
    case Type::Forget: {
      Forget request;
      if (!unpack(frame.body, request) || !valid_name(request.unit)) return false;
      send(id, Done{request.unit, Type::Forget, forget(request.unit)});
      return true;
    }
    case Type::Stop:
      send(id, Done{"", Type::Stop, 0});
      stopping_ = true;
      return true;
    default:
      return false;
  }
}

StartReply Server::start(const Frame& frame) {
  Start request;
  if (!unpack(frame.body, request))
    return {"", Verdict::Refused, 0, Stage::Request, EPROTO, "malformed request"};
  if (!valid_name(request.unit)) {
    return {request.unit,   Verdict::Refused, 0,
            Stage::Request, EINVAL,           "not a unit name: " + request.unit};
  }
  if (const auto failure = check(request)) {
    return {request.unit, Verdict::Refused, 0, failure->stage, failure->error, failure->detail};
  }
  const std::string folder = folder_of(request.unit);
  Fd state, listener;
  if (auto reply = claim(request, folder, state, listener)) return *reply;
  const std::string unit = request.unit, intent = request.intent;
  const pid_t pid = ::fork();
  if (pid == 0)
    become_supervisor(std::move(request), rundir_ + "/" + folder, std::move(state),
                      std::move(listener));
  if (pid > 0) return {unit, Verdict::Accepted, pid, Stage::Fork, 0, ""};
  const int error = errno;
  remove_unit_folder(folder);
  if (!intent.empty()) ::unlink(intent.c_str());  // nothing was started: it may be tried again
  return {unit, Verdict::Refused, 0, Stage::Fork, error, "fork"};
}

// Creates the fence and the folder with its socket and its locked state file. A unit whose folder
// or fence is there already is answered for, never started again.
std::optional<StartReply> Server::claim(const Start& request, const std::string& folder, Fd& state,
                                        Fd& listener) const {
  const auto reply = [&](Verdict verdict, Stage stage, int error, std::string detail) {
    return StartReply{request.unit, verdict, 0, stage, error, std::move(detail)};
  };
  if (::mkdir(folder.c_str(), 0700) != 0) {
    if (errno != EEXIST)
      return reply(Verdict::Refused, Stage::Folder, errno, rundir_ + "/" + folder);
    const Verdict verdict = supervisor_lives(request.unit) ? Verdict::Exists : Verdict::Gone;
    return reply(verdict, Stage::Folder, EEXIST, rundir_ + "/" + folder);
  }
  if (!request.intent.empty()) {
    const Fd fence(::open(request.intent.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fence) {
      const int error = errno;
      ::rmdir(folder.c_str());
      return reply(error == EEXIST ? Verdict::Gone : Verdict::Refused, Stage::Intent, error,
                   request.intent);
    }
    (void)!write_all(fence.get(), request.unit + "\n");
  }
  state = Fd(::open((folder + "/state").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
                    0600));
  if (state && ::flock(state.get(), LOCK_EX | LOCK_NB) == 0) listener = listen_on(folder + "/sock");
  if (listener) return std::nullopt;
  const int error = errno;
  remove_unit_folder(folder);
  if (!request.intent.empty()) ::unlink(request.intent.c_str());
  return reply(Verdict::Refused, Stage::Folder, error, rundir_ + "/" + folder);
}

// Nothing of the server's stays open, above all not its lock.
void Server::become_supervisor(Start request, const std::string& folder, Fd state, Fd listener) {
  const auto low = static_cast<unsigned>(std::min(state.get(), listener.get()));
  const auto high = static_cast<unsigned>(std::max(state.get(), listener.get()));
  constexpr unsigned kFirst = 3;
  if (low > kFirst) ::close_range(kFirst, low - 1, 0);
  if (high > low + 1) ::close_range(low + 1, high - 1, 0);
  ::close_range(high + 1, ~0U, 0);
  Supervisor(std::move(request), folder, std::move(state), std::move(listener), open_files_).run();
}

void Server::kill_lost(std::uint64_t id, const std::string& unit) {
  if (supervisor_lives(unit)) return send(id, Done{unit, Type::KillLost, EBUSY});
  LostUnit lost{unit, id, {}, ::geteuid()};
  const Fd file(::open((folder_of(unit) + "/state").c_str(), O_RDONLY | O_CLOEXEC));
  const std::string history = file ? read_all(file.get()) : "";
  std::string_view rest = history;
  for (Frame frame = cut_frame(rest, kMaxUnitFrame); frame.state == Frame::State::Complete;
       frame = cut_frame(rest, kMaxUnitFrame)) {
    UnitInfo info;
    TaskStarted started;
    if (static_cast<Type>(frame.type) == Type::UnitInfo && unpack(frame.body, info))
      lost.uid = info.uid;
    if (static_cast<Type>(frame.type) == Type::TaskStarted && unpack(frame.body, started)) {
      lost.sessions.push_back(started.pid);
    }
    rest.remove_prefix(frame.size);
  }
  lost_.push_back(std::move(lost));
}

void Server::kill_round_of_lost() {
  const auto finished = [this](const LostUnit& lost) {
    const std::string marker = kUnitVariable + rundir_ + "/" + folder_of(lost.unit);
    const std::size_t left = kill_round(
        [&] { return leftovers(scan_processes(), marker, lost.sessions, lost.uid, ::getpid()); });
    if (left > 0) return false;
    send(lost.client, Done{lost.unit, Type::KillLost, 0});
    return true;
  };
  lost_.erase(std::remove_if(lost_.begin(), lost_.end(), finished), lost_.end());
  for (auto& [id, connection] : connections_) flush(connection, id);
}

int Server::forget(const std::string& unit) const {
  if (supervisor_lives(unit)) return EBUSY;
  remove_unit_folder(folder_of(unit));
  return 0;
}

}  // namespace phalanx::agent::spawn
