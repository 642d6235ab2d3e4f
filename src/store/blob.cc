#include "store/blob.h"

#include <openssl/evp.h>

#include <array>
#include <utility>

#include "base/assert.h"

namespace phalanx::store {

BlobId sha256_hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  ASSERT(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  ASSERT(size == digest.size());
  constexpr std::string_view kDigits = "0123456789abcdef";
  BlobId hex;
  hex.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    hex.push_back(kDigits[byte >> 4U]);
    hex.push_back(kDigits[byte & 15U]);
  }
  return hex;
}

Blob make_blob(std::string bytes) {
  BlobId id = sha256_hex(bytes);
  return {std::move(id), std::move(bytes)};
}

}  // namespace phalanx::store
