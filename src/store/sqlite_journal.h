// The default journal: a SQLite database in WAL mode with synchronous=FULL, and beside `<path>`:
//   <path>-wal, <path>-shm     SQLite's own
//   <path>-snapshot-<seq>      snapshots (snapshot_files.h)
//   <path>-lock                held by the one controller that has the journal open
//   <path>-acknowledged        the number of the last event that was acknowledged. SQLite drops a
//   damaged
//                              end of its log without a word; with this number the loss is seen and
//                              refused
//   <path>-reserve             room set aside for a full disk
// Every event row carries a checksum over its number and bytes. Damage is told with the row and the
// way back, and nothing is changed; events are never silently left out.
//
// A backup is a directory-independent set of the same files under another path; it is restored by
// moving this journal's files aside and copying the backup's to their place.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "store/disk.h"
#include "store/journal.h"
#include "store/snapshot_files.h"
#include "store/sqlite.h"

namespace phalanx::store {

struct SqliteJournalOptions {
  std::uint64_t reserve_bytes = 64U << 20U;
};

class SqliteJournal final : public Journal {
 public:
  // Opens or creates the journal for the one controller that writes it. Conflict if another has it
  // open; Invalid if the file is something else or newer than this program; Internal if it is
  // damaged.
  static Result<std::unique_ptr<SqliteJournal>> open(const std::string& path,
                                                     SqliteJournalOptions options = {},
                                                     const Patience& patience = {});
  // For a process beside the controller (`phalanx compact`): reads and saves snapshots, appends
  // nothing.
  static Result<std::unique_ptr<SqliteJournal>> open_beside(const std::string& path);

  Status append(std::span<const Batch> batches) override;
  Result<Seq> read(Seq from, const Visitor& visit) override;
  Result<std::string> blob(const BlobId& id) override;
  Status save_snapshot(Seq seq, std::span<const std::string> chunks) override;
  Result<std::optional<Snapshot>> load_snapshot() override;
  Result<Seq> compact() override;

  // Copies the journal, as of one instant, and its snapshots to `path`, where no file may be yet.
  // Commits go on meanwhile.
  Status backup(const std::string& path);

  Result<Space> space() const;
  Status release_reserve();  // the disk is full: make room for completions
  Status refill_reserve();   // Unavailable while there is no room

  // For tests: lets the database grow to `pages` pages of 4 KB at most; it then behaves as a full
  // disk does.
  Status limit_pages(std::int64_t pages);

 private:
  explicit SqliteJournal(std::string path) : path_(std::move(path)) {}
  Status start(Access access);
  Status prepare_writing();
  Status check_tail();
  Status append_locked(std::span<const Batch> batches);
  Status insert(const Batch& batch);
  Status settle();
  void acknowledge(Seq seq);
  Result<Seq> last_of(Connection& connection);
  Result<Seq> first_kept(Connection& connection);
  Result<Seq> visit_rows(Connection& connection, Seq from, const Visitor& visit);
  Error damaged_row(Seq seq, std::string_view how) const;

  std::string path_;
  SqliteJournalOptions options_;
  std::optional<SnapshotFiles> snapshots_;
  File lock_;
  File acknowledged_;

  std::mutex writing_;  // guards writer_ and its statements, last_, unknown_
  std::optional<Connection> writer_;
  Statement insert_event_;
  Statement insert_blob_;
  Statement drop_blob_;
  Seq last_ = 0;
  bool unknown_ = false;

  std::mutex reading_;  // guards reader_ and its statement
  std::optional<Connection> reader_;
  Statement find_blob_;
};

}  // namespace phalanx::store
