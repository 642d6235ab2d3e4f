// Who is at the other end of a connected socket. On a unix socket the kernel vouches for the user
// (SO_PEERCRED, as of the moment of connect); on TCP only the address is known, and ids are
// kNobody. Plain values; thread-safe.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace phalanx::net {

inline constexpr uid_t kNobody = static_cast<uid_t>(-1);

struct Peer {
  enum class Kind { Unix, Tcp };
  Kind kind = Kind::Tcp;
  uid_t uid = kNobody;
  gid_t gid = kNobody;
  pid_t pid = 0;        // 0: unknown, or a process of another pid namespace
  std::string address;  // "127.0.0.1:4711", "[::1]:4711"; for unix the path of our socket

  bool operator==(const Peer&) const = default;
};

Result<Peer> peer_of(int fd);

}  // namespace phalanx::net
