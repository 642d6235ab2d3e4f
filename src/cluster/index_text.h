// Array indexes as text: "1-9", "0,4-5", "1-9:2" (one stride throughout). Internal to cluster/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace phalanx::cluster {

// `indexes` sorted, no index twice.
std::string index_text(const std::vector<std::uint32_t>& indexes);
// The distance between all neighbours, if it is the same; else 1.
std::uint32_t stride_of(const std::vector<std::uint32_t>& indexes);

}  // namespace phalanx::cluster
