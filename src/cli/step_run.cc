#include "cli/step_run.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/text.h"

namespace phalanx::cli {
namespace {

constexpr int kOutOfMemory = 253;
constexpr Duration kGather = milliseconds(50);  // ends that come together are one message
constexpr Duration kGoodbye = seconds(2);
constexpr Duration kSecondInterrupt = seconds(1);

std::string plural(const std::vector<std::uint32_t>& ranks) {
  slurm::ArraySpec spec;
  spec.ranges = slurm::fold_indexes(ranks);
  return format("{} {}", ranks.size() == 1 ? "task" : "tasks", slurm::print_array(spec));
}

}  // namespace

StepRun::StepRun(const Session& session, StepSetup setup)
    : session_(session), setup_(std::move(setup)), feeds_(setup_.step.nodes.size()) {
  for (std::size_t i = 0; i < setup_.step.nodes.size(); ++i) {
    for (const std::uint32_t rank : setup_.step.nodes[i].ranks) tasks_[rank].node = i;
    StepLink::Handler handler;
    handler.notice = [this, i](const StepNotice& notice) { heard(i, notice); };
    handler.output = [this](std::uint32_t rank, std::uint8_t stream, std::string bytes) {
      output_->write(rank, stream, std::move(bytes));
    };
    handler.gone = [this, i](const std::string& why) { gone(i, why); };
    handler.open = [this, i] {
      feeds_[i].sent = feeds_[i].taken;
      feeds_[i].ended = feeds_[i].ready = false;
    };
    links_.push_back(std::make_unique<StepLink>(loop_, setup_.step.nodes[i],
                                                std::move(setup_.launches[i]), std::move(handler)));
  }
}

StepRun::~StepRun() = default;

std::string StepRun::id() const {
  return format("StepId={}.{}", setup_.step.job, setup_.step.step);
}

StepEnd StepRun::run() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTTIN, SIG_IGN);
  if (setup_.terminal) terminal_ = std::make_unique<Terminal>(0);
  output_ = std::make_unique<StepOutput>(
      setup_.targets, [this](std::uint32_t rank, std::uint8_t stream, std::size_t bytes) {
        loop_.post([this, rank, stream, bytes] {
          links_[tasks_[rank].node]->written(rank, stream, bytes);
        });
      });
  if (setup_.input >= 0)
    input_ = std::make_unique<StepInput>(loop_, setup_.input,
                                         [this](const std::string& bytes) { more_input(bytes); });
  else
    input_over_ = true;
  loop_.on_signal({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH},
                  [this](int signal) { signalled(signal); });
  for (const auto& link : links_) link->open();
  loop_.post([this] { ask_input(); });
  loop_.run();
  output_.reset();
  terminal_.reset();
  input_.reset();
  return result();
}

// --- what the agents say

void StepRun::heard(std::size_t node, const StepNotice& notice) {
  if (const auto* started = std::get_if<StepTaskStarted>(&notice)) {
    Task& task = tasks_[started->rank];
    if (task.state != TaskState::waiting) return;  // told again after a reconnect
    task.state = TaskState::running;
    feeds_[node].ready = true;
    pump_input(node);
  } else if (const auto* exit = std::get_if<StepTaskExited>(&notice)) {
    exited(*exit);
  } else if (const auto* taken = std::get_if<StepStdinTaken>(&notice)) {
    Feed& feed = feeds_[node];
    feed.ready = true;
    feed.taken = std::max(feed.taken, taken->taken);
    feed.closed = feed.closed || taken->closed;
    pump_input(node);
    ask_input();
  } else if (const auto* said = std::get_if<StepSaid>(&notice)) {
    std::fprintf(stderr, "slurmstepd-%s: %s\n", links_[node]->name().c_str(), said->text.c_str());
  } else if (const auto* refused = std::get_if<StepRefused>(&notice)) {
    session_.error(format("Task launch for {} failed on node {}: {}", id(), links_[node]->name(),
                          refused->why));
    for (auto& [rank, task] : tasks_)
      if (task.node == node && task.state != TaskState::exited) task.state = TaskState::lost;
    terminate("Application launch failed", SIGKILL);
  }
  look_whether_over();
}

