#include "store/sqlite_archive.h"

#include <utility>
#include <variant>

#include "base/text.h"
#include "store/disk.h"

namespace phalanx::store {
namespace {

constexpr Format kFormat{.application_id = 0x50484c41,  // "PHLA"
                         .version = 1,
                         .noun = "archive",
                         .schema = R"sql(
      CREATE TABLE work (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, number INTEGER NOT NULL,
        array_number INTEGER NOT NULL, array_index INTEGER NOT NULL, user TEXT NOT NULL,
        uid INTEGER NOT NULL, account TEXT NOT NULL, partition TEXT NOT NULL, name TEXT NOT NULL,
        state TEXT NOT NULL, submit_ms INTEGER NOT NULL, start_ms INTEGER NOT NULL,
        end_ms INTEGER NOT NULL, body TEXT NOT NULL);
      CREATE INDEX work_by_number ON work (number);
      CREATE INDEX work_by_array ON work (array_number) WHERE array_number > 0;
      CREATE INDEX work_by_user ON work (user, end_ms);
      CREATE INDEX work_by_end ON work (end_ms);
    )sql"};

// Beside the format's tables: earlier programs do not look at it.
constexpr const char* kTexts = R"sql(
      CREATE TABLE IF NOT EXISTS texts (id TEXT PRIMARY KEY, until_ms INTEGER NOT NULL,
                                        bytes BLOB NOT NULL);
      CREATE INDEX IF NOT EXISTS texts_by_until ON texts (until_ms);
    )sql";

constexpr std::string_view kColumns =
    "key, number, array_number, array_index, user, uid, account, partition, name, state, "
    "submit_ms, start_ms, "
    "end_ms, body";
constexpr std::size_t kMostValues = 30'000;  // SQLite takes 32,766 parameters
constexpr std::int64_t kPruneSlice = 2'000;  // rows deleted in one commit

using Value = std::variant<std::int64_t, std::string_view>;

// The condition of a filter and the values for its question marks, in their order.
struct Condition {
  std::string sql = "1";
  std::vector<Value> values;

  void compare(std::string_view comparison, std::int64_t value) {
    sql += format(" AND {} ?", comparison);
    values.emplace_back(value);
  }
  template <class T>
  std::string in_list(std::string_view column, const std::vector<T>& allowed) {
    std::string marks;
    for (const T& value : allowed) {
      marks += marks.empty() ? "?" : ",?";
      values.emplace_back(value);
    }
    return format("{} IN ({})", column, marks);
  }
  void one_of(std::string_view column, const std::vector<std::string>& allowed) {
    if (!allowed.empty()) sql += " AND " + in_list(column, allowed);
  }
};

Condition condition_of(const ArchiveFilter& filter) {
  Condition condition;
  condition.one_of("key", filter.keys);
  if (!filter.numbers.empty()) {
    const std::string number = condition.in_list("number", filter.numbers);
    const std::string array = condition.in_list("array_number", filter.numbers);
    condition.sql += format(" AND ({} OR (array_number > 0 AND {}))", number, array);
  }
  condition.one_of("user", filter.users);
  condition.one_of("account", filter.accounts);
  condition.one_of("partition", filter.partitions);
  condition.one_of("name", filter.names);
  condition.one_of("state", filter.states);
  if (filter.from_ms) condition.compare("end_ms >=", *filter.from_ms);
  if (filter.until_ms) condition.compare("submit_ms <", *filter.until_ms);
  return condition;
}

void bind_row(Statement& statement, const ArchiveRow& row) {
  statement.bind_text(1, row.key);
  statement.bind(2, row.number);
  statement.bind(3, row.array_number);
  statement.bind(4, row.array_index);
  statement.bind_text(5, row.user);
  statement.bind(6, row.uid);
  statement.bind_text(7, row.account);
  statement.bind_text(8, row.partition);
  statement.bind_text(9, row.name);
  statement.bind_text(10, row.state);
  statement.bind(11, row.submit_ms);
  statement.bind(12, row.start_ms);
  statement.bind(13, row.end_ms);
  statement.bind_text(14, row.body);
}

ArchiveRow row_of(const Statement& statement) {
  const auto text = [&](int column) { return std::string(statement.bytes(column)); };
  return {.key = text(0),
          .number = statement.integer(1),
          .array_number = statement.integer(2),
          .array_index = statement.integer(3),
          .user = text(4),
          .uid = statement.integer(5),
          .account = text(6),
          .partition = text(7),
          .name = text(8),
          .state = text(9),
          .submit_ms = statement.integer(10),
          .start_ms = statement.integer(11),
          .end_ms = statement.integer(12),
          .body = text(13)};
}

}  // namespace

