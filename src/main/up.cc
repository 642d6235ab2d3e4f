// Everything on one machine: a controller, and an agent for this machine or for each emulated node.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/codec.h"
#include "base/text.h"
#include "main/arguments.h"
#include "main/children.h"
#include "main/cluster_plan.h"
#include "main/network.h"
#include "main/paths.h"
#include "main/verbs.h"
#include "net/net.h"

namespace phalanx {
namespace {

constexpr Duration kReadyWithin = seconds(60);
constexpr Duration kStopWithin = seconds(20);
constexpr Duration kLook = milliseconds(20);
// A daemon that ends is started again; one that ends so often within so short a life is not.
constexpr Duration kShortLife = seconds(30);
constexpr int kShortLives = 6;
constexpr Duration kPauseFirst = milliseconds(250);
constexpr const char* kController = "the controller";
constexpr const char* kAgent = "the agent";

template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  std::printf("phalanx: %s\n", format(text, std::forward<Args>(args)...).c_str());
  std::fflush(stdout);
}

void complain(const std::string& text) { std::fprintf(stderr, "phalanx up: %s\n", text.c_str()); }

std::string first_line(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

// Held by one `phalanx up`; its file says whose.
class Lock {
 public:
  Status take(const std::string& path) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) return unavailable(format("cannot open {}: {}", path, net::error_text(errno)));
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      return conflict(
          format("{} is held by process {}: stop that `phalanx up` first, or give this one "
                 "another --state",
                 std::filesystem::path(path).parent_path().string(), first_line(path)));
    }
    const std::string pid = format("{}\n", ::getpid());
    if (::ftruncate(fd_, 0) == 0) (void)!::write(fd_, pid.data(), pid.size());
    return {};
  }
  ~Lock() {
    if (fd_ >= 0) ::close(fd_);
  }
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_ = -1;
};

class Up {
 public:
  Up(UpOptions options, ClusterPlan plan);
  Status start();
  int run();

 private:
  Status take_directories();
  Status write_config() const;
  void make_network();
  Status start_agents();
  std::vector<std::string> agent_words(std::size_t node) const;
  void wait_until_ready();
  void ready();
  Status start_child(const std::string& name, std::vector<std::string> words);
  void children_ended();
  void start_again(const std::string& name, const std::string& how);
  void stop(int exit_code);
  void stop_controller();
  void finish();
  [[nodiscard]] std::size_t nodes_up();
  [[nodiscard]] std::string node_dir(const std::string& base, const std::string& node) const {
    return base + "/nodes/" + node;
  }

  UpOptions options_;
  ClusterPlan plan_;
  Paths paths_;
  net::Loop loop_;
  Lock state_lock_, run_lock_;
  EmulatedNetwork network_;
  bool has_network_ = false, named_ = false;
  Children children_;
  net::HttpClient client_;
  net::SteadyTime deadline_;
  net::Timer timer_;
  struct Daemon {
    std::vector<std::string> words;
    net::SteadyTime started;
    int short_lives = 0;  // in a row
    net::Timer again;
  };
  std::map<std::string, Daemon> daemons_;  // by name
  enum class Phase {
    starting,
    ready,
    stopping_agents,
    stopping_controller
  } phase_ = Phase::starting;
  int exit_code_ = 0;
};

Up::Up(UpOptions options, ClusterPlan plan)
    : options_(std::move(options)),
      plan_(std::move(plan)),
      paths_{options_.state_dir, options_.run_dir},
      client_(net::Endpoint::unix_socket(paths_.socket())) {}

// --- starting

// The places below /tmp have names that anybody can take first.
Status must_be_ours(const std::string& directory) {
  struct stat status{};
  if (::lstat(directory.c_str(), &status) == 0 && status.st_uid != ::geteuid() &&
      status.st_uid != 0)
    return denied(
        format("{} belongs to another user: name others with --state and --run, or set "
               "XDG_RUNTIME_DIR",
               directory));
  return {};
}

