// Signed tokens: JWT with HS256 (RFC 7519, RFC 7515), so that curl and kubectl can carry them as
// bearers, and the keys that sign them. The claims are one JSON object; what they mean is the
// caller's matter, except `exp` and `nbf` (seconds since 1970), which verify() enforces: a token
// without `exp` is refused. Thread-safe. A key is wiped from memory when its owner goes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace phalanx::net {

class TokenKey {
 public:
  static constexpr std::size_t kRandomBytes = 32;
  static constexpr std::size_t kMinBytes = 32;
  static constexpr std::size_t kMaxBytes = 4096;

  static Result<TokenKey> random();
  static Result<TokenKey> from_bytes(std::string_view bytes);  // kMinBytes to kMaxBytes
  TokenKey(TokenKey&&) noexcept = default;
  TokenKey& operator=(TokenKey&& other) noexcept;
  ~TokenKey();

  [[nodiscard]] std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }

 private:
  TokenKey() = default;
  void wipe();
  std::vector<char> bytes_;
};

// Makes a random key and its file, mode 0600, synced to disk. Conflict where the file exists.
Result<TokenKey> create_key_file(const std::string& path);
// Denied where the file is not a regular one, does not belong to us or root, or lets group or
// others in.
Result<TokenKey> read_key_file(const std::string& path);

// `claims` is the text of a JSON object.
std::string sign_token(std::string_view claims, const TokenKey& key);
// The text of the claims, exactly as signed. Denied with a reason for people: malformed, another
// algorithm, a wrong signature (compared in constant time), expired, not valid yet.
Result<std::string> verify_token(std::string_view token, const TokenKey& key, Time now);

}  // namespace phalanx::net
