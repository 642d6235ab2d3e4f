#include "store/memory_journal.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/text.h"
#include "store/sequence.h"

namespace phalanx::store {

void MemoryJournal::write(const Batch& batch) {
  for (const BlobId& id : batch.dropped_blobs) blobs_.erase(id);
  for (const Blob& blob : batch.blobs) blobs_.emplace(blob.id, blob.bytes);
  events_.insert(events_.end(), batch.events.begin(), batch.events.end());
}

Status MemoryJournal::append(std::span<const Batch> batches) {
  const std::lock_guard lock(mutex_);
  ++appends_;
  if (unknown_) return read_back_first();
  TRY(check_follows(last(), batches));
  std::size_t written = batches.size();
  if (!failures_.empty()) {
    const AppendFailure failure = failures_.front();
    failures_.pop_front();
    if (failure == AppendFailure::Refused) return unavailable("the journal refused the append");
    unknown_ = true;
    if (failure == AppendFailure::UnknownLost) written = 0;
    if (failure == AppendFailure::UnknownTorn) written /= 2;
  }
  for (const Batch& batch : batches.first(written)) write(batch);
  if (unknown_) return internal("the journal did not say whether it has the append");
  return {};
}

Result<Seq> MemoryJournal::read(Seq from, const Visitor& visit) {
  from = std::max(from, Seq{1});
  std::vector<std::string> events;
  Seq end = 0;
  {
    const std::lock_guard lock(mutex_);
    unknown_ = false;
    end = last();
    if (from < first_) return compacted_away(from, first_);
    if (from <= end)
      events.assign(events_.begin() + static_cast<std::ptrdiff_t>(from - first_), events_.end());
  }
  for (std::size_t i = 0; i < events.size(); ++i) TRY(visit(from + i, events[i]));
  return end;
}

Result<std::string> MemoryJournal::blob(const BlobId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = blobs_.find(id);
  if (found == blobs_.end()) return not_found(format("the journal has no blob {}", id));
  return found->second;
}

Status MemoryJournal::save_snapshot(Seq seq, std::span<const std::string> chunks) {
  const std::lock_guard lock(mutex_);
  TRY(check_snapshot_seq(seq, last()));
  snapshots_[seq] = {{chunks.begin(), chunks.end()}, false};
  return {};
}

Result<std::optional<Snapshot>> MemoryJournal::load_snapshot() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> warnings;
  for (auto it = snapshots_.rbegin(); it != snapshots_.rend(); ++it) {
    if (!it->second.damaged) return std::optional(Snapshot{it->first, it->second.chunks, warnings});
    warnings.push_back(format("snapshot {} is damaged", it->first));
  }
  if (first_ > 1) return no_snapshot_left(first_, warnings);
  return std::optional<Snapshot>();
}

Result<Seq> MemoryJournal::compact() {
  const std::lock_guard lock(mutex_);
  std::vector<Seq> whole;
  for (const auto& [seq, saved] : snapshots_)
    if (!saved.damaged) whole.push_back(seq);
  if (whole.size() < 2) return first_;
  const Seq keep = whole[whole.size() - 2];
  snapshots_.erase(snapshots_.begin(), snapshots_.lower_bound(keep));
  for (; first_ <= keep; ++first_) events_.pop_front();
  return first_;
}

void MemoryJournal::fail_next(AppendFailure failure) {
  const std::lock_guard lock(mutex_);
  failures_.push_back(failure);
}

void MemoryJournal::damage_snapshot(Seq seq) {
  const std::lock_guard lock(mutex_);
  const auto found = snapshots_.find(seq);
  ASSERT(found != snapshots_.end());
  found->second.damaged = true;
}

std::size_t MemoryJournal::blob_count() const {
  const std::lock_guard lock(mutex_);
  return blobs_.size();
}

std::size_t MemoryJournal::append_count() const {
  const std::lock_guard lock(mutex_);
  return appends_;
}

}  // namespace phalanx::store
