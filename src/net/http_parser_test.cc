#include "net/http_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"

namespace phalanx::net {
namespace {

using Phase = HttpParser::Phase;

HttpParser parse(HttpParser::Kind kind, std::string_view text, HttpLimits limits = {}) {
  HttpParser parser(kind, limits);
  parser.feed(text);
  return parser;
}

TEST(HttpParser, ReadsARequest) {
  HttpParser parser = parse(
      HttpParser::Kind::Request,
      "POST /a?b=1 HTTP/1.1\r\nHost: x\r\nX-Key:  two words \r\nContent-Length: 3\r\n\r\nabcREST");
  ASSERT_EQ(parser.phase(), Phase::Done);
  EXPECT_EQ(parser.head().method, "POST");
  EXPECT_EQ(parser.head().target, "/a?b=1");
  EXPECT_EQ(parser.head().headers.find("x-key"), "two words");
  EXPECT_EQ(parser.take_body(), "abc");
}

TEST(HttpParser, ReadsTheSameInAnyPieces) {
  const std::string text =
      "\r\nPUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "4;name=value\r\nWiki\r\n00005\r\npedia\r\n0\r\nTrailer: yes\r\n\r\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    HttpParser parser(HttpParser::Kind::Request);
    std::size_t at = 0;
    while (at < text.size() && parser.phase() != Phase::Failed) {
      const std::string_view bytes = std::string_view(text).substr(at, piece);
      const std::size_t used = parser.feed(bytes);
      ASSERT_EQ(used, bytes.size());
      at += used;
    }
    ASSERT_EQ(parser.phase(), Phase::Done) << piece;
    EXPECT_EQ(parser.take_body(), "Wikipedia");
  }
}

TEST(HttpParser, StopsAtTheEndOfAMessage) {
  const std::string one = "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n";
  HttpParser parser(HttpParser::Kind::Request);
  EXPECT_EQ(parser.feed(one + one), one.size());
  EXPECT_EQ(parser.phase(), Phase::Done);
  parser.next();
  EXPECT_EQ(parser.phase(), Phase::Head);
  EXPECT_FALSE(parser.started());
}

TEST(HttpParser, RefusesWhatTwoReadersCouldReadDifferently) {
  const std::string h = "GET / HTTP/1.1\r\nHost: x\r\n";
  const struct {
    std::string text;
    int status;
  } cases[] = {
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {h + "Host: y\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400},
      {"GET /\r\nHost: x\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
      {"G@T / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"\x16\x03\x01", 400},
      {h + "Name : value\r\n\r\n", 400},
      {h + " folded\r\n\r\n", 400},
      {h + "Name: a\nb\r\n\r\n", 400},
      {h + std::string("Name: \0\r\n\r\n", 11), 400},
      {h + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
      {h + "Content-Length: 1, 1\r\n\r\n", 400},
      {h + "Content-Length: -1\r\n\r\n", 400},
      {h + "Content-Length: +1\r\n\r\n", 400},
      {h + "Content-Length: 99999999999999999999\r\n\r\n", 400},
      {h + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {h + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {h + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501},
      {"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {h + "Content-Length: 100000000\r\n\r\n", 413},
      {h + "Expect: miracles\r\n\r\n", 417},
      {h + "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n", 400},
      {h + "Transfer-Encoding: chunked\r\n\r\n-1\r\na\r\n", 400},
      {h + "Transfer-Encoding: chunked\r\n\r\n\r\n", 400},
      {h + "Transfer-Encoding: chunked\r\n\r\n1\na", 400},
      {h + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 400},
      {h + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 400},
      {h + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413},
  };
  for (const auto& c : cases) {
    HttpParser parser = parse(HttpParser::Kind::Request, c.text);
    EXPECT_EQ(parser.phase(), Phase::Failed) << printable(c.text);
    EXPECT_EQ(parser.fault().status, c.status) << printable(c.text) << ": " << parser.fault().text;
  }
}

TEST(HttpParser, KeepsItsLimits) {
  const HttpLimits limits{.head = 100, .headers = 2, .body = 10};
  const std::string h = "GET / HTTP/1.1\r\nHost: x\r\n";
  const auto status = [&](const std::string& text) {
    return parse(HttpParser::Kind::Request, text, limits).fault().status;
  };
  EXPECT_EQ(status(h + "A: b\r\n\r\n"), 0);
  EXPECT_EQ(status(h + "A: b\r\nC: d\r\n\r\n"), 431);
  EXPECT_EQ(status(h + "A: " + std::string(200, 'x')), 431);
  EXPECT_EQ(status(h + "A: " + std::string(200, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(status(h + "Content-Length: 10\r\n\r\n0123456789"), 0);
  EXPECT_EQ(status(h + "Content-Length: 11\r\n\r\n"), 413);
  EXPECT_EQ(
      status("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n5\r\n"),
      413);
}

TEST(HttpParser, KnowsWhetherTheConnectionLives) {
  const struct {
    std::string_view start, headers;
    bool alive;
  } cases[] = {
      {"GET / HTTP/1.1", "Host: x\r\n", true},
      {"GET / HTTP/1.1", "Host: x\r\nConnection: x, Close\r\n", false},
      {"GET / HTTP/1.0", "", false},
      {"GET / HTTP/1.0", "Connection: keep-alive\r\n", true},
  };
  for (const auto& c : cases) {
    HttpParser parser =
        parse(HttpParser::Kind::Request, format("{}\r\n{}\r\n", c.start, c.headers));
    ASSERT_EQ(parser.phase(), Phase::Done) << c.headers;
    EXPECT_EQ(parser.head().keep_alive, c.alive) << c.headers;
  }
}

TEST(HttpParser, TakesTheAuthorityOffATarget) {
  for (const auto& [sent, target] : std::vector<std::pair<std::string, std::string>>{
           {"http://h:1/a?b", "/a?b"}, {"HTTP://h", "/"}, {"/plain", "/plain"}, {"*", "*"}}) {
    HttpParser parser =
        parse(HttpParser::Kind::Request, format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", sent));
    EXPECT_EQ(parser.head().target, target);
  }
}

TEST(HttpParser, ReadsResponses) {
  HttpParser until_end = parse(HttpParser::Kind::Response, "HTTP/1.1 200 OK\r\n\r\nall of it");
  EXPECT_EQ(until_end.phase(), Phase::Body);
  until_end.feed_end();
  EXPECT_EQ(until_end.phase(), Phase::Done);
  EXPECT_EQ(until_end.take_body(), "all of it");

  HttpParser short_of =
      parse(HttpParser::Kind::Response, "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nabc");
  short_of.feed_end();
  EXPECT_EQ(short_of.phase(), Phase::Failed);

  for (const std::string_view text :
       {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 \r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n"})
    EXPECT_EQ(parse(HttpParser::Kind::Response, text).phase(), Phase::Done) << text;

  HttpParser to_head(HttpParser::Kind::Response);
  to_head.expect_no_body();
  to_head.feed("HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n");
  EXPECT_EQ(to_head.phase(), Phase::Done);

  for (const std::string_view text :
       {"HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 99 OK\r\n\r\n", "HTTP/1.1 2000\r\n\r\n",
        "ICY 200 OK for radio\r\n\r\n", "HTTP/1.1  200\r\n\r\n"})
    EXPECT_EQ(parse(HttpParser::Kind::Response, text).fault().status, 502) << text;
}

TEST(Http, SplitsTargets) {
  const auto split = [](std::string_view target) {
    std::string path;
    Query query;
    if (!split_target(target, path, query)) return std::string("refused");
    for (const auto& [name, value] : query) path += format(" [{}={}]", name, value);
    return path;
  };
  EXPECT_EQ(split("/a%20b/c"), "/a b/c");
  EXPECT_EQ(split("/x?a=1&a=2&b&=c&&d=%26+e%3D"), "/x [a=1] [a=2] [b=] [=c] [d=& e=]");
  EXPECT_EQ(split("/a+b"), "/a+b");
  for (const std::string_view bad :
       {"", "x", "*", "/%", "/%4", "/%zz", "/%00", "/a#b", "/?a=%f", "/?%00=1"})
    EXPECT_EQ(split(bad), "refused") << bad;
  EXPECT_EQ(percent_encode("a b/ü~"), "a%20b%2F%C3%BC~");
  EXPECT_EQ(percent_decode(percent_encode("a b/ü~+"), true), "a b/ü~+");
}

TEST(Http, WritesDates) {
  EXPECT_EQ(http_date(from_unix_ms(784111777000)), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace phalanx::net
