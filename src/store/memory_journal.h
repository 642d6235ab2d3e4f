// A journal in memory, for tests and simulations: durable as long as the object lives, and able to
// fail on demand in each way that the contract in journal.h allows.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "store/journal.h"

namespace phalanx::store {

// What happens to an append.
enum class AppendFailure {
  Refused,         // Unavailable: nothing is written
  UnknownLost,     // Internal: nothing is written
  UnknownWritten,  // Internal: everything is written
  UnknownTorn,     // Internal: the first half of the batches (rounded down) is written
};

class MemoryJournal final : public Journal {
 public:
  Status append(std::span<const Batch> batches) override;
  Result<Seq> read(Seq from, const Visitor& visit) override;
  Result<std::string> blob(const BlobId& id) override;
  Status save_snapshot(Seq seq, std::span<const std::string> chunks) override;
  Result<std::optional<Snapshot>> load_snapshot() override;
  Result<Seq> compact() override;

  // The next append fails so; calls add up, one append each.
  void fail_next(AppendFailure failure);
  // load_snapshot and compact will pass over it as damaged.
  void damage_snapshot(Seq seq);
  std::size_t blob_count() const;
  std::size_t append_count() const;  // commits tried

 private:
  struct Saved {
    std::vector<std::string> chunks;
    bool damaged = false;
  };
  Seq last() const { return first_ + events_.size() - 1; }
  void write(const Batch& batch);

  mutable std::mutex mutex_;  // guards everything below
  Seq first_ = 1;             // number of events_.front()
  std::deque<std::string> events_;
  std::map<BlobId, std::string> blobs_;
  std::map<Seq, Saved> snapshots_;
  std::deque<AppendFailure> failures_;
  std::size_t appends_ = 0;
  bool unknown_ = false;
};

}  // namespace phalanx::store
