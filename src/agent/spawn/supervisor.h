// The supervisor of one unit: forked by phalanx-spawn, it starts the tasks, owns their streams and
// exit codes, tells them to whichever client is connected, and ends at Release. One thread, one
// epoll loop, never blocked by a task or a client. Its only shared resources are the folder of the
// unit and the lock on the file `state`, by which others see that it lives.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/fd.h"
#include "agent/spawn/launch.h"
#include "agent/spawn/streams.h"
#include "agent/spawn_protocol.h"

namespace phalanx::agent::spawn {

class Supervisor {
 public:
  // `folder` is the unit's, absolute; `state` is locked and `listener` listens.
  Supervisor(Start start, std::string folder, Fd state, Fd listener, rlimit open_files);
  [[noreturn]] void run();

 private:
  enum class Phase { Launching, Running, Over };
  struct Task {
    Phase phase = Phase::Launching;
    pid_t pid = -1;
    Fd status;  // of the launch
    bool failed = false;
    InputStream in;
    OutputStream out[2];
    std::uint64_t exited = 0;  // time
  };
  enum class Source : std::uint32_t { Listener, Client, Children, Launch, Input, Output };

  // Starting (supervisor.cc)
  void begin();
  void refuse(const Failure& failure);
  void adopt_streams(std::size_t index, Plumbing& plumbing);
  void read_launch(std::size_t index);
  void fail_task(std::size_t index, Stage stage, int error, std::string detail);

  // What happens (supervisor.cc)
  void dispatch(Source source, std::size_t index, std::uint32_t events);
  void reap();
  void task_exited(std::size_t index, int status, const rusage& usage);
  void task_over(std::size_t index);
  void check_timers();
  [[nodiscard]] int timeout_ms() const;
  void kill_again();
  template <class Event>
  void record(const Event& event);
  void watch(int fd, Source source, std::size_t index, std::uint32_t events);
  void watch_streams(std::size_t index);

  // The client (conversation.cc)
  void accept_client();
  void drop_client();
  void read_client();
  bool handle(const Frame& frame);
  void welcome();
  void flush();
  void fill();
  template <class Message>
  void send(const Message& message);
  void send_taken(std::size_t index);
  void signal(const Signal& request);
  std::uint32_t signal_task(const Task& task, const Signal& request);
  template <class Also>
  std::uint32_t signal_tree(int signo, pid_t root, Also also);
  void release();

  Start start_;
  std::string folder_;
  Fd state_, listener_, epoll_, children_, client_;
  LaunchContext context_;
  std::vector<Task> tasks_;
  std::map<pid_t, std::size_t> by_pid_;
  std::map<int, std::uint32_t> watched_;  // descriptor -> events
  std::string history_;
  std::string in_, out_;
  std::size_t next_task_ = 0;  // whose output is sent next
  std::size_t over_ = 0;       // tasks
  bool greeted_ = false;       // the client said Hello
  bool empty_ = false;
  bool made_script_folder_ = false;
  std::uint64_t kill_at_ = 0;  // next round, 0: nothing to kill
  std::uint64_t kill_pause_ = 0;
};

}  // namespace phalanx::agent::spawn
