// srun's side of a step against an agent that does what the test says.
#include "cli/step_run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>

#include "base/codec.h"
#include "base/text.h"
#include "net/test_server.h"

namespace phalanx::cli {
namespace {

// One node's agent: a script of what it answers to srun's first frame, each time it connects.
class FakeAgent {
 public:
  using Socket = std::shared_ptr<net::WebSocket>;
  using Script = std::function<void(const Socket&, int connection)>;

  explicit FakeAgent(Script script)
      : script_(std::move(script)),
        server_([this](const net::Request& request, const std::shared_ptr<net::Responder>& answer) {
          const auto header = request.headers.find("Authorization");
          authorization_ = header ? std::string(*header) : "";
          answer->upgrade({}, [this](const Socket& socket) { opened(socket); });
        }) {}

  [[nodiscard]] std::string url() const { return "unix:" + server_.path(); }
  [[nodiscard]] std::string input() const {
    const std::lock_guard lock(mutex_);
    return input_;
  }
  [[nodiscard]] std::vector<StepCommand> commands() const {
    const std::lock_guard lock(mutex_);
    return commands_;
  }
  std::function<void(const Socket&, const StepCommand&)> on_command;

  static void say(const Socket& socket, const StepNotice& notice) {
    socket->send(codec::encode(notice));
  }
  static void write(const Socket& socket, std::uint32_t rank, std::uint64_t offset,
                    const std::string& bytes, std::uint8_t stream = 1) {
    socket->send(step_frame(stream, rank, offset, bytes), net::WebSocket::Kind::Binary);
  }

 private:
  void opened(const Socket& socket) {
    const std::weak_ptr<net::WebSocket> weak = socket;
    const int number = ++connections_;
    auto first = std::make_shared<bool>(true);
    socket->on_message(
        [this, weak, number, first](const std::string& text, net::WebSocket::Kind kind) {
          const Socket self = weak.lock();
          if (kind == net::WebSocket::Kind::Binary) {
            const std::lock_guard lock(mutex_);
            input_ += read_step_frame(text)->bytes;
            return;
          }
          const StepCommand command = codec::decode<StepCommand>(std::string_view(text)).value();
          {
            const std::lock_guard lock(mutex_);
            commands_.push_back(command);
          }
          if (std::exchange(*first, false)) script_(self, number);
          if (on_command) on_command(self, command);
        });
  }

  Script script_;
  mutable std::mutex mutex_;
  std::vector<StepCommand> commands_;
  std::string input_, authorization_;
  int connections_ = 0;
  net::TestServer server_;
};

struct Ran {
  StepEnd end;
  std::string output;
};

class StepRunTest : public ::testing::Test {
 protected:
  StepSetup setup_of(const FakeAgent& agent, std::vector<std::uint32_t> ranks) {
    StepSetup setup;
    setup.step.job = 7;
    setup.step.tasks = static_cast<std::uint32_t>(ranks.size());
    setup.step.nodes.push_back({"n1", agent.url(), "token", std::move(ranks)});
    StepLaunch launch;
    launch.argv = {"true"};
    setup.launches.push_back(launch);
    setup.input = -1;
    setup.quiet = true;
    return setup;
  }

  Ran run(StepSetup setup) {
    const std::string path = folder_.file("out");
    const int out = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    setup.targets.out = setup.targets.err = out;
    const Session session("srun");
    Ran ran;
    ran.end = StepRun(session, std::move(setup)).run();
    ran.output = read_file(path).value();
    ::close(out);
    return ran;
  }