Status Up::take_directories() {
  std::error_code error;
  for (const std::string& directory : {paths_.state_dir, paths_.run_dir}) {
    std::filesystem::create_directories(directory, error);
    if (error) return unavailable(format("cannot create {}: {}", directory, error.message()));
    TRY(must_be_ours(directory));
  }
  TRY(state_lock_.take(paths_.state_dir + "/up.lock"));
  if (paths_.run_dir != paths_.state_dir) TRY(run_lock_.take(paths_.run_dir + "/up.lock"));
  // What an ephemeral cluster that was killed has left.
  const std::string marker = paths_.state_dir + "/ephemeral";
  if (std::filesystem::exists(marker)) {
    std::filesystem::remove_all(paths_.controller_state(), error);
    std::filesystem::remove_all(paths_.state_dir + "/nodes", error);
    std::filesystem::remove(marker, error);
  } else if (options_.ephemeral && std::filesystem::exists(paths_.controller_state())) {
    return conflict(
        format("{} holds a cluster that is not ephemeral: start it without --ephemeral, or "
               "give this one another --state",
               paths_.state_dir));
  }
  if (options_.ephemeral) std::ofstream(marker).flush();
  return {};
}

Status Up::write_config() const {
  const std::string path = paths_.run_dir + "/cluster.json";
  std::ofstream file(path);
  file << codec::encode(plan_.config);
  file.flush();
  if (!file) return unavailable("cannot write " + path);
  return {};
}

// Each emulated node gets its own name, and as root its own network; else they share the machine's.
void Up::make_network() {
  if (!options_.emulate || options_.shared_network) return;
  std::vector<std::string> names;
  names.reserve(plan_.nodes.size());
  for (const PlannedNode& node : plan_.nodes) names.push_back(node.name);
  if (::geteuid() == 0) {
    const Status status = network_.make(paths_.run_dir, names);
    has_network_ = status.ok();
    if (!status.ok())
      plan_.warnings.push_back(status.error().message +
                               ": emulated nodes share this machine's network");
  }
  named_ = true;
  std::ofstream hosts(paths_.run_dir + "/hosts");
  hosts << "127.0.0.1 localhost\n::1 localhost\n";
  for (std::size_t i = 0; i < names.size(); ++i)
    hosts << (has_network_ ? network_.address(i) : format("127.0.77.{}", i + 1)) << ' ' << names[i]
          << '\n';
}

std::vector<std::string> Up::agent_words(std::size_t i) const {
  const PlannedNode& node = plan_.nodes[i];
  std::vector<std::string> words{"agent",
                                 "--name=" + node.name,
                                 "--controller=unix:" + paths_.socket(),
                                 "--token-file=" + paths_.controller_state() + "/join.token",
                                 "--run=" + node_dir(paths_.run_dir, node.name),
                                 "--spool=" + node_dir(paths_.state_dir, node.name),
                                 format("--parent={}", ::getpid())};
  if (options_.slurm_path) words.emplace_back("--slurm-path");
  if (options_.ephemeral) words.emplace_back("--ephemeral");
  if (has_network_) {
    words.push_back("--network-namespace=" + network_.space(i));
    words.push_back("--address=" + network_.address(i));
  }
  if (named_) {
    words.push_back("--host-name=" + node.name);
    words.push_back("--hosts-file=" + paths_.run_dir + "/hosts");
  }
  words.insert(words.end(), node.figures.begin(), node.figures.end());
  return words;
}

Status Up::start() {
  TRY(take_directories());
  TRY(write_config());
  make_network();
  say("{}", plan_.found);
  for (const std::string& warning : plan_.warnings) complain("warning: " + warning);
  loop_.on_signal({SIGTERM, SIGINT, SIGHUP}, [this](int) { stop(exit_code_); });
  loop_.on_signal({SIGCHLD}, [this](int) { children_ended(); });
  std::vector<std::string> words{
      "controller", "--state=" + paths_.controller_state(), "--socket=" + paths_.socket(),
      "--cluster-config=" + paths_.run_dir + "/cluster.json", format("--parent={}", ::getpid())};
  if (!options_.config_dir.empty()) words.push_back("--config=" + options_.config_dir);
  if (options_.port) words.push_back(format("--port={}", *options_.port));
  if (options_.low_disk) words.push_back(format("--low-disk={}", *options_.low_disk));
  TRY(start_child(kController, std::move(words)));
  TRY(start_agents());
  deadline_ = std::chrono::steady_clock::now() + kReadyWithin;
  timer_ = loop_.after(kLook, [this] { wait_until_ready(); });
  return {};
}

