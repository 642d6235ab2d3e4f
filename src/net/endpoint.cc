#include "net/endpoint.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "base/text.h"

namespace phalanx::net {
namespace {

constexpr int kBacklog = 1024;

Error system_error(std::string_view what, const std::string& where) {
  return unavailable(format("cannot {} {}: {}", what, where, error_text(errno)));
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Makes `path` free for bind. Who calls holds the lock of the folder.
Status clear_stale(const std::string& path, const sockaddr_un& address) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return system_error("look at", path);
  }
  if (!S_ISSOCK(info.st_mode))
    return conflict(
        format("{} exists and is not a socket; remove it or choose another path", path));
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return system_error("open a socket for", path);
  const int rc =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (rc == 0 || errno == EAGAIN || errno == EINPROGRESS)
    return conflict(format("another process listens on {}; stop it first", path));
  if (errno != ECONNREFUSED) return system_error("tell whether anybody listens on", path);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("replace the old", path);
  return {};
}

Status bind_unix(const Fd& fd, const UnixSocket& socket, const sockaddr_un& address) {
  // The file is born without permissions for others, whatever the umask says.
  if (::fchmod(fd.get(), 0600) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return system_error("listen on", socket.path);
  const bool give_away = socket.owner || socket.group;
  if (give_away && ::lchown(socket.path.c_str(), socket.owner.value_or(static_cast<uid_t>(-1)),
                            socket.group.value_or(static_cast<gid_t>(-1))) != 0)
    return system_error("set the owner of", socket.path);
  if (::chmod(socket.path.c_str(), socket.mode) != 0)
    return system_error("set the mode of", socket.path);
  if (::listen(fd.get(), kBacklog) != 0) return system_error("listen on", socket.path);
  return {};
}

Result<Fd> listen_at(const addrinfo& address, const std::string& where) {
  Fd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error("open a socket for", where);
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // "::" and "0.0.0.0" are two addresses: whoever wants both asks for both.
  if (address.ai_family == AF_INET6)
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 &&
      ::listen(fd.get(), kBacklog) == 0)
    return fd;
  if (errno == EADDRINUSE)
    return conflict(format("another process listens on {}; stop it or choose another port", where));
  if (errno == EACCES) return denied(format("no permission to listen on {}", where));
  return system_error("listen on", where);
}

}  // namespace

std::string error_text(int error_number) { return std::generic_category().message(error_number); }

Endpoint Endpoint::unix_socket(std::string path) { return {Kind::Unix, std::move(path), {}, 0}; }

Endpoint Endpoint::tcp(std::string host, std::uint16_t port) {
  return {Kind::Tcp, {}, std::move(host), port};
}

Result<Endpoint> Endpoint::parse(std::string_view text) {
  const auto fault = [&](std::string_view why) {
    return invalid(
        format("\"{}\" is not an address: {}; write /path/of/socket, host:port or [IPv6]:port",
               printable(text), why));
  };
  if (text.starts_with("unix:"))
    text.remove_prefix(5);
  else if (!text.starts_with('/')) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return fault("it has no port");
    std::string_view host = text.substr(0, colon);
    const auto port = parse_uint(text.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535)
      return fault("the port is not a number from 1 to 65535");
    if (host.starts_with('[') && host.ends_with(']'))
      host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string_view::npos)
      return fault("an IPv6 address needs brackets");
    if (host.empty()) return fault("it has no host");
    return tcp(std::string(host), static_cast<std::uint16_t>(*port));
  }
  if (text.empty()) return fault("it is empty");
  return unix_socket(std::string(text));
}

std::string to_string(const Endpoint& endpoint) {
  if (endpoint.kind == Endpoint::Kind::Unix)
    return endpoint.path.starts_with('/') ? endpoint.path : "unix:" + endpoint.path;
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return v6 ? format("[{}]:{}", endpoint.host, endpoint.port)
            : format("{}:{}", endpoint.host, endpoint.port);
}

std::string address_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return format("{}:{}", text, ntohs(v4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return format("[{}]:{}", text, ntohs(v6.sin6_port));
  }
  return text;
}

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty()) return invalid("the path of a unix socket is empty");
  if (path.find('\0') != std::string::npos)
    return invalid("the path of a unix socket holds a zero byte");
  if (path.size() >= sizeof address.sun_path)
    return invalid(
        format("the path of a unix socket may have at most {} bytes, this one has {}: {}; "
               "choose a shorter folder",
               sizeof address.sun_path - 1, path.size(), printable(path)));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<Fd> listen_unix(const UnixSocket& socket) {
  const sockaddr_un address = TRY(unix_address(socket.path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error("open a socket for", socket.path);
  // Two starters that both find the same old socket file must not unlink each other's new one.
  const Fd folder(::open(parent_of(socket.path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return system_error("open the folder of", socket.path);
  if (::flock(folder.get(), LOCK_EX) != 0) return system_error("lock the folder of", socket.path);
  TRY(clear_stale(socket.path, address));
  TRY(bind_unix(fd, socket, address));
  return fd;
}

Result<Fd> listen_tcp(const std::string& host, std::uint16_t port) {
  const std::string where = to_string(Endpoint::tcp(host, port));
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int rc = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (rc != 0) return unavailable(format("cannot listen on {}: {}", where, ::gai_strerror(rc)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  return listen_at(*found, where);
}

std::uint16_t local_port(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  if (name.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
  if (name.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(name).sin6_port);
  return 0;
}

}  // namespace phalanx::net
