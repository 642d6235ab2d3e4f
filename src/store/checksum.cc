#include "store/checksum.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace phalanx::store {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, bits reversed

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: the checksum of the byte b followed by k zero bytes ("slicing by eight").
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8U) ^ tables[0][tables[k - 1][byte] & 255U];
  return tables;
}
constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
  std::uint32_t crc = ~seed;
  while (bytes.size() >= 8) {
    std::array<unsigned char, 8> in{};
    std::memcpy(in.data(), bytes.data(), in.size());
    for (std::size_t i = 0; i < 4; ++i)
      in[i] = static_cast<unsigned char>(in[i] ^ (crc >> (8 * i)));
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][in[i]];
    bytes.remove_prefix(8);
  }
  for (const char c : bytes)
    crc = (crc >> 8U) ^ kTables[0][(crc ^ static_cast<unsigned char>(c)) & 255U];
  return ~crc;
}

std::uint32_t row_checksum(std::uint64_t seq, std::string_view event) {
  std::array<char, 8> place{};
  for (std::size_t i = 0; i < place.size(); ++i)
    place[i] = static_cast<char>(static_cast<unsigned char>(seq >> (8 * i)));
  return crc32c(event, crc32c({place.data(), place.size()}));
}

}  // namespace phalanx::store
