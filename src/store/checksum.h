// CRC-32C (Castagnoli), by which rows and snapshot files show that a bit has flipped. It guards
// against disks and memory, not against people.
#pragma once

#include <cstdint>
#include <string_view>

namespace phalanx::store {

// Continues from `seed`: crc32c(b, crc32c(a)) is the checksum of a followed by b.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

// The checksum of a journal row: it covers the sequence number too, so that a row in the wrong
// place shows.
std::uint32_t row_checksum(std::uint64_t seq, std::string_view event);

}  // namespace phalanx::store
