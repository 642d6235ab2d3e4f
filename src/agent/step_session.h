// One step on this node between its unit and its srun: tells srun what happens and relays the
// standard streams as model/step_wire.h says; tells the Node when it begins and when it is over. It
// outlives a lost srun for as long as that may come back, and a restart of the agent.
//
// Back-pressure: the supervisor holds what srun has not acknowledged and leaves the rest in the
// pipes. One thread; owned by StepService.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/rooms.h"
#include "model/step_wire.h"
#include "net/net.h"
#include "node/node.h"

namespace phalanx::agent {

// What must be known of a step after a restart: <run_dir>/steps/<unit>.json.
struct StepRecord {
  std::string label;  // "4711.0"
  std::vector<std::int64_t> ranks;
  std::vector<int> streams;  // of each task, those that srun gets: 1 output, 2 errors, 3 both
  bool operator==(const StepRecord&) const = default;
};
BOOST_DESCRIBE_STRUCT(StepRecord, (), (label, ranks, streams))

class StepSession {
 public:
  struct Outside {
    net::Loop& loop;
    Rooms& rooms;
    std::function<void(const node::OsResult&)> found;
    std::function<void(const node::UnitKey&)> done;  // nothing is left of it: forget the session
    std::function<Duration()> kill_wait;             // of its job
  };

  StepSession(Outside outside, node::UnitKey key, StepRecord record);

  // A srun that is let in; an earlier connection is dropped. `again`: all is told from the start.
  void connect(std::shared_ptr<net::WebSocket> socket, bool again);
  void launch(const StepGrant& grant, spawn::Start request);
  void refuse(const std::string& why);
  void job_stops(std::string_view node, EndCause cause);
  // For Rooms: what happens in the unit.
  Unit::Handler handler();

 private:
  struct Task {
    bool started = false, exited = false;
    TaskEnd end;
    spawn::Usage usage;
    std::array<bool, 2> at_end{};  // output, errors
    bool reads = false, closed = false;
    std::uint64_t input_next = 0, input_written = 0;
  };

  void begun(const Result<spawn::StartReply>& reply);
  void heard(const UnitEvent& event);
  void task_exited(std::uint32_t index, TaskEnd end, bool out_of_memory);
  void supervisor_lost();
  void all_exited();
  [[nodiscard]] spawn::Usage reaped() const;
  void relay(const spawn::Output& output);
  void input_taken(const spawn::StdinTaken& taken);
  void end_if_complete();
  void received(const std::string& message, net::WebSocket::Kind kind);
  void command(const StepCommand& command);
  void input(std::string_view frame);
  void say(const StepNotice& notice);
  void closed(bool acknowledged);
  void end_it();
  void drop_if_over();
  [[nodiscard]] Unit* unit() const { return outside_.rooms.unit(key_); }
  [[nodiscard]] std::uint32_t rank(std::uint32_t index) const;
  [[nodiscard]] std::optional<std::uint32_t> index(std::uint32_t rank) const;

  Outside outside_;
  node::UnitKey key_;
  StepRecord record_;
  std::vector<Task> tasks_;
  std::shared_ptr<net::WebSocket> socket_;
  // Until the unit has told where it stands, what srun sends waits here.
  bool replayed_ = false;
  std::vector<std::pair<std::string, net::WebSocket::Kind>> early_;
  std::size_t early_bytes_ = 0;
  std::int32_t worst_code_ = 0, worst_signal_ = 0;
  bool out_of_memory_ = false;
  std::optional<Time> last_exit_;  // of its tasks, on the Node's clock
  bool starting_ = false, refused_ = false, over_ = false, told_ = false, ended_ = false,
       acknowledged_ = false;
  net::Timer reconnect_, force_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace phalanx::agent