void StepRun::exited(const StepTaskExited& exit) {
  Task& task = tasks_[exit.rank];
  if (task.state == TaskState::exited) return;
  task.state = TaskState::exited;
  task.code = exit.code;
  task.signal = exit.signal;
  task.out_of_memory = exit.out_of_memory;
  if (!report_due_) {
    report_due_ = true;
    report_timer_ = loop_.after(kGather, [this] { report(); });
  }
  const bool bad = exit.code != 0 || exit.signal != 0 || exit.out_of_memory;
  if (bad && setup_.kill_on_bad_exit) {
    report();
    terminate(format("Terminating {}", id()), SIGTERM);
  }
  if (first_exit_seen_) return;
  first_exit_seen_ = true;
  if (setup_.wait_seconds == 0) return;
  wait_timer_ = loop_.after(seconds(setup_.wait_seconds), [this] {
    session_.say(format("First task exited {}s ago", setup_.wait_seconds));
    show_states();
    terminate(format("Terminating {}", id()), SIGKILL);
  });
}

void StepRun::gone(std::size_t node, const std::string& why) {
  session_.error(format("{}: the step's node cannot be reached: {}", links_[node]->name(), why));
  for (auto& [rank, task] : tasks_)
    if (task.node == node && task.state != TaskState::exited) task.state = TaskState::lost;
  terminate(format("Terminating {}", id()), SIGTERM);
  look_whether_over();
}

void StepRun::look_whether_over() {
  const bool all =
      std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link->done(); });
  if (!all || over_) return;
  over_ = true;
  report();
  for (const auto& link : links_) link->close();
  stop_timer_ = loop_.after(kGoodbye, [this] { loop_.stop(); });
  say_goodbye();
}

// The loop goes on until the connections have said so.
void StepRun::say_goodbye() {
  const bool closed =
      std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link->closed(); });
  if (closed) return loop_.stop();
  report_timer_ = loop_.after(milliseconds(5), [this] { say_goodbye(); });
}

// --- messages

void StepRun::report() {
  report_due_ = false;
  for (std::size_t node = 0; node < links_.size(); ++node) report_node(node);
}

// "n5: tasks 1-3: Exited with exit code 1": one line for ends that are alike.
void StepRun::report_node(std::size_t node) {
  std::map<std::string, std::vector<std::uint32_t>> ends;
  for (auto& [rank, task] : tasks_) {
    if (task.node != node || task.state != TaskState::exited || task.told) continue;
    task.told = true;
    if (task.out_of_memory)
      ends["Out Of Memory"].push_back(rank);
    else if (task.signal != 0)
      ends[strsignal(task.signal)].push_back(rank);
    else if (task.code != 0)
      ends[format("Exited with exit code {}", task.code)].push_back(rank);
  }
  for (const auto& [how, ranks] : ends)
    session_.error(format("{}: {}: {}", links_[node]->name(), plural(ranks), how));
}

void StepRun::show_states() {
  const std::pair<TaskState, const char*> states[] = {{TaskState::waiting, "unknown"},
                                                      {TaskState::running, "running"},
                                                      {TaskState::exited, "exited"},
                                                      {TaskState::lost, "lost"}};
  for (const auto& [state, word] : states) {
    std::vector<std::uint32_t> ranks;
    for (const auto& [rank, task] : tasks_)
      if (task.state == state) ranks.push_back(rank);
    if (!ranks.empty()) session_.say(format("{} {}: {}", id(), plural(ranks), word));
  }
}

