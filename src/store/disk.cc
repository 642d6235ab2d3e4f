#include "store/disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "base/text.h"

namespace phalanx::store {
namespace {

constexpr auto kLockAgain = std::chrono::milliseconds(10);

Error system_error(std::string_view doing, const std::string& path, int code) {
  const std::string text = format("cannot {} {}: {}", doing, path, std::strerror(code));
  if (code == ENOENT) return not_found(text);
  if (code == ENOSPC || code == EDQUOT) return unavailable(text + ". Make room on its file system");
  return internal(text);
}

}  // namespace

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Result<File> File::open(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return system_error("open", path, errno);
  return File(fd);
}

Result<Space> space_at(const std::string& directory) {
  struct statvfs fs{};
  if (::statvfs(directory.c_str(), &fs) != 0) return system_error("measure", directory, errno);
  Space space;
  space.bytes_free = std::uint64_t{fs.f_bavail} * fs.f_frsize;
  space.bytes_total = std::uint64_t{fs.f_blocks} * fs.f_frsize;
  space.percent_free = fs.f_blocks == 0 ? 0 : std::uint64_t{fs.f_bavail} * 100 / fs.f_blocks;
  return space;
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status write_all(const File& file, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.fd(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::string> read_all(const std::string& path) {
  const File file = TRY(File::open(path, O_RDONLY));
  std::string bytes(file_size(path), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(file.fd(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read", path, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

Status rename_durably(const File& file, const std::string& from, const std::string& to) {
  if (::fsync(file.fd()) != 0) return system_error("write", from, errno);
  if (::rename(from.c_str(), to.c_str()) != 0) return system_error("rename", from, errno);
  const std::string directory = directory_of(to);
  const File opened = TRY(File::open(directory, O_RDONLY | O_DIRECTORY));
  if (::fsync(opened.fd()) != 0) return system_error("write", directory, errno);
  return {};
}

Result<File> lock_exclusively(const std::string& path, const std::string& what,
                              const Patience& patience) {
  File file = TRY(File::open(path, O_RDWR | O_CREAT));
  const auto give_up = std::chrono::steady_clock::now() + patience.at_most;
  for (bool told = false; ::flock(file.fd(), LOCK_EX | LOCK_NB) != 0; told = true) {
    if (errno != EWOULDBLOCK) return system_error("lock", path, errno);
    const std::string holder(trim(TRY(read_all(path))));
    const Error held =
        conflict(format("{} is in use by {}. Stop that controller first, or name another path",
                        what, holder.empty() ? "another process" : holder));
    if (std::chrono::steady_clock::now() >= give_up) return held;
    if (!told && patience.told) patience.told(held);
    std::this_thread::sleep_for(kLockAgain);
  }
  if (::ftruncate(file.fd(), 0) != 0) return system_error("write", path, errno);
  // On a full disk the note is missing; the lock holds all the same.
  static_cast<void>(write_all(file, path, format("process {}\n", ::getpid())));
  return file;
}

Status reserve_space(const std::string& path, std::uint64_t bytes) {
  const File file = TRY(File::open(path, O_RDWR | O_CREAT));
  const int code = ::posix_fallocate(file.fd(), 0, static_cast<off_t>(bytes));
  if (code == 0) return {};
  ::unlink(path.c_str());
  return system_error("set space aside in", path, code);
}

Status release_space(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("remove", path, errno);
  return {};
}

std::uint64_t file_size(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace phalanx::store
