// What a journal promises. It is the only memory of the core that outlives the process: numbered
// events (1, 2, 3, … without gaps), the blobs that they name, and snapshots of the state up to a
// number, so that old events can go.
//
// One append is one durable commit. Its outcome is one of three:
//   ok           every batch is durable: a kill or power cut at any later instant loses none
//   Unavailable, Conflict   nothing of it is there, certainly; the journal is as before
//   Internal     unknown: some of the batches, in order and each of them whole, may be there. The
//   journal
//                refuses further appends until it has been read back.
//
// Threads: every method may be called from any thread; appends wait for each other. Readers see
// only what is durable. Bytes go in and come out unchanged; the journal never looks into them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/blob.h"

namespace phalanx::store {

using Seq = std::uint64_t;  // an event's number; the first is 1, and 0 means "none yet"

struct Batch {
  Seq first_seq = 0;
  std::vector<std::string> events = {};  // at least one
  // Drops come first: a blob in both lists stays. Unknown names are ignored.
  std::vector<BlobId> dropped_blobs = {};
  std::vector<Blob> blobs = {};
};
inline Seq last_seq_of(const Batch& batch) { return batch.first_seq + batch.events.size() - 1; }

struct Snapshot {
  Seq seq = 0;                             // the state after this event
  std::vector<std::string> chunks = {};    // as they were saved
  std::vector<std::string> warnings = {};  // newer snapshots that were damaged, and so passed over
};

class Journal {
 public:
  using Visitor = std::function<Status(Seq, std::string_view event)>;

  virtual ~Journal() = default;

  // Appends the batches in one commit. The first must follow the last event of the journal, each
  // other the one before it; else Conflict: somebody else has written.
  virtual Status append(std::span<const Batch> batches) = 0;
  // Visits the events from `from` to the end and returns the number of the last event in the
  // journal, also where none was visited. Stops at the visitor's first error and returns it.
  // Internal with the row's number where an event is damaged or missing; NotFound where `from` was
  // compacted away.
  virtual Result<Seq> read(Seq from, const Visitor& visit) = 0;
  // The bytes of a blob, checked against its name.
  virtual Result<std::string> blob(const BlobId& id) = 0;

  // A snapshot is visible when all of it is durable. `seq` must be in the journal already.
  virtual Status save_snapshot(Seq seq, std::span<const std::string> chunks) = 0;
  // The newest snapshot that is whole; none in a young journal.
  virtual Result<std::optional<Snapshot>> load_snapshot() = 0;
  // Keeps the two newest snapshots that are whole and the events after the older of them, so that
  // one may be lost; drops what is before. Without two it drops nothing. Returns the first event
  // kept.
  virtual Result<Seq> compact() = 0;

  Result<Seq> last_seq() { return read(std::numeric_limits<Seq>::max(), nullptr); }
};

}  // namespace phalanx::store
