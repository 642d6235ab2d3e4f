#include "agent/record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "agent/fd.h"
#include "agent/kernel_file.h"
#include "base/codec.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

Status write_whole(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return unavailable(format("cannot write {}: {}", path, std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

AttemptRecords::AttemptRecords(std::string directory) : directory_(std::move(directory)) {
  std::error_code ignored;
  std::filesystem::create_directories(directory_, ignored);
  ::chmod(directory_.c_str(), 0700);
}

Status AttemptRecords::write(const std::string& room, const AttemptRecord& record) const {
  const std::string path = directory_ + "/" + room + ".json", fresh = path + ".new";
  const Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return unavailable(format("cannot create {}: {}", fresh, std::strerror(errno)));
  TRY(write_whole(file.get(), codec::encode(record), fresh));
  if (::rename(fresh.c_str(), path.c_str()) != 0)
    return unavailable(format("cannot rename {}: {}", fresh, std::strerror(errno)));
  return {};
}

void AttemptRecords::remove(const std::string& room) const {
  ::unlink((directory_ + "/" + room + ".json").c_str());
}

std::vector<AttemptRecord> AttemptRecords::read_all() const {
  std::vector<AttemptRecord> records;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != ".json") continue;
    const std::string path = it->path().string();
    auto record = codec::decode<AttemptRecord>(read_text(path).value_or(""));
    if (record.ok())
      records.push_back(std::move(*record));
    else
      std::fprintf(stderr, "phalanx agent: %s is left alone: %s\n", path.c_str(),
                   record.error().message.c_str());
  }
  std::ranges::sort(records, {}, &AttemptRecord::fence);
  return records;
}

std::string room_name(const Fence& fence, const std::string& label) {
  constexpr std::size_t kLongest = 56;  // a unit's name has at most 80 characters
  std::string safe;
  for (const char c : label) safe += plain(c) ? c : '-';
  if (safe.empty() || safe.size() > kLongest) safe = format("w{}", fence.workload.value);
  return format("job_{}_a{}", safe, fence.attempt);
}

std::string unit_name(const std::string& room, StepNumber step) {
  return step == kBatchStep ? room + ".batch" : format("{}.{}", room, step);
}

std::optional<StepNumber> step_of_unit(const std::string& room, std::string_view unit) {
  if (!unit.starts_with(room + ".")) return std::nullopt;
  unit.remove_prefix(room.size() + 1);
  if (unit == "batch") return kBatchStep;
  const auto number = parse_uint(unit);
  if (!number) return std::nullopt;
  return static_cast<StepNumber>(*number);
}

}  // namespace phalanx::agent
