// The links to agents: one that falls silent is not kept.
#include "server/agents.h"

#include <gtest/gtest.h>

#include "base/codec.h"

namespace phalanx::server {
namespace {

// An agent's end of a link, on the controller's loop.
struct FakeAgent {
  std::shared_ptr<net::WebSocket> socket;
  int opened = 0, closed = 0;

  void connect(net::Loop& loop, const net::Endpoint& controller) {
    net::connect_websocket(loop, controller, "/agent/v1", {}, {}, [this](auto result) {
      ASSERT_TRUE(result.ok()) << result.error().message;
      ++opened;
      socket = *result;
      socket->on_close([this](const net::WebSocket::Closed&) { ++closed; });
      NodeReport report;
      report.name = "n1";
      report.boot = "boot";
      report.spec.name = "n1";
      socket->send(codec::encode(Report(report)));
    });
  }
};

struct AgentsTest : ::testing::Test {
  net::Loop loop;
  store::MemoryJournal journal;
  std::map<std::string, Heartbeat> vitals;
  Core core{loop, journal,
            Core::Outside{[](const Effect&) {}, [](const Committed&) {}, [](const Error&) {}}};
  Agents agents{loop, core, [](const State&, Prepare&) {},
                [this](const std::string& node, std::optional<Heartbeat> said) {
                  said ? void(vitals[node] = *said) : void(vitals.erase(node));
                }};
  net::HttpServer server{
      loop, [this](const net::Request&, const std::shared_ptr<net::Responder>& answer) {
        answer->upgrade({}, [this](std::shared_ptr<net::WebSocket> socket) {
          agents.accept(std::move(socket));
        });
      }};
  net::Timer look;

  void SetUp() override {
    ASSERT_TRUE(core.recover().ok());
    ClusterConfig config;
    config.partitions.emplace_back().name = "main";
    config.partitions[0].is_default = true;
    config.timers.suspect_after = milliseconds(200);
    core.put(system_identity(), Configure{"c", config});
  }
  [[nodiscard]] const Node* node() const { return find_node(core.state(), "n1"); }
  // Runs the loop until `condition` holds.
  void until(const std::function<bool()>& condition) {
    if (condition()) return loop.stop();
    look = loop.after(milliseconds(5), [this, condition] { until(condition); });
  }
  void run_until(const std::function<bool()>& condition) {
    loop.post([this, condition] { until(condition); });
    loop.run();
  }
};

TEST_F(AgentsTest, ADeafLinkIsClosedAndTheAgentComesAgain) {
  const auto port = server.listen("127.0.0.1", 0);
  ASSERT_TRUE(port.ok());
  const net::Endpoint controller = net::Endpoint::tcp("127.0.0.1", *port);
  FakeAgent agent;
  loop.post([&] { agent.connect(loop, controller); });
  run_until([&] { return node() && node()->health == NodeHealth::up; });
  loop.post([&] { agent.socket->send(codec::encode(Report(Heartbeat{1870, 1 << 20}))); });
  run_until([&] { return vitals.contains("n1"); });
  EXPECT_EQ(vitals["n1"].load_milli, 1870);
  // It says nothing more, though its connection stands.
  run_until([&] { return agent.closed == 1 && node()->health == NodeHealth::suspected; });
  EXPECT_EQ(agents.connected(), 0U);
  EXPECT_FALSE(vitals.contains("n1"));
  loop.post([&] { agent.connect(loop, controller); });
  run_until([&] { return node()->health == NodeHealth::up; });
  EXPECT_EQ(agent.opened, 2);
}

}  // namespace
}  // namespace phalanx::server
