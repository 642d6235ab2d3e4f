#include "store/sqlite_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/assert.h"
#include "base/text.h"
#include "store/checksum.h"
#include "store/crash_point.h"
#include "store/sequence.h"

namespace phalanx::store {
namespace {

constexpr Format kFormat{.application_id = 0x50484c4a,  // "PHLJ"
                         .version = 1,
                         .noun = "journal",
                         .schema = R"sql(
      CREATE TABLE events (seq INTEGER PRIMARY KEY, event BLOB NOT NULL, checksum INTEGER NOT NULL);
      CREATE TABLE blobs (id TEXT PRIMARY KEY, bytes BLOB NOT NULL);
      CREATE TABLE about (only INTEGER PRIMARY KEY CHECK (only = 1), journal_id BLOB NOT NULL,
                          compacted INTEGER NOT NULL, settled INTEGER NOT NULL);
      INSERT INTO about VALUES (1, randomblob(16), 0, 0);
    )sql"};

constexpr Seq kCompactionSlice = 2000;  // rows deleted in one commit, so that appends hardly wait
constexpr std::size_t kAcknowledgedSize = 30;

std::int64_t signed_seq(Seq seq) {
  return static_cast<std::int64_t>(std::min<Seq>(seq, std::numeric_limits<std::int64_t>::max()));
}

// "<20 digits> <checksum>\n": one small write at the start of the file.
std::string acknowledged_text(Seq seq) {
  const std::string number = format("{:020}", seq);
  return format("{} {:08x}\n", number, crc32c(number));
}

// After a power cut the file may hold anything; only a well-formed number counts.
std::optional<Seq> parse_acknowledged(std::string_view text) {
  const auto seq = parse_uint(text.substr(0, std::min<std::size_t>(text.size(), 20)));
  if (!seq || text != acknowledged_text(*seq)) return std::nullopt;
  return seq;
}

}  // namespace

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(const std::string& path,
                                                           SqliteJournalOptions options,
                                                           const Patience& patience) {
  std::unique_ptr<SqliteJournal> journal(new SqliteJournal(path));
  journal->options_ = options;
  journal->lock_ = TRY(lock_exclusively(path + "-lock", format("the journal {}", path), patience));
  TRY(journal->start(Access::ReadWrite));
  TRY(journal->prepare_writing());
  TRY(journal->check_tail());
  journal->snapshots_->remove_unfinished();
  // On a full disk the controller must start nevertheless; space() tells how much reserve there is.
  static_cast<void>(journal->refill_reserve());
  return journal;
}

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open_beside(const std::string& path) {
  std::unique_ptr<SqliteJournal> journal(new SqliteJournal(path));
  TRY(journal->start(Access::ReadOnly));
  return journal;
}

Status SqliteJournal::start(Access access) {
  if (access == Access::ReadWrite) {
    writer_ = TRY(Connection::open(path_, access));
    TRY(writer_->exec(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000"));
    TRY(create_or_check_format(*writer_, path_, kFormat));
  }
  reader_ = TRY(Connection::open(path_, Access::ReadOnly));
  TRY(check_format(*reader_, path_, kFormat));
  find_blob_ = TRY(reader_->prepare("SELECT bytes FROM blobs WHERE id = ?"));
  Statement about = TRY(reader_->prepare("SELECT journal_id FROM about"));
  if (!TRY(about.step()))
    return internal(format("the journal {} has no id. Restore it from a backup", path_));
  snapshots_.emplace(path_, std::string(about.bytes(0)));
  return {};
}

Status SqliteJournal::prepare_writing() {
  insert_event_ = TRY(writer_->prepare("INSERT INTO events VALUES (?, ?, ?)"));
  insert_blob_ = TRY(writer_->prepare("INSERT OR IGNORE INTO blobs VALUES (?, ?)"));
  drop_blob_ = TRY(writer_->prepare("DELETE FROM blobs WHERE id = ?"));
  acknowledged_ = TRY(File::open(path_ + "-acknowledged", O_RDWR | O_CREAT));
  last_ = TRY(last_of(*writer_));
  return {};
}

// What was acknowledged must be there, and nothing may claim to know more than the journal.
Status SqliteJournal::check_tail() {
  const std::string restore = format(
      "Restore a backup: move the files {}* aside and copy the backup's to their place", path_);
  const auto acknowledged = parse_acknowledged(TRY(read_all(path_ + "-acknowledged")));
  if (acknowledged && *acknowledged > last_)
    return internal(
        format("the journal {0} ends at event {1}, but event {2} was acknowledged: events {3} to "
               "{2} are lost. "
               "Its log {0}-wal was damaged or removed, or an older copy was put in its place. "
               "{4}; to go on "
               "without the lost events, remove {0}-acknowledged",
               path_, last_, *acknowledged, last_ + 1, restore));
  const std::vector<Seq> snapshots = snapshots_->list();
  if (!snapshots.empty() && snapshots.back() > last_)
    return internal(format(
        "the journal {0} ends at event {1}, but its snapshot {0}-snapshot-{2} is newer: events "
        "are lost, or an older copy was put in its place. {3}; to go on without the lost "
        "events, move that snapshot away",
        path_, last_, snapshots.back(), restore));
  if (last_ > TRY(first_kept(*writer_)) - 1) TRY(visit_rows(*writer_, last_, nullptr));
  return {};
}

Status SqliteJournal::append(std::span<const Batch> batches) {
  if (!writer_) return invalid(format("the journal {} is open for reading only", path_));
  const std::lock_guard lock(writing_);
  if (unknown_) return read_back_first();
  TRY(check_follows(last_, batches));
  crash_point("before-append");
  Status appended = append_locked(batches);
  unknown_ = !appended.ok() && appended.error().code == Error::Code::Internal;
  if (!appended.ok()) return appended;
  last_ = last_seq_of(batches.back());
  crash_point("after-append");
  acknowledge(last_);
  return {};
}

Status SqliteJournal::append_locked(std::span<const Batch> batches) {
  Transaction transaction = TRY(Transaction::begin(*writer_));
  for (const Batch& batch : batches) TRY(insert(batch));
  return transaction.commit();
}

Status SqliteJournal::insert(const Batch& batch) {
  Seq seq = batch.first_seq;
  const Seq middle = seq + batch.events.size() / 2;
  for (const std::string& event : batch.events) {
    if (seq == middle) crash_point("mid-transaction");
    insert_event_.bind(1, signed_seq(seq));
    insert_event_.bind_blob(2, event);
    insert_event_.bind(3, row_checksum(seq, event));
    TRY(insert_event_.run());
    ++seq;
  }
  for (const BlobId& id : batch.dropped_blobs) {
    drop_blob_.bind_text(1, id);
    TRY(drop_blob_.run());
  }
  for (const Blob& blob : batch.blobs) {
    insert_blob_.bind_text(1, blob.id);
    insert_blob_.bind_blob(2, blob.bytes);
    TRY(insert_blob_.run());
  }
  return {};
}

// A hint, written after the commit and not synced: it may lag behind the journal, never run ahead
// of it. So a failure to write it costs nothing but the check at the next start.
void SqliteJournal::acknowledge(Seq seq) {
  const std::string text = acknowledged_text(seq);
  ASSERT(text.size() == kAcknowledgedSize);
  static_cast<void>(::pwrite(acknowledged_.fd(), text.data(), text.size(), 0));
}

// After a commit whose outcome is unknown the log may hold a record that SQLite itself does not
// count, and that would come back after a crash. A commit of our own takes its place, so that what
// is read next stays.
Status SqliteJournal::settle() {
  const std::lock_guard lock(writing_);
  if (!unknown_) return {};
  Transaction transaction = TRY(Transaction::begin(*writer_));
  TRY(writer_->exec("UPDATE about SET settled = settled + 1"));
  TRY(transaction.commit());
  last_ = TRY(last_of(*writer_));
  unknown_ = false;
  return {};
}

// A replay is rare and long: it has a connection of its own, and with it one unchanging view.
Result<Seq> SqliteJournal::read(Seq from, const Visitor& visit) {
  TRY(settle());
  Connection connection = TRY(Connection::open(path_, Access::ReadOnly));
  TRY(connection.exec("BEGIN"));
  from = std::max(from, Seq{1});
  const Seq first = TRY(first_kept(connection));
  if (from < first) return compacted_away(from, first);
  return visit_rows(connection, from, visit);
}

Result<Seq> SqliteJournal::visit_rows(Connection& connection, Seq from, const Visitor& visit) {
  const Seq last = TRY(last_of(connection));
  if (from > last) return last;
  Statement rows = TRY(
      connection.prepare("SELECT seq, event, checksum FROM events WHERE seq >= ? ORDER BY seq"));
  rows.bind(1, signed_seq(from));
  Seq expected = from;
  for (;; ++expected) {
    const Result<bool> row = rows.step();
    if (!row.ok()) return damaged_row(expected, row.error().message);
    if (!*row) break;
    if (static_cast<Seq>(rows.integer(0)) != expected)
      return damaged_row(expected, "it is missing");
    const std::string_view event = rows.bytes(1);
    const std::uint32_t checksum = row_checksum(expected, event);
    if (rows.integer(2) != checksum)
      return damaged_row(expected, format("its checksum is {:08x}, recorded is {:08x}", checksum,
                                          rows.integer(2)));
    if (visit) TRY(visit(expected, event));
  }
  if (expected != last + 1) return damaged_row(expected, "it is missing");
  return last;
}

Error SqliteJournal::damaged_row(Seq seq, std::string_view how) const {
  return internal(
      format("event {} of the journal {} is damaged: {}. Nothing was changed. Check the disk, then "
             "restore a backup: move the files {}* aside and copy the backup's to their place",
             seq, path_, how, path_));
}

// Number of the last event, also when compaction has taken them all.
Result<Seq> SqliteJournal::last_of(Connection& connection) {
  return static_cast<Seq>(TRY(connection.integer(
      "SELECT max(compacted, coalesce((SELECT max(seq) FROM events), 0)) FROM about")));
}

Result<Seq> SqliteJournal::first_kept(Connection& connection) {
  return static_cast<Seq>(TRY(connection.integer("SELECT compacted + 1 FROM about")));
}

Result<std::string> SqliteJournal::blob(const BlobId& id) {
  const std::lock_guard lock(reading_);
  const ResetGuard guard(find_blob_);
  find_blob_.bind_text(1, id);
  if (!TRY(find_blob_.step())) return not_found(format("the journal has no blob {}", id));
  std::string bytes(find_blob_.bytes(0));
  if (sha256_hex(bytes) != id)
    return internal(
        format("blob {} of the journal {} is damaged. Check the disk; restore it from a backup", id,
               path_));
  return bytes;
}

Status SqliteJournal::save_snapshot(Seq seq, std::span<const std::string> chunks) {
  const Seq last = TRY(last_seq());
  TRY(check_snapshot_seq(seq, last));
  return snapshots_->save(seq, chunks);
}

Result<std::optional<Snapshot>> SqliteJournal::load_snapshot() {
  std::vector<std::string> warnings;
  std::optional<Snapshot> snapshot = snapshots_->newest(warnings);
  const std::lock_guard lock(reading_);
  const Seq first = TRY(first_kept(*reader_));
  if ((snapshot ? snapshot->seq : 0) + 1 < first) return no_snapshot_left(first, warnings);
  return snapshot;
}

Result<Seq> SqliteJournal::compact() {
  if (!writer_) return invalid(format("the journal {} is open for reading only", path_));
  std::vector<Seq> whole;
  const std::vector<Seq> all = snapshots_->list();
  for (auto seq = all.rbegin(); seq != all.rend() && whole.size() < 2; ++seq)
    if (snapshots_->load(*seq).ok()) whole.push_back(*seq);
  const Seq keep = whole.size() < 2 ? 0 : whole.back();
  for (;;) {
    const std::lock_guard lock(writing_);
    const Seq first = TRY(first_kept(*writer_));
    if (first > keep) {
      snapshots_->remove_before(keep);
      return first;
    }
    const Seq until = std::min(keep, first + kCompactionSlice - 1);
    Transaction transaction = TRY(Transaction::begin(*writer_));
    TRY(writer_->exec(
        format("DELETE FROM events WHERE seq <= {0}; UPDATE about SET compacted = {0}", until)
            .c_str()));
    TRY(transaction.commit());
    crash_point("mid-compact");
  }
}

Status SqliteJournal::backup(const std::string& path) {
  if (file_size(path) > 0) return conflict(format("{} is there already. Name another path", path));
  // Snapshots first, so that none of them is newer than the copy of the events.
  TRY(snapshots_->copy_to(path));
  Connection source = TRY(Connection::open(path_, Access::ReadOnly));
  TRY(source.backup_to(path));
  const auto copy = TRY(open_beside(path));
  TRY(copy->load_snapshot());
  return {};
}

Result<Space> SqliteJournal::space() const {
  Space space = TRY(space_at(directory_of(path_)));
  space.reserve_bytes = file_size(path_ + "-reserve");
  return space;
}

Status SqliteJournal::release_reserve() { return release_space(path_ + "-reserve"); }

Status SqliteJournal::refill_reserve() {
  return reserve_space(path_ + "-reserve", options_.reserve_bytes);
}

Status SqliteJournal::limit_pages(std::int64_t pages) {
  const std::lock_guard lock(writing_);
  return writer_->exec(format("PRAGMA max_page_count = {}", pages).c_str());
}

}  // namespace phalanx::store
