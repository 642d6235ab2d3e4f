#include "agent/kernel_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "agent/fd.h"
#include "base/text.h"

namespace phalanx::agent {

std::optional<std::string> read_text(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return std::string(trim(text));
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

std::optional<std::int64_t> read_number(const std::string& path) {
  const std::optional<std::string> text = read_text(path);
  return text ? parse_int(*text) : std::nullopt;
}

std::optional<std::int64_t> read_key(const std::string& path, std::string_view key) {
  const std::optional<std::string> text = read_text(path);
  return text ? find_key(*text, key) : std::nullopt;
}

std::optional<std::int64_t> find_key(std::string_view text, std::string_view key) {
  for (std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> words = split_blanks(line);
    if (words.size() >= 2 && words[0] == key) return parse_int(words[1]);
  }
  return std::nullopt;
}

int write_errno(const std::string& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  while (true) {
    if (::write(file.get(), text.data(), text.size()) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

Status write_text(const std::string& path, std::string_view text) {
  const int error = write_errno(path, text);
  if (error == 0) return {};
  std::string message = format("cannot write \"{}\" to {}: {}", text, path, std::strerror(error));
  return error == EINVAL || error == ERANGE ? invalid(std::move(message))
                                            : unavailable(std::move(message));
}

Status write_lines(const std::string& path, std::span<const std::string> lines) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return unavailable(format("cannot open {}: {}", path, std::strerror(errno)));
  for (const std::string& line : lines) {
    if (::write(file.get(), line.data(), line.size()) < 0)
      return unavailable(format("cannot write \"{}\" to {}: {}", line, path, std::strerror(errno)));
  }
  return {};
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::vector<std::string> subdirectories(const std::string& dir) {
  struct Close {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  std::vector<std::string> names;
  // Where each directory below counts as a link, as in cgroupfs, two links say that there is none.
  struct stat status{};
  if (::stat(dir.c_str(), &status) != 0 || status.st_nlink == 2) return names;
  const std::unique_ptr<DIR, Close> open(::opendir(dir.c_str()));
  if (!open) return names;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    // The kernel's own file systems tell the type; others may not.
    const bool unknown = entry->d_type == DT_UNKNOWN;
    if (entry->d_type == DT_DIR || (unknown && is_directory(dir + "/" + name)))
      names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace phalanx::agent
