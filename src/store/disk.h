// Files beside the database, and how much room is left for them: durable writing and renaming, the
// lock that keeps a second controller out, and a reserve that is set aside while there is room, so
// that completions can still be recorded when there is none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace phalanx::store {

struct Space {
  std::uint64_t bytes_free = 0;  // for whoever runs this process
  std::uint64_t bytes_total = 0;
  std::uint64_t percent_free = 0;   // rounded down
  std::uint64_t reserve_bytes = 0;  // held beside, not counted as free
};
// Below this a controller stops taking submissions and goes on taking completions: what an
// administrator asked for, else 5 % and at most 1 GiB, which is plenty on a big disk.
constexpr bool is_low(const Space& space, std::optional<std::uint64_t> asked = std::nullopt) {
  constexpr std::uint64_t kAtMost = std::uint64_t{1} << 30U;
  return space.bytes_free < asked.value_or(std::min(space.bytes_total / 20, kAtMost));
}

// Owns a file descriptor.
class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  File& operator=(File&& other) noexcept;
  ~File();
  static Result<File> open(const std::string& path,
                           int flags);  // a new file is private to its owner
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

Result<Space> space_at(const std::string& directory);
std::string directory_of(const std::string& path);
Status write_all(const File& file, const std::string& path, std::string_view bytes);
Result<std::string> read_all(const std::string& path);  // NotFound where there is no such file
// Syncs the file, gives it its name, syncs the directory.
Status rename_durably(const File& file, const std::string& from, const std::string& to);

// The advisory lock on `path`, held until the File is gone; the kernel lets go when the process
// dies. The file tells who holds it. Conflict if somebody does; `what` is named in the message.
// A process that was killed holds it until the kernel has torn it down: `patience` is how long to
// wait for that.
struct Patience {
  Duration at_most{};
  std::function<void(const Error&)> told;  // once, before the wait
};
Result<File> lock_exclusively(const std::string& path, const std::string& what,
                              const Patience& patience = {});

// A file of `bytes` with its blocks allocated. Unavailable when there is no room.
Status reserve_space(const std::string& path, std::uint64_t bytes);
Status release_space(const std::string& path);
std::uint64_t file_size(const std::string& path);  // 0 where there is none

}  // namespace phalanx::store
