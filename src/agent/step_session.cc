#include "agent/step_session.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "agent/note.h"
#include "base/codec.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

constexpr Duration kIsItDead = seconds(1);
constexpr std::size_t kMostEarly = std::size_t{1} << 20;

bool process_is_gone(pid_t pid) { return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

StepSession::StepSession(Outside outside, node::UnitKey key, StepRecord record)
    : outside_(std::move(outside)),
      key_(std::move(key)),
      record_(std::move(record)),
      tasks_(record_.ranks.size()) {}

std::uint32_t StepSession::rank(std::uint32_t index) const {
  return static_cast<std::uint32_t>(record_.ranks.at(index));
}

std::optional<std::uint32_t> StepSession::index(std::uint32_t rank) const {
  const auto it = std::ranges::find(record_.ranks, std::int64_t{rank});
  if (it == record_.ranks.end()) return std::nullopt;
  return static_cast<std::uint32_t>(it - record_.ranks.begin());
}

Unit::Handler StepSession::handler() {
  return [this, alive = std::weak_ptr(alive_)](const UnitEvent& event) {
    if (!alive.expired()) heard(event);
  };
}

// --- srun comes and goes

void StepSession::connect(std::shared_ptr<net::WebSocket> socket, bool again) {
  reconnect_.cancel();
  if (socket_) socket_->close(1001, "srun came back on another connection");
  socket_ = std::move(socket);
  const std::weak_ptr alive = alive_;
  const std::weak_ptr<net::WebSocket> mine = socket_;
  socket_->on_message([this, alive](const std::string& message, net::WebSocket::Kind kind) {
    if (!alive.expired()) received(message, kind);
  });
  socket_->on_close([this, alive, mine](const net::WebSocket::Closed& how) {
    if (alive.expired() || mine.lock() != socket_) return;
    closed(how.code == 1000);
  });
  replayed_ = false;
  early_.clear();
  early_bytes_ = 0;
  if (!again) return;
  for (Task& task : tasks_) task = {};
  ended_ = over_ = false;
  if (Unit* unit = this->unit()) return unit->attach();
  refuse("the step is not on this node any more");
}

void StepSession::closed(bool acknowledged) {
  const pid_t pid = socket_->peer().pid;
  socket_.reset();
  early_.clear();
  if (acknowledged && ended_) {
    acknowledged_ = true;
    return drop_if_over();
  }
  reconnect_ = outside_.loop.after(kIsItDead, [this, pid] {
    if (process_is_gone(pid)) return end_it();
    reconnect_ = outside_.loop.after(kStepReconnect, [this] { end_it(); });
  });
}

// Nobody will come for it.
void StepSession::end_it() {
  acknowledged_ = true;
  if (Unit* unit = this->unit(); unit && !over_) {
    unit->signal(SIGCONT, spawn::Scope::Tree);
    unit->signal(SIGTERM, spawn::Scope::Tree);
    force_ = outside_.loop.after(outside_.kill_wait(), [this] {
      if (Unit* still = this->unit()) still->kill();
    });
  }
  drop_if_over();
}

void StepSession::drop_if_over() {
  const Unit* unit = this->unit();  // gone already if the job is
  if (!acknowledged_ || starting_ || (unit && (!unit->over() || !(over_ || refused_)))) return;
  outside_.loop.post([rooms = &outside_.rooms, done = outside_.done, key = key_] {
    rooms->drop_step(key);
    done(key);
  });
}

void StepSession::say(const StepNotice& notice) {
  if (socket_) socket_->send(codec::encode(notice));
}

void StepSession::refuse(const std::string& why) {
  refused_ = ended_ = true;
  say(StepRefused{why});
  say(StepNodeEnded{});
}

void StepSession::job_stops(std::string_view node, EndCause cause) {
  if (!over_) say(StepSaid{stop_note("STEP " + record_.label, node, cause)});
}

// --- what srun wants

void StepSession::launch(const StepGrant& grant, spawn::Start request) {
  starting_ = true;
  outside_.rooms.start_step(grant, std::move(request), handler(),
                            [this, alive = std::weak_ptr(alive_)](const auto& reply) {
                              if (!alive.expired()) begun(reply);
                            });
}

void StepSession::begun(const Result<spawn::StartReply>& reply) {
  starting_ = false;
  outside_.found(node::StepBegan{key_});
  if (reply.ok() &&
      (reply->verdict == spawn::Verdict::Accepted || reply->verdict == spawn::Verdict::Exists)) {
    if (acknowledged_) end_it();  // srun has left in the meantime
    return;
  }
  told_ = true;
  outside_.found(node::UnitExited{key_, 1, 0, false, false, {}});
  if (!reply.ok()) return refuse(reply.error().message);
  if (reply->verdict == spawn::Verdict::Gone) return refuse("this step has run here before");
  refuse(sentence(reply->stage, reply->error, reply->detail));
}

void StepSession::received(const std::string& message, net::WebSocket::Kind kind) {
  if (!replayed_) {
    early_bytes_ += message.size();
    if (early_bytes_ > kMostEarly) return socket_->close(1008, "more input than was agreed on");
    early_.emplace_back(message, kind);
    return;
  }
  if (kind == net::WebSocket::Kind::Binary) return input(message);
  const auto decoded = codec::decode<StepCommand>(message);
  if (decoded.ok()) return command(*decoded);
  socket_->close(1008, "not a command of this version: " + decoded.error().message);
}

void StepSession::command(const StepCommand& command) {
  Unit* unit = this->unit();
  if (!unit) return;
  if (const auto* signal = std::get_if<StepSignal>(&command)) {
    unit->signal(signal->signal, spawn::Scope::Tree);
  } else if (const auto* window = std::get_if<StepWindow>(&command)) {
    if (const auto task = index(window->rank))
      unit->link().resize(*task, window->rows, window->columns);
  } else if (std::holds_alternative<StepStdinEof>(command)) {
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) unit->link().end_stdin(i);
  } else if (const auto* received = std::get_if<StepReceived>(&command)) {
    if (const auto task = index(received->rank))
      unit->link().ack(*task, received->stream, received->bytes);
  }
}