Status Up::start_agents() {
  for (std::size_t i = 0; i < plan_.nodes.size(); ++i)
    TRY(start_child(format("{} of {}", kAgent, plan_.nodes[i].name), agent_words(i)));
  return {};
}

Status Up::start_child(const std::string& name, std::vector<std::string> words) {
  Daemon& daemon = daemons_[name];
  daemon.words = words;
  daemon.started = std::chrono::steady_clock::now();
  return children_.start(name, std::move(words));
}

std::size_t Up::nodes_up() {
  const auto answer = client_.request("GET", "/metrics");
  if (!answer.ok() || answer->status != 200) return 0;
  constexpr std::string_view kMetric = "\nphalanx_nodes{health=\"up\"} ";
  const std::string_view body = answer->body;
  const std::size_t at = body.find(kMetric);
  if (at == body.npos) return 0;
  const std::string_view rest = body.substr(at + kMetric.size());
  return static_cast<std::size_t>(parse_int(rest.substr(0, rest.find('\n'))).value_or(0));
}

void Up::wait_until_ready() {
  if (phase_ != Phase::starting) return;
  if (nodes_up() >= plan_.nodes.size()) return ready();
  if (std::chrono::steady_clock::now() > deadline_) {
    complain("the cluster did not become ready; what its daemons say is above");
    return stop(1);
  }
  timer_ = loop_.after(kLook, [this] { wait_until_ready(); });
}

void Up::ready() {
  phase_ = Phase::ready;
  say("ready on {}", paths_.socket());
  const std::string port = first_line(paths_.controller_state() + "/port");
  if (options_.port)
    say("Kubernetes API on http://127.0.0.1:{}; `phalanx token` makes a token", port);
  const std::string commands = binary_directory() + "/slurm";
  const bool usual = paths_.socket() == default_paths().socket();
  if (!usual) say("export PHALANX_SOCKET={}", paths_.socket());
  say("PATH={}:$PATH for sbatch, srun, squeue, sinfo …", commands);
  say("{}", options_.ephemeral ? "Ctrl-C ends the cluster and all its work"
                               : "Ctrl-C ends the daemons; running work goes on");
}

// --- ending

void Up::children_ended() {
  const Phase before = phase_;
  for (const auto& [child, how] : children_.reap()) {
    if (phase_ != Phase::starting && phase_ != Phase::ready) continue;
    const bool at_once = phase_ == Phase::starting && child.name == kController;
    if (at_once || options_.no_restart)
      complain(format("{} has ended ({})", child.name, how));
    else
      start_again(child.name, how);
  }
  if (phase_ != before) return;  // it has given up
  switch (phase_) {
    case Phase::starting:
      if (!children_.any(kController)) stop(1);
      return;
    case Phase::ready:
      return;
    case Phase::stopping_agents:
      if (!children_.any(kAgent)) stop_controller();
      return;
    case Phase::stopping_controller:
      if (!children_.any("")) finish();
      return;
  }
}

// Work goes on meanwhile: it does not need its daemons.
void Up::start_again(const std::string& name, const std::string& how) {
  Daemon& daemon = daemons_.at(name);
  const bool short_life = std::chrono::steady_clock::now() - daemon.started < kShortLife;
  daemon.short_lives = short_life ? daemon.short_lives + 1 : 1;
  if (daemon.short_lives >= kShortLives) {
    complain(format("{} has ended ({}), {} times in a row soon after its start: giving up", name,
                    how, daemon.short_lives));
    return stop(1);
  }
  const Duration pause = kPauseFirst * (1 << (daemon.short_lives - 1));
  complain(format("{} has ended ({}); it is started again in {}", name, how, to_string(pause)));
  daemon.again = loop_.after(pause, [this, name] {
    if (phase_ != Phase::starting && phase_ != Phase::ready) return;
    if (const Status status = start_child(name, daemons_.at(name).words); !status.ok())
      start_again(name, status.error().message);
  });
}

