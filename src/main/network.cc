#include "main/network.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "base/text.h"

extern char** environ;

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

}  // namespace

std::string EmulatedNetwork::space(std::size_t node) const {
  return format("phx-{}-{}", ::getpid(), nodes_.at(node));
}

std::string EmulatedNetwork::address(std::size_t node) const {
  return format("10.77.{}.{}", subnet_, kFirstAddress + node);
}

Status EmulatedNetwork::make(const std::vector<std::string>& nodes) {
  nodes_ = nodes;
  subnet_ = free_subnet(static_cast<int>(::getpid()) % kSubnets);
  made_ = true;
  const Status status = build();
  if (!status.ok()) remove();
  return status;
}

Status EmulatedNetwork::build() {
  const std::string bridge = bridge_of(::getpid());
  std::string commands =
      format("link add {0} type bridge\naddr add 10.77.{1}.1/24 dev {0}\nlink set {0} up\n", bridge,
             subnet_);
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
  for (std::size_t i = 0; i < nodes_.size(); ++i) spaces.push_back(space(i));
  remove_all(::getpid(), spaces);
}

void EmulatedNetwork::sweep() {
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
  for (const auto& [pid, spaces] : left) remove_all(pid, spaces);
}

}  // namespace phalanx
