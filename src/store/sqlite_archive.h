// The default archive: a SQLite database of its own, in WAL mode with synchronous=FULL. One
// connection writes, another reads; each has a mutex, so that readers wait for readers, but not for
// the writer.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "store/archive.h"
#include "store/sqlite.h"

namespace phalanx::store {

class SqliteArchive final : public Archive {
 public:
  // Opens or creates. Invalid if the file is something else or newer than this program.
  static Result<std::unique_ptr<SqliteArchive>> open(const std::string& path);

  Status keep(std::span<const Blob> texts, std::int64_t until_ms, std::int64_t now_ms) override;
  Result<std::string> text(const BlobId& id) override;
  Status put(std::span<const ArchiveRow> rows) override;
  Result<std::vector<ArchiveRow>> query(const ArchiveFilter& filter) override;
  Result<std::uint64_t> count() override;
  Result<std::uint64_t> prune(std::int64_t end_ms) override;

  // Copies the archive, as of one instant, to `path`, where no file may be yet. Writes go on
  // meanwhile.
  Status backup(const std::string& path);

 private:
  explicit SqliteArchive(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::mutex writing_;  // guards writer_ and its statement
  std::optional<Connection> writer_;
  Statement put_, keep_, forget_;
  std::mutex reading_;  // guards reader_
  std::optional<Connection> reader_;
};

}  // namespace phalanx::store
