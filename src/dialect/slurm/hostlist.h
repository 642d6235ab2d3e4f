// Host lists: "n[01-04,7],login" to names and back. Several bracket groups and zero padding are
// read; folding writes one group over the last number of a name and keeps its width, so that
// expand(fold(x)) gives x again. A range counts before it is built: a list of more than kMaxHosts
// names is refused at once, whatever its size. Pure functions over text; errors are Error{Invalid}
// and name the bad piece.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace phalanx::slurm {

inline constexpr std::size_t kMaxHosts = 65'536;
inline constexpr std::size_t kMaxHostName = 255;  // bytes

// The names in the order written, duplicates kept. Commas and white space separate; empty pieces
// are skipped.
Result<std::vector<std::string>> expand_hosts(std::string_view list, std::size_t limit = kMaxHosts);

// In the given order: n3,n1,n2 is "n[3,1-2]" (scontrol show hostlist).
std::string fold_hosts(std::span<const std::string> names);
// Sorted by prefix, number and width: n3,n1,n2 is "n[1-3]" (scontrol show hostlistsorted).
std::string fold_hosts_sorted(std::span<const std::string> names);

// By prefix, then the trailing number, then its width: n2 comes before n10.
bool host_before(std::string_view a, std::string_view b);

}  // namespace phalanx::slurm
