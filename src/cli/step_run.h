// srun's heart: the tasks of one step, from the moment it was granted until every node has said
// that it is over. Streams, signals, messages and the exit code are Slurm's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/session.h"
#include "cli/step_input.h"
#include "cli/step_link.h"
#include "cli/step_output.h"
#include "cli/terminal.h"

namespace phalanx::cli {

struct StepSetup {
  slurm::StepReply step;
  std::vector<StepLaunch> launches;  // one per node of `step`
  StepOutput::Targets targets;
  int input = 0;  // descriptor for tasks that read a stream; -1: none does
  bool terminal = false;
  bool quiet = false;
  bool kill_on_bad_exit = false;
  std::uint32_t wait_seconds = 0;  // 0: for ever
};

struct StepEnd {
  int exit_code = 0;  // what srun returns
  int code = 0, signal = 0;
  bool out_of_memory = false;
};

class StepRun {
 public:
  StepRun(const Session& session, StepSetup setup);
  ~StepRun();
  StepEnd run();

 private:
  enum class TaskState { waiting, running, exited, lost };
  struct Task {
    std::size_t node = 0;
    TaskState state = TaskState::waiting;
    int code = 0, signal = 0;
    bool out_of_memory = false;
    bool told = false;  // its end has been said
  };

  void heard(std::size_t node, const StepNotice& notice);
  void exited(const StepTaskExited& exit);
  void gone(std::size_t node, const std::string& why);
  void report();
  void report_node(std::size_t node);
  void show_states();
  void look_whether_over();
  void say_goodbye();

  void more_input(const std::string& bytes);
  void pump_input(std::size_t node);
  void ask_input();

  void signalled(int signal);
  void interrupted();
  void signal_all(int signal);
  void terminate(const std::string& why, int signal);
  void kill_later();
  [[nodiscard]] std::string id() const;
  [[nodiscard]] StepEnd result() const;

  const Session& session_;
  StepSetup setup_;
  net::Loop loop_;
  std::vector<std::unique_ptr<StepLink>> links_;
  std::map<std::uint32_t, Task> tasks_;
  std::unique_ptr<StepOutput> output_;
  std::unique_ptr<StepInput> input_;
  std::unique_ptr<Terminal> terminal_;

  struct Feed {  // how far one node is with the input
    std::uint64_t sent = 0, taken = 0;
    bool ready = false;  // its agent has somewhere to put input
    bool ended = false, closed = false;
  };
  std::vector<Feed> feeds_;
  std::string buffer_;           // input that some node has not taken yet
  std::uint64_t buffer_at_ = 0;  // its offset
  bool input_over_ = false, input_asked_ = false;

  net::Timer report_timer_, wait_timer_, kill_timer_, stop_timer_;
  net::SteadyTime last_interrupt_{};
  int interrupts_ = 0;
  bool report_due_ = false, first_exit_seen_ = false, terminated_ = false, over_ = false;
};

}  // namespace phalanx::cli