// To every task that reads; what a task has already is left out.
void StepSession::input(std::string_view bytes) {
  const auto frame = read_step_frame(bytes);
  Unit* unit = this->unit();
  if (!frame || !unit || frame->stream != 0) return;
  const std::uint64_t end = frame->offset + frame->bytes.size();
  for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    if ((frame->rank != kAllRanks && frame->rank != rank(i)) || end <= task.input_next) continue;
    if (task.input_next < frame->offset) continue;  // a hole: cannot be, and must not be hidden
    unit->link().write_stdin(i, frame->bytes.substr(task.input_next - frame->offset));
    task.input_next = end;
  }
}

// --- what happens in the unit

void StepSession::heard(const UnitEvent& event) {
  if (const auto* info = std::get_if<spawn::UnitInfo>(&event)) {
    // Without its record, ranks are counted from here.
    while (record_.ranks.size() < info->tasks)
      record_.ranks.push_back(static_cast<std::int64_t>(record_.ranks.size()));
    tasks_.resize(record_.ranks.size());
  } else if (const auto* refused = std::get_if<spawn::UnitRefused>(&event)) {
    worst_code_ = 1;
    over_ = true;
    all_exited();
    refuse(sentence(refused->stage, refused->error, refused->detail));
  } else if (const auto* started = std::get_if<spawn::TaskStarted>(&event)) {
    say(StepTaskStarted{rank(started->task), started->pid});
  } else if (const auto* failed = std::get_if<spawn::TaskFailed>(&event)) {
    say(StepSaid{format("error: {}", sentence(failed->stage, failed->error, failed->detail))});
    task_exited(failed->task, {failed->stage == spawn::Stage::Exec ? failed->error : 1, 0}, false);
  } else if (const auto* exited = std::get_if<spawn::TaskExited>(&event)) {
    const TaskEnd end = task_end(exited->status);
    tasks_.at(exited->task).usage = exited->usage;
    last_exit_ = std::max(last_exit_.value_or(Time{}), moment(exited->time));
    // Also where the task outlived a child that was killed for memory, as Slurm has it.
    task_exited(exited->task, end, outside_.rooms.oom_killed(key_));
  } else if (std::holds_alternative<spawn::AllExited>(event)) {
    all_exited();
  } else if (const auto* output = std::get_if<spawn::Output>(&event)) {
    relay(*output);
  } else if (const auto* end = std::get_if<spawn::OutputEof>(&event)) {
    tasks_.at(end->task).at_end.at(end->stream - 1U) = true;
  } else if (const auto* taken = std::get_if<spawn::StdinTaken>(&event)) {
    input_taken(*taken);
  } else if (std::holds_alternative<spawn::Replayed>(event)) {
    replayed_ = true;
    for (const auto& [message, kind] : std::exchange(early_, {})) received(message, kind);
  } else if (std::holds_alternative<SupervisorLost>(event)) {
    supervisor_lost();
  }
  end_if_complete();
  drop_if_over();
}

