#include "agent/spawn/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/fd.h"

namespace phalanx::agent::spawn {

std::uint64_t boottime_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::string read_file(const char* path, std::size_t limit) {
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::string text(limit, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

std::string read_all(int fd) {
  std::string text;
  char chunk[16 * 1024];
  ssize_t got = 0;
  while ((got = ::read(fd, chunk, sizeof chunk)) > 0)
    text.append(chunk, static_cast<std::size_t>(got));
  return text;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool is_locked(const char* path) {
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  return file ? ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 : errno != ENOENT;
}

void remove_unit_folder(const std::string& folder) {
  for (const char* file : {"/script", "/state", "/sock"}) ::unlink((folder + file).c_str());
  ::rmdir(folder.c_str());
}

}  // namespace phalanx::agent::spawn
