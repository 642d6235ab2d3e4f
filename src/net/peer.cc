#include "net/peer.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>

#include "base/text.h"
#include "net/endpoint.h"
#include "net/fd.h"

namespace phalanx::net {
namespace {

std::string unix_path_of(int fd) {
  sockaddr_un name{};
  socklen_t size = sizeof name;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return {};
  if (size <= offsetof(sockaddr_un, sun_path)) return {};
  return name.sun_path;
}

}  // namespace

Result<Peer> peer_of(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0)
    return unavailable(format("the peer of a socket is gone: {}", error_text(errno)));

  Peer peer;
  if (name.ss_family != AF_UNIX) {
    peer.address = address_text(name);
    return peer;
  }
  ucred credentials{};
  size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return internal(format("cannot read the peer's credentials: {}", error_text(errno)));
  peer.kind = Peer::Kind::Unix;
  peer.uid = credentials.uid;
  peer.gid = credentials.gid;
  peer.pid = credentials.pid;
  peer.address = unix_path_of(fd);
  return peer;
}

}  // namespace phalanx::net
