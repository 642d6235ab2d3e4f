#include "agent/agent.h"

#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <set>

#include "agent/controller_link.h"
#include "agent/discover.h"
#include "agent/note.h"
#include "agent/rooms.h"
#include "agent/step_service.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

constexpr Duration kLookAtDevices = seconds(15);
constexpr Duration kMeasure = minutes(1);
constexpr Duration kLeaveAtMost = seconds(10);

// The Node's clock: it only measures how long something has lasted.
Time node_now() { return Time(net::boottime_now()); }

class Agent {
 public:
  Agent(const AgentOptions& options, net::Endpoint controller);
  Status start();
  void run() { loop_.run(); }
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  void carry_out(const std::vector<node::Action>& actions);
  void carry_out(const node::Action& action);
  void ordered(const Order& order);
  void note_stop(const Stop& stop);
  void found(const node::OsResult& result);
  void tell(const Report& report);
  NodeReport greeting();
  void set_timer();
  void look_at_devices();
  [[nodiscard]] std::map<std::string, std::string> holders() const;
  void measure();
  [[nodiscard]] bool has_gpus() const {
    return !options_.emulated && !discovery_.spec.devices.empty();
  }
  void stop();
  void leave();

  const AgentOptions& options_;
  net::Loop loop_;
  Discovery discovery_;
  node::Node node_;
  Rooms rooms_;
  ControllerLink link_;
  StepService steps_;
  net::Timer timer_, devices_timer_, measure_timer_, leave_timer_;
  std::set<Fence> stops_noted_;
  Leftovers leftovers_;
  bool leaving_ = false;
  int exit_code_ = 0;
};

Agent::Agent(const AgentOptions& options, net::Endpoint controller)
    : options_(options),
      discovery_(discover(options)),
      node_(discovery_.boot, ""),
      rooms_(loop_, options, discovery_.spec, [this](const node::OsResult& r) { found(r); }),
      link_(loop_, std::move(controller), options.token_file,
            {[this] { return greeting(); }, [this](const Order& order) { ordered(order); }}),
      steps_(loop_, rooms_, node_, link_, options.run_dir,
             [this](const node::OsResult& r) { found(r); }) {}

Status Agent::start() {
  TRY(rooms_.open());
  TRY(steps_.listen(options_.run_dir + "/agent.sock"));
  loop_.on_signal({SIGTERM, SIGINT}, [this](int) { stop(); });
  for (const std::string& warning : rooms_.warnings())
    std::fprintf(stderr, "phalanx agent %s: %s\n", discovery_.spec.name.c_str(), warning.c_str());
  carry_out(node_.restore(node_now(), rooms_.restore()));
  if (has_gpus()) look_at_devices();  // now it is known which processes are ours
  link_.start();
  measure_timer_ = loop_.after(kMeasure, [this] { measure(); });
  return {};
}

NodeReport Agent::greeting() {
  NodeReport report;
  report.cluster = node_.cluster();
  report.name = discovery_.spec.name;
  report.boot = discovery_.boot;
  report.spec = discovery_.spec;
  report.attempts = node_.reports(node_now());
  report.warnings = discovery_.warnings;
  const std::vector<std::string> more = rooms_.warnings();
  report.warnings.insert(report.warnings.end(), more.begin(), more.end());
  return report;
}

void Agent::ordered(const Order& order) {
  if (const auto* stop = std::get_if<Stop>(&order)) note_stop(*stop);
  const auto* signal = std::get_if<SignalOrder>(&order);
  if (signal && signal->step && signal->signal == SIGKILL)  // scancel of one step
    steps_.step_stops({signal->fence, *signal->step});
  if (const auto* set = std::get_if<SetLimit>(&order)) rooms_.set_limit(set->fence, set->limit);
  carry_out(node_.order(node_now(), order));
}

// Why it ends, in the job's own output; once, though the order may be repeated.
void Agent::note_stop(const Stop& stop) {
  const LaunchOrder* order = node_.launch_order(stop.fence);
  if (!order || !stops_noted_.insert(stop.fence).second) return;
  if (order->first_node)
    write_note(*order, stop_note("JOB " + order->label, discovery_.spec.name, stop.cause));
  steps_.job_stops(stop.fence, stop.cause);
}

// Before a device is given away, everybody hears of what remains on it.
void Agent::found(const node::OsResult& result) {
  if (const auto* gone = std::get_if<node::RoomGone>(&result)) {
    stops_noted_.erase(gone->fence);
    if (has_gpus()) look_at_devices();
  }
  carry_out(node_.os(node_now(), result));
}

