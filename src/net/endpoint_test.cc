#include "net/endpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "net/test_server.h"

namespace phalanx::net {
namespace {

TEST(Endpoint, ReadsWhatItWrites) {
  for (const std::string_view text :
       {"/run/a.sock", "unix:a.sock", "node7:7070", "127.0.0.1:1", "[::1]:65535"}) {
    const auto endpoint = Endpoint::parse(text);
    ASSERT_TRUE(endpoint.ok()) << text;
    EXPECT_EQ(to_string(*endpoint), text);
  }
  for (const std::string_view text :
       {"", "host", "host:", "host:0", "host:65536", "host:x", ":80", "::1:80", "unix:"})
    EXPECT_FALSE(Endpoint::parse(text).ok()) << text;
}

TEST(Listen, SetsTheModeWhateverTheUmask) {
  const TempFolder folder;
  const mode_t old = ::umask(0077);
  const auto fd = listen_unix({.path = folder.file("s"), .mode = 0666, .owner = ::getuid()});
  ::umask(old);
  ASSERT_TRUE(fd.ok());
  struct stat info{};
  ASSERT_EQ(::stat(folder.file("s").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0666U);
}

TEST(Listen, ReplacesOnlyWhatNobodyListensOn) {
  const TempFolder folder;
  const UnixSocket socket{.path = folder.file("s"), .mode = 0600};
  auto first = listen_unix(socket);
  ASSERT_TRUE(first.ok());
  const auto second = listen_unix(socket);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Error::Code::Conflict);
  first->reset();  // leaves the file, as a crash does
  EXPECT_TRUE(listen_unix(socket).ok());

  std::ofstream(folder.file("precious")) << "data";
  EXPECT_EQ(listen_unix({.path = folder.file("precious"), .mode = 0600}).error().code,
            Error::Code::Conflict);
  EXPECT_TRUE(std::filesystem::exists(folder.file("precious")));
}

TEST(Listen, SaysWhenAPathIsTooLong) {
  const TempFolder folder;
  const std::string path = folder.file(std::string(120, 'x'));
  const auto fd = listen_unix({.path = path, .mode = 0600});
  ASSERT_FALSE(fd.ok());
  EXPECT_EQ(fd.error().code, Error::Code::Invalid);
  EXPECT_NE(fd.error().message.find("at most 107 bytes"), std::string::npos) << fd.error().message;
}

TEST(Listen, TellsThatAPortIsTaken) {
  const auto first = listen_tcp("127.0.0.1", 0);
  ASSERT_TRUE(first.ok());
  const auto second = listen_tcp("127.0.0.1", local_port(first->get()));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Error::Code::Conflict);
}

}  // namespace
}  // namespace phalanx::net
