#include "agent/rooms.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "agent/note.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

constexpr Duration kLookFirst = milliseconds(5);
constexpr Duration kLookMost = milliseconds(500);
constexpr int kSpawnTries = 5;
constexpr Duration kSpawnAgain = milliseconds(200);

// Whatever the umask; what cannot be made shows when it is used.
void make_directory(const std::string& path, mode_t mode) {
  std::error_code ignored;
  std::filesystem::create_directories(path, ignored);
  ::chmod(path.c_str(), mode);
}

Used used_of(const CgroupCounters& counters) {
  return {counters.user_ms, counters.system_ms, counters.memory_peak_bytes};
}

// Agents of one machine have run directories of their own, and so control groups of their own, also
// where two clusters have a node of the same name.
std::string group_root(const std::string& node, const std::string& run_dir) {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : run_dir) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return format("{}-{:08x}", node, hash);
}

}  // namespace

Rooms::Rooms(net::Loop& loop, const AgentOptions& options, const NodeSpec& spec, Tell tell)
    : loop_(loop),
      options_(options),
      spec_(spec),
      tell_(std::move(tell)),
      spawn_dir_(options.run_dir + "/spawn"),
      records_(options.run_dir + "/attempts"),
      cgroups_(Cgroups::open({group_root(spec.name, options.run_dir), {}, {}})),
      spawn_(loop.native(), {options.spawn_program, spawn_dir_}) {
  constexpr std::string_view kUnixPrefix = "unix:";
  local_ = {spec.name, options.controller, options.commands_dir, options.commands_first};
  if (local_.socket.starts_with(kUnixPrefix)) local_.socket.erase(0, kUnixPrefix.size());
  make_directory(options.run_dir, 0755);
  make_directory(options.run_dir + "/intents", 0700);
  make_directory(options.spool_dir + "/jobs", 0711);
}

Rooms::~Rooms() = default;

Status Rooms::open() {
  spawn_.on_lost([this] { loop_.post([this] { (void)spawn_.connect().ok(); }); });
  return spawn_.connect();
}

std::vector<std::string> Rooms::warnings() const {
  std::vector<std::string> list;
  for (const CgroupWarning& warning : cgroups_.warnings()) list.push_back(warning.text);
  return list;
}

void Rooms::tell(node::OsResult result) {
  loop_.post([this, result = std::move(result)]() mutable { tell_(std::move(result)); });
}

Rooms::Room* Rooms::find(const Fence& fence) {
  const auto it = rooms_.find(fence);
  return it == rooms_.end() ? nullptr : &it->second;
}

std::string Rooms::folder(const Room& room) const {
  return options_.spool_dir + "/jobs/" + room.name;
}

std::string Rooms::intent(const std::string& unit) const {
  return options_.run_dir + "/intents/" + unit;
}

std::string Rooms::group_of(const Room& room, StepNumber step) {
  return step == kBatchStep ? room.name + "/step_batch" : format("{}/step_{}", room.name, step);
}

// --- making room

CgroupLimits Rooms::job_limits(const LaunchOrder& order) const {
  CgroupLimits limits;
  if (order.share.memory > 0) limits.memory_bytes = order.share.memory;
  if (order.share.cpus.in_milli() > 0) limits.cpu_weight_milli = order.share.cpus.in_milli();
  DeviceFence& fence = limits.devices.emplace();
  for (const DeviceIndex index : order.share.gpus) {
    if (index >= spec_.devices.size()) continue;
    const Device& device = spec_.devices[index];
    if (!device.emulated && device.minor >= 0) fence.gpu_minors.push_back(device.minor);
  }
  return limits;
}

Status Rooms::prepare(Room& room) const {
  TRY(records_.write(room.name, room.record));
  make_directory(folder(room), 0711);
  return cgroups_.create(room.name, job_limits(room.record.order));
}

void Rooms::make(const Fence& fence, const LaunchOrder& order) {
  Room& room = rooms_[fence];
  room.record = {fence, order, false, std::nullopt};
  room.name = room_name(fence, order.label);
  const Status status = prepare(room);
  tell(node::RoomMade{fence, status.ok() ? "" : status.error().message});
}

