#include "main/network.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"

namespace phalanx {
namespace {

constexpr int kSubnets = 256;
constexpr std::size_t kFirstAddress = 10;

struct Pipe {
  int fds[2] = {-1, -1};
  Pipe() { (void)!::pipe2(fds, O_CLOEXEC); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(int end) {
    if (fds[end] >= 0) ::close(fds[end]);
    fds[end] = -1;
  }
};

// Runs `ip …` with `input`; what it says.
Result<std::string> run_ip(std::vector<std::string> words, const std::string& input = "") {
  Pipe to, from;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to.fds[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, from.fds[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, from.fds[1], 2);
  words.insert(words.begin(), "ip");
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, "ip", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return unavailable("cannot run ip: install iproute2");
  from.close_end(1);
  to.close_end(0);
  (void)!::write(to.fds[1], input.data(), input.size());
  to.close_end(1);
  std::string said;
  char chunk[4096];
  for (ssize_t got = 0; (got = ::read(from.fds[0], chunk, sizeof chunk)) > 0;)
    said.append(chunk, static_cast<std::size_t>(got));
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (status != 0)
    return unavailable(format("ip: {}", trim(std::string_view(said).substr(0, said.find('\n')))));
  return said;
}

std::string bridge_of(std::int64_t pid) { return format("phx{}", pid); }

// The cables go with the bridge's namespaces.
void remove_all(std::int64_t pid, const std::vector<std::string>& spaces) {
  std::string commands = format("link del {}\n", bridge_of(pid));
  for (const std::string& space : spaces) commands += format("netns del {}\n", space);
  (void)run_ip({"-force", "-batch", "-"}, commands).ok();
}

// The first number from `start` on that no address of this machine uses.
int free_subnet(int start) {
  const auto addresses = run_ip({"-o", "-4", "addr", "show"});
  for (int i = 0; i < kSubnets; ++i) {
    const int subnet = (start + i) % kSubnets;
    if (!addresses.ok() || addresses->find(format(" 10.77.{}.", subnet)) == std::string::npos)
      return subnet;
  }
  return start;
}

std::string line_of(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

// "1234 7 n1 n2": who made it, which subnet, for which nodes.
std::string record_of(const std::string& run_dir) { return run_dir + "/network"; }

// Those of processes that are gone, but for those in which work goes on.
void sweep() {
  std::map<std::int64_t, std::vector<std::string>> left;  // by the process that made them
  std::error_code error;
  for (std::filesystem::directory_iterator it("/run/netns", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    const auto parts = split(name, '-');
    if (parts.size() < 3 || parts[0] != "phx") continue;
    const auto pid = parse_int(parts[1]);
    if (pid && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH)
      left[*pid].push_back(name);
  }
  for (const auto& [pid, spaces] : left) {
    const std::string run_dir = line_of(format("/sys/class/net/{}/ifalias", bridge_of(pid)));
    if (run_dir.empty() || !work_remains(run_dir)) remove_all(pid, spaces);
  }
}

}  // namespace

bool work_remains(const std::string& run_dir) {
  std::error_code error;
  for (std::filesystem::directory_iterator node(run_dir + "/nodes", error), end;
       !error && node != end; node.increment(error)) {
    std::error_code none;
    const std::filesystem::directory_iterator attempts(node->path() / "attempts", none);
    if (!none && attempts != end) return true;
  }
  return false;
}

std::string EmulatedNetwork::space(std::size_t node) const {
  return format("phx-{}-{}", maker_, nodes_.at(node));
}

std::string EmulatedNetwork::address(std::size_t node) const {
  return format("10.77.{}.{}", subnet_, kFirstAddress + node);
}

Status EmulatedNetwork::make(const std::string& run_dir, const std::vector<std::string>& nodes) {
  run_dir_ = run_dir;
  nodes_ = nodes;
  if (adopt()) return {};
  sweep();
  maker_ = ::getpid();
  subnet_ = free_subnet(static_cast<int>(maker_) % kSubnets);
  made_ = true;
  Status status = build();
  if (!status.ok()) {
    remove();
    return status;
  }
  std::ofstream record(record_of(run_dir_));
  record << maker_ << ' ' << subnet_;
  for (const std::string& node : nodes_) record << ' ' << node;
  record << '\n';
  return {};
}

// What an earlier one of this cluster kept for its work. For other nodes than today's it is of no
// use and goes.
bool EmulatedNetwork::adopt() {
  const std::string record = line_of(record_of(run_dir_));
  const auto words = split(record, ' ');
  const auto maker = words.size() > 2 ? parse_int(words[0]) : std::nullopt;
  const auto subnet = words.size() > 2 ? parse_int(words[1]) : std::nullopt;
  if (!maker || !subnet) return false;
  maker_ = *maker;
  subnet_ = static_cast<int>(*subnet);
  const std::vector<std::string> recorded(words.begin() + 2, words.end());
  std::error_code error;
  bool whole = std::filesystem::exists("/sys/class/net/" + bridge_of(maker_), error);
  std::vector<std::string> spaces;
  for (const std::string& node : recorded) {
    spaces.push_back(format("phx-{}-{}", maker_, node));
    whole = whole && std::filesystem::exists("/run/netns/" + spaces.back(), error);
  }
  made_ = whole && recorded == nodes_ && work_remains(run_dir_);
  if (!made_) remove_all(maker_, spaces);
  return made_;
}

Status EmulatedNetwork::build() {
  const std::string bridge = bridge_of(maker_);
  std::string commands = format(
      "link add {0} type bridge\nlink set {0} alias {2}\naddr add 10.77.{1}.1/24 dev {0}\n"
      "link set {0} up\n",
      bridge, subnet_, run_dir_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    commands += format("netns add {2}\nlink add {0}n{1} type veth peer name eth0 netns {2}\n",
                       bridge, i, space(i));
    commands += format("link set {0}n{1} master {0}\nlink set {0}n{1} up\n", bridge, i);
  }
  TRY(run_ip({"-batch", "-"}, commands));
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    TRY(run_ip({"-n", space(i), "-batch", "-"},
               format("link set lo up\naddr add {}/24 dev eth0\nlink set eth0 up\n"
                      "route add default via 10.77.{}.1\n",
                      address(i), subnet_)));
  }
  return {};
}

void EmulatedNetwork::remove() {
  if (!std::exchange(made_, false)) return;
  std::vector<std::string> spaces;
  spaces.reserve(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) spaces.push_back(space(i));
  remove_all(maker_, spaces);
  std::error_code ignored;
  std::filesystem::remove(record_of(run_dir_), ignored);
}

}  // namespace phalanx
