// phalanx-spawn itself: listens on <rundir>/spawn.sock, forks a supervisor for each Start, kills
// and clears away what supervisors that died have left. One thread, one epoll loop. It keeps no
// state of its own: what exists is what the folders under <rundir>/units say, so it can be replaced
// at any time.
#pragma once

#include <sys/resource.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/fd.h"
#include "agent/spawn_protocol.h"

namespace phalanx::agent::spawn {

class Server {
 public:
  // `rundir` is absolute and the working directory. `open_files` is the limit that tasks start
  // with.
  Server(std::string rundir, rlimit open_files);
  // Takes the lock and the socket; false with errno, EWOULDBLOCK if another phalanx-spawn serves
  // here.
  [[nodiscard]] bool open();
  void run();  // until Stop or SIGTERM

 private:
  struct Connection {
    Fd fd;
    std::string in, out;
    bool greeted = false;
  };
  struct LostUnit {
    std::string unit;
    std::uint64_t client = 0;
    std::vector<pid_t> sessions;
    uid_t uid = 0;
  };

  void accept_client();
  bool read_client(std::uint64_t id);  // false: drop it
  bool handle(std::uint64_t id, const Frame& frame);
  bool flush(Connection& connection, std::uint64_t id);
  template <class Message>
  void send(std::uint64_t id, const Message& message);

  StartReply start(const Frame& frame);
  std::optional<StartReply> claim(const Start& request, const std::string& folder, Fd& state,
                                  Fd& listener) const;
  [[noreturn]] void become_supervisor(Start request, const std::string& folder, Fd state,
                                      Fd listener);
  void kill_lost(std::uint64_t id, const std::string& unit);
  void kill_round_of_lost();
  int forget(const std::string& unit) const;
  bool reap();  // false: asked to end

  std::string rundir_;
  rlimit open_files_;
  Fd lock_, listener_, epoll_, signals_;
  std::uint64_t next_id_ = 16;  // lower tags are the server's own descriptors
  std::map<std::uint64_t, Connection> connections_;
  std::vector<LostUnit> lost_;
  bool stopping_ = false;
};

}  // namespace phalanx::agent::spawn
