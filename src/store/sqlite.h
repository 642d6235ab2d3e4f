// A thin, owning wrapper over SQLite's C interface, private to this room: connections, prepared
// statements, transactions that roll back when they are left early, and the translation of result
// codes into Errors.
//
// Threads: none of it locks; the owner guards each Connection and its Statements with a mutex.
// Every Statement must be gone before its Connection.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace phalanx::store {

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // Parameters count from 1. Bytes are not copied: they must live until the next reset.
  void bind(int index, std::int64_t value);
  void bind_text(int index, std::string_view text);
  void bind_blob(int index, std::string_view bytes);

  Result<bool> step();  // true: a row is there; false: done
  Status run();         // steps to the end, then resets
  void reset();

  // Columns count from 0. Views live until the next step or reset.
  std::int64_t integer(int column) const;
  std::string_view bytes(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Resets a statement when the scope ends, so that no read transaction stays open on any path.
class ResetGuard {
 public:
  explicit ResetGuard(Statement& statement) : statement_(statement) {}
  ~ResetGuard() { statement_.reset(); }
  ResetGuard(const ResetGuard&) = delete;
  ResetGuard& operator=(const ResetGuard&) = delete;

 private:
  Statement& statement_;
};

enum class Access { ReadWrite, ReadOnly };

class Connection {
 public:
  // Opens `path`; with ReadWrite creates it, readable by its owner alone.
  static Result<Connection> open(const std::string& path, Access access);

  Status exec(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  Result<std::int64_t> integer(std::string_view sql);  // the first column of the first row
  std::int64_t changes() const;                        // rows changed by the last statement
  // Copies the whole database, as of one instant, into a new file.
  Status backup_to(const std::string& path);
  sqlite3* handle() const { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  std::unique_ptr<sqlite3, Close> db_;
};

class Transaction {
 public:
  // IMMEDIATE: takes the write lock now, so that nothing fails for it later.
  static Result<Transaction> begin(Connection& connection);
  Transaction(Transaction&& other) noexcept : connection_(other.connection_) {
    other.connection_ = nullptr;
  }
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  // After Unavailable nothing of it is on disk. After Internal, from a failed write or sync, it may
  // be there after a crash, although no reader sees it now.
  Status commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_ = nullptr;  // null: finished or moved away
};

// What the database is for: stamped into a new file, checked in an old one.
struct Format {
  std::int32_t application_id = 0;
  std::int32_t version = 0;  // the newest that this program reads and writes
  const char* noun = "";     // "journal"
  const char* schema = "";   // creates everything
};
Status create_or_check_format(Connection& connection, const std::string& path,
                              const Format& format);
Status check_format(Connection& connection, const std::string& path, const Format& format);

Error sqlite_error(sqlite3* db, std::string_view doing);

}  // namespace phalanx::store
