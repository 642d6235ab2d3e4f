// State as the chunks of a snapshot, and State as a journal says it is: its newest snapshot and the
// events after it. What recovers a controller and what makes the next snapshot (`phalanx compact`)
// is the same code, so that every compaction tries the next recovery.
//
// Chunks: the first is State without its three big tables and says how many rows they have; each
// other one holds some of the rows, so that nothing as big as State is ever parsed in one piece.
//
// Any thread. Errors: Internal where the journal or a snapshot cannot be read as what it should be.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/state.h"
#include "store/store.h"

namespace phalanx::server {

// Takes the State apart: twice its size would not fit everywhere.
std::vector<std::string> snapshot_chunks(State state);
Result<State> state_of(const std::vector<std::string>& chunks);

struct Replayed {
  State state;
  store::Seq snapshot = 0;                 // what it began with; 0: none
  std::uint64_t events = 0, bytes = 0;     // after the snapshot
  std::vector<std::string> warnings = {};  // snapshots that were passed over
};
// As of event `until`, or of the journal's last one.
Result<Replayed> replay(store::Journal& journal,
                        store::Seq until = std::numeric_limits<store::Seq>::max());

// SHA-256 of cluster::projection: what two replays of the same events must agree on.
std::string fingerprint(const State& state);

// What the live controller knows of its own State at one event.
struct Expected {
  store::Seq seq = 0;
  std::string fingerprint;
};
// Replays up to `expected.seq`, saves the snapshot, and returns what was replayed (its State is
// spent). Conflict, and nothing saved, where the replay comes to another State than expected.
Result<Replayed> save_next_snapshot(store::Journal& journal, const Expected& expected);

}  // namespace phalanx::server
