// Any text as a host list: no crash, bounded, and folding gives back what was expanded.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "dialect/slurm/hostlist.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace slurm = phalanx::slurm;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto names = slurm::expand_hosts(text, 2'000);
  if (!names.ok()) return 0;
  ASSERT(names->size() <= 2'000);
  const auto again = slurm::expand_hosts(slurm::fold_hosts(*names), 2'000);
  ASSERT(again.ok() && *again == *names);
  const auto sorted = slurm::expand_hosts(slurm::fold_hosts_sorted(*names), 2'000);
  std::stable_sort(names->begin(), names->end(), slurm::host_before);
  ASSERT(sorted.ok() && *sorted == *names);
  return 0;
}
