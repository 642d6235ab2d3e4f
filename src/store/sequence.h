// The rules of numbering that every journal shares, and the words in which a breach is told.
#pragma once

#include <span>
#include <string>

#include "base/assert.h"
#include "base/text.h"
#include "store/journal.h"

namespace phalanx::store {

inline Status check_follows(Seq last, std::span<const Batch> batches) {
  ASSERT(!batches.empty());
  Seq next = last + 1;
  for (const Batch& batch : batches) {
    ASSERT(!batch.events.empty());
    if (batch.first_seq != next)
      return conflict(
          format("the journal goes on at event {}, but the batch starts at {}: somebody else has "
                 "written to it. Read it back and try again",
                 next, batch.first_seq));
    next += batch.events.size();
  }
  return {};
}

inline Status check_snapshot_seq(Seq seq, Seq last) {
  if (seq == 0 || seq > last)
    return invalid(
        format("a snapshot of event {} cannot be saved: the journal ends at {}", seq, last));
  return {};
}

inline Error read_back_first() {
  return internal("the outcome of an earlier append is unknown: read the journal back first");
}

inline Error compacted_away(Seq from, Seq first) {
  return not_found(
      format("event {} was compacted away, the journal starts at {}: load the newest snapshot "
             "and read from there",
             from, first));
}

inline Error no_snapshot_left(Seq first, std::span<const std::string> warnings) {
  return internal(
      format("the journal starts at event {}, and no whole snapshot before it is left{}{}. "
             "Restore the journal from a backup",
             first, warnings.empty() ? "" : ": ", join(warnings, "; ")));
}

}  // namespace phalanx::store