  net::TempFolder folder_;
};

TEST_F(StepRunTest, CarriesOutputAndReturnsTheHighestCode) {
  FakeAgent agent([](const FakeAgent::Socket& socket, int) {
    for (const std::uint32_t rank : {0U, 1U}) FakeAgent::say(socket, StepTaskStarted{rank, 100});
    FakeAgent::write(socket, 0, 0, "one\n");
    FakeAgent::write(socket, 1, 0, "no newline");
    FakeAgent::say(socket, StepTaskExited{0, 3, 0, false});
    FakeAgent::say(socket, StepTaskExited{1, 0, 0, false});
    FakeAgent::say(socket, StepNodeEnded{});
  });
  const Ran ran = run(setup_of(agent, {0, 1}));
  EXPECT_EQ(ran.output, "one\nno newline");
  EXPECT_EQ(ran.end.exit_code, 3);
}

TEST_F(StepRunTest, LabelsWholeLines) {
  FakeAgent agent([](const FakeAgent::Socket& socket, int) {
    FakeAgent::write(socket, 0, 0, "a");
    FakeAgent::write(socket, 11, 0, "b\nc");
    FakeAgent::write(socket, 0, 1, "z\n");
    FakeAgent::say(socket, StepTaskExited{0, 0, 0, false});
    FakeAgent::say(socket, StepTaskExited{11, 0, 0, false});
    FakeAgent::say(socket, StepNodeEnded{});
  });
  StepSetup setup = setup_of(agent, {0, 11});
  setup.targets.label_width = 2;
  EXPECT_EQ(run(std::move(setup)).output, "11: b\n 0: az\n11: c");
}

TEST_F(StepRunTest, LosesAndRepeatsNothingWhenTheAgentComesBack) {
  FakeAgent agent([](const FakeAgent::Socket& socket, int connection) {
    FakeAgent::write(socket, 0, 0, "first ");
    if (connection == 1) return socket->close(1001, "restarting");
    FakeAgent::write(socket, 0, 3, "st second");
    FakeAgent::say(socket, StepTaskExited{0, 0, 9, false});
    FakeAgent::say(socket, StepNodeEnded{});
  });
  const Ran ran = run(setup_of(agent, {0}));
  EXPECT_EQ(ran.output, "first second");
  EXPECT_EQ(ran.end.exit_code, 137);
  EXPECT_EQ(ran.end.signal, 9);
  ASSERT_EQ(agent.commands().size(), 2U);
  EXPECT_TRUE(std::holds_alternative<StepLaunch>(agent.commands()[0]));
  EXPECT_TRUE(std::holds_alternative<StepAttach>(agent.commands()[1]));
}

TEST_F(StepRunTest, FeedsInputToItsEnd) {
  FakeAgent agent([](const FakeAgent::Socket& socket, int) {
    FakeAgent::say(socket, StepTaskStarted{0, 100});
  });
  agent.on_command = [](const FakeAgent::Socket& socket, const StepCommand& command) {
    if (!std::holds_alternative<StepStdinEof>(command)) return;
    FakeAgent::say(socket, StepTaskExited{0, 0, 0, false});
    FakeAgent::say(socket, StepNodeEnded{});
  };
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  ASSERT_EQ(::write(pipe[1], "hello", 5), 5);
  ::close(pipe[1]);
  StepSetup setup = setup_of(agent, {0});
  setup.input = pipe[0];
  EXPECT_EQ(run(std::move(setup)).end.exit_code, 0);
  EXPECT_EQ(agent.input(), "hello");
  ::close(pipe[0]);
}

TEST_F(StepRunTest, ABadExitEndsTheOthersIfAskedTo) {
  FakeAgent agent([](const FakeAgent::Socket& socket, int) {
    FakeAgent::say(socket, StepTaskExited{0, 5, 0, false});
  });
  agent.on_command = [](const FakeAgent::Socket& socket, const StepCommand& command) {
    const auto* signal = std::get_if<StepSignal>(&command);
    if (!signal || signal->signal != SIGTERM) return;
    FakeAgent::say(socket, StepTaskExited{1, 0, SIGTERM, false});
    FakeAgent::say(socket, StepNodeEnded{});
  };
  StepSetup setup = setup_of(agent, {0, 1});
  setup.kill_on_bad_exit = true;
  EXPECT_EQ(run(std::move(setup)).end.exit_code, 143);
}

TEST_F(StepRunTest, SaysHowLongItWaitsAsTheClusterIsConfigured) {
  FakeAgent agent([](const FakeAgent::Socket& socket, int) {
    FakeAgent::say(socket, StepTaskStarted{0, 100});
    ::kill(::getpid(), SIGTERM);
  });
  agent.on_command = [](const FakeAgent::Socket& socket, const StepCommand& command) {
    const auto* signal = std::get_if<StepSignal>(&command);
    if (!signal || signal->signal != SIGTERM) return;
    FakeAgent::say(socket, StepTaskExited{0, 0, SIGTERM, false});
    FakeAgent::say(socket, StepNodeEnded{});
  };
  StepSetup setup = setup_of(agent, {0});
  setup.quiet = false;
  setup.step.kill_wait_seconds = 5;  // golden output/cancelled-out
  ::testing::internal::CaptureStderr();
  run(std::move(setup));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("Waiting up to 7 seconds for job step to finish."), std::string::npos)
      << said;
}

TEST_F(StepRunTest, OutOfMemoryHasACodeOfItsOwn) {
  FakeAgent agent([](const FakeAgent::Socket& socket, int) {
    FakeAgent::say(socket, StepTaskExited{0, 0, 9, true});
    FakeAgent::say(socket, StepNodeEnded{});
  });
  const Ran ran = run(setup_of(agent, {0}));
  EXPECT_EQ(ran.end.exit_code, 253);
  EXPECT_TRUE(ran.end.out_of_memory);
}

TEST_F(StepRunTest, ARefusalIsAFailure) {
  FakeAgent agent([](const FakeAgent::Socket& socket, int) {
    FakeAgent::say(socket, StepRefused{"no room"});
    FakeAgent::say(socket, StepNodeEnded{});
  });
  EXPECT_EQ(run(setup_of(agent, {0})).end.exit_code, 1);
}

}  // namespace
}  // namespace phalanx::cli