void Rooms::went(const Fence& fence, Time at) {
  Room* room = find(fence);
  if (!room || room->record.went) return;
  room->record.went = true;
  room->record.went_at = at;
  (void)records_.write(room->name, room->record).ok();  // it could be written before: see prepare
}

void Rooms::set_limit(const Fence& fence, Duration limit) {
  Room* room = find(fence);
  if (!room || room->record.order.limit == limit) return;
  room->record.order.limit = limit;
  (void)records_.write(room->name, room->record).ok();
}

// --- starting

// phalanx-spawn may have ended in between: it is started again, and a unit is never started twice.
void Rooms::ask_spawn(const std::shared_ptr<spawn::Start>& request, int tries,
                      const OnStart& done) {
  spawn_.start(*request, [this, request, tries, done](Result<spawn::StartReply> reply) {
    if (reply.ok() || tries <= 1) return done(std::move(reply));
    net::Timer later = loop_.after(kSpawnAgain, [this, request, tries, done] {
      (void)spawn_.connect().ok();
      ask_spawn(request, tries - 1, done);
    });
    later.detach();
  });
}

void Rooms::launch(Room& room, StepNumber step, const CgroupLimits& limits, spawn::Start request,
                   Unit::Handler handler, OnStart done) {
  request.unit = unit_name(room.name, step);
  request.intent = intent(request.unit);
  const std::string group = group_of(room, step);
  if (const Status status = cgroups_.create(group, limits); !status.ok()) {
    return loop_.post([done, error = status.error()] { done(error); });
  }
  request.cgroup_procs = cgroups_.procs_files(group);
  ++room.starting;
  ask_spawn(std::make_shared<spawn::Start>(std::move(request)), kSpawnTries,
            [this, fence = room.record.fence, step, handler = std::move(handler),
             done = std::move(done)](Result<spawn::StartReply> reply) {
              Room* found = find(fence);
              if (!found) return;
              --found->starting;
              const bool runs = reply.ok() && (reply->verdict == spawn::Verdict::Accepted ||
                                               reply->verdict == spawn::Verdict::Exists);
              if (runs) attach(*found, step, handler);
              done(std::move(reply));
            });
}

void Rooms::attach(Room& room, StepNumber step, Unit::Handler handler) {
  std::unique_ptr<Unit>& unit = room.units[step];
  unit = std::make_unique<Unit>(loop_, spawn_, spawn_dir_, unit_name(room.name, step),
                                std::move(handler));
  unit->attach();
  if (room.killing) unit->kill();
}

void Rooms::start_batch(const Fence& fence) {
  Room* room = find(fence);
  if (!room) return;
  went(fence, Time(net::boottime_now()));
  const LaunchOrder& order = room->record.order;
  if (order.kind == WorkloadKind::batch && order.script_text.empty()) {
    return tell(node::BatchStarted{fence, "the batch script is missing from the order", true});
  }
  launch(*room, kBatchStep, {}, batch_request(order, folder(*room) + "/slurm_script", local_),
         batch_handler(fence), [this, fence](const Result<spawn::StartReply>& reply) {
           if (!reply.ok()) {
             tell(node::BatchStarted{fence, reply.error().message, false});
           } else if (reply->verdict == spawn::Verdict::Refused) {
             tell(node::BatchStarted{fence, sentence(reply->stage, reply->error, reply->detail),
                                     is_user_fault(reply->stage)});
           } else if (reply->verdict == spawn::Verdict::Gone) {
             tell(node::BatchStarted{fence, "", false});
             tell(node::UnitExited{{fence, kBatchStep}, 0, SIGKILL, false, true, {}});
           }
         });
}

Unit::Handler Rooms::batch_handler(const Fence& fence) {
  return [this, fence](const UnitEvent& event) { batch_heard(fence, event); };
}

