#include "net/token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "net/test_server.h"

namespace phalanx::net {
namespace {

constexpr Time kNow = from_unix_ms(1'800'000'000'000);
const std::string kClaims = R"({"exp":1800000060,"sub":"anna"})";

TokenKey key_of(char c) { return std::move(TokenKey::from_bytes(std::string(32, c)).value()); }

TEST(Token, SignsAsOthersDo) {
  // RFC 7515, appendix A.1: another order of the header's members, so only verify can be compared.
  const std::string token =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
      "fQ."
      "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  const unsigned char bytes[] = {3,   35,  53,  75,  43,  15,  165, 188, 131, 126, 6,   101, 119,
                                 123, 166, 143, 90,  179, 40,  230, 240, 84,  201, 40,  169, 15,
                                 132, 178, 210, 80,  46,  191, 211, 251, 90,  146, 210, 6,   71,
                                 239, 150, 138, 180, 195, 119, 98,  61,  34,  61,  46,  33,  114,
                                 5,   46,  79,  8,   192, 205, 154, 245, 103, 208, 128, 163};
  const auto key = TokenKey::from_bytes({reinterpret_cast<const char*>(bytes), sizeof bytes});
  ASSERT_TRUE(key.ok());
  EXPECT_TRUE(verify_token(token, *key, from_unix_ms(1'300'819'379'999)).ok());
  EXPECT_FALSE(verify_token(token, *key, from_unix_ms(1'300'819'380'000)).ok());
}

TEST(Token, GivesBackTheClaims) {
  const TokenKey key = key_of('k');
  const std::string token = sign_token(kClaims, key);
  EXPECT_EQ(verify_token(token, key, kNow).value(), kClaims);
  const auto late = verify_token(token, key, kNow + seconds(60));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Error::Code::Denied);
  EXPECT_EQ(late.error().message, "the token has expired; get a new one");
}

TEST(Token, EveryChangedCharacterIsNoticed) {
  const TokenKey key = key_of('k');
  const std::string token = sign_token(kClaims, key);
  for (std::size_t i = 0; i < token.size(); ++i) {
    for (const char c : {'A', 'B', '.', '=', '-'}) {
      std::string changed = token;
      changed[i] = c;
      EXPECT_EQ(verify_token(changed, key, kNow).ok(), changed == token) << i;
    }
    EXPECT_FALSE(verify_token(token.substr(0, i), key, kNow).ok()) << i;
  }
  EXPECT_FALSE(verify_token(token + "A", key, kNow).ok());
  EXPECT_FALSE(verify_token(token, key_of('x'), kNow).ok());
}

TEST(Token, RefusesClaimsThatDoNotEnd) {
  const TokenKey key = key_of('k');
  for (const std::string_view claims :
       {R"({})", R"([])", R"(7)", R"({"exp":"soon"})", R"({"exp":null})", R"({"exp":1)",
        R"({"exp":1e300})", R"({"exp":1800000060,"nbf":1800000001})",
        R"({"exp":1800000060,"nbf":"x"})", R"({"exp":-1})"})
    EXPECT_FALSE(verify_token(sign_token(claims, key), key, kNow).ok()) << claims;
  for (const std::string_view claims :
       {R"({"exp":18446744073709551615})", R"({"exp":1800000000.9e1})",
        R"({"exp":1800000001,"nbf":1800000000})"})
    EXPECT_TRUE(verify_token(sign_token(claims, key), key, kNow).ok()) << claims;
}

TEST(Token, KeysLiveInFilesThatNobodyElseCanRead) {
  const TempFolder folder;
  const std::string path = folder.file("key");
  EXPECT_EQ(read_key_file(path).error().code, Error::Code::NotFound);
  const auto made = create_key_file(path);
  ASSERT_TRUE(made.ok());
  const auto read = read_key_file(path);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(made->bytes(), read->bytes());
  EXPECT_EQ(made->bytes().size(), TokenKey::kRandomBytes);
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  EXPECT_EQ(create_key_file(path).error().code, Error::Code::Conflict);

  ::chmod(path.c_str(), 0640);
  const auto open = read_key_file(path);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, Error::Code::Denied);
  EXPECT_NE(open.error().message.find("chmod 600"), std::string::npos);

  const std::string tiny = folder.file("tiny");
  std::ofstream(tiny) << "secret";
  ::chmod(tiny.c_str(), 0600);
  EXPECT_EQ(read_key_file(tiny).error().code, Error::Code::Invalid);
  EXPECT_EQ(read_key_file(folder.file(".")).error().code, Error::Code::Denied);
}

}  // namespace
}  // namespace phalanx::net
