#include "base/codec.h"

#include <gtest/gtest.h>

namespace phalanx {
namespace {

enum class Colour { red, green };
BOOST_DESCRIBE_ENUM(Colour, red, green)

struct Leaf {
  PHALANX_NAMED(Leaf);
  int n = 3;
  std::vector<std::string> names;
  bool operator==(const Leaf&) const = default;
};
BOOST_DESCRIBE_STRUCT(Leaf, (), (n, names))

struct Bud {
  PHALANX_NAMED(Bud);
  Colour colour = Colour::red;
  bool operator==(const Bud&) const = default;
};
BOOST_DESCRIBE_STRUCT(Bud, (), (colour))

struct Tree {
  static constexpr std::array<std::string_view, 1> kRetired{"bark"};
  std::variant<Leaf, Bud> top;
  std::map<std::string, std::int64_t> rings;
  std::map<std::uint32_t, Leaf> leaves;
  std::optional<Time> felled;
  Quantity width;
  bool operator==(const Tree&) const = default;
};
BOOST_DESCRIBE_STRUCT(Tree, (), (top, rings, leaves, felled, width))

TEST(Codec, LeavesOutDefaultsAndReadsThemBack) {
  EXPECT_EQ(codec::encode(Leaf{}), "{}");
  EXPECT_EQ(codec::decode<Leaf>("{}")->n, 3);
}

TEST(Codec, RoundTrips) {
  Tree t{Bud{Colour::green},
         {{"a\"\n\x01", 1}},
         {{7, Leaf{4, {"x", "\xff"}}}},
         from_unix_ms(5),
         Quantity::milli(250)};
  const std::string text = codec::encode(t);
  const auto back = codec::decode<Tree>(text);
  ASSERT_TRUE(back.ok()) << back.error().message << " " << text;
  EXPECT_EQ(*back, t);
  EXPECT_EQ(codec::encode(*back), text);
}

TEST(Codec, RefusesStrangersButForgivesTheRetired) {
  EXPECT_TRUE(codec::decode<Tree>(R"({"bark":1})").ok());
  EXPECT_EQ(codec::decode<Tree>(R"({"leaves":[[1,{"m":1}]]})").error().message,
            "leaves.0.1: unknown member \"m\"");
  EXPECT_EQ(codec::decode<Tree>(R"({"top":{"Leaf":{"names":["a",2]}}})").error().message,
            "top.Leaf.names.1: not text");
  EXPECT_EQ(codec::decode<Tree>(R"({"rings":{"":"x"}})").error().message,
            "rings.: not a whole number");
  EXPECT_EQ(codec::decode<Tree>("[]").error().message, "not an object");
  EXPECT_FALSE(codec::decode<Tree>(R"({"top":{"Root":{}}})").ok());
  EXPECT_FALSE(codec::decode<Leaf>(R"({"n":3000000000})").ok());
  EXPECT_FALSE(codec::decode<Bud>(R"({"colour":"blue"})").ok());
}

}  // namespace
}  // namespace phalanx
