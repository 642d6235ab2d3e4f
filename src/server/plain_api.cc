// The endpoints that belong to no dialect: the agents' link, health, metrics, tokens.
#include <array>

#include "base/codec.h"
#include "server/door.h"

namespace phalanx::server {
namespace {

constexpr Duration kTokenLife = hours(24);

Error wrong_method(std::string_view method) { return invalid(format("use {} here", method)); }

// --- agents

bool is_agent(const Identity& who) { return who.kind == IdentityKind::certificate; }

void agent_link(Door& door, const Identity& who, const net::Request& request,
                const Answer& answer) {
  if (!is_agent(who)) {
    return refuse(answer, denied("only an agent that shows the join token may connect here"));
  }
  if (!net::wants_websocket(request)) return refuse(answer, invalid("this is a WebSocket"));
  answer->upgrade({}, [&door](std::shared_ptr<net::WebSocket> socket) {
    door.agents.accept(std::move(socket));
  });
}

void give_step_key(const Door& door, const Identity& who, const Answer& answer) {
  if (!is_agent(who)) return refuse(answer, denied("only agents may know the key of step tokens"));
  auto key = step_key(door.key);
  if (!key.ok()) return refuse(answer, key.error());
  answer->reply(200, "application/octet-stream", std::string(key->bytes()));
}

// --- health

void ready(const Door& door, const Answer& answer) {
  if (const std::string why = door.core.standstill(net::wall_now()); !why.empty())
    return answer->reply(503, "text/plain", why + "\n");
  answer->reply(200, "text/plain", "ready\n");
}

struct GpuCount {
  std::int64_t total = 0, allocated = 0, idle = 0, down = 0;
};

GpuCount count_gpus(const State& state) {
  GpuCount count;
  for (const auto& [id, node] : state.nodes) {
    const auto use = state.use.find(id);
    for (std::size_t i = 0; i < node.spec.devices.size(); ++i) {
      const bool owned = use != state.use.end() && i < use->second.device_owner.size() &&
                         use->second.device_owner[i];
      const bool offered = node.health == NodeHealth::up && !node.drained &&
                           node.spec.devices[i].health == DeviceHealth::usable;
      ++count.total;
      ++(owned ? count.allocated : offered ? count.idle : count.down);
    }
  }
  return count;
}

void describe_metric(std::string& out, std::string_view name, std::string_view type,
                     std::string_view help) {
  out += format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

std::string metrics_of_state(const State& state) {
  std::array<std::int64_t, 4> nodes{}, work{};
  for (const auto& [id, node] : state.nodes) ++nodes.at(static_cast<std::size_t>(node.health));
  for (const auto& [id, w] : state.workloads) ++work.at(static_cast<std::size_t>(w.phase));
  for (const auto& [id, array] : state.arrays) {
    work.front() += static_cast<std::int64_t>(array.pending.size());
  }
  const GpuCount gpus = count_gpus(state);
  std::string out;
  describe_metric(out, "phalanx_nodes", "gauge", "Nodes by health.");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const char* health = boost::describe::enum_to_string(static_cast<NodeHealth>(i), "");
    out += format("phalanx_nodes{{health=\"{}\"}} {}\n", health, nodes.at(i));
  }
  describe_metric(out, "phalanx_gpus", "gauge", "GPUs by what they are used for.");
  out += format("phalanx_gpus{{use=\"allocated\"}} {}\n", gpus.allocated);
  out += format("phalanx_gpus{{use=\"idle\"}} {}\n", gpus.idle);
  out += format("phalanx_gpus{{use=\"down\"}} {}\n", gpus.down);
  describe_metric(out, "phalanx_gpus_total", "gauge", "GPUs of all nodes.");
  out += format("phalanx_gpus_total {}\n", gpus.total);
  describe_metric(out, "phalanx_workloads", "gauge", "Workloads in memory by phase.");
  for (std::size_t i = 0; i < work.size(); ++i) {
    const char* phase = boost::describe::enum_to_string(static_cast<Phase>(i), "");
    out += format("phalanx_workloads{{phase=\"{}\"}} {}\n", phase, work.at(i));
  }
  return out;
}

std::string metrics_of_core(const Core::Counters& counters, std::size_t agents) {
  const std::array<std::pair<std::string_view, std::uint64_t>, 5> totals{{
      {"inputs", counters.inputs},
      {"batches", counters.batches},
      {"events", counters.events},
      {"passes", counters.passes},
      {"rebuilds", counters.rebuilds},
  }};
  std::string out;
  for (const auto& [name, value] : totals) {
    const std::string metric = format("phalanx_{}_total", name);
    describe_metric(out, metric, "counter", format("Since the controller started: {}.", name));
    out += format("{} {}\n", metric, value);
  }
  describe_metric(out, "phalanx_agents_connected", "gauge",
                  "Agents with a link to the controller.");
  return out + format("phalanx_agents_connected {}\n", agents);
}

std::string metrics_of_journal(const Compactor::Counters& counters, const DiskGuard& disk) {
  std::string out;
  describe_metric(out, "phalanx_snapshots_total", "counter", "Snapshots made.");
  out += format("phalanx_snapshots_total {}\n", counters.snapshots);
  describe_metric(out, "phalanx_snapshot_failures_total", "counter",
                  "Snapshots that were not made, for whatever reason; the log says which.");
  out += format("phalanx_snapshot_failures_total {}\n", counters.failures);
  describe_metric(out, "phalanx_snapshot_mismatches_total", "counter",
                  "Of these, because the journal replays to another state: report it.");
  out += format("phalanx_snapshot_mismatches_total {}\n", counters.mismatches);
  describe_metric(out, "phalanx_disk_free_bytes", "gauge", "Free beside the journal.");
  out += format("phalanx_disk_free_bytes {}\n", disk.space().bytes_free);
  describe_metric(out, "phalanx_disk_low", "gauge", "1: new work is refused until there is room.");
  out += format("phalanx_disk_low {}\n", disk.low() ? 1 : 0);
  return out;
}

void metrics(Door& door, const Answer& answer) {
  const std::string core = metrics_of_core(door.core.counters(), door.agents.connected()) +
                           metrics_of_journal(door.compactor.counters(), door.disk);
  door.reader.ask(0, [answer, core](const View& view) {
    answer->post_reply(200, "text/plain; version=0.0.4", metrics_of_state(view.state) + core);
  });
}

// --- the journal

void compact(const Door& door, const Identity& who, const net::Request& request,
             const Answer& answer) {
  if (request.method != "POST") return refuse(answer, wrong_method("POST"));
  if (!who.operator_) return refuse(answer, denied("only an operator may make a snapshot"));
  door.compactor.start([answer](const Result<store::Seq>& at) {
    if (!at.ok()) return refuse(answer, at.error());
    answer->reply(200, "text/plain", format("snapshot of event {} made\n", *at));
  });
}

// --- tokens

struct TokenRequest {
  std::uint32_t uid = net::kNobody;  // for whom; absent: the caller
  bool agent = false;                // a token to join with
  std::int64_t seconds = 0;          // absent: a day
  bool operator==(const TokenRequest&) const = default;
};
BOOST_DESCRIBE_STRUCT(TokenRequest, (), (uid, agent, seconds))

void give_token(const Door& door, const Identity& who, const net::Request& request,
                const Answer& answer) {
  if (request.method != "POST") return refuse(answer, wrong_method("POST"));
  auto asked = codec::decode<TokenRequest>(request.body.empty() ? "{}" : request.body);
  if (!asked.ok()) return refuse(answer, asked.error());
  const bool for_other = asked->agent || (asked->uid != net::kNobody && asked->uid != who.uid);
  if (for_other && !who.operator_) {
    return refuse(answer, denied("only an operator may make tokens for others"));
  }
  if (!asked->agent && who.kind != IdentityKind::unix_user) {
    return refuse(answer, denied("only a user may ask for a user's token"));
  }
  const Duration life = asked->seconds > 0 ? Duration(seconds(asked->seconds)) : kTokenLife;
  std::string token;
  if (asked->agent) {
    token = make_token(door, "agent", net::kNobody, "", life);
  } else {
    const std::uint32_t uid = asked->uid == net::kNobody ? who.uid : asked->uid;
    const Identity user = identity_of(uid, net::kNobody, door.core.state().config, door.own_uid);
    token = make_token(door, "user", uid, user.user, life);
  }
  std::string body = "{\"token\":";
  codec::write_string(body, token);
  answer->reply(200, "application/json", body + "}\n");
}

}  // namespace

// Its own key for step tokens, so that who can check them cannot make others: the HMAC of a fixed
// text.
Result<net::TokenKey> step_key(const net::TokenKey& key) {
  const std::string text = net::sign_token(R"({"purpose":"step tokens"})", key);
  return net::TokenKey::from_bytes(std::string_view(text).substr(text.rfind('.') + 1));
}

void plain_routes(Router& router, Door& door) {
  router.add("/agent/v1",
             [&door](const Identity& who, const net::Request& request, const Answer& answer) {
               agent_link(door, who, request, answer);
             });
  router.add("/agent/v1/step-key",
             [&door](const Identity& who, const net::Request&, const Answer& answer) {
               give_step_key(door, who, answer);
             });
  router.add("/v1/token",
             [&door](const Identity& who, const net::Request& request, const Answer& answer) {
               give_token(door, who, request, answer);
             });
  router.add("/v1/compact", [&door](const Identity& who, const net::Request& request,
                                    const Answer& answer) { compact(door, who, request, answer); });
  router.add_open("/livez", [](const Identity&, const net::Request&, const Answer& answer) {
    answer->reply(200, "text/plain", "alive\n");
  });
  router.add_open("/readyz", [&door](const Identity&, const net::Request&, const Answer& answer) {
    ready(door, answer);
  });
  router.add_open("/metrics", [&door](const Identity&, const net::Request&, const Answer& answer) {
    metrics(door, answer);
  });
}

}  // namespace phalanx::server