void Rooms::batch_heard(const Fence& fence, const UnitEvent& event) {
  const node::UnitKey key{fence, kBatchStep};
  if (const auto* refused = std::get_if<spawn::UnitRefused>(&event)) {
    tell(node::BatchStarted{fence, sentence(refused->stage, refused->error, refused->detail),
                            is_user_fault(refused->stage)});
  } else if (const auto* failed = std::get_if<spawn::TaskFailed>(&event)) {
    if (const Room* room = find(fence))
      write_note(room->record.order,
                 "error: " + sentence(failed->stage, failed->error, failed->detail));
    tell(node::BatchStarted{fence, sentence(failed->stage, failed->error, failed->detail),
                            is_user_fault(failed->stage)});
  } else if (const auto* started = std::get_if<spawn::TaskStarted>(&event)) {
    tell(node::BatchStarted{fence, "", false, moment(started->time)});
  } else if (const auto* exited = std::get_if<spawn::TaskExited>(&event)) {
    const TaskEnd end = task_end(exited->status);
    const bool out_of_memory = oom_killed(key);
    if (const Room* room = find(fence); room && out_of_memory)
      write_note(room->record.order, memory_note(room->record.order.label + ".batch"));
    tell(node::UnitExited{key, end.code, end.signal, out_of_memory, false,
                          used_by(key, exited->usage), moment(exited->time)});
  } else if (std::holds_alternative<SupervisorLost>(event)) {
    tell(node::UnitExited{key, 0, SIGKILL, false, true, {}});  // dropped if it had exited before
  }
}

void Rooms::start_step(const StepGrant& grant, spawn::Start request, Unit::Handler handler,
                       OnStart done) {
  Room* room = find(grant.fence);
  if (!room || room->cleaning) {
    return loop_.post([done] { done(conflict("the job is over on this node")); });
  }
  CgroupLimits limits;  // within the job's
  if (grant.share.memory > 0) limits.memory_bytes = grant.share.memory;
  launch(*room, grant.step, limits, std::move(request), std::move(handler), std::move(done));
}

Unit* Rooms::unit(const node::UnitKey& key) {
  Room* room = find(key.fence);
  if (!room) return nullptr;
  const auto it = room->units.find(key.step);
  return it == room->units.end() ? nullptr : it->second.get();
}

// --- restoring

std::vector<node::Node::Found> Rooms::restore() {
  std::vector<node::Node::Found> found;
  const std::vector<std::string> units = spawn_.units();
  for (AttemptRecord& record : records_.read_all()) {
    Room& room = rooms_[record.fence];
    room.name = room_name(record.fence, record.order.label);
    room.record = std::move(record);
    node::Node::Found& entry = found.emplace_back();
    entry.fence = room.record.fence;
    entry.order = room.record.order;
    entry.went = room.record.went;
    entry.went_at = room.record.went_at;
    for (const std::string& name : units) {
      const auto step = step_of_unit(room.name, name);
      if (!step) continue;
      entry.live_units.push_back(*step);
      const node::UnitKey key{entry.fence, *step};
      attach(room, *step, *step == kBatchStep ? batch_handler(entry.fence) : adopt_step(key));
    }
  }
  return found;
}

// --- ending

void Rooms::signal(const node::UnitKey& key, int signal, bool shell_only) {
  if (Unit* unit = this->unit(key))
    unit->signal(signal, shell_only ? spawn::Scope::Process : spawn::Scope::Tree);
}

void Rooms::kill(const Fence& fence) {
  Room* room = find(fence);
  if (!room) return tell(node::RoomEmpty{fence});
  if (room->cleaning) return;
  room->killing = true;
  for (const auto& [step, unit] : room->units) unit->kill();
  (void)cgroups_.kill(room->name).ok();
  room->pause = kLookFirst;
  look(fence);
}

bool Rooms::fenced() const { return cgroups_.backend() != CgroupBackend::None; }

// Without control groups the units say it themselves: their supervisors reap whatever is left.
bool Rooms::nobody_in_group(const std::string& name) const {
  if (!fenced()) return true;
  const auto populated = cgroups_.populated(name);
  return populated.ok() && !*populated;
}

void Rooms::look(const Fence& fence) {
  Room* room = find(fence);
  if (!room || room->cleaning) return;
  const bool over = room->starting == 0 && std::ranges::all_of(room->units, [](const auto& entry) {
                      return entry.second->over();
                    });
  if (over && nobody_in_group(room->name)) return tell(node::RoomEmpty{fence});
  if (over) (void)cgroups_.kill(room->name).ok();
  room->poll = loop_.after(room->pause, [this, fence] { look(fence); });
  room->pause = std::min(room->pause * 2, kLookMost);
}

