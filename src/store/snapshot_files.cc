#include "store/snapshot_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/text.h"
#include "store/checksum.h"
#include "store/crash_point.h"
#include "store/disk.h"

namespace phalanx::store {
namespace {

constexpr std::string_view kMagic = "PHLXSNAP";
constexpr std::uint64_t kFormat = 1;
constexpr std::size_t kJournalIdSize = 16;
constexpr std::size_t kHeaderSize = 8 + 4 + 4 + 8 + kJournalIdSize + 4;
constexpr std::string_view kUnfinished = ".new";

void put(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    out.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
}

// Takes `bytes` off the front of `in`; the caller has checked that they are there.
std::uint64_t take(std::string_view& in, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(in[i])} << (8 * i);
  in.remove_prefix(bytes);
  return value;
}

std::string header(Seq seq, std::size_t chunks, const std::string& journal_id) {
  ASSERT(journal_id.size() == kJournalIdSize);
  std::string out(kMagic);
  put(out, kFormat, 4);
  put(out, chunks, 4);
  put(out, seq, 8);
  out += journal_id;
  put(out, crc32c(out), 4);
  return out;
}

std::string chunk_header(std::string_view chunk) {
  ASSERT(chunk.size() <= UINT32_MAX);
  std::string out;
  put(out, chunk.size(), 4);
  put(out, crc32c(chunk), 4);
  return out;
}

}  // namespace

std::string SnapshotFiles::path_of(Seq seq) const { return format("{}{}", prefix_, seq); }

Status SnapshotFiles::save(Seq seq, std::span<const std::string> chunks) const {
  const std::string path = path_of(seq);
  const std::string unfinished = path + std::string(kUnfinished);
  const auto write = [&]() -> Status {
    const File file = TRY(File::open(unfinished, O_WRONLY | O_CREAT | O_TRUNC));
    TRY(write_all(file, unfinished, header(seq, chunks.size(), journal_id_)));
    for (const std::string& chunk : chunks) {
      TRY(write_all(file, unfinished, chunk_header(chunk)));
      TRY(write_all(file, unfinished, chunk));
    }
    crash_point("before-rename");
    return rename_durably(file, unfinished, path);
  };
  Status status = write();
  if (!status.ok()) ::unlink(unfinished.c_str());
  return status;
}

std::vector<std::string> SnapshotFiles::suffixes() const {
  const std::string directory = directory_of(prefix_);
  const std::string start = prefix_.substr(prefix_.rfind('/') + 1);
  std::vector<std::string> found;
  std::error_code ignored;  // an unreadable directory has no snapshots that we could use
  for (std::filesystem::directory_iterator it(directory, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(start)) found.push_back(name.substr(start.size()));
  }
  return found;
}

std::vector<Seq> SnapshotFiles::list() const {
  std::vector<Seq> found;
  for (const std::string& suffix : suffixes())
    if (const auto seq = parse_uint(suffix)) found.push_back(*seq);
  std::ranges::sort(found);
  return found;
}

Result<Snapshot> SnapshotFiles::load(Seq seq) const {
  const std::string path = path_of(seq);
  const std::string bytes = TRY(read_all(path));
  const auto damaged = [&](std::string_view how) {
    return internal(format("snapshot {} is damaged: {}", path, how));
  };
  std::string_view rest = bytes;
  if (rest.size() < kHeaderSize) return damaged("it is too short");
  if (!rest.starts_with(kMagic)) return damaged("it does not start as a snapshot does");
  std::string_view fields = rest.substr(kMagic.size());
  const std::uint64_t version = take(fields, 4);
  if (version > kFormat) return invalid(format("snapshot {} was written by a newer Phalanx", path));
  const std::uint64_t chunks = take(fields, 4);
  if (rest.substr(0, kHeaderSize) != header(seq, chunks, journal_id_))
    return damaged("its header does not fit its name and this journal");
  rest.remove_prefix(kHeaderSize);
  Snapshot snapshot{seq, {}, {}};
  for (std::uint64_t i = 0; i < chunks; ++i) {
    if (rest.size() < 8) return damaged(format("it ends before chunk {} of {}", i + 1, chunks));
    const std::uint64_t size = take(rest, 4);
    const std::uint64_t checksum = take(rest, 4);
    if (rest.size() < size) return damaged(format("it ends inside chunk {} of {}", i + 1, chunks));
    snapshot.chunks.emplace_back(rest.substr(0, size));
    if (crc32c(snapshot.chunks.back()) != checksum)
      return damaged(format("chunk {} of {} has a wrong checksum", i + 1, chunks));
    rest.remove_prefix(size);
  }
  if (!rest.empty()) return damaged("something follows its end");
  return snapshot;
}

std::optional<Snapshot> SnapshotFiles::newest(std::vector<std::string>& warnings) const {
  const std::vector<Seq> all = list();
  for (auto seq = all.rbegin(); seq != all.rend(); ++seq) {
    Result<Snapshot> loaded = load(*seq);
    if (loaded.ok()) {
      loaded->warnings = warnings;
      return std::move(*loaded);
    }
    warnings.push_back(loaded.error().message);
  }
  return std::nullopt;
}

void SnapshotFiles::remove_before(Seq seq) const {
  for (const Seq old : list())
    if (old < seq) ::unlink(path_of(old).c_str());
}

void SnapshotFiles::remove_unfinished() const {
  for (const std::string& suffix : suffixes())
    if (suffix.ends_with(kUnfinished)) ::unlink((prefix_ + suffix).c_str());
}

Status SnapshotFiles::copy_to(const std::string& journal_path) const {
  const SnapshotFiles target(journal_path, journal_id_);
  for (const Seq seq : list()) {
    const Result<Snapshot> loaded = load(seq);
    if (loaded.ok()) TRY(target.save(seq, loaded->chunks));
  }
  return {};
}

}  // namespace phalanx::store