void Up::stop(int exit_code) {
  if (phase_ == Phase::stopping_agents || phase_ == Phase::stopping_controller) return;
  exit_code_ = exit_code;
  phase_ = Phase::stopping_agents;
  children_.signal_all(kAgent, SIGTERM);
  timer_ = loop_.after(kStopWithin, [this] { children_.signal_all("", SIGKILL); });
  if (!children_.any(kAgent)) stop_controller();
}

void Up::stop_controller() {
  phase_ = Phase::stopping_controller;
  children_.signal_all(kController, SIGTERM);
  if (!children_.any("")) finish();
}

void Up::finish() {
  if (has_network_ && !options_.ephemeral && work_remains(paths_.run_dir)) {
    say("work goes on, and so does its network; the next `phalanx up` takes both over");
    network_.keep();
  }
  network_.remove();
  std::error_code ignored;
  std::filesystem::remove(paths_.run_dir + "/cluster.json", ignored);
  if (options_.ephemeral) {
    std::filesystem::remove(paths_.run_dir + "/hosts", ignored);
    for (const std::string& path : {paths_.controller_state(), paths_.state_dir + "/nodes",
                                    paths_.run_dir + "/nodes", paths_.state_dir + "/ephemeral",
                                    paths_.state_dir + "/up.lock", paths_.run_dir + "/up.lock"})
      std::filesystem::remove_all(path, ignored);
    for (const std::string& directory : {paths_.run_dir, paths_.state_dir})
      ::rmdir(directory.c_str());
  }
  loop_.stop();
}

int Up::run() {
  if (const Status status = start(); !status.ok()) {
    complain(status.error().message);
    if (!children_.any("")) return 1;
    stop(1);
  }
  loop_.run();
  return exit_code_;
}

}  // namespace

int up_verb(int argc, char** argv) {
  UpOptions options;
  const std::vector<Option> known{
      {"--ephemeral", &options.ephemeral, "",
       "stopping it ends all work and leaves nothing behind"},
      {"--config", &options.config_dir, "DIR", "slurm.conf and gres.conf are there"},
      {"--emulate", &options.emulate, "", "nodes and GPUs in name only, to try things out"},
      {"--nodes", &options.nodes, "N", "emulated nodes"},
      {"--gpus-per-node", &options.gpus_per_node, "G", "emulated GPUs of each"},
      {"--gpu-type", &options.gpu_type, "TYPE", "what --gres=gpu:TYPE:… calls them"},
      {"--cpus-per-node", &options.cpus_per_node, "C", "emulated CPUs of each"},
      {"--memory-per-node", &options.memory_per_node, "MIB", "emulated memory of each"},
      {"--no-restart", &options.no_restart, "", "a daemon that ends is not started again"},
      {"--shared-network", &options.shared_network, "",
       "emulated nodes without networks of their own"},
      {"--state", &options.state_dir, "DIR", "what survives a boot"},
      {"--run", &options.run_dir, "DIR", "what does not: sockets; default with --state: DIR/run"},
      {"--port", &options.port, "PORT", "also answer on 127.0.0.1:PORT, for kubectl; 0: any port"},
      {"--low-disk", &options.low_disk, "MB",
       "with less free beside the journal no work is taken; default: 5 %, at most 1024"},
      {"--slurm-path", &options.slurm_path, "",
       "in jobs our sbatch, srun … hide others of these names"},
  };
  if (const auto code = parse_arguments("up", "Runs a cluster on this machine, in the foreground.",
                                        known, argc, argv)) {
    return *code;
  }
  const Paths paths = default_paths();
  if (options.run_dir.empty())
    options.run_dir = options.state_dir.empty() ? paths.run_dir : options.state_dir + "/run";
  if (options.state_dir.empty()) options.state_dir = paths.state_dir;
  options.state_dir = std::filesystem::absolute(options.state_dir).lexically_normal().string();
  options.run_dir = std::filesystem::absolute(options.run_dir).lexically_normal().string();
  if (!options.config_dir.empty())
    options.config_dir = std::filesystem::absolute(options.config_dir).lexically_normal().string();
  auto plan = plan_cluster(options);
  if (!plan.ok()) {
    complain(plan.error().message);
    return 2;
  }
  return Up(std::move(options), std::move(*plan)).run();
}

}  // namespace phalanx
