#include "ledger/ledger.h"

#include "model/usage.h"

namespace phalanx::ledger {

Usage usage_of(const NodeShare& share, Duration held) {
  return phalanx::usage_of(share.cpus, share.memory, share.gpus.size(), held);
}

}  // namespace phalanx::ledger