StepEnd StepRun::result() const {
  StepEnd end;
  bool killed = terminated_;
  for (const auto& [rank, task] : tasks_) {
    int code = task.signal != 0 ? 128 + task.signal : task.code;
    if (task.state != TaskState::exited) code = 1;
    if (task.out_of_memory) code = kOutOfMemory;
    end.exit_code = std::max(end.exit_code, code);
    end.code = std::max(end.code, task.state == TaskState::exited ? task.code : 1);
    end.signal = std::max(end.signal, task.signal);
    end.out_of_memory = end.out_of_memory || task.out_of_memory;
    killed = killed || task.signal == SIGKILL;
  }
  if (killed && !setup_.quiet) session_.say(format("Force Terminated {}", id()));
  return end;
}

// --- input

void StepRun::more_input(const std::string& bytes) {
  input_asked_ = false;
  buffer_ += bytes;
  if (bytes.empty()) input_over_ = true;
  for (std::size_t node = 0; node < links_.size(); ++node) pump_input(node);
  ask_input();
}

void StepRun::pump_input(std::size_t node) {
  Feed& feed = feeds_[node];
  if (setup_.input < 0 || !feed.ready || links_[node]->done()) return;
  const std::uint64_t end = buffer_at_ + buffer_.size();
  if (feed.sent < end && !feed.closed &&
      links_[node]->send_input(feed.sent, std::string_view(buffer_).substr(feed.sent - buffer_at_)))
    feed.sent = end;
  if (input_over_ && !feed.ended && (feed.sent == end || feed.closed))
    feed.ended = links_[node]->send(StepStdinEof{});
}

// Drops what every node has taken and reads on into the room.
void StepRun::ask_input() {
  std::uint64_t least = buffer_at_ + buffer_.size();
  for (std::size_t node = 0; node < links_.size(); ++node)
    if (!links_[node]->done() && !feeds_[node].closed) least = std::min(least, feeds_[node].taken);
  if (least > buffer_at_) {
    buffer_.erase(0, least - buffer_at_);
    buffer_at_ = least;
  }
  if (!input_ || input_over_ || input_asked_ || buffer_.size() >= kStepWindow) return;
  input_asked_ = true;
  input_->ask(kStepWindow - buffer_.size());
}

// --- signals

void StepRun::signalled(int signal) {
  if (signal == SIGWINCH) {
    if (!setup_.terminal) return;
    const auto [rows, columns] = Terminal::size(0);
    links_[tasks_.begin()->second.node]->send(StepWindow{tasks_.begin()->first, rows, columns});
  } else if (signal == SIGINT) {
    interrupted();
  } else if (signal == SIGTERM || signal == SIGHUP) {
    session_.say("forcing job termination");
    terminate(format("Job step aborted: Waiting up to {} seconds for job step to finish.",
                     setup_.step.kill_wait_seconds + 2),
              SIGTERM);
  } else {
    signal_all(signal);
  }
}

// The first Ctrl-C shows where the tasks are; a second one within a second goes to them, a third
// one ends them.
void StepRun::interrupted() {
  const auto now = std::chrono::steady_clock::now();
  const bool again = interrupts_ > 0 && now - last_interrupt_ < kSecondInterrupt;
  interrupts_ = again || interrupts_ > 1 ? interrupts_ + 1 : 1;
  last_interrupt_ = now;
  if (interrupts_ == 1) {
    session_.say("interrupt (one more within 1 sec to abort)");
    show_states();
  } else if (interrupts_ == 2) {
    session_.say(format("sending Ctrl-C to {}", id()));
    signal_all(SIGINT);
    kill_later();
  } else {
    terminate("forcing job termination", SIGKILL);
  }
}

void StepRun::signal_all(int signal) {
  for (const auto& link : links_)
    if (!link->done()) link->send(StepSignal{signal});
}

void StepRun::kill_later() {
  kill_timer_ =
      loop_.after(seconds(setup_.step.kill_wait_seconds), [this] { signal_all(SIGKILL); });
}

void StepRun::terminate(const std::string& why, int signal) {
  if (terminated_ && signal != SIGKILL) return;
  if (!terminated_ && !setup_.quiet) session_.say(why);
  terminated_ = true;
  signal_all(SIGCONT);
  signal_all(signal);
  kill_later();
}

}  // namespace phalanx::cli
