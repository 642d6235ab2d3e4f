// Blobs: content that is too big for an event (scripts, environments, long bodies), kept beside the
// journal under the SHA-256 of its bytes. The same content is stored once. Who still refers to a
// blob is counted by the core; the journal only stores, returns and drops them, in the same commit
// as the events.
#pragma once

#include <string>
#include <string_view>

namespace phalanx::store {

using BlobId = std::string;  // 64 lower-case hexadecimal digits

BlobId sha256_hex(std::string_view bytes);

struct Blob {
  BlobId id = {};  // sha256_hex(bytes): make_blob sees to it, the journal checks it when it reads
  std::string bytes = {};
};
Blob make_blob(std::string bytes);

}  // namespace phalanx::store
