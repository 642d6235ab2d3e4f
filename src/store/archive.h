// Finished work, for those who ask about the past. Rows are written idempotently by key, so that a
// row sent twice through a crash is there once. The columns are what people select by; everything
// else is in `body`, JSON that this room does not look into.
//
// Threads: every method may be called from any thread; queries do not wait for writes. Times are
// Unix milliseconds; 0 means "never happened".
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/blob.h"

namespace phalanx::store {

struct ArchiveRow {
  std::string key = {};  // unique; a row with the same key is replaced
  std::int64_t number = 0;
  std::int64_t array_number = 0;  // 0: not of an array
  std::int64_t array_index = -1;  // -1: not of an array
  std::string user = {};
  std::int64_t uid = 0;
  std::string account = {};
  std::string partition = {};
  std::string name = {};
  std::string state = {};
  std::int64_t submit_ms = 0;
  std::int64_t start_ms = 0;
  std::int64_t end_ms = 0;
  std::string body = {};

  bool operator==(const ArchiveRow&) const = default;
};

// Conditions are joined by "and", the values of one list by "or"; an empty list allows everything.
struct ArchiveFilter {
  std::vector<std::string> keys = {};
  std::vector<std::int64_t> numbers = {};  // of the work, or of the array that it belongs to
  std::vector<std::string> users = {};
  std::vector<std::string> accounts = {};
  std::vector<std::string> partitions = {};
  std::vector<std::string> names = {};
  std::vector<std::string> states = {};
  // Work that existed at some instant in [from, until): submitted before `until`, not ended before
  // `from`.
  std::optional<std::int64_t> from_ms = {};
  std::optional<std::int64_t> until_ms = {};
  bool newest_first = false;  // else by number, then array index, then key
  std::size_t limit = std::numeric_limits<std::int32_t>::max();
};

class Archive {
 public:
  virtual ~Archive() = default;
  // Texts that the rows name, for whoever may want to run them again: kept until then at least, and
  // dropped some time after `now_ms` is later. Put those of a row before the row.
  virtual Status keep(std::span<const Blob> texts, std::int64_t until_ms, std::int64_t now_ms) = 0;
  virtual Result<std::string> text(const BlobId& id) = 0;  // NotFound: not kept (any more)
  // One durable commit, all or nothing. After an error put the same rows again.
  virtual Status put(std::span<const ArchiveRow> rows) = 0;
  virtual Result<std::vector<ArchiveRow>> query(const ArchiveFilter& filter) = 0;
  virtual Result<std::uint64_t> count() = 0;
  // Removes work that ended before `end_ms`; returns how many rows went.
  virtual Result<std::uint64_t> prune(std::int64_t end_ms) = 0;
};

}  // namespace phalanx::store
