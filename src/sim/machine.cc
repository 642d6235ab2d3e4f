#include "sim/machine.h"

#include <csignal>

#include "base/text.h"

namespace phalanx::sim {
namespace {

constexpr Duration kPrologTimeout = minutes(5);  // a prolog that hangs is killed by then

}  // namespace

Machine::Machine(MachineRow row, Outside outside)
    : row_(std::move(row)), outside_(std::move(outside)) {}

void Machine::boot() {
  ++power_;
  ++agent_;
  rooms_.clear();
  boot_ = format("{}-boot-{}", row_.spec.name, ++boots_);
  node_.emplace(boot_, "");
  armed_ = kNever;
}

void Machine::die() {
  ++power_;
  ++agent_;
  node_.reset();
  rooms_.clear();
  outside_.witness->machine_died(row_.spec.name);
}

// The new agent reads the run directory: rooms, intents, supervisors that still keep an exit code.
void Machine::restart_agent() {
  if (!node_) return;
  ++agent_;
  armed_ = kNever;
  node_.emplace(boot_, "");
  std::vector<node::Node::Found> found;
  for (auto& [fence, room] : rooms_) {
    const bool by_itself = room.order.first_node && room.order.kind != WorkloadKind::allocation;
    node::Node::Found f{
        fence, room.order, by_itself ? room.script : room.go && room.made, {}, room.began};
    if (room.script) f.live_units.push_back(kBatchStep);
    found.push_back(std::move(f));
  }
  carry_out(node_->restore(outside_.now(), found));
  for (const auto& [fence, room] : rooms_) {
    if (room.script) result(node::BatchStarted{fence, "", false, room.began});
    if (room.over) result(room.exit);
  }
  arm();
}

NodeReport Machine::hello() const {
  NodeReport report;
  report.cluster = node_->cluster();
  report.name = row_.spec.name;
  report.boot = boot_;
  report.spec = row_.spec;
  report.attempts = node_->reports(outside_.now());
  return report;
}

void Machine::order(const Order& order) {
  if (!node_) return;
  const Fence fence = std::visit([](const auto& o) { return o.fence; }, order);
  const auto* prepare = std::get_if<Prepare>(&order);
  const bool go = std::holds_alternative<Go>(order) || (prepare && prepare->go);
  carry_out(node_->order(outside_.now(), order));
  if (const auto room = rooms_.find(fence); room != rooms_.end() && go) {
    if (!room->second.go) room->second.began = outside_.now();
    room->second.go = true;
  }
  arm();
}

std::vector<Device> Machine::set_gpu(std::size_t index, bool usable) {
  if (index < row_.spec.devices.size()) {
    Device& device = row_.spec.devices[index];
    device.health = usable ? DeviceHealth::usable : DeviceHealth::failed;
    device.health_reason = usable ? "" : "the driver reports errors";
  }
  return row_.spec.devices;
}

void Machine::agent_after(Duration d, std::function<void()> what) {
  outside_.after(d, [this, agent = agent_, what = std::move(what)] {
    if (agent == agent_) what();
  });
}

void Machine::power_after(Duration d, std::function<void()> what) {
  outside_.after(d, [this, power = power_, what = std::move(what)] {
    if (power == power_) what();
  });
}

void Machine::arm() {
  const Time deadline = node_->next_deadline();
  if (deadline == kNever || deadline == armed_) return;
  armed_ = deadline;
  agent_after(std::max(deadline - outside_.now(), Duration{}), [this, deadline] {
    if (armed_ != deadline) return;
    armed_ = kNever;
    carry_out(node_->tick(outside_.now()));
    arm();
  });
}

void Machine::result(node::OsResult result) {
  agent_after(Duration{}, [this, result = std::move(result)] {
    carry_out(node_->os(outside_.now(), result));
    arm();
  });
}

void Machine::carry_out(const std::vector<node::Action>& actions) {
  for (const node::Action& action : actions) {
    if (const auto* room = std::get_if<node::MakeRoom>(&action)) make_room(*room);
    if (const auto* start = std::get_if<node::StartBatch>(&action)) start_script(*start);
    if (const auto* signal = std::get_if<node::SendSignal>(&action)) send_signal(*signal);
    if (const auto* kill = std::get_if<node::KillAll>(&action)) kill_all(*kill);
    if (const auto* clean = std::get_if<node::CleanUp>(&action)) clean_up(*clean);
    if (const auto* tell = std::get_if<node::Tell>(&action)) outside_.tell(tell->report);
  }
}

void Machine::make_room(const node::MakeRoom& action) {
  rooms_[action.fence].order = action.order;
  rooms_[action.fence].made = false;
  outside_.witness->room_made(row_.spec.name, action.fence, action.order.share);
  Chaos* chaos = outside_.chaos;
  const bool hangs = habit == PrepareHabit::hang || (chaos && chaos->prolog_hangs());
  const bool refuse = hangs || habit == PrepareHabit::refuse || (chaos && chaos->refuses_prepare());
  const Duration takes =
      hangs ? kPrologTimeout : row_.prepare + (chaos ? chaos->prepares_for() : Duration{});
  agent_after(takes, [this, fence = action.fence, refuse] {
    const auto room = rooms_.find(fence);
    if (room == rooms_.end() || room->second.made) return;
    room->second.made = true;
    result(node::RoomMade{fence, refuse ? "the prolog failed with exit code 1" : ""});
  });
}

const Program& Machine::program(const LaunchOrder& order) const {
  static const Program kSleepsForEver;
  const auto it = outside_.programs->find(order.launch.script);
  return it == outside_.programs->end() ? kSleepsForEver : it->second;
}

void Machine::start_script(const node::StartBatch& action) {
  const Program& p = program(action.order);
  if (p.cannot_start)
    return result(node::BatchStarted{action.fence, "cannot enter the working directory", true});
  Room& room = rooms_[action.fence];
  room.script = true;
  room.began = outside_.now();
  outside_.witness->script_began(row_.spec.name, action.fence);
  result(node::BatchStarted{action.fence, "", false});
  if (p.runs == kForever) return;
  power_after(p.runs, [this, fence = action.fence, p] {
    script_exits(fence, p.exit_code, p.exit_signal, p.out_of_memory);
  });
}

void Machine::script_exits(const Fence& fence, std::int32_t code, std::int32_t signal, bool oom) {
  const auto it = rooms_.find(fence);
  if (it == rooms_.end() || !it->second.script || it->second.over) return;
  it->second.over = true;
  it->second.exit = {{fence, kBatchStep}, code, signal, oom, false, {}, outside_.now()};
  outside_.witness->script_ended(row_.spec.name, fence);
  result(it->second.exit);
}

void Machine::send_signal(const node::SendSignal& action) {
  const auto it = rooms_.find(action.unit.fence);
  if (it == rooms_.end() || (action.signal != SIGTERM && action.signal != SIGKILL)) return;
  const Duration takes =
      action.signal == SIGKILL ? Duration{} : program(it->second.order).after_term;
  if (takes == kForever) return;
  power_after(takes, [this, fence = action.unit.fence, signal = action.signal] {
    script_exits(fence, 0, signal, false);
  });
}

void Machine::kill_all(const node::KillAll& action) {
  const auto room = rooms_.find(action.fence);
  if (room != rooms_.end() && !room->second.made) {  // its prolog is killed
    room->second.made = true;
    return result(node::RoomMade{action.fence, "the prolog was killed"});
  }
  script_exits(action.fence, 0, SIGKILL, false);
  result(node::RoomEmpty{action.fence});
}

void Machine::clean_up(const node::CleanUp& action) {
  agent_after(row_.cleanup, [this, fence = action.fence] {
    rooms_.erase(fence);
    outside_.witness->room_gone(row_.spec.name, fence);
    result(node::RoomGone{fence, {}});
  });
}

}  // namespace phalanx::sim
