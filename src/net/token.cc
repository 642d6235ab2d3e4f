#include "net/token.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/codec.h"
#include "base/text.h"
#include "net/fd.h"

namespace phalanx::net {
namespace {

constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kMaxToken = 1024 * 1024;  // a step's carries the environment of its tasks
constexpr std::size_t kMacBytes = 32;

std::string base64url(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<std::uint8_t>(c);
    for (held += 8; held >= 6;) {
      held -= 6;
      out += kAlphabet[(bits >> held) & 63];
    }
  }
  if (held > 0) out += kAlphabet[(bits << (6 - held)) & 63];
  return out;
}

// Only the one canonical spelling: no padding, no bits left over.
std::optional<std::string> from_base64url(std::string_view text) {
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>((bits >> held) & 255);
  }
  if (held >= 6 || (bits & ((1U << held) - 1)) != 0) return std::nullopt;
  return out;
}

std::array<unsigned char, kMacBytes> signature_of(std::string_view text, const TokenKey& key) {
  std::array<unsigned char, kMacBytes> mac{};
  unsigned size = 0;
  const unsigned char* done =
      ::HMAC(::EVP_sha256(), key.bytes().data(), static_cast<int>(key.bytes().size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size);
  ASSERT(done && size == kMacBytes);
  return mac;
}

std::string_view as_text(const std::array<unsigned char, kMacBytes>& mac) {
  return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}

Error bad_token(std::string_view why) { return denied(format("the token is not valid: {}", why)); }

Status check_header(std::string_view text) {
  const auto json = codec::parse_json(text);
  const auto* object = json ? json->if_object() : nullptr;
  const auto* algorithm = object ? object->if_contains("alg") : nullptr;
  const auto* name = algorithm ? algorithm->if_string() : nullptr;
  if (!name || *name != "HS256") return bad_token("it is not signed with HS256");
  // RFC 7515 section 4.1.11: extensions that must be understood.
  if (object->contains("crit")) return bad_token("it asks for an extension that is unknown here");
  return {};
}

// A number of seconds, perhaps with a fraction (RFC 7519 section 2), rounded down.
std::optional<std::int64_t> seconds_of(const boost::json::value& value) {
  constexpr double kLargest = 1e15;
  if (const auto* i = value.if_int64()) return *i;
  if (value.is_uint64()) return static_cast<std::int64_t>(kLargest);
  if (const auto* d = value.if_double(); d && *d > -kLargest && *d < kLargest)
    return static_cast<std::int64_t>(*d);
  return std::nullopt;
}

Status check_claims(std::string_view text, Time now) {
  const auto json = codec::parse_json(text);
  const auto* object = json ? json->if_object() : nullptr;
  if (!object) return bad_token("its claims are not a JSON object");
  const auto* expiry = object->if_contains("exp");
  const auto end = expiry ? seconds_of(*expiry) : std::nullopt;
  if (!end) return bad_token("it has no expiry");
  if (unix_seconds(now) >= *end) return denied("the token has expired; get a new one");
  if (const auto* not_before = object->if_contains("nbf")) {
    const auto begin = seconds_of(*not_before);
    if (!begin || unix_seconds(now) < *begin)
      return denied("the token is not valid yet; compare the clocks");
  }
  return {};
}

Error file_error(std::string_view what, const std::string& path) {
  const std::string message =
      format("cannot {} the key file {}: {}", what, path, error_text(errno));
  if (errno == ENOENT) return not_found(message);
  return errno == EACCES || errno == EPERM ? denied(message) : unavailable(message);
}

Status write_synced(const std::string& path, std::string_view bytes) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return file_error("create", path);
  if (::fchmod(fd.get(), 0600) != 0 ||
      ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::fsync(fd.get()) != 0)
    return file_error("write", path);
  return {};
}

void sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
}

}  // namespace

TokenKey::~TokenKey() { wipe(); }

TokenKey& TokenKey::operator=(TokenKey&& other) noexcept {
  if (this != &other) {
    wipe();
    bytes_ = std::move(other.bytes_);
  }
  return *this;
}

void TokenKey::wipe() {
  if (!bytes_.empty()) ::OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

Result<TokenKey> TokenKey::random() {
  TokenKey key;
  key.bytes_.resize(kRandomBytes);
  if (::getrandom(key.bytes_.data(), kRandomBytes, 0) != static_cast<ssize_t>(kRandomBytes))
    return internal(format("the kernel gave no random bytes: {}", error_text(errno)));
  return key;
}

Result<TokenKey> TokenKey::from_bytes(std::string_view bytes) {
  if (bytes.size() < kMinBytes || bytes.size() > kMaxBytes)
    return invalid(
        format("a key has {} to {} bytes, this one {}", kMinBytes, kMaxBytes, bytes.size()));
  TokenKey key;
  key.bytes_.assign(bytes.begin(), bytes.end());
  return key;
}

Result<TokenKey> create_key_file(const std::string& path) {
  TokenKey key = TRY(TokenKey::random());
  // Written aside and linked: whoever sees the name sees the whole key.
  const std::string aside = format("{}.{}.new", path, ::getpid());
  if (Status status = write_synced(aside, key.bytes()); !status) return status.error();
  const bool linked = ::link(aside.c_str(), path.c_str()) == 0;
  const int error = errno;
  ::unlink(aside.c_str());
  if (linked) {
    sync_folder_of(path);
    return key;
  }
  errno = error;
  if (error == EEXIST)
    return conflict(format("the key file {} exists; remove it to make a new key", path));
  return file_error("create", path);
}

Result<TokenKey> read_key_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return file_error("read", path);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return file_error("look at", path);
  if (!S_ISREG(info.st_mode)) return denied(format("the key file {} is not a regular file", path));
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return denied(format("the key file {} belongs to user {}; it must belong to user {} or root",
                         path, info.st_uid, ::geteuid()));
  if ((info.st_mode & 077) != 0)
    return denied(format("the key file {} is open to group or others (mode {:o}); run chmod 600 {}",
                         path, info.st_mode & 07777, shell_quote(path)));
  std::array<char, TokenKey::kMaxBytes + 1> buffer;
  const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  if (got < 0) return file_error("read", path);
  auto key = TokenKey::from_bytes({buffer.data(), static_cast<std::size_t>(got)});
  ::OPENSSL_cleanse(buffer.data(), buffer.size());
  if (!key) return invalid(format("the key file {}: {}", path, key.error().message));
  return key;
}

std::string sign_token(std::string_view claims, const TokenKey& key) {
  std::string token = base64url(kHeader);
  token += '.';
  token += base64url(claims);
  const auto mac = signature_of(token, key);
  token += '.';
  token += base64url(as_text(mac));
  return token;
}

Result<std::string> verify_token(std::string_view token, const TokenKey& key, Time now) {
  if (token.size() > kMaxToken) return bad_token("it is too long");
  const auto parts = split(token, '.');
  if (parts.size() != 3) return bad_token("it does not have three parts");
  const auto header = from_base64url(parts[0]);
  auto claims = from_base64url(parts[1]);
  const auto signature = from_base64url(parts[2]);
  if (!header || !claims || !signature) return bad_token("it is not base64url");
  // The signature first: what nobody we know has signed is not parsed.
  const auto mac = signature_of(token.substr(0, parts[0].size() + 1 + parts[1].size()), key);
  if (signature->size() != kMacBytes ||
      ::CRYPTO_memcmp(signature->data(), mac.data(), kMacBytes) != 0)
    return bad_token("its signature is wrong");
  TRY(check_header(*header));
  TRY(check_claims(*claims, now));
  return std::move(*claims);
}

}  // namespace phalanx::net
