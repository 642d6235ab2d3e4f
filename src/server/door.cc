#include "server/door.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/codec.h"

namespace phalanx::server {
namespace {

struct Claims {
  std::string role;  // "user" or "agent"
  std::string sub;   // user name, or node name ("": any)
  std::uint32_t uid = 0xffffffff;
  std::int64_t exp = 0;
  bool operator==(const Claims&) const = default;
};
BOOST_DESCRIBE_STRUCT(Claims, (), (role, sub, uid, exp))

// Nothing where it is not base64 (RFC 4648).
std::optional<std::string> base64_decode(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(digit);
    const auto bits = static_cast<unsigned>(i % 4 * 2);  // that the first digits left over
    if (bits != 0) out += static_cast<char>(group >> (6 - bits) & 0xff);
  }
  return out;
}

// "Bearer TOKEN"; or "Basic" with the token as the password, for kubectl, which sends no bearer
// token without TLS but does send what the address names: http://bearer:TOKEN@127.0.0.1:8080.
std::optional<std::string> bearer(const net::Request& request) {
  const auto header = request.headers.find("Authorization");
  if (!header) return std::nullopt;
  if (istarts_with(*header, "Bearer ")) return std::string(trim(header->substr(7)));
  if (!istarts_with(*header, "Basic ")) return std::nullopt;
  const auto pair = base64_decode(trim(header->substr(6)));
  const std::size_t colon = pair ? pair->find(':') : std::string::npos;
  return colon == std::string::npos ? std::nullopt : std::optional(pair->substr(colon + 1));
}

Result<Claims> verified(const Door& door, std::string_view token) {
  const std::string text = TRY(net::verify_token(token, door.key, net::wall_now()));
  return codec::decode<Claims>(std::string_view(text));
}

bool holds_attempt(const State& state, std::uint32_t uid, const std::string& node_name) {
  const auto node = state.node_by_name.find(node_name);
  if (node == state.node_by_name.end()) return false;
  const auto use = state.use.find(node->second);
  if (use == state.use.end()) return false;
  return std::any_of(use->second.holders.begin(), use->second.holders.end(), [&](WorkloadId id) {
    const Workload* w = find_workload(state, id);
    return w && w->spec->owner.uid == uid;
  });
}

// An agent speaks for a user on its node.
Result<Identity> vouched(const Door& door, const Claims& agent, std::string_view on_behalf_of) {
  const auto uid = parse_uint(on_behalf_of);
  if (agent.role != "agent" || !uid) return denied("only an agent may speak for others");
  const State& state = door.core.state();
  if (!holds_attempt(state, static_cast<std::uint32_t>(*uid), agent.sub))
    return denied(format("uid {} has no job on {}", *uid, agent.sub));
  Identity who =
      identity_of(static_cast<std::uint32_t>(*uid), net::kNobody, state.config, net::kNobody);
  who.operator_ = false;
  return who;
}

}  // namespace

Identity identity_of(std::uint32_t uid, std::uint32_t gid, const ClusterConfig& config,
                     std::uint32_t own_uid) {
  Identity who;
  who.uid = uid;
  std::array<char, 16384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found) {
    who.user = found->pw_name;
    who.gid = gid == net::kNobody ? found->pw_gid : gid;
    std::array<gid_t, 256> groups;
    int count = static_cast<int>(groups.size());
    if (getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) >= 0)
      who.groups.assign(groups.begin(), groups.begin() + count);
  } else {
    who.user = std::to_string(uid);
    who.gid = gid;
  }
  std::sort(who.groups.begin(), who.groups.end());
  group group_entry{};
  group* found_group = nullptr;
  who.group = getgrgid_r(who.gid, &group_entry, buffer.data(), buffer.size(), &found_group) == 0 &&
                      found_group
                  ? found_group->gr_name
                  : std::to_string(who.gid);
  who.operator_ = uid == 0 || uid == own_uid ||
                  std::find(config.operators.begin(), config.operators.end(), who.user) !=
                      config.operators.end();
  return who;
}

Result<Identity> identify(const Door& door, const net::Request& request) {
  const ClusterConfig& config = door.core.state().config;
  if (const auto token = bearer(request)) {
    const Claims claims = TRY(verified(door, *token));
    if (const auto on_behalf_of = request.headers.find("On-Behalf-Of"))
      return vouched(door, claims, *on_behalf_of);
    if (claims.role == "agent") {
      Identity who = system_identity();
      who.user = claims.sub;
      who.kind = IdentityKind::certificate;
      return who;
    }
    return identity_of(claims.uid, net::kNobody, config, door.own_uid);
  }
  if (request.peer.kind == net::Peer::Kind::Unix)
    return identity_of(request.peer.uid, request.peer.gid, config, door.own_uid);
  return denied("no token: send `Authorization: Bearer …`; `phalanx token` makes one");
}

std::string make_token(const Door& door, const std::string& role, std::uint32_t uid,
                       const std::string& user, Duration life) {
  const Claims claims{role, user, uid, unix_seconds(net::wall_now() + life)};
  return net::sign_token(codec::encode(claims), door.key);
}

int http_status(Error::Code code) {
  switch (code) {
    case Error::Code::Invalid:
      return 400;
    case Error::Code::NotFound:
      return 404;
    case Error::Code::Conflict:
      return 409;
    case Error::Code::Denied:
      return 403;
    case Error::Code::Unavailable:
      return 503;
    case Error::Code::Internal:
      return 500;
  }
  return 500;
}

void refuse(const Answer& answer, const Error& error) {
  std::string body = "{\"error\":";
  codec::write_string(body, error.message);
  body += "}\n";
  answer->reply(http_status(error.code), "application/json", std::move(body));
}

const Endpoint* Router::find(const Routes& routes, const std::string& path) {
  const Endpoint* best = nullptr;
  std::size_t best_length = 0;
  for (const auto& [route, endpoint] : routes) {
    const bool below = route.back() == '/' && path.starts_with(route);
    if ((path == route || below) && route.size() >= best_length) {
      best = &endpoint;
      best_length = route.size();
    }
  }
  return best;
}

void Router::handle(Door& door, net::Request request, Answer answer) const {
  if (const Endpoint* open = find(open_, request.path))
    return (*open)(Identity{}, std::move(request), std::move(answer));
  const Endpoint* endpoint = find(routes_, request.path);
  if (!endpoint) return refuse(answer, not_found("there is no " + printable(request.path)));
  auto who = identify(door, request);
  if (!who.ok()) {
    std::string body =
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"reason\":\"Unauthorized\",\"code\":401,\"message\":";
    codec::write_string(body, who.error().message);
    return answer->reply(401, "application/json", body + "}\n");
  }
  (*endpoint)(*who, std::move(request), std::move(answer));
}

}  // namespace phalanx::server