Result<std::unique_ptr<SqliteArchive>> SqliteArchive::open(const std::string& path) {
  std::unique_ptr<SqliteArchive> archive(new SqliteArchive(path));
  Connection& writer = archive->writer_.emplace(TRY(Connection::open(path, Access::ReadWrite)));
  TRY(writer.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"));
  TRY(create_or_check_format(writer, path, kFormat));
  TRY(writer.exec(kTexts));
  archive->keep_ = TRY(writer.prepare("INSERT OR REPLACE INTO texts VALUES (?, ?, ?)"));
  archive->forget_ = TRY(writer.prepare("DELETE FROM texts WHERE until_ms < ?"));
  archive->put_ =
      TRY(writer.prepare(format("INSERT OR REPLACE INTO work ({}) VALUES "
                                "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                kColumns)));
  archive->reader_ = TRY(Connection::open(path, Access::ReadOnly));
  return archive;
}

Status SqliteArchive::keep(std::span<const Blob> texts, std::int64_t until_ms,
                           std::int64_t now_ms) {
  const std::lock_guard lock(writing_);
  Transaction transaction = TRY(Transaction::begin(*writer_));
  forget_.bind(1, now_ms);
  TRY(forget_.run());
  for (const Blob& text : texts) {
    keep_.bind_text(1, text.id);
    keep_.bind(2, until_ms);
    keep_.bind_blob(3, text.bytes);
    TRY(keep_.run());
  }
  return transaction.commit();
}

Result<std::string> SqliteArchive::text(const BlobId& id) {
  const std::lock_guard lock(reading_);
  Statement find = TRY(reader_->prepare("SELECT bytes FROM texts WHERE id = ?"));
  find.bind_text(1, id);
  if (!TRY(find.step())) return not_found(format("the archive has no text {}", id));
  std::string bytes(find.bytes(0));
  if (sha256_hex(bytes) != id) return internal(format("text {} of the archive is damaged", id));
  return bytes;
}

Status SqliteArchive::put(std::span<const ArchiveRow> rows) {
  const std::lock_guard lock(writing_);
  Transaction transaction = TRY(Transaction::begin(*writer_));
  for (const ArchiveRow& row : rows) {
    bind_row(put_, row);
    TRY(put_.run());
  }
  return transaction.commit();
}

Result<std::vector<ArchiveRow>> SqliteArchive::query(const ArchiveFilter& filter) {
  const Condition condition = condition_of(filter);
  if (condition.values.size() > kMostValues)
    return invalid(format("the query names {} values, {} are possible: ask in parts",
                          condition.values.size(), kMostValues));
  const std::string direction = filter.newest_first ? "DESC" : "ASC";
  const std::lock_guard lock(reading_);
  Statement rows = TRY(
      reader_->prepare(format("SELECT {} FROM work WHERE {} ORDER BY number {}, array_index {}, "
                              "key {} LIMIT ?",
                              kColumns, condition.sql, direction, direction, direction)));
  int index = 0;
  for (const Value& value : condition.values) {
    ++index;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      rows.bind(index, *number);
    } else {
      rows.bind_text(index, std::get<std::string_view>(value));
    }
  }
  rows.bind(index + 1, static_cast<std::int64_t>(filter.limit));
  std::vector<ArchiveRow> found;
  while (TRY(rows.step())) found.push_back(row_of(rows));
  return found;
}

Result<std::uint64_t> SqliteArchive::count() {
  const std::lock_guard lock(reading_);
  return static_cast<std::uint64_t>(TRY(reader_->integer("SELECT count(*) FROM work")));
}

Result<std::uint64_t> SqliteArchive::prune(std::int64_t end_ms) {
  std::uint64_t removed = 0;
  for (;;) {
    const std::lock_guard lock(writing_);
    TRY(writer_->exec(
        format("DELETE FROM work WHERE id IN (SELECT id FROM work WHERE end_ms < {} LIMIT {})",
               end_ms, kPruneSlice)
            .c_str()));
    const std::int64_t changes = writer_->changes();
    removed += static_cast<std::uint64_t>(changes);
    if (changes < kPruneSlice) return removed;
  }
}

Status SqliteArchive::backup(const std::string& path) {
  if (file_size(path) > 0) return conflict(format("{} is there already. Name another path", path));
  Connection source = TRY(Connection::open(path_, Access::ReadOnly));
  return source.backup_to(path);
}

}  // namespace phalanx::store