void StepSession::task_exited(std::uint32_t index, TaskEnd end, bool out_of_memory) {
  Task& task = tasks_.at(index);
  task.exited = true;
  task.end = end;
  worst_code_ = std::max(worst_code_, end.code);
  worst_signal_ = std::max(worst_signal_, end.signal);
  if (out_of_memory && !std::exchange(out_of_memory_, true))
    say(StepSaid{memory_note(record_.label)});
  say(StepTaskExited{rank(index), end.code, end.signal, out_of_memory});
}

// Its tasks are over; what they left running ends with the step.
void StepSession::all_exited() {
  over_ = true;
  out_of_memory_ = out_of_memory_ || outside_.rooms.oom_killed(key_);
  if (!std::exchange(told_, true))
    outside_.found(node::UnitExited{key_, worst_code_, worst_signal_, out_of_memory_, false,
                                    outside_.rooms.used_by(key_, reaped()), last_exit_});
  if (Unit* unit = this->unit()) unit->kill();
}

spawn::Usage StepSession::reaped() const {
  spawn::Usage sum;
  for (const Task& task : tasks_) {
    sum.user_us += task.usage.user_us;
    sum.system_us += task.usage.system_us;
    sum.max_rss_kb = std::max(sum.max_rss_kb, task.usage.max_rss_kb);
  }
  return sum;
}

void StepSession::supervisor_lost() {
  if (over_ && ended_) return;
  const auto running = [](const Task& task) { return !task.exited; };
  if (std::any_of(tasks_.begin(), tasks_.end(), running))
    say(StepSaid{supervisor_note(record_.label)});
  for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i].exited) task_exited(i, {0, SIGKILL}, false);
    tasks_[i].at_end = {true, true};
  }
  all_exited();
}

void StepSession::relay(const spawn::Output& output) {
  if (!socket_) return;  // it stays with the supervisor
  socket_->send(step_frame(output.stream, rank(output.task), output.offset, output.bytes),
                net::WebSocket::Kind::Binary);
}

void StepSession::input_taken(const spawn::StdinTaken& taken) {
  Task& task = tasks_.at(taken.task);
  if (!std::exchange(task.reads, true)) task.input_next = taken.received;
  task.input_written = taken.written;
  task.closed = taken.closed;
  std::uint64_t least = ~std::uint64_t{0};
  bool all_closed = true;
  for (const Task& other : tasks_) {
    if (!other.reads || other.closed) continue;
    least = std::min(least, other.input_written);
    all_closed = false;
  }
  say(StepStdinTaken{all_closed ? taken.written : least, all_closed});
}

void StepSession::end_if_complete() {
  if (!over_ || ended_ || refused_) return;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const int streams = i < record_.streams.size() ? record_.streams[i] : 0;
    if ((streams & 1) != 0 && !tasks_[i].at_end[0]) return;
    if ((streams & 2) != 0 && !tasks_[i].at_end[1]) return;
  }
  if (!socket_) return;
  ended_ = true;
  say(StepNodeEnded{});
}

}  // namespace phalanx::agent
