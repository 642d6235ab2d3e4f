#include "agent/spawn_client.h"

#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <optional>

#include "agent/frame_socket.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

using spawn::Type;

// Runs phalanx-spawn, which returns when its daemon can be connected to.
Status run_program(const SpawnOptions& options) {
  std::string program = options.program, rundir = options.rundir;
  char* argv[] = {program.data(), rundir.data(), nullptr};
  pid_t pid = 0;
  if (const int error = ::posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv, environ);
      error != 0) {
    return unavailable(format("cannot run {}: {}; is Phalanx installed completely?", program,
                              std::strerror(error)));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return unavailable(
      format("{} could not start in {}; its message is in the agent's log", program, rundir));
}

}  // namespace

class SpawnClient::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::io_context& context, SpawnOptions options)
      : context_(context), options_(std::move(options)) {}

  Status connect() {
    if (socket_) return {};
    Fd fd = connect_local(options_.rundir, "spawn.sock");
    if (!fd) {
      TRY(run_program(options_));
      fd = connect_local(options_.rundir, "spawn.sock");
    }
    if (!fd) {
      return unavailable(
          format("cannot connect to {}/spawn.sock: {}", options_.rundir, std::strerror(errno)));
    }
    const std::weak_ptr<Connection> weak = weak_from_this();
    FrameSocket::Handlers handlers;
    handlers.frame = [weak](const spawn::Frame& frame) {
      if (const auto self = weak.lock()) self->heard(frame);
    };
    handlers.closed = [weak] {
      if (const auto self = weak.lock()) self->lost();
    };
    socket_ = std::make_shared<FrameSocket>(context_, std::move(fd), spawn::kMaxUnitFrame,
                                            std::move(handlers));
    socket_->start();
    socket_->send(pack(spawn::Hello{}));
    return {};
  }

  void start(const spawn::Start& request, OnStart done) {
    if (!socket_) return post([done = std::move(done)] { done(not_connected()); });
    starts_.push_back(std::move(done));
    socket_->send(pack(request));
  }

  template <class Request>
  void ask(const Request& request, const std::string& unit, OnDone done) {
    if (!socket_) return post([done = std::move(done)] { done(not_connected()); });
    waiting_.push_back({Request::kType, unit, std::move(done)});
    socket_->send(pack(request));
  }

  // Nothing is called any more.
  void abandon() {
    if (socket_) socket_->close();
    socket_.reset();
    starts_.clear();
    waiting_.clear();
    on_lost = nullptr;
  }

  [[nodiscard]] const std::string& rundir() const { return options_.rundir; }
  std::function<void()> on_lost;

 private:
  struct Waiting {
    Type request;
    std::string unit;
    OnDone done;
  };

  static Error not_connected() {
    return unavailable("not connected to phalanx-spawn; connect first");
  }

  template <class Call>
  void post(Call call) {
    boost::asio::post(context_, std::move(call));
  }

  void heard(const spawn::Frame& frame) {
    spawn::StartReply reply;
    spawn::Done done;
    const auto type = static_cast<Type>(frame.type);
    if (type == Type::StartReply && unpack(frame.body, reply) && !starts_.empty()) {
      const OnStart callback = std::move(starts_.front());
      starts_.pop_front();
      callback(reply);
    } else if (type == Type::Done && unpack(frame.body, done)) {
      answered(done);
    }
  }

  void answered(const spawn::Done& done) {
    const auto found = std::ranges::find_if(waiting_, [&](const Waiting& w) {
      return w.request == done.request && w.unit == done.unit;
    });
    if (found == waiting_.end()) return;
    const OnDone callback = std::move(found->done);
    waiting_.erase(found);
    if (done.error == 0) return callback(Status());
    callback(
        conflict(format("unit {}: its supervisor lives; kill and release it there", done.unit)));
  }

  void lost() {
    socket_.reset();
    const auto starts = std::move(starts_);
    const auto waiting = std::move(waiting_);
    starts_.clear();
    waiting_.clear();
    const Error error =
        unavailable("phalanx-spawn ended before it answered; connect and ask again");
    for (const OnStart& callback : starts) callback(error);
    for (const Waiting& entry : waiting) entry.done(error);
    if (const auto handler = on_lost) handler();
  }

  boost::asio::io_context& context_;
  SpawnOptions options_;
  std::shared_ptr<FrameSocket> socket_;
  std::deque<OnStart> starts_;  // answered in order
  std::vector<Waiting> waiting_;
};

SpawnClient::SpawnClient(boost::asio::io_context& context, SpawnOptions options)
    : connection_(std::make_shared<Connection>(context, std::move(options))) {}
SpawnClient::~SpawnClient() { connection_->abandon(); }

Status SpawnClient::connect() { return connection_->connect(); }
void SpawnClient::on_lost(std::function<void()> handler) {
  connection_->on_lost = std::move(handler);
}
void SpawnClient::start(const spawn::Start& request, OnStart done) {
  connection_->start(request, std::move(done));
}
void SpawnClient::kill_lost(const std::string& unit, OnDone done) {
  connection_->ask(spawn::KillLost{unit}, unit, std::move(done));
}
void SpawnClient::forget(const std::string& unit, OnDone done) {
  connection_->ask(spawn::Forget{unit}, unit, std::move(done));
}
void SpawnClient::stop(OnDone done) { connection_->ask(spawn::Stop{}, "", std::move(done)); }

std::vector<std::string> SpawnClient::units() const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(connection_->rundir() + "/units", error), end;
       !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace phalanx::agent
