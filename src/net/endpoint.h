// Endpoint: where a server listens or a client connects, as people write it: "/run/phalanx/sock",
// "unix:relative.sock", "node7:7070", "[::1]:7070". Below it the plain socket calls that server and
// clients share. Plain values and blocking system calls; thread-safe; every failure is a Result.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/fd.h"

struct sockaddr_un;  // NOLINT(readability-identifier-naming): the C library's name

namespace phalanx::net {

struct Endpoint {
  enum class Kind { Unix, Tcp };
  Kind kind = Kind::Unix;
  std::string path;  // Unix
  std::string host;  // Tcp: a name or an address, IPv6 without brackets
  std::uint16_t port = 0;

  static Endpoint unix_socket(std::string path);
  static Endpoint tcp(std::string host, std::uint16_t port);
  static Result<Endpoint> parse(std::string_view text);
  bool operator==(const Endpoint&) const = default;
};
std::string to_string(const Endpoint& endpoint);

// "127.0.0.1:4711" or "[::1]:4711".
std::string address_text(const sockaddr_storage& address);
// Fails with a clear message where the path is empty or longer than the kernel's 107 bytes.
Result<sockaddr_un> unix_address(const std::string& path);

struct UnixSocket {
  std::string path = {};
  mode_t mode = 0600;
  std::optional<uid_t> owner = {};
  std::optional<gid_t> group = {};
};
// A listening, non-blocking socket. A socket file that is left over is replaced; one on which
// somebody listens, or a file of another kind, is a Conflict. Nobody can connect before mode and
// owner are set.
Result<Fd> listen_unix(const UnixSocket& socket);
// `host` is a name or an address of this machine ("::" and "0.0.0.0" for all); port 0: the kernel
// picks.
Result<Fd> listen_tcp(const std::string& host, std::uint16_t port);
// The port that a TCP socket is bound to.
std::uint16_t local_port(int fd);

}  // namespace phalanx::net