void Agent::tell(const Report& report) {
  // An allocation runs nothing by itself: that it may run is known from here on.
  const auto* attempt = std::get_if<AttemptReport>(&report);
  if (attempt && attempt->phase == AttemptPhase::running) rooms_.went(attempt->fence, node_now());
  link_.send(report);
}

void Agent::carry_out(const std::vector<node::Action>& actions) {
  for (const node::Action& action : actions) carry_out(action);
  set_timer();
  if (leaving_ && rooms_.empty()) leave();
}

void Agent::carry_out(const node::Action& action) {
  const auto act = [this](const auto& a) {
    using A = std::decay_t<decltype(a)>;
    if constexpr (std::is_same_v<A, node::MakeRoom>) rooms_.make(a.fence, a.order);
    if constexpr (std::is_same_v<A, node::StartBatch>) rooms_.start_batch(a.fence);
    if constexpr (std::is_same_v<A, node::SendSignal>)
      rooms_.signal(a.unit, a.signal, a.shell_only);
    if constexpr (std::is_same_v<A, node::KillAll>) rooms_.kill(a.fence);
    if constexpr (std::is_same_v<A, node::CleanUp>) rooms_.clean(a.fence);
    if constexpr (std::is_same_v<A, node::Tell>) tell(a.report);
    if constexpr (std::is_same_v<A, node::Expired>)
      note_stop({a.fence, EndCause::timeout, Duration(0)});
  };
  std::visit(act, action);
}

void Agent::set_timer() {
  const Time next = node_.next_deadline();
  if (next == kNever) return timer_.cancel();
  const Duration delay = std::max<Duration>(next - node_now(), milliseconds(1));
  timer_ = loop_.after(delay, [this] { carry_out(node_.tick(node_now())); });
}

// Which attempt holds a GPU here, by its uuid.
std::map<std::string, std::string> Agent::holders() const {
  std::map<std::string, std::string> out;
  for (const AttemptReport& report : node_.reports(node_now())) {
    const LaunchOrder* order = node_.launch_order(report.fence);
    if (!order || report.phase == AttemptPhase::gone) continue;
    for (const DeviceIndex index : order->share.gpus)
      if (index < discovery_.spec.devices.size())
        out[discovery_.spec.devices[index].uuid] = order->label;
  }
  return out;
}

// A GPU that fails, or that somebody else begins or ceases to use.
void Agent::look_at_devices() {
  std::vector<std::string> notes;
  std::vector<Device> now = find_devices(rooms_.processes(), holders(), leftovers_, notes);
  if (now != discovery_.spec.devices) {
    discovery_.spec.devices = now;
    link_.send(DevicesReport{std::move(now)});
  }
  devices_timer_ = loop_.after(kLookAtDevices, [this] { look_at_devices(); });
}

// What running work has used so far; the cluster decides how often that is worth writing down.
void Agent::measure() {
  for (const node::Measured& one : rooms_.measure()) carry_out(node_.os(node_now(), one));
  measure_timer_ = loop_.after(kMeasure, [this] { measure(); });
}

void Agent::stop() {
  // Work outlives us, and phalanx-spawn guards it; with nothing to guard it ends with us.
  if (!options_.ephemeral && !rooms_.empty()) return loop_.stop();
  if (std::exchange(leaving_, true)) return;
  leave_timer_ = loop_.after(kLeaveAtMost, [this] {
    std::fprintf(stderr, "phalanx agent: some work does not end; leaving it behind\n");
    exit_code_ = 1;
    loop_.stop();
  });
  for (const AttemptReport& report : node_.reports(node_now()))
    carry_out(node_.order(node_now(), Release{report.fence}));
  if (rooms_.empty()) leave();
}

void Agent::leave() {
  rooms_.leave([this] {
    std::error_code ignored;
    if (options_.ephemeral) {
      std::filesystem::remove_all(options_.run_dir, ignored);
      std::filesystem::remove_all(options_.spool_dir, ignored);
    }
    loop_.stop();
  });
}

// The agent's own limits become the hard limits of what it starts: as high as they may be.
void raise_limits() {
  for (const auto resource : {RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_CORE}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;
    if (resource == RLIMIT_NOFILE) limit.rlim_cur = limit.rlim_max;
    ::setrlimit(resource, &limit);
  }
}

}  // namespace

int run_agent(const AgentOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  raise_limits();
  auto controller = net::Endpoint::parse(options.controller);
  if (!controller.ok()) {
    std::fprintf(stderr, "phalanx agent: %s\n", controller.error().message.c_str());
    return 2;
  }
  Agent agent(options, *controller);
  if (const Status status = agent.start(); !status.ok()) {
    std::fprintf(stderr, "phalanx agent: cannot start: %s\n", status.error().message.c_str());
    return 1;
  }
  agent.run();
  return agent.exit_code();
}

}  // namespace phalanx::agent
