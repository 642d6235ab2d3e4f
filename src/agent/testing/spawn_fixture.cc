#include "agent/testing/spawn_fixture.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace phalanx::agent::testing {
namespace {

struct Stat {
  char state = 'X';
  pid_t parent = 0;
};

Stat stat_of(pid_t pid) {
  const std::string text = read_text("/proc/" + std::to_string(pid) + "/stat");
  Stat stat;
  if (const std::size_t end = text.rfind(')'); end != std::string::npos) {
    std::sscanf(text.c_str() + end + 1, " %c %d", &stat.state, &stat.parent);
  }
  return stat;
}

std::size_t entries(const std::string& folder) {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    ++count;
  return count;
}

}  // namespace

void Recorder::hear(const UnitEvent& event) {
  const auto record = [&](const auto& e) {
    using E = std::decay_t<decltype(e)>;
    if constexpr (std::is_same_v<E, spawn::UnitInfo>) ++infos;
    if constexpr (std::is_same_v<E, spawn::UnitRefused>) refused = e;
    if constexpr (std::is_same_v<E, spawn::TaskStarted>) started[e.task] = e;
    if constexpr (std::is_same_v<E, spawn::TaskFailed>) failed[e.task] = e;
    if constexpr (std::is_same_v<E, spawn::TaskWarning>) warnings.push_back(e);
    if constexpr (std::is_same_v<E, spawn::TaskExited>) exited[e.task] = e;
    if constexpr (std::is_same_v<E, spawn::AllExited>) all_exited = true;
    if constexpr (std::is_same_v<E, spawn::UnitEmpty>) empty = e;
    if constexpr (std::is_same_v<E, spawn::Replayed>) replayed = true;
    if constexpr (std::is_same_v<E, spawn::StdinTaken>) taken[e.task] = e;
    if constexpr (std::is_same_v<E, spawn::SignalReply>) signals.push_back(e);
    if constexpr (std::is_same_v<E, spawn::ReleaseReply>) released = e;
    if constexpr (std::is_same_v<E, SupervisorLost>) lost = e;
    if constexpr (std::is_same_v<E, Disconnected>) disconnected = true;
    if constexpr (std::is_same_v<E, spawn::OutputEof>) {
      if (e.stream == 1) out_eof[e.task] = e;
    }
    if constexpr (std::is_same_v<E, spawn::Output>) {
      if (e.stream == 1) first_offset.emplace(e.task, e.offset);
      (e.stream == 1 ? out : err)[e.task] += e.bytes;
      if (acknowledge) link->ack(e.task, e.stream, e.offset + e.bytes.size());
    }
  };
  std::visit(record, event);
}

SpawnTest::SpawnTest() : program_(GetParam()) {
  char name[] = "/tmp/phalanx-spawn-test-XXXXXX";
  rundir_ = ::mkdtemp(name);
  new_client();
}

// Whatever a failed test left running goes with it.
SpawnTest::~SpawnTest() {
  for (const std::string& unit : client_->units()) {
    const auto left = attach(unit);
    left->link->kill();
    run_until([&] { return left->empty || left->lost; }, "clean up");
    if (left->empty) left->link->release();
    if (left->empty) run_until([&] { return left->released.has_value(); }, "release");
  }
  if (client_->connect().ok()) {
    bool stopped = false;
    client_->stop([&](const Status&) { stopped = true; });
    run_until([&] { return stopped; }, "stop");
  }
  std::filesystem::remove_all(rundir_);
}

void SpawnTest::run_until(const std::function<bool()>& condition, const char* what) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  loop_.restart();
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "waited in vain: " << what;
      return;
    }
    loop_.run_one_for(std::chrono::milliseconds(20));
    if (loop_.stopped()) loop_.restart();
  }
}

spawn::StartReply SpawnTest::start(const spawn::Start& request) {
  const Status connected = client_->connect();
  EXPECT_TRUE(connected.ok()) << (connected.ok() ? "" : connected.error().message);
  std::optional<Result<spawn::StartReply>> reply;
  client_->start(request, [&](Result<spawn::StartReply> r) { reply = std::move(r); });
  run_until([&] { return reply.has_value(); }, "StartReply");
  EXPECT_TRUE(reply->ok()) << (reply->ok() ? "" : reply->error().message);
  return reply->ok() ? reply->value() : spawn::StartReply{};
}

std::unique_ptr<Recorder> SpawnTest::attach(const std::string& unit, bool acknowledge) {
  auto recorder = std::make_unique<Recorder>();
  recorder->acknowledge = acknowledge;
  recorder->link = std::make_unique<UnitLink>(
      loop_, rundir_, unit, [r = recorder.get()](const UnitEvent& event) { r->hear(event); });
  recorder->link->attach();
  return recorder;
}

std::unique_ptr<Recorder> SpawnTest::run(const spawn::Start& request) {
  const spawn::StartReply reply = start(request);
  EXPECT_EQ(reply.verdict, spawn::Verdict::Accepted) << reply.detail << " " << reply.error;
  return attach(request.unit);
}

void SpawnTest::release(Recorder& unit) {
  run_until([&] { return unit.empty.has_value(); }, "UnitEmpty");
  unit.link->release();
  run_until([&] { return unit.released.has_value(); }, "ReleaseReply");
  EXPECT_EQ(unit.released->error, 0);
}

void SpawnTest::new_client() {
  client_ = std::make_unique<SpawnClient>(loop_, SpawnOptions{program_, rundir_});
}

spawn::Start SpawnTest::shell(const std::string& unit, const std::string& script) const {
  spawn::Start request;
  request.unit = unit;
  request.uid = ::geteuid();
  request.gid = ::getegid();
  request.cwd = "/";
  request.argv = {"/bin/sh", "-c", script};
  request.env = {"PATH=/usr/bin:/bin"};
  request.tasks.resize(1);
  request.tasks[0].out.kind = spawn::StreamKind::Stream;
  request.tasks[0].err.kind = spawn::StreamKind::Stream;
  return request;
}

bool alive(pid_t pid) {
  const char state = stat_of(pid).state;
  return state != 'X' && state != 'Z';
}

pid_t parent_of(pid_t pid) { return stat_of(pid).parent; }
std::size_t open_files(pid_t pid) { return entries("/proc/" + std::to_string(pid) + "/fd"); }

std::size_t children(pid_t pid) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto other = static_cast<int>(parse_int(entry.path().filename().string()).value_or(0));
    if (other > 0 && parent_of(other) == pid) ++count;
  }
  return count;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> programs() {
  std::vector<std::string> found;
  for (const char* name : {"/bin/phalanx-spawn", "/bin/phalanx-spawn-checked"}) {
    if (const std::string path = std::string(PHALANX_BINARY_DIR) + name;
        std::filesystem::exists(path)) {
      found.push_back(path);
    }
  }
  return found;
}

std::string program_name(const ::testing::TestParamInfo<std::string>& info) {
  return info.index == 0 ? "shipped" : "checked";
}

}  // namespace phalanx::agent::testing
