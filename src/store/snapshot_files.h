// Snapshots as files beside the database, one each: `<journal>-snapshot-<seq>`. They stay outside
// the database because they are big, and because a child process writes them while the controller
// commits. A file appears under its name only when all of it is durable; every part of it carries a
// checksum, and the header names the journal to which it belongs.
//
// Layout, integers little-endian: "PHLXSNAP", u32 format, u32 count of chunks, u64 seq, 16 bytes
// journal id, u32 CRC-32C of all that; then per chunk u32 size, u32 CRC-32C, bytes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/journal.h"

namespace phalanx::store {

class SnapshotFiles {
 public:
  SnapshotFiles(std::string journal_path, std::string journal_id)
      : prefix_(std::move(journal_path) + "-snapshot-"), journal_id_(std::move(journal_id)) {}

  Status save(Seq seq, std::span<const std::string> chunks) const;
  std::vector<Seq> list() const;         // ascending; damaged ones too
  Result<Snapshot> load(Seq seq) const;  // Internal where it is damaged
  std::optional<Snapshot> newest(
      std::vector<std::string>& warnings) const;  // passes over damaged ones
  void remove_before(Seq seq) const;
  void remove_unfinished() const;  // what a crash in the middle of save() left behind
  // The same files beside another journal.
  Status copy_to(const std::string& journal_path) const;

 private:
  std::string path_of(Seq seq) const;
  // The names in the directory that start as ours do, without the common prefix.
  std::vector<std::string> suffixes() const;

  std::string prefix_;
  std::string journal_id_;  // 16 bytes
};

}  // namespace phalanx::store
