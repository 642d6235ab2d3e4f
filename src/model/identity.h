// Who asks. Made at the door (server/) from socket credentials, a forwarding daemon's word or a
// token; the core trusts it. What an identity may do is decided in cluster/access.h and nowhere
// else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/describe.h"

namespace phalanx {

enum class IdentityKind { unix_user, service_account, certificate, system };
BOOST_DESCRIBE_ENUM(IdentityKind, unix_user, service_account, certificate, system)

struct Identity {
  IdentityKind kind = IdentityKind::unix_user;
  std::uint32_t uid = 0xffffffff;  // none
  std::uint32_t gid = 0xffffffff;
  std::string user;
  std::string group;                  // the name of gid
  std::vector<std::uint32_t> groups;  // supplementary
  bool operator_ = false;  // NOLINT(readability-identifier-naming): may do what root may to others
  bool operator==(const Identity&) const = default;
};
BOOST_DESCRIBE_STRUCT(Identity, (), (kind, uid, gid, user, group, groups, operator_))

// The cluster itself: ticks, the planner, agents.
Identity system_identity();

}  // namespace phalanx
