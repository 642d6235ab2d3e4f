#include "store/sqlite.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/text.h"

namespace phalanx::store {
namespace {

constexpr int kBusyTimeoutMs = 5000;

// SQLite gives a new database the rights that the umask leaves; ours holds scripts and
// environments.
Status create_private(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return unavailable(format("cannot open {}: {}", path, std::strerror(errno)));
  ::close(fd);
  return {};
}

}  // namespace

Error sqlite_error(sqlite3* db, std::string_view doing) {
  const std::string text = format("{}: {}", doing, sqlite3_errmsg(db));
  switch (sqlite3_errcode(db) & 0xff) {
    // These are noticed before a commit record is written.
    case SQLITE_FULL:
      return unavailable(text + ". Make room on its file system");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
      return unavailable(text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return internal(text + ". The file is damaged: restore it from a backup");
    default:
      return internal(text);
  }
}

void Statement::bind(int index, std::int64_t value) {
  ASSERT(sqlite3_bind_int64(statement_.get(), index, value) == SQLITE_OK);
}

void Statement::bind_text(int index, std::string_view text) {
  const char* data = text.data() == nullptr ? "" : text.data();
  ASSERT(sqlite3_bind_text64(statement_.get(), index, data, text.size(), SQLITE_STATIC,
                             SQLITE_UTF8) == SQLITE_OK);
}

void Statement::bind_blob(int index, std::string_view bytes) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  ASSERT(sqlite3_bind_blob64(statement_.get(), index, data, bytes.size(), SQLITE_STATIC) ==
         SQLITE_OK);
}

Result<bool> Statement::step() {
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      return false;
    default:
      sqlite3* const db = sqlite3_db_handle(statement_.get());
      return sqlite_error(db, format("cannot use {}", sqlite3_db_filename(db, "main")));
  }
}

Status Statement::run() {
  const ResetGuard guard(*this);
  while (TRY(step())) {
  }
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

Result<Connection> Connection::open(const std::string& path, Access access) {
  if (access == Access::ReadWrite) TRY(create_private(path));
  Connection connection;
  sqlite3* db = nullptr;
  // Also a reader opens for writing, since it shares the index of the write-ahead log; query_only
  // keeps it from changing anything.
  const int code =
      sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  connection.db_.reset(db);
  if (code != SQLITE_OK) return sqlite_error(db, format("cannot open {}", path));
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, kBusyTimeoutMs);
  if (access == Access::ReadOnly) TRY(connection.exec("PRAGMA query_only = ON"));
  return connection;
}

Status Connection::exec(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return sqlite_error(db_.get(), format("cannot use {}", sqlite3_db_filename(db_.get(), "main")));
}

Result<Statement> Connection::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) == SQLITE_OK)
    return Statement(statement);
  return sqlite_error(db_.get(), format("cannot read {}", sqlite3_db_filename(db_.get(), "main")));
}

Result<std::int64_t> Connection::integer(std::string_view sql) {
  Statement statement = TRY(prepare(sql));
  if (!TRY(statement.step())) return not_found(format("no row for: {}", sql));
  return statement.integer(0);
}

std::int64_t Connection::changes() const { return sqlite3_changes64(db_.get()); }

Status Connection::backup_to(const std::string& path) {
  Connection target = TRY(Connection::open(path, Access::ReadWrite));
  sqlite3_backup* backup = sqlite3_backup_init(target.handle(), "main", handle(), "main");
  if (backup == nullptr) return sqlite_error(target.handle(), format("cannot copy to {}", path));
  sqlite3_backup_step(backup, -1);
  if (sqlite3_backup_finish(backup) != SQLITE_OK)
    return sqlite_error(target.handle(), format("cannot copy to {}", path));
  return {};
}

Result<Transaction> Transaction::begin(Connection& connection) {
  TRY(connection.exec("BEGIN IMMEDIATE"));
  return Transaction(connection);
}

Transaction::~Transaction() {
  // Some errors have rolled back already; then this one says so, and there is nothing to do about
  // it.
  if (connection_ != nullptr) static_cast<void>(connection_->exec("ROLLBACK"));
}

Status Transaction::commit() {
  TRY(connection_->exec("COMMIT"));
  connection_ = nullptr;
  return {};
}

Status check_format(Connection& connection, const std::string& path, const Format& wanted) {
  const std::int64_t id = TRY(connection.integer("PRAGMA application_id"));
  const std::int64_t version = TRY(connection.integer("PRAGMA user_version"));
  if (id != wanted.application_id)
    return invalid(format("{} is not a {} of Phalanx. Name another path", path, wanted.noun));
  if (version > wanted.version)
    return invalid(format(
        "the {} {} has format {}, written by a newer Phalanx; this one reads up to format {}. "
        "Install the newer version again, or restore a backup from before the upgrade",
        wanted.noun, path, version, wanted.version));
  return {};
}

Status create_or_check_format(Connection& connection, const std::string& path,
                              const Format& wanted) {
  const std::int64_t tables = TRY(connection.integer("SELECT count(*) FROM sqlite_schema"));
  if (tables > 0) return check_format(connection, path, wanted);
  Transaction transaction = TRY(Transaction::begin(connection));
  TRY(connection.exec(wanted.schema));
  TRY(connection.exec(format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                             wanted.application_id, wanted.version)
                          .c_str()));
  return transaction.commit();
}

}  // namespace phalanx::store