void Rooms::clean(const Fence& fence) {
  Room* room = find(fence);
  if (!room) return tell(node::RoomGone{fence, {}});
  if (std::exchange(room->cleaning, true)) return;
  room->pause = kLookFirst;
  clean_more(fence);
}

// Units first, for their supervisors are outside the control group; the record last, for it is how
// another agent finds the rest.
void Rooms::clean_more(const Fence& fence) {
  Room* room = find(fence);
  if (!room) return;
  if (!room->units.empty()) {
    const StepNumber step = room->units.begin()->first;
    return room->units.begin()->second->release([this, fence, step] {
      Room* found = find(fence);
      if (!found) return;
      ::unlink(intent(unit_name(found->name, step)).c_str());
      found->units.erase(step);
      loop_.post([this, fence] { clean_more(fence); });
    });
  }
  const CgroupCounters counters = cgroups_.counters(room->name);
  if (fenced() && !cgroups_.remove(room->name).ok()) {
    (void)cgroups_.kill(room->name).ok();
    room->poll = loop_.after(room->pause, [this, fence] { clean_more(fence); });
    room->pause = std::min(room->pause * 2, kLookMost);
    return;
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder(*room), ignored);
  for (std::filesystem::directory_iterator it(options_.run_dir + "/intents", ignored), end;
       !ignored && it != end; it.increment(ignored)) {
    if (step_of_unit(room->name, it->path().filename().string())) ::unlink(it->path().c_str());
  }
  records_.remove(room->name);
  rooms_.erase(fence);
  tell(node::RoomGone{fence, used_of(counters)});
}

void Rooms::drop_step(const node::UnitKey& key) {
  Room* room = find(key.fence);
  Unit* unit = this->unit(key);
  if (!room || !unit || room->cleaning || room->killing) return;
  unit->release([this, key] {
    Room* found = find(key.fence);
    if (!found || found->cleaning) return;
    ::unlink(intent(unit_name(found->name, key.step)).c_str());
    (void)cgroups_.remove(group_of(*found, key.step)).ok();  // else with the room
    found->units.erase(key.step);
  });
}

void Rooms::leave(std::function<void()> done) {
  cgroups_.remove_root();
  spawn_.on_lost({});
  spawn_.stop([done = std::move(done)](const Status&) { done(); });
}

// The control group knows best; without one, what was reaped: the memory of its largest process.
Used Rooms::used_by(const node::UnitKey& key, const spawn::Usage& reaped) const {
  constexpr std::int64_t kUsPerMs = 1000, kKib = 1024;
  const auto it = rooms_.find(key.fence);
  Used used;
  if (it != rooms_.end()) used = used_of(cgroups_.counters(group_of(it->second, key.step)));
  const auto known = [](std::optional<std::int64_t>& value, std::uint64_t other) {
    if (!value) value = static_cast<std::int64_t>(other);
  };
  known(used.user_ms, reaped.user_us / kUsPerMs);
  known(used.system_ms, reaped.system_us / kUsPerMs);
  known(used.memory_peak, reaped.max_rss_kb * kKib);
  return used;
}

std::vector<node::Measured> Rooms::measure() const {
  std::vector<node::Measured> all;
  for (const auto& [fence, room] : rooms_) {
    if (room.units.empty() || room.cleaning) continue;
    node::Measured& one = all.emplace_back();
    one.fence = fence;
    one.all = used_of(cgroups_.counters(room.name));
    for (const auto& [step, unit] : room.units)
      one.units.push_back({step, used_of(cgroups_.counters(group_of(room, step)))});
  }
  return all;
}

bool Rooms::oom_killed(const node::UnitKey& key) const {
  const auto it = rooms_.find(key.fence);
  return it != rooms_.end() && cgroups_.oom_killed(group_of(it->second, key.step));
}

std::vector<int> Rooms::processes() const {
  std::vector<int> all;
  for (const auto& [fence, room] : rooms_) {
    const auto found = cgroups_.processes(room.name);
    if (found.ok()) all.insert(all.end(), found->begin(), found->end());
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace phalanx::agent
